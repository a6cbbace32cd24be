"""What an instructor uploads, made into a package or refused with all that is wrong.

Nothing of it is run or reaches the disk, and it is read in a process of its own (``inspection``); what only running
the drill can show is for the judge.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Sequence

from app.drills.findings import FindingOut
from app.drills.inspection import Inspected, decode, unreadable
from app.errors import FieldError, Problem
from graders.limits import PACKAGE_BYTES
from graders.package import Package
from graders.validation import Finding, FindingCode

_WALL_S = 30
_TOO_MUCH = "reading it takes too much time or memory"
_at_once = threading.BoundedSemaphore(2)


def read_package(data: bytes) -> Package:
    """The package of an uploaded zip. Raises Problem(package-too-large, package-refused)."""
    if len(data) > PACKAGE_BYTES:
        raise refusal([Finding.of(FindingCode.PACKAGE_TOO_LARGE, limit_mib=PACKAGE_BYTES >> 20)])
    inspected = _inspected(data)
    if inspected.findings:
        raise refusal(inspected.findings)
    return Package.from_zip(inspected.slug, inspected.package)


def refusal(findings: Sequence[Finding]) -> Problem:
    """The problem that names file and line of each finding."""
    shown = [FindingOut.of(finding) for finding in findings]
    sentences = [f"{finding.place}: {finding.text.en}" if finding.file else finding.text.en for finding in shown]
    more = f" ({len(shown) - 1} more in 'findings')" if len(shown) > 1 else ""
    too_large = findings[0].code is FindingCode.PACKAGE_TOO_LARGE
    return Problem(
        "package-too-large" if too_large else "package-refused",
        sentences[0] + more,
        errors=[
            FieldError(finding.place or "file", finding.code.value, sentence)
            for finding, sentence in zip(shown, sentences, strict=True)
        ],
        extra={"findings": [finding.model_dump(mode="json") for finding in shown]},
    )


def _inspected(data: bytes) -> Inspected:
    command = [sys.executable, "-m", "app.drills.inspection"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("WARPGRADE_", "PG"))}
    try:
        with _at_once:
            done = subprocess.run(
                command, input=data, capture_output=True, env=environment, timeout=_WALL_S, check=False
            )
    except subprocess.TimeoutExpired:
        return Inspected([unreadable(_TOO_MUCH)])
    if done.returncode < 0:
        return Inspected([unreadable(_TOO_MUCH)])
    if done.returncode > 0:
        raise RuntimeError(f"the inspection of an upload failed: {done.stderr.decode(errors='replace')[-4000:]}")
    return decode(done.stdout)
