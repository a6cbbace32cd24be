"""A drill version as one zip: ``graders/<slug>/`` and ``reference/<slug>.py``, addressed by content."""

from __future__ import annotations

import hashlib
import io
import zipfile
from dataclasses import dataclass
from pathlib import Path

from graders.manifest import Manifest, parse_manifest

_ROOT = Path(__file__).resolve().parent.parent
_EPOCH = (1980, 1, 1, 0, 0, 0)
_LEFT_OUT = {"__pycache__"}


@dataclass(frozen=True)
class Package:
    """The files of a drill version, ``path in the zip -> bytes``."""

    slug: str
    files: dict[str, bytes]

    @property
    def digest(self) -> str:
        """SHA-256 over names and contents, so that the same tree has the same digest wherever it was zipped."""
        digest = hashlib.sha256()
        for name in sorted(self.files):
            digest.update(len(name).to_bytes(4, "big") + name.encode())
            digest.update(len(self.files[name]).to_bytes(8, "big") + self.files[name])
        return digest.hexdigest()

    @property
    def manifest(self) -> Manifest:
        return parse_manifest(self.text("drill.toml"))

    def text(self, name: str) -> str:
        """A file of the drill's folder. Raises KeyError when there is none."""
        return self.files[f"graders/{self.slug}/{name}"].decode("utf-8")

    def sentences(self, locale: str) -> str:
        return self.text(f"sentences.{locale}.toml")

    def statement(self, locale: str) -> str:
        return self.text(f"statement.{locale}.md")

    def to_zip(self) -> bytes:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in sorted(self.files):
                archive.writestr(zipfile.ZipInfo(name, _EPOCH), self.files[name], zipfile.ZIP_DEFLATED)
        return buffer.getvalue()

    @classmethod
    def from_zip(cls, slug: str, data: bytes) -> Package:
        """Read back what ``to_zip`` wrote: for bytes out of our own store, not for an upload."""
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return cls(slug, {name: archive.read(name) for name in archive.namelist()})

    @classmethod
    def from_tree(cls, slug: str, root: Path = _ROOT) -> Package:
        """The drill ``slug`` of a source tree. Raises FileNotFoundError when it is not there."""
        folder = root / "graders" / slug
        oracle = root / "reference" / f"{slug}.py"
        if not (folder / "drill.toml").is_file():
            raise FileNotFoundError(f"no drill {slug!r}: {folder / 'drill.toml'} is missing")
        paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and not _LEFT_OUT & set(path.parts)]
        files = {path.relative_to(root).as_posix(): path.read_bytes() for path in [*paths, oracle]}
        return cls(slug, files)


def built_in_drills() -> list[str]:
    """Slugs of the drills that come with Warpgrade."""
    return sorted(path.parent.name for path in (_ROOT / "graders").glob("*/drill.toml"))
