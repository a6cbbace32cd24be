"""``python -m worker.grade FILE --drill SLUG|FOLDER|ZIP [--seed HEX] [--json]``: grade a file without a server."""

from __future__ import annotations

import argparse
import secrets
import sys
from pathlib import Path

from graders.archive import PackageRefused
from graders.catalogue import Catalogue, judge_catalogue
from graders.foreign_text import visible
from graders.limits import SOURCE_BYTES
from graders.package import Package
from graders.report import CaseResult, Param, Report
from graders.verdict import CaseStatus, State, Verdict, Visibility
from worker.job import Job
from worker.standalone import CANNOT_JUDGE, Judging, package_of, reader_locale, set_up
from worker.supervisor.lane import STANDBY
from worker.supervisor.supervisor import Supervisor

_MARKS = {
    CaseStatus.PASSED: "ok",
    CaseStatus.FAILED: "FAILED",
    CaseStatus.ERROR: "ERROR",
    CaseStatus.SKIPPED: "skipped",
}

_CONTINUED = "\n      | "
"""Before the second line of a text, which may be the submission's own: it looks like no line of ours."""


class _Progress:
    """Prints the state to standard error; never cancels."""

    def state(self, state: State) -> None:
        print(f"{state}…", file=sys.stderr)

    def case(self, result: CaseResult) -> None:
        """Cases are printed with the report."""

    def cancelled(self) -> bool:
        return False


def main(arguments: list[str] | None = None) -> int:
    """Exit code 0 only for accepted, 1 for every other verdict, 2 when it could not be graded."""
    parser = argparse.ArgumentParser(prog="warpgrade grade", description="Grade a file without a server.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--drill", required=True, help="a built-in drill's slug, a folder or a zip")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--seed", default=None, help="replay the tests that this seed draws, as staff are shown it")
    options = parser.parse_args(arguments)
    try:
        source, package = _read(options.file), package_of(options.drill)
        report = _grade(source, package, set_up(), options.seed or secrets.token_hex(16))
    except PackageRefused as refused:
        sentence, _ = refused.finding.told(judge_catalogue(), reader_locale())
        print(f"warpgrade grade: {sentence}", file=sys.stderr)
        return 2
    except (OSError, ValueError, *CANNOT_JUDGE) as error:
        print(f"warpgrade grade: {error}", file=sys.stderr)
        return 2
    if options.json:
        print(report.model_dump_json(indent=2))
    else:
        catalogue = judge_catalogue().extended({locale: package.sentences(locale) for locale in ("en", "zh")})
        print(render(report, catalogue, reader_locale()))
    return 0 if report.verdict is Verdict.ACCEPTED else 1


def render(report: Report, catalogue: Catalogue, locale: str) -> str:
    """The report as plain text."""
    lines = [f"{catalogue.render(f'verdict_name.{report.verdict}', locale=locale)} ({report.verdict.alias})"]
    lines.append(catalogue.render(f"verdict.{report.verdict}", locale=locale))
    lines.append(f"{report.score:g} / {report.max_score:g}")
    if report.cause is not None:
        lines.append(catalogue.render(report.cause.key, report.cause.params, locale))
        if report.cause.hint_key is not None:
            lines.append("  " + catalogue.render(report.cause.hint_key, locale=locale))
    lines += [f"line {note.line}: {catalogue.render(note.key, note.params, locale)}" for note in report.annotations]
    for item in report.diagnoses:
        lines.append(catalogue.render(item.evidence.key, item.evidence.params, locale))
        lines.append("  " + catalogue.render(item.hint_key, locale=locale))
    first = _first_failing(report)
    for case in report.cases:
        why = catalogue.render(case.cause.key, case.cause.params, locale) if case.cause else ""
        lines.append(f"{case.ordinal:3} {_MARKS[case.status]:8}{case.category}/{case.name} {why}".rstrip())
        if case is first:
            lines += [f"    {detail}" for detail in _details(case, catalogue, locale)]
    lines += [catalogue.render(notice.key, notice.params, locale) for notice in report.notices]
    return "\n".join(visible(line).replace("\n", _CONTINUED) for line in lines)


def _first_failing(report: Report) -> CaseResult | None:
    """The first public test that did not pass, or else the first of any."""
    failing = [case for case in report.cases if case.status in (CaseStatus.FAILED, CaseStatus.ERROR)]
    return next((case for case in failing if case.visibility is Visibility.PUBLIC), failing[0] if failing else None)


def _details(case: CaseResult, catalogue: Catalogue, locale: str) -> list[str]:
    """How its output is wrong, a line each."""
    told: list[tuple[str, dict[str, Param]]] = []
    mismatch = case.mismatch
    if mismatch is not None and mismatch.first is not None:
        first = mismatch.first
        told.append(("first", {"index": str(first.index), "expected": first.expected, "got": first.got}))
        if first.allowed is not None:
            told.append(("allowed", {"allowed": first.allowed}))
    if mismatch is not None and mismatch.max_abs is not None and mismatch.max_ulp is not None:
        told.append(("largest", {"max_abs": mismatch.max_abs, "max_ulp": mismatch.max_ulp}))
    lines = [catalogue.render(f"detail.{name}", params, locale) for name, params in told]
    if mismatch is not None and mismatch.pattern is not None:
        lines.append(catalogue.render(mismatch.pattern, locale=locale))
    if case.cause is not None and case.cause.hint_key is not None:
        lines.append(catalogue.render(case.cause.hint_key, locale=locale))
    return lines


def _grade(source: str, package: Package, judging: Judging, seed: str) -> Report:
    lane, sandbox = judging.post.lane, judging.post.sandbox
    job = Job(
        id="local",
        slug=package.slug,
        version=0,
        digest=package.digest,
        attempt=1,
        source=source,
        seed=seed,
        lane=lane,
        limits=package.manifest.limits_for(lane, judging.maximum),
        sandbox=sandbox.name,
    )
    supervisor = Supervisor(lane, STANDBY[lane], sandbox=sandbox, maximum=judging.maximum)
    try:
        supervisor.warm_up()
        return supervisor.grade(job, package.to_zip(), _Progress())
    finally:
        supervisor.close()


def _read(path: Path) -> str:
    """The source, taken and refused as the server does. Raises ValueError."""
    data = path.read_bytes()
    if len(data) > SOURCE_BYTES:
        raise ValueError(f"{path} has {len(data)} bytes, more than {SOURCE_BYTES}")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not UTF-8 text") from None
    if "\0" in text:
        raise ValueError(f"{path} contains a NUL character")
    if not text.strip():
        raise ValueError(f"{path} is empty")
    return text


if __name__ == "__main__":
    sys.exit(main())
