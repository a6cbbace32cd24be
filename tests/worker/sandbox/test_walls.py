"""What code inside the real sandbox can see and do."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.processes import wait_until
from worker.protocol.channel import Channel
from worker.sandbox import process as sandbox_process
from worker.sandbox.profile import SandboxUnavailable, Walls, as_root
from worker.supervisor.sandbox_choice import choose_sandbox

PROBES = Path(__file__).with_name("probes")
SUPERVISOR = """
import signal, socket, sys
from pathlib import Path
from tests.processes import wait_until
from worker.protocol.channel import Channel
from worker.sandbox.process import start
from worker.sandbox.profile import Walls

ours, theirs = socket.socketpair()
programs = {"worker": Path("worker").resolve(), "probe.py": Path(sys.argv[1], "stubborn.py")}
start(Walls(programs, {}), ["probe", str(theirs.fileno()), sys.argv[2]], (theirs.fileno(),))
Channel(ours, 1000).receive(30)
print("started", flush=True)
signal.pause()
"""


def inside(probe: str, tmp_path: Path, **walls: Any) -> dict[str, Any]:
    """What ``probes/<probe>.py`` reports from inside the walls that a runner has."""
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
        process = sandbox_process.start(
            Walls(programs=programs, environment={}, **walls),
            ["probe", str(theirs.fileno())],
            (theirs.fileno(),),
            output=output.fileno(),
        )
    theirs.close()
    channel = Channel(ours, 1 << 20)
    try:
        message, _ = channel.receive(30)
    except Exception as error:
        raise AssertionError(log.read_text()) from error
    finally:
        channel.close()
        process.kill()
    return message


def test_a_runner_sees_nothing_worth_stealing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPGRADE_ADMIN_TOKEN", "secret-token")
    seen = inside("secrets", tmp_path)
    assert "secret-token" not in str(seen["environment"])
    assert set(seen["environment"]) <= {
        *("PATH", "LANG", "HOME", "TMPDIR", "TRITON_HOME", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR"),
        *("CUDA_CACHE_PATH", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "PYTHONDONTWRITEBYTECODE", "PWD"),
        *("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "LD_LIBRARY_PATH", "LC_CTYPE"),
    }
    assert seen["processes"] == ([1, 2] if as_root() else [1]), "bubblewrap, as root, and itself"
    assert seen["descriptors"] == 4, "standard streams and the channel"
    assert seen["ours"] == ["program/probe.py", "program/worker/__init__.py"], "and the two packages below"
    assert seen["packages"] == ["protocol", "runner"]
    assert seen["unix_sockets"] == []
    assert seen["interfaces"] in ([], ["lo"])
    assert seen["home_files"] == []


def test_a_runner_can_do_nothing_to_the_machine(tmp_path: Path) -> None:
    done = inside("mischief", tmp_path)
    assert done == {
        "type": "mischief",
        "network": "EAFNOSUPPORT",
        "ptrace": "EPERM",
        "unshare": "EPERM",
        "mount": "EPERM",
        "clone_newuser": "EPERM",
        "write_usr": "EROFS",
        "write_program": "EROFS",
        "write_scratch": "ok",
        "setuid": "EPERM" if as_root() else "EINVAL",  # a user namespace has no id 0 at all
        "kill_outside": "ESRCH",
        "survive_parent": "EPERM",
        "core": 0,
    }


@pytest.mark.skipif(not as_root(), reason="an ordinary user's sandbox has one id")
def test_each_sandbox_has_an_id_of_its_own(tmp_path: Path) -> None:
    assert inside("secrets", tmp_path)["uid"] != inside("secrets", tmp_path)["uid"]


def test_tasks_are_limited(tmp_path: Path) -> None:
    assert 10 <= inside("forks", tmp_path, tasks=20)["forked"] <= 20


def test_killing_ends_every_descendant(tmp_path: Path) -> None:
    before = set(_processes_named("daemon_mark"))
    assert inside("daemon", tmp_path)["started"]
    wait_until(lambda: set(_processes_named("daemon_mark")) == before, "the daemon is gone", 2)


def test_a_sandbox_that_is_killed_while_it_starts_leaves_nothing(tmp_path: Path) -> None:
    mark = f"infant_{tmp_path.name}"
    walls = Walls(programs={"worker": Path("worker").absolute()}, environment={"MARK": mark})
    for delay in range(40):
        process = sandbox_process.start(walls, ["worker.runner.probe", "0", mark], ())
        time.sleep(delay * 2e-4)
        process.kill()
    wait_until(lambda: not _processes_named(mark), "nothing is left", 5)


def test_a_supervisor_that_is_killed_takes_the_sandbox_with_it(tmp_path: Path) -> None:
    mark = f"supervised_{tmp_path.name}"
    starter = subprocess.Popen([sys.executable, "-c", SUPERVISOR, str(PROBES), mark], stdout=subprocess.PIPE)
    with starter:
        assert starter.stdout is not None
        assert starter.stdout.readline() == b"started\n"
        assert len(_processes_named(mark)) >= 2, "bubblewrap and what it runs"
        starter.kill()
    wait_until(lambda: set(_processes_named(mark)) <= {starter.pid}, "nothing outlives its supervisor", 5)


def test_the_self_test_chooses_tier_a() -> None:
    assert choose_sandbox("auto").name == "A"


def test_without_bubblewrap_the_cure_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.sandbox.profile.shutil.which", lambda _: None)
    monkeypatch.setattr("worker.sandbox.profile.find_spec", lambda _: None)
    with pytest.raises(SandboxUnavailable, match="install the package 'bubblewrap'"):
        choose_sandbox("auto")


def test_a_sandbox_that_does_not_start_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.sandbox.profile.bubblewrap", lambda: "/bin/false")
    with pytest.raises(SandboxUnavailable, match="tier A"):
        choose_sandbox("auto")


def test_off_is_said_to_be_off() -> None:
    assert not choose_sandbox("off").sandboxed


def _processes_named(mark: str) -> list[int]:
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                if mark in Path(f"/proc/{entry}/cmdline").read_text():
                    found.append(int(entry))
            except OSError:
                continue
    return found
