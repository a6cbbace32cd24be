"""The tiers, each in the setting that it is for."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.container import in_tier
from worker.protocol.channel import Channel
from worker.sandbox.tiers import Sandbox
from worker.sandbox.walls import Walls

PROBES = Path(__file__).with_name("probes")

Held = Callable[..., AbstractContextManager[dict[str, Any]]]
Inside = Callable[..., dict[str, Any]]


@pytest.fixture(params=["A", "B"])
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """Each tier."""
    with in_tier(request.param) as sandbox:
        yield sandbox


@pytest.fixture
def tier_b() -> Iterator[Sandbox]:
    with in_tier("B") as sandbox:
        yield sandbox


@pytest.fixture
def held(tmp_path: Path) -> Held:
    """``with held(sandbox, probe, *arguments, **walls)``: what ``probes/<probe>.py`` reports from inside the walls that
    a runner has, and does what it does until the end of the block."""

    @contextmanager
    def run(sandbox: Sandbox, probe: str, *arguments: object, **walls: Any) -> Iterator[dict[str, Any]]:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        repository = Path(__file__).parents[3]
        programs = {
            "worker/__init__.py": repository / "worker/__init__.py",
            "worker/protocol": repository / "worker/protocol",
            "worker/runner": repository / "worker/runner",
            "probe.py": PROBES / f"{probe}.py",
        }
        log = tmp_path / "log"
        with log.open("wb") as output:
            process = sandbox.start(
                Walls(programs=programs, environment={}, **walls),
                ["probe", str(theirs.fileno()), *map(json.dumps, arguments)],
                (theirs.fileno(),),
                output=output.fileno(),
            )
        theirs.close()
        channel = Channel(ours, 1 << 20)
        try:
            yield _report(channel, log)
        finally:
            channel.close()
            process.kill()

    return run


@pytest.fixture
def inside(held: Held) -> Inside:
    """``inside(sandbox, probe, *arguments, **walls)``: the report alone, and the probe is gone."""

    def run(*arguments: Any, **walls: Any) -> dict[str, Any]:
        with held(*arguments, **walls) as report:
            return report

    return run


def _report(channel: Channel, log: Path) -> dict[str, Any]:
    try:
        message, _ = channel.receive(30)
    except Exception as error:
        raise AssertionError(log.read_text()) from error
    return message
