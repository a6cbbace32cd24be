"""``python -m reference.online_softmax [--json]``: exit code 0 only if every check holds.

``--json`` gives {passed, sections: [{title, checks: [{name, claim, holds, found}], example}]}, where an example is
null or {name, scores, block_size, steps: [{block, running_max, factor, denominator, largest_numerator}]}. JSON has no
infinities: they are the strings "inf" and "-inf".
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from reference.online_softmax.recurrence import Step
from reference.online_softmax.verification import Verification, verify

WIDTHS = (5, 9, 19, 12, 12)
"""Of a trace's columns, in characters."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m reference.online_softmax", description=verify.__doc__)
    parser.add_argument("--json", action="store_true", help="the checks and the traces as JSON")
    wanted = parser.parse_args(arguments)
    sections = verify()
    passed = all(check.holds for section in sections for check in section.checks)
    sys.stdout.write(as_json(sections, passed) if wanted.json else as_text(sections, passed))
    return 0 if passed else 1


def as_json(sections: Sequence[Verification], passed: bool) -> str:
    document = {"passed": passed, "sections": [asdict(section) for section in sections]}
    return json.dumps(_without_infinities(document), allow_nan=False, indent=2) + "\n"


def _without_infinities(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_infinities(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_infinities(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def as_text(sections: Sequence[Verification], passed: bool) -> str:
    lines: list[str] = []
    for number, section in enumerate(sections, 1):
        lines += [f"{number}. {section.title}", ""]
        if section.example is not None:
            lines += [*_trace(section.example.steps), ""]
        lines += [f"   {'holds' if check.holds else 'FAILS'}  {check.claim}: {check.found}" for check in section.checks]
        lines.append("")
    lines.append("Every check holds." if passed else "Some checks FAIL.")
    return "\n".join(lines) + "\n"


def _trace(steps: Sequence[Step]) -> list[str]:
    rows = [("block", "m", "c = exp(m_prev - m)", "l", "max |O|")]
    rows += [
        (
            str(step.block),
            f"{step.running_max:.4g}",
            f"{step.factor:.6g}",
            f"{step.denominator:.8g}",
            f"{step.largest_numerator:.8g}",
        )
        for step in steps
    ]
    return ["   " + "  ".join(cell.rjust(width) for cell, width in zip(row, WIDTHS, strict=True)) for row in rows]


if __name__ == "__main__":
    sys.exit(main())
