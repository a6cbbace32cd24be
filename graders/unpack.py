"""An instructor's drill as it comes, a zip or a folder, made into a package: nothing is run or unpacked to disk."""

from __future__ import annotations

import stat
import zipfile
from pathlib import Path, PurePosixPath

from graders.archive import PackageRefused, read_entries, require_size
from graders.package import Package
from graders.validation import FindingCode

_IGNORED = {"__pycache__", "__MACOSX", ".DS_Store", "Thumbs.db", ".git", ".ruff_cache", ".mypy_cache", ".pytest_cache"}
_TOPS = ("graders", "reference")


def read_zip(data: bytes) -> Package:
    """The package of an uploaded zip, whatever it holds. Raises PackageRefused.

    The zip has ``graders/<slug>/`` and ``reference/<slug>.py`` at its root, or in one folder there.
    """
    kept = [
        (info, content) for info, content in read_entries(data) if not info.is_dir() and not _ignored(info.filename)
    ]
    for info, _ in kept:
        if not _plain(info):
            raise PackageRefused(FindingCode.PACKAGE_BAD_NAME, name=info.filename[:200])
    return _package(_without_folder({info.filename: content for info, content in kept}))


def read_folder(folder: Path) -> Package:
    """The package of a tree that holds ``graders/<slug>/``, or of that folder itself. Raises PackageRefused."""
    if (folder / "drill.toml").is_file() and folder.resolve().parent.name == "graders":
        root, slugs = folder.resolve().parents[1], [folder.resolve().name]
    else:
        root, slugs = folder, sorted(path.parent.name for path in folder.glob("graders/*/drill.toml"))
    paths = [path for slug in slugs for path in sorted((root / "graders" / slug).rglob("*")) if path.is_file()]
    paths += [path for slug in slugs if (path := root / "reference" / f"{slug}.py").is_file()]
    kept = [path for path in paths if not _ignored(path.relative_to(root).as_posix())]
    require_size([path.stat().st_size for path in kept])
    return _package({path.relative_to(root).as_posix(): path.read_bytes() for path in kept})


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
