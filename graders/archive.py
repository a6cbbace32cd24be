"""A zip as it comes: what it says of itself need not be true. Works on bytes in memory; nothing is written to disk."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import PurePosixPath

from graders.limits import PACKAGE_BYTES
from graders.validation import Finding, FindingCode

UNPACKED_BYTES = 4 * PACKAGE_BYTES
"""The most that the files of a package hold together: a zip can promise a thousand times its own size."""

MOST_FILES = 2000

_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}  # of the others, Python's readers know no bound
_ENCRYPTED = 0x1
_NAME_BYTES = 255
_ARCHIVES = {".zip", ".whl", ".jar", ".tar", ".tgz", ".gz", ".bz2", ".xz", ".7z", ".rar", ".zst"}
_ARCHIVE_STARTS = (b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"7z\xbc\xaf\x27\x1c", b"Rar!")
_SHOWN_CHARACTERS = 200


class PackageRefused(ValueError):
    """What came is no package of a drill; ``finding`` says why."""

    def __init__(self, code: FindingCode, **params: str | int) -> None:
        self.finding = Finding(code=code, severity=code.severity, params=dict(params))
        super().__init__(f"{code}: {params}")


def read_entries(data: bytes) -> list[tuple[zipfile.ZipInfo, bytes]]:
    """Every entry with its content, within the limits, each a file or a folder of its own. Raises PackageRefused."""
    if len(data) > PACKAGE_BYTES:
        raise PackageRefused(FindingCode.PACKAGE_TOO_LARGE, limit_mib=PACKAGE_BYTES >> 20)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            require_size([entry.file_size for entry in entries])
            _require_distinct([entry.filename for entry in entries])
            return [(entry, _content(archive, entry)) for entry in entries]
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, ValueError) as error:
        if isinstance(error, PackageRefused):
            raise
        raise _unreadable(str(error) or type(error).__name__) from error


def require_size(sizes: list[int]) -> None:
    """Files of ``sizes`` bytes are few and small enough for a package. Raises PackageRefused."""
    if len(sizes) > MOST_FILES or sum(sizes) > UNPACKED_BYTES:
        raise PackageRefused(FindingCode.PACKAGE_TOO_LARGE, limit_mib=UNPACKED_BYTES >> 20)


def _require_distinct(names: Iterable[str]) -> None:
    """No name twice, and none that is a file in one place and a folder in another."""
    files: set[str] = set()
    folders: set[str] = set()
    for name in names:
        if any(len(part.encode("utf-8", "replace")) > _NAME_BYTES for part in name.split("/")):
            raise _unreadable(f"the name {name[:_SHOWN_CHARACTERS]}… is too long")
        if name in files:
            raise _unreadable(f"{_shown(name)} is in it twice")
        folders |= {parent.as_posix() for parent in PurePosixPath(name).parents}
        if name.endswith("/"):
            folders.add(name.rstrip("/"))
        else:
            files.add(name)
    for name in sorted(files & folders):
        raise _unreadable(f"{_shown(name)} is a file and a folder in it")


def _content(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    name, declared = _shown(entry.filename), entry.file_size
    if entry.flag_bits & _ENCRYPTED:
        raise _unreadable(f"{name} is encrypted")
    if entry.compress_type not in _METHODS:
        raise _unreadable(f"{name} is compressed by a method other than deflate")
    if PurePosixPath(entry.filename).suffix.lower() in _ARCHIVES:
        raise _unreadable(f"{name} is an archive in the archive")
    entry.file_size = declared + 1  # how far the reader goes: one byte more than declared shows the lie
    try:
        with archive.open(entry) as file:
            content = file.read(declared + 1)
    finally:
        entry.file_size = declared
    if len(content) != declared:
        raise _unreadable(f"{name} is not as long as it says")
    if content.startswith(_ARCHIVE_STARTS):
        raise _unreadable(f"{name} is an archive in the archive")
    return content


def _unreadable(reason: str) -> PackageRefused:
    return PackageRefused(FindingCode.PACKAGE_UNREADABLE, reason=reason)


def _shown(name: str) -> str:
    return name if len(name) <= _SHOWN_CHARACTERS else f"{name[:_SHOWN_CHARACTERS]}…"
