"""Drills as instructors upload them: a small one whose form is right, and zips of any other kind."""

from __future__ import annotations

import io
import warnings
import zipfile
from collections.abc import Iterable, Mapping

from graders.package import Package
from tests import builders

Entry = tuple[str | zipfile.ZipInfo, str | bytes]

WRONG = "# expect: wrong_answer\n# interpreter: wrong_answer\n# fails: basic\n"
RIGHT = "# expect: accepted\n"


def toy_upload(slug: str = "copy", changed: Mapping[str, str | bytes] | None = None, *, without: str = "") -> Package:
    """The toy drill with everything that a package needs; nobody can judge with it.

    ``changed`` files are named within the drill's folder, ``without`` as well.
    """
    folder = f"graders/{slug}"
    files = dict(builders.toy_package(slug, "Copy $x$. Basics and edges are tested.").files)
    texts: dict[str, str | bytes] = {
        "statement.zh.md": "复制 $x$。基础和边界都会测试。",
        "sentences.en.toml": '[hint]\ncopy = "Copy all of it."\n',
        "sentences.zh.toml": '[hint]\ncopy = "全部复制。"\n',
        "cases.py": "SECRET_OF_THE_CASES = 1\nCASES = ()\n",
        "misconceptions.py": "MISCONCEPTIONS = ()\n",
        "performance.py": "SHAPES = ()\n",
        "submissions/accepted/copies.py": RIGHT,
        "submissions/wrong_answer/zeros.py": WRONG,
        **(changed or {}),
    }
    for name, content in texts.items():
        path = f"reference/{slug}.py" if name == "reference" else f"{folder}/{name}"
        files[path] = content.encode() if isinstance(content, str) else content
    files.pop(f"{folder}/{without}", None)
    return Package(slug, files)


def raw_zip(entries: Iterable[Entry], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip of whatever entries, in their order; also of the same name twice, of which zipfile warns."""
    buffer = io.BytesIO()
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in entries:
            archive.writestr(name, content)
    return buffer.getvalue()


def entries_of(package: Package) -> list[Entry]:
    return [(name, content) for name, content in package.files.items()]


def form(data: bytes, name: str = "drill.zip") -> dict[str, tuple[str, bytes, str]]:
    """The multipart field as the test client takes it."""
    return {"file": (name, data, "application/zip")}
