"""The drill that ``warpgrade drill new`` writes, whole or cut down to what a test needs. Imports no web package."""

from __future__ import annotations

from graders.package import Package
from graders.starting import skeleton
from tests.packages import reduced

SLUG = "row_shares"
FOLDER = f"graders/{SLUG}"
REFERENCE = f"reference/{SLUG}.py"
CASES, MANIFEST = f"{FOLDER}/cases.py", f"{FOLDER}/drill.toml"


def new_drill() -> Package:
    return Package(SLUG, skeleton(SLUG))


def small_drill(*submissions: str, **cases: tuple[str, ...]) -> Package:
    """The named cases of the named categories, and the named submissions, which claim these categories alone."""
    package = reduced(new_drill(), **cases)
    kept = {f"{FOLDER}/submissions/{name}.py" for name in submissions}
    files = {name: data for name, data in package.files.items() if "/submissions/" not in name}
    files |= {name: _claiming(package.files[name], set(cases)) for name in kept}
    return Package(SLUG, files)


def changed(package: Package, file: str, old: str, new: str) -> Package:
    """The package with a text of one of its files replaced."""
    text = package.files[file].decode()
    assert old in text
    return Package(package.slug, package.files | {file: text.replace(old, new).encode()})


def without(package: Package, file: str) -> Package:
    return Package(package.slug, {name: data for name, data in package.files.items() if name != file})


def _claiming(data: bytes, categories: set[str]) -> bytes:
    lines = data.decode().splitlines(keepends=True)
    for number, line in enumerate(lines):
        if line.startswith("# fails:"):
            claimed = [name.strip() for name in line.removeprefix("# fails:").split(",")]
            lines[number] = f"# fails: {', '.join(name for name in claimed if name in categories)}\n"
    return "".join(lines).encode()
