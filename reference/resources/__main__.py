"""``python -m reference.resources``: the tables as Markdown; with ``--write FILE`` between that file's two marks."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import triton

from reference.resources.tables import entries, kernel_table, warps_table

BEGIN, END = "<!-- resources: begin -->", "<!-- resources: end -->"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m reference.resources", description=__doc__)
    parser.add_argument("--write", type=Path, metavar="FILE", help=f"a file with the lines {BEGIN} and {END}")
    wanted = parser.parse_args(arguments)
    text = document()
    if wanted.write is None:
        sys.stdout.write(text)
    else:
        wanted.write.write_text(between_marks(wanted.write.read_text("utf-8"), text), "utf-8")
    return 0


def document() -> str:
    """Both tables with their headings."""
    return "\n".join(
        [
            f"As launched, float32, compiled by Triton {triton.__version__}:",
            "",
            *kernel_table(entries()),
            "",
            "`softmax_one_row` on sm_90 by its number of warps: registers a thread, and the KiB of rows that one",
            "multiprocessor holds at once.",
            "",
            *warps_table(),
            "",
        ]
    )


def between_marks(page: str, text: str) -> str:
    """The page with ``text`` in place of what stands between its marks. Raises ValueError if it has none."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the file has no lines {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{text}{END}{after}"


if __name__ == "__main__":
    sys.exit(main())
