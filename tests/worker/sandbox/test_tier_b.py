"""What tier B holds together without namespaces: what is beside it on the machine, and what it leaves behind."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.container import in_tier
from tests.processes import all_processes, is_alive, processes_of, uid_of, wait_until
from tests.worker.sandbox.conftest import PROBES, Inside
from worker.protocol.channel import Channel
from worker.sandbox import landlock, slots, tier_b
from worker.sandbox.process import SandboxedProcess
from worker.sandbox.tiers import TIER_B
from worker.sandbox.walls import SandboxUnavailable, Walls

ROOT = Path(__file__).resolve().parents[3]
OURS = ("app/settings.py", "worker/judge/grading.py", "graders/compare.py", "reference/__init__.py", "README.md")
REFUSED = {"EACCES", "EPERM"}


@pytest.fixture(autouse=True)
def _here() -> Iterator[None]:
    with in_tier("B"):
        yield


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[..., SandboxedProcess]]:
    """``run(probe, *arguments)``: start a probe, wait until it has said something, and let it be."""
    started: list[SandboxedProcess] = []

    def start(probe: str, *arguments: str, **walls: Any) -> SandboxedProcess:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        programs = {"worker": ROOT / "worker", "probe.py": PROBES / f"{probe}.py"}
        with (tmp_path / "log").open("wb") as log, contextlib.closing(ours):
            try:
                program = ["probe", str(theirs.fileno()), *arguments]
                started.append(
                    TIER_B.start(Walls(programs, {}, **walls), program, (theirs.fileno(),), output=log.fileno())
                )
            finally:
                theirs.close()
            Channel(ours, 1 << 20).receive(30)
        return started[-1]

    yield start
    for process in started:
        process.kill()


@pytest.fixture
def public(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder that every user may use, on a path that every user may pass."""
    folder = tmp_path_factory.mktemp("public")
    changed = [parent for parent in (folder, *folder.parents) if parent.stat().st_uid == os.getuid()]
    before = {parent: parent.stat().st_mode & 0o7777 for parent in changed}
    for parent, mode in before.items():
        parent.chmod(mode | 0o011)
    folder.chmod(0o777)
    yield folder
    for parent, mode in before.items():
        parent.chmod(mode)


@pytest.mark.parametrize("version", [landlock.REQUIRED_ABI, landlock.abi()])
def test_what_others_have_is_out_of_reach(
    inside: Inside,
    run: Callable[..., SandboxedProcess],
    public: Path,
    monkeypatch: pytest.MonkeyPatch,
    version: int,
) -> None:
    monkeypatch.setattr(landlock, "abi", lambda: version)
    monkeypatch.setenv("WARPGRADE_ADMIN_TOKEN", "secret-token")
    (public / "answers").write_text("7")
    (public / "answers").chmod(0o666)
    neighbour = run("stubborn")
    (program,) = _children(neighbour.pid)
    slot = _slot_of(program)
    with _listening(str(public / "socket")), _listening(f"\0warpgrade-{os.getpid()}"):
        tried = inside(
            TIER_B,
            "neighbours",
            {
                "read": [
                    *(str(ROOT / name) for name in OURS),
                    *("/etc/passwd", "/etc/shadow", "/etc/hostname", str(public / "answers")),
                    *(f"/proc/{pid}/{name}" for pid in _others(neighbour) for name in ("environ", "mem", "fd/0")),
                ],
                "write": [
                    str(public / "answers"),
                    "/proc/sys/kernel/panic",
                    f"/proc/{program}/comm",
                    sys.executable,
                ],
                "list": [str(slot), "/", "/tmp", "/etc", "/dev/shm", str(public), "/sys"],
                "make": [*("/", "/tmp", "/var/tmp", "/dev/shm", "/dev", "/run", "/usr", str(public))],
                "kill": _others(neighbour),
                "connect": [str(public / "socket"), f"\0warpgrade-{os.getpid()}"],
            },
        )
    for name in ("read", "write", "list", "make", "kill", "priority"):
        assert {item: how for item, how in tried[name].items() if how not in REFUSED} == {}, name
        assert tried[name]
    assert set(tried["connect"].values()) == {"ECONNREFUSED"}
    assert set(tried["datagram"].values()) == set(tried["pair"].values()) == {"EAFNOSUPPORT"}
    assert {tried[name] for name in ("bind", "queue", "fanotify", "hide")} == {"EPERM"}
    assert (tried["own_comm"], tried["own_memory"]) == ("ok", "ok")
    assert not any(b"secret-token" in Path(f"/proc/{pid}/cmdline").read_bytes() for pid in _others(neighbour))


def test_packages_of_ours_beside_others_cannot_be_read(inside: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    site = Path(sysconfig.get_path("purelib")).resolve()
    monkeypatch.setattr(tier_b, "own_packages_within", lambda _: [site / "pydantic"])
    paths = [str(site / name / "__init__.py") for name in ("pydantic", "torch", "pydantic_core")]
    tried = inside(TIER_B, "neighbours", {"read": paths})
    assert list(tried["read"].values()) == ["EACCES", "ok", "ok"]


def test_killing_leaves_neither_processes_nor_files(run: Callable[..., SandboxedProcess]) -> None:
    process = run("hoarder")
    (program,) = _children(process.pid)
    slot, uid = _slot_of(program), uid_of(program)
    assert uid is not None
    process.kill()
    assert processes_of(uid) == []
    assert not slot.exists()
    again = slots.take_again(slots.Slot(uid, -1, slot))
    assert again is not None
    again.close()
    slot.rmdir()


def test_a_program_that_ends_takes_its_descendants_along(run: Callable[..., SandboxedProcess], tmp_path: Path) -> None:
    mark = f"daemon_{tmp_path.name}"
    process = run("daemon", mark)
    assert process.wait(10) == 0
    wait_until(lambda: _named(mark) == [], "the daemon is gone")


def test_what_a_killed_warden_leaves_is_ended(run: Callable[..., SandboxedProcess]) -> None:
    process = run("leaver")
    (left,) = _named("leaver_mark")
    (first,) = set(_children(process.pid)) - {left}
    os.kill(process.pid, signal.SIGKILL)
    wait_until(lambda: not is_alive(first), "the first process dies with its warden")
    process.wait(10)
    assert is_alive(left), "others do not"
    process.kill()
    wait_until(lambda: not is_alive(left), "they are swept away")


def test_a_slot_is_swept_before_it_is_used_again(
    run: Callable[..., SandboxedProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    process = run("leaver")
    left = _named("leaver_mark")
    uid = uid_of(left[0])
    assert uid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.wait(10)
    monkeypatch.setattr(slots.secrets, "randbelow", lambda _: (uid - slots.first_uid()) // 2)
    again = run("stubborn")
    assert uid_of(_children(again.pid)[0]) == uid
    assert not any(map(is_alive, left))


def test_a_host_and_its_containers_have_ids_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    lowest = set()
    for namespace in (slots._INITIAL_PID_NAMESPACE, 4026532000):
        monkeypatch.setattr(slots, "_pid_namespace", lambda found=namespace: found)
        lowest.add(slots.first_uid())
    monkeypatch.undo()
    assert slots.first_uid() in lowest
    assert max(lowest) - min(lowest) == 2 * slots.COUNT
    assert max(lowest) + 2 * slots.COUNT <= 61_184, "where systemd's dynamic users begin"


def test_a_warden_cannot_be_killed_from_inside(run: Callable[..., SandboxedProcess]) -> None:
    process = run("murderer")
    process.pause()
    process.resume()
    assert process.returncode is None
    process.kill()
    assert process.returncode == -signal.SIGKILL


@pytest.mark.parametrize("way", ["unreadable", "many", "deep", "closed"])
def test_what_hides_counts_as_too_much(run: Callable[..., SandboxedProcess], way: str) -> None:
    process = run("hider", way, scratch_mib=8)
    usage = process.usage()
    if way == "unreadable":
        assert usage.memory_bytes > 1 << 50
        assert process.exact_memory_bytes() > 1 << 50
    else:
        assert usage.scratch_full


@pytest.mark.parametrize("way", ["nothing", "leaderless", "tables"])
def test_memory_that_is_mapped_nowhere_is_counted(run: Callable[..., SandboxedProcess], way: str) -> None:
    usage = run("hider", way, scratch_mib=8).usage()
    assert not usage.scratch_full
    assert 64 << 20 <= usage.memory_bytes < 1 << 30
    assert usage.tasks <= 2


def test_pinning_moves_the_whole_tree(run: Callable[..., SandboxedProcess]) -> None:
    process = run("forks", tasks=4)
    process.pin([0])
    assert {frozenset(os.sched_getaffinity(pid)) for pid in process.pids()} == {frozenset([0])}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("no capability", "CAP_SETUID"),
        ("no Landlock", "version 0 of Landlock"),
        ("somebody's folder", "somebody else's"),
    ],
)
def test_a_machine_that_lacks_something_is_told_what(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, change: str, told: str
) -> None:
    match change:
        case "no capability":
            monkeypatch.setattr(tier_b.credentials, "missing_capabilities", lambda _: ["CAP_SETUID"])
        case "no Landlock":
            monkeypatch.setattr(landlock, "abi", lambda: 0)
        case "somebody's folder":
            (tmp_path / "warpgrade-slots").mkdir(mode=0o777)
            (tmp_path / "warpgrade-slots").chmod(0o777)
            monkeypatch.setattr(slots, "gettempdir", lambda: str(tmp_path))
    with pytest.raises(SandboxUnavailable, match=told):
        TIER_B.start(Walls({}, {}), ["probe"], ())


@contextlib.contextmanager
def _listening(name: str) -> Iterator[None]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.bind(name)
        if not name.startswith("\0"):
            Path(name).chmod(0o777)
        sock.listen()
        yield


def _others(neighbour: SandboxedProcess) -> list[int]:
    """This process, another sandbox's warden and its program."""
    return [os.getpid(), *neighbour.pids()]


def _children(pid: int) -> list[int]:
    return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def _slot_of(pid: int) -> Path:
    return slots._base() / str(uid_of(pid))


def _named(mark: str) -> list[int]:
    found = []
    for pid in all_processes():
        with contextlib.suppress(OSError):
            if mark.encode() in Path(f"/proc/{pid}/cmdline").read_bytes() and is_alive(pid):
                found.append(pid)
    return found
