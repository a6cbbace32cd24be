"""The beginning of a new drill: a small one that is complete and valid as it stands, to be changed step by step."""

from __future__ import annotations

from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from graders.form import reserved_slugs
from graders.manifest import Slug

SKELETON = Path(__file__).parent / "skeleton"
"""The files of the drill: drill.toml as manifest.toml, so that it is not taken for a drill, and its reference."""

_SLUG: TypeAdapter[str] = TypeAdapter(Slug)


class CannotStart(ValueError):
    """The drill cannot be begun; the message says why."""


def skeleton(slug: str) -> dict[str, bytes]:
    """The files of a drill named ``slug``, by their path in its package. Raises CannotStart for a slug that is none."""
    try:
        _SLUG.validate_python(slug)
    except ValidationError as error:
        raise CannotStart(
            f"{slug!r} is no slug: small letters, digits and single underscores, a letter first"
        ) from error
    if slug in reserved_slugs():
        raise CannotStart(f"{slug!r} is the name of one of Warpgrade's own modules")
    return {_place(path.relative_to(SKELETON).as_posix(), slug): _named(path, slug) for path in _files()}


def write_skeleton(slug: str, folder: Path) -> list[Path]:
    """Write the files into ``folder``, where none of them may exist. Raises CannotStart."""
    files = {folder / name: data for name, data in skeleton(slug).items()}
    for path in files:
        if path.exists():
            raise CannotStart(f"{path} is there already")
    for path, data in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return sorted(files)


def _files() -> list[Path]:
    return sorted(path for path in SKELETON.rglob("*") if path.is_file() and "__pycache__" not in path.parts)


def _place(name: str, slug: str) -> str:
    if name == "reference.py":
        return f"reference/{slug}.py"
    return f"graders/{slug}/{'drill.toml' if name == 'manifest.toml' else name}"


def _named(path: Path, slug: str) -> bytes:
    data = path.read_bytes()
    return data.replace(b'slug = "SLUG"', f'slug = "{slug}"'.encode()) if path.name == "manifest.toml" else data
