"""An instructor's drill as it comes, a zip or a folder, made into a package: nothing is run or unpacked to disk."""

from __future__ import annotations

import io
import lzma
import stat
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from graders.limits import PACKAGE_BYTES
from graders.package import Package
from graders.validation import Finding, FindingCode

UNPACKED_BYTES = 4 * PACKAGE_BYTES
"""The most that the files of a package hold together: a zip can promise a thousand times its own size."""

MOST_FILES = 2000

_IGNORED = {"__pycache__", "__MACOSX", ".DS_Store", "Thumbs.db", ".git", ".ruff_cache", ".mypy_cache", ".pytest_cache"}
_TOPS = ("graders", "reference")
_ZIP_ERRORS = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
    lzma.LZMAError,
    NotImplementedError,
    RuntimeError,  # encrypted
    EOFError,
    OSError,
    ValueError,
)


class PackageRefused(ValueError):
    """What came is no package of a drill; ``finding`` says why."""

    def __init__(self, code: FindingCode, **params: str | int) -> None:
        self.finding = Finding(code=code, severity=code.severity, params=dict(params))
        super().__init__(f"{code}: {params}")


def read_zip(data: bytes) -> Package:
    """The package of an uploaded zip, whatever it holds. Raises PackageRefused.

    The zip has ``graders/<slug>/`` and ``reference/<slug>.py`` at its root, or in one folder there.
    """
    if len(data) > PACKAGE_BYTES:
        raise PackageRefused(FindingCode.PACKAGE_TOO_LARGE, limit_mib=PACKAGE_BYTES >> 20)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _package(_without_folder(_read(archive)))
    except _ZIP_ERRORS as error:
        if isinstance(error, PackageRefused):
            raise
        raise PackageRefused(FindingCode.PACKAGE_UNREADABLE, reason=str(error) or type(error).__name__) from error


def read_folder(folder: Path) -> Package:
    """The package of a tree that holds ``graders/<slug>/``, or of that folder itself. Raises PackageRefused."""
    if (folder / "drill.toml").is_file() and folder.resolve().parent.name == "graders":
        root, slugs = folder.resolve().parents[1], [folder.resolve().name]
    else:
        root, slugs = folder, sorted(path.parent.name for path in folder.glob("graders/*/drill.toml"))
    paths = [path for slug in slugs for path in sorted((root / "graders" / slug).rglob("*")) if path.is_file()]
    paths += [path for slug in slugs if (path := root / "reference" / f"{slug}.py").is_file()]
    kept = [path for path in paths if not _ignored(path.relative_to(root).as_posix())]
    _require_size(path.stat().st_size for path in kept)
    return _package({path.relative_to(root).as_posix(): path.read_bytes() for path in kept})


def _read(archive: zipfile.ZipFile) -> dict[str, bytes]:
    entries = [info for info in archive.infolist() if not info.is_dir() and not _ignored(info.filename)]
    for info in entries:
        if not _plain(info):
            raise PackageRefused(FindingCode.PACKAGE_BAD_NAME, name=info.filename[:200])
    _require_size(info.file_size for info in entries)  # zipfile reads no more than this of each
    return {info.filename: archive.read(info) for info in entries}


def _require_size(sizes: Iterable[int]) -> None:
    known = list(sizes)
    if len(known) > MOST_FILES or sum(known) > UNPACKED_BYTES:
        raise PackageRefused(FindingCode.PACKAGE_TOO_LARGE, limit_mib=UNPACKED_BYTES >> 20)


def _ignored(name: str) -> bool:
    """What systems and tools leave beside the files of a drill."""
    return bool(_IGNORED & set(PurePosixPath(name).parts)) or name.endswith(".pyc")


def _plain(info: zipfile.ZipInfo) -> bool:
    """Whether an entry is a plain file with a name that stays below the root."""
    mode, name = info.external_attr >> 16, info.filename
    is_file = stat.S_IFMT(mode) in (0, stat.S_IFREG)
    parts = name.split("/")
    return is_file and name.isprintable() and not {"", ".", ".."} & set(parts) and not set("\\:") & set(name)


def _without_folder(files: dict[str, bytes]) -> dict[str, bytes]:
    """The files without a folder that holds them all, as some programs put one around what they zip."""
    tops = {name.split("/", 1)[0] for name in files}
    if len(tops) != 1 or tops & set(_TOPS):
        return files
    return {name.partition("/")[2] or name: data for name, data in files.items()}


def _package(files: dict[str, bytes]) -> Package:
    paths = [PurePosixPath(name) for name in files]
    slugs = sorted({path.parts[1] for path in paths if path.match("graders/*/drill.toml") and len(path.parts) == 3})
    if not slugs:
        raise PackageRefused(FindingCode.PACKAGE_NO_DRILL)
    if len(slugs) > 1:
        raise PackageRefused(FindingCode.PACKAGE_SEVERAL_DRILLS, slugs=", ".join(slugs)[:200])
    (slug,) = slugs
    for name in files:
        if not name.startswith(f"graders/{slug}/") and name != f"reference/{slug}.py":
            raise PackageRefused(FindingCode.PACKAGE_BAD_NAME, name=name[:200])
    return Package(slug, files)
