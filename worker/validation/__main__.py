"""``python -m worker.validation SLUG|FOLDER|ZIP [--json]``: validate a drill without a server."""

from __future__ import annotations

import argparse
import sys
import time
from datetime import UTC, datetime

from graders.archive import PackageRefused
from graders.catalogue import Catalogue, judge_catalogue
from graders.validation import Finding, Severity, ValidationReport
from graders.verdict import Lane
from worker.standalone import CANNOT_JUDGE, Judging, package_of, reader_locale, set_up
from worker.validation.engine import Validation


class _Progress:
    """Prints what is through to standard error, and after how many seconds; never cancels."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def stage(self, name: str) -> None:
        self._tell(f"{name}…")

    def graded(self, name: str, verdict: str, done: int, total: int) -> None:
        self._tell(f"{done:3}/{total} {name}: {verdict or 'the judge failed'}")

    def _tell(self, what: str) -> None:
        print(f"{time.monotonic() - self._began:6.1f} s  {what}", file=sys.stderr)

    def cancelled(self) -> bool:
        return False


def main(arguments: list[str] | None = None) -> int:
    """Exit code 0 only for valid, 1 for a drill that is not, 2 when it could not be validated."""
    parser = argparse.ArgumentParser(prog="warpgrade drill validate", description="Validate a drill without a server.")
    parser.add_argument("drill", help="a built-in drill's slug, a folder or a zip")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    options = parser.parse_args(arguments)
    try:
        report, catalogue = _validated(options.drill, set_up())
    except (OSError, ValueError, *CANNOT_JUDGE) as error:
        print(f"warpgrade drill validate: {error}", file=sys.stderr)
        return 2
    print(report.model_dump_json(indent=2) if options.json else render(report, catalogue, reader_locale()))
    return 0 if report.valid else 1


def render(report: ValidationReport, catalogue: Catalogue, locale: str) -> str:
    """The findings as plain text, errors first, and what the drill costs."""
    lines = [line for finding in (*report.errors, *report.warnings) for line in _told(finding, catalogue, locale)]
    for cost in report.costs:
        held = f", {cost.memory_mib:.1f} MiB" if cost.memory_mib is not None else ""
        lines.append(
            f"{cost.lane}: {cost.slowest_case} {cost.slowest_case_ms:.0f} ms ({cost.slowest_submission}){held}"
        )
    lines += [
        f"{item.shape}: {item.time_us:.1f} µs ± {item.spread:.1%}, {item.fraction_of_copy:.0%}"
        for item in report.reference
    ]
    verdict = "validation_result.valid" if report.valid else "validation_result.invalid"
    params = {"errors": len(report.errors), "warnings": len(report.warnings), "submissions": len(report.submissions)}
    return "\n".join([*lines, catalogue.render(verdict, params, locale)])


def _told(finding: Finding, catalogue: Catalogue, locale: str) -> list[str]:
    sentence, cure = finding.told(catalogue, locale)
    place = f"{finding.place}: " if finding.place else ""
    return [f"{_MARKS[finding.severity]} {place}{sentence} [{finding.code}]", f"        {cure}"]


_MARKS = {Severity.ERROR: "error  ", Severity.WARNING: "warning"}


def _validated(name: str, judging: Judging) -> tuple[ValidationReport, Catalogue]:
    """The report and the catalogue to tell it with. Raises ValueError when nothing is there under that name."""
    try:
        package = package_of(name)
    except PackageRefused as refused:
        return _refused(refused.finding, judging.post.lane), judge_catalogue()
    return Validation(package, judging.post, _Progress(), judging.maximum).run(), judge_catalogue()


def _refused(finding: Finding, lane: Lane) -> ValidationReport:
    now = datetime.now(UTC)
    return ValidationReport(
        slug=None, digest=None, lane=lane, complete=False, findings=[finding], started_at=now, finished_at=now
    )


if __name__ == "__main__":
    sys.exit(main())
