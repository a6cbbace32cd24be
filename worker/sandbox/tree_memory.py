"""What processes hold, read from /proc as hostile processes leave it: with any name, without a main thread, in memory
files that are mapped nowhere."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

_BLOCK_BYTES = 512


def threads(pid: int) -> int:
    """Threads of a process; 0 when it is gone."""
    with contextlib.suppress(OSError):
        return len(os.listdir(f"/proc/{pid}/task"))
    return 0


def resident_bytes(pids: Sequence[int]) -> int:
    """Resident anonymous and shared memory, memory files that are open, and page tables, which take memory though they
    lead to none; shared pages count for each process."""
    sums = [_sums(pid, "status", "RssAnon:", "RssShmem:") for pid in pids]
    return _total(sums, pids)


def proportional_bytes(pids: Sequence[int]) -> int:
    """The same with each page divided by the number of those who map it."""
    sums = [_sums(pid, "smaps_rollup", "Pss_Anon:", "Pss_Shmem:") for pid in pids]
    return _total(sums, pids)


def _total(sums: list[tuple[int, int]], pids: Sequence[int]) -> int:
    tables = sum(sum(_sums(pid, "status", "VmPTE:", "")) for pid in pids)
    shared = max(sum(shared for _, shared in sums), _open_memory_files(pids))
    return sum(anonymous for anonymous, _ in sums) + shared + tables


def _sums(pid: int, file: str, anonymous: str, shared: str) -> tuple[int, int]:
    """Two fields in bytes. A main thread that has ended shows none; any other of its threads does."""
    for path in _views(pid, file):
        with contextlib.suppress(OSError):
            rows = [line.split() for line in path.read_text("latin-1").splitlines()]
            fields = {row[0]: int(row[1]) << 10 for row in rows if row and row[0] in (anonymous, shared)}
            if fields:
                return fields.get(anonymous, 0), fields.get(shared, 0)
    return 0, 0


def _views(pid: int, file: str) -> Iterator[Path]:
    yield Path(f"/proc/{pid}/{file}")
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            yield Path(f"/proc/{pid}/task/{task}/{file}")


def hides(pid: int) -> bool:
    """Whether a process keeps its own id from looking at what it holds: then that cannot be counted.

    One that is ending cannot be looked at either, but it has no memory any more.
    """
    for path in _views(pid, "fd"):
        try:
            if os.listdir(path):
                return False
        except PermissionError:
            with contextlib.suppress(OSError):
                if "RssAnon:" in path.with_name("status").read_text("latin-1"):
                    return True
        except OSError:
            continue
    return False


def _open_memory_files(pids: Sequence[int]) -> int:
    """Memory of files without a name (memfd, deleted tmpfs files) that the processes have open, each file once."""
    files: dict[tuple[int, int], int] = {}
    for pid in pids:
        for link in _open_files(pid):
            with contextlib.suppress(OSError):
                if str(link.readlink()).endswith("(deleted)"):
                    found = link.stat()
                    files[found.st_dev, found.st_ino] = found.st_blocks * _BLOCK_BYTES
    return sum(files.values())


def _open_files(pid: int) -> list[Path]:
    """A main thread that has ended has none open; any other of its threads has."""
    for path in _views(pid, "fd"):
        with contextlib.suppress(OSError):
            if names := os.listdir(path):
                return [path / name for name in names]
    return []
