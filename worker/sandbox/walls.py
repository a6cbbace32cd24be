"""What a sandboxed process may see and use, whatever holds it in."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/sbin")
SYSTEM_FILES = ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives")
FILE_BYTES = 512 << 20
"""The largest file that untrusted code may write."""

_PASSED_ON = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "LD_LIBRARY_PATH")
"""Variables about the machine itself that libraries need to work on it."""


class SandboxUnavailable(Exception):
    """No sandbox can be built here; the message gives the reason and the cure."""


@dataclass(frozen=True)
class Walls:
    """What a sandboxed process may see and use.

    ``programs`` are files or folders of ours, shown in one folder by the given relative name; ``devices`` are
    device nodes. ``limited`` sets the resource limits of untrusted code.
    """

    programs: dict[str, Path]
    environment: dict[str, str]
    devices: tuple[str, ...] = ()
    scratch_mib: int = 512
    tasks: int = 256
    open_files: int = 1024
    limited: bool = True


def python_command(program: list[str], root: Path) -> list[str]:
    """Python, isolated from its surroundings, running a module (with arguments) found under ``root``."""
    start = (
        f"import sys, runpy; sys.path.insert(0, {str(root)!r}); sys.path.extend({package_folders()!r}); "
        f"sys.argv[1:] = {program[1:]!r}; runpy.run_module({program[0]!r}, run_name='__main__', alter_sys=True)"
    )
    return [sys.executable, "-I", "-B", "-u", "-c", start]


def environment(walls: Walls, scratch: Path) -> dict[str, str]:
    """All variables of the sandboxed process: none of ours reaches it."""
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        "LANG": "C.UTF-8",
        "HOME": str(scratch),
        "TMPDIR": str(scratch),
        "TRITON_HOME": str(scratch),
        "TRITON_CACHE_DIR": f"{scratch}/triton",
        "TORCHINDUCTOR_CACHE_DIR": f"{scratch}/inductor",
        "CUDA_CACHE_PATH": f"{scratch}/cuda",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        **of_the_machine(),
        **walls.environment,
    }


def of_the_machine() -> dict[str, str]:
    """Variables without which a program may not start on this machine."""
    return {name: os.environ[name] for name in _PASSED_ON if name in os.environ}


def limits_of(walls: Walls) -> dict[str, int]:
    """Resource limits by ``prlimit``'s names.

    A core dump of no bytes would still go to a program that the machine names for them, as root and outside of every
    wall; of one byte is the kernel's word for none at all, and a file is never so small.
    """
    if not walls.limited:
        return {}
    return {"core": 1, "fsize": FILE_BYTES, "nproc": walls.tasks, "nofile": walls.open_files}


def python_folders() -> list[Path]:
    """What the interpreter needs: its own installation, its environment, and the folders of its packages."""
    wanted = [Path(sys.base_prefix), Path(sys.prefix), *map(Path, package_folders())]
    folders: list[Path] = []
    for folder in dict.fromkeys(form for path in wanted for form in (path.absolute(), path.resolve())):
        covered = any(folder.is_relative_to(other) for other in (*folders, *map(Path, SYSTEM)))
        if folder.is_dir() and not covered:
            folders.append(folder)
    return folders


def package_folders() -> list[str]:
    """Where torch and what it needs are installed."""
    folders = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    for name in ("torch", "triton", "numpy", "pydantic", "cuda"):
        spec = find_spec(name)
        if spec is not None:
            folders += [str(Path(location).parent) for location in spec.submodule_search_locations or ()]
    return list(dict.fromkeys(folders))


def own_packages_within(folders: Iterable[Path]) -> list[Path]:
    """Our packages where they are installed beside the others: hidden, whatever is needed is shown by ``programs``."""
    root = Path(__file__).resolve().parents[2]
    ours = [root / name for name in ("app", "worker", "graders", "reference")]
    return [path for path in ours if any(path.is_relative_to(folder) for folder in folders)]
