"""What stands in ``docs/authoring.md``: its sections, their commands as a script, and their code."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

TEXT = (Path(__file__).parents[2] / "docs/authoring.md").read_text("utf-8")
SHELL = "sh"

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_EXPECTED = re.compile(r"\s+# exit code (\d+): (\w+)$")
_PREAMBLE = """\
set -euo pipefail
expect() {  # CODE WORD COMMAND…: it ends with the exit code, and says the word
    local code=0
    "${@:3}" >told 2>&1 || code=$?
    cat told
    [ $code = "$1" ] || { echo "exit code $code, not $1"; exit 99; }
    grep -q "$2" told || { echo "not a word of $2"; exit 99; }
    rm told
}
"""


def sections() -> dict[str, str]:
    """The text below each heading of the second rank, and by its title what stands before the first of them."""
    head, *rest = re.split(r"^## ", TEXT, flags=re.MULTILINE)
    return {"Writing a drill": head, **dict(part.split("\n", 1) for part in rest)}


def commands(section: str) -> list[str]:
    """The section's blocks of commands."""
    return [body for language, body in _BLOCK.findall(sections()[section]) if language == SHELL]


def code(section: str) -> list[str]:
    """All its other blocks."""
    return [body for language, body in _BLOCK.findall(sections()[section]) if language != SHELL]


def script(section: str, **variables: str) -> str:
    """The section's commands in bash, every one of which has to end as the guide says: well, if it says nothing.

    ``variables`` takes the place of what the guide assigns to them.
    """
    lines = "".join(commands(section)).splitlines()
    assigned = [re.match(r"(\w+)=", line) for line in lines]
    names = [found[1] if found else None for found in assigned]
    assert set(variables) <= set(names)
    return _PREAMBLE + "\n".join(
        f"{name}={shlex.quote(variables[name])}" if name in variables else _expecting(line)
        for name, line in zip(names, lines, strict=True)
    )


def _expecting(line: str) -> str:
    found = _EXPECTED.search(line)
    return f"expect {found[1]} {found[2]} {line[: found.start()]}" if found else line
