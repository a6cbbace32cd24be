"""What code inside the real sandbox can see and do, in every tier."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.processes import wait_until
from tests.worker.sandbox.conftest import PROBES, Held, Inside
from worker.sandbox import slots, tier_a
from worker.sandbox.tier_a import as_root
from worker.sandbox.tiers import TIER_A, Sandbox
from worker.sandbox.walls import Walls

SUPERVISOR = """
import signal, socket, sys
from pathlib import Path
from tests.processes import wait_until
from worker.protocol.channel import Channel
from worker.sandbox.tiers import TIER_A, TIER_B
from worker.sandbox.walls import Walls

ours, theirs = socket.socketpair()
programs = {"worker": Path("worker").resolve(), "probe.py": Path(sys.argv[1], "stubborn.py")}
start = {"A": TIER_A, "B": TIER_B}[sys.argv[3]].start
kept = start(Walls(programs, {}), ["probe", str(theirs.fileno()), sys.argv[2]], (theirs.fileno(),))
Channel(ours, 1000).receive(30)
print("started", flush=True)
signal.pause()
"""


def test_a_runner_sees_nothing_worth_stealing(
    sandbox: Sandbox, inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WARPGRADE_ADMIN_TOKEN", "secret-token")
    seen = inside(sandbox, "secrets")
    assert "secret-token" not in str(seen["environment"])
    assert set(seen["environment"]) <= {
        *("PATH", "LANG", "HOME", "TMPDIR", "TRITON_HOME", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR"),
        *("CUDA_CACHE_PATH", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "PYTHONDONTWRITEBYTECODE", "PWD"),
        *("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "LD_LIBRARY_PATH", "LC_CTYPE"),
    }
    assert seen["descriptors"] == 4, "standard streams and the channel"
    assert seen["ours"] == ["probe.py", "worker/__init__.py"], "and the two packages below"
    assert seen["packages"] == ["protocol", "runner"]
    assert seen["home_files"] == []


def test_in_tier_a_it_is_alone(inside: Inside) -> None:
    seen = inside(TIER_A, "secrets")
    assert seen["processes"] == ([1, 2] if as_root() else [1]), "bubblewrap, as root, and itself"
    assert seen["unix_sockets"] == []
    assert seen["interfaces"] in ([], ["lo"])


def test_a_runner_can_do_nothing_to_the_machine(sandbox: Sandbox, inside: Inside) -> None:
    done = inside(sandbox, "mischief", os.getpid())
    own_view = sandbox is TIER_A
    assert done == {
        "type": "mischief",
        "network": "EAFNOSUPPORT",
        "ptrace": "EPERM",
        "unshare": "EPERM",
        "mount": "EPERM",
        "clone_newuser": "EPERM",
        "write_usr": "EROFS" if own_view else "EACCES",
        "write_program": "EROFS" if own_view else "EACCES",
        "write_scratch": "ok",
        "setuid": "EPERM" if as_root() else "EINVAL",  # a user namespace has no id 0 at all
        "kill_outside": "ESRCH" if own_view else "EPERM",
        "survive_parent": "EPERM",
        "shared_memory": "EPERM",
        "keyring": "EPERM",
        "core": 1,
    }


def test_each_sandbox_has_an_id_of_its_own(sandbox: Sandbox, held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    if not as_root():
        pytest.skip("an ordinary user's sandbox has one id")
    # Both want the same id, as if two workers had begun at the same time.
    monkeypatch.setattr(slots.secrets, "randbelow", lambda _: 0)
    twice = sorted(2 * [*range(tier_a.UID_BASE, tier_a.UID_BASE + tier_a.UID_COUNT)])
    monkeypatch.setattr(tier_a, "_uids", itertools.cycle(twice))
    with held(sandbox, "identity") as one, held(sandbox, "identity") as other:
        assert one["uid"] != other["uid"]


def test_tasks_are_limited(sandbox: Sandbox, inside: Inside) -> None:
    assert 10 <= inside(sandbox, "forks", tasks=20)["forked"] <= 20


def test_killing_ends_every_descendant(sandbox: Sandbox, inside: Inside, tmp_path: Path) -> None:
    mark = f"daemon_{tmp_path.name}"
    assert inside(sandbox, "daemon", mark)["started"]
    wait_until(lambda: not _processes_named(mark), "the daemon is gone")


def test_a_sandbox_that_is_killed_while_it_starts_leaves_nothing(sandbox: Sandbox, tmp_path: Path) -> None:
    mark = f"infant_{tmp_path.name}"
    walls = Walls(programs={"worker": Path("worker").absolute()}, environment={"MARK": mark})
    for delay in range(40):
        process = sandbox.start(walls, ["worker.runner.probe", "0", mark], ())
        time.sleep(delay * 2e-4)
        process.kill()
    wait_until(lambda: not _processes_named(mark), "nothing is left")


def test_a_supervisor_that_is_killed_takes_the_sandbox_with_it(sandbox: Sandbox, tmp_path: Path) -> None:
    mark = f"supervised_{tmp_path.name}"
    arguments = [str(PROBES), mark, sandbox.name]
    starter = subprocess.Popen([sys.executable, "-c", SUPERVISOR, *arguments], stdout=subprocess.PIPE)
    with starter:
        assert starter.stdout is not None
        assert starter.stdout.readline() == b"started\n"
        assert len(_processes_named(mark)) >= 2, "the supervisor and what it runs"
        starter.kill()
    wait_until(lambda: set(_processes_named(mark)) <= {starter.pid}, "nothing outlives its supervisor")


def _processes_named(mark: str) -> list[int]:
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                if mark in Path(f"/proc/{entry}/cmdline").read_text("latin-1"):
                    found.append(int(entry))
            except OSError:
                continue
    return found
