"""How exact and how fast the judge is on this GPU: ``make bench-judge``. Prints tables, of what was measured if it is
stopped; ``--json`` keeps the numbers, after every grading.

The reference's own kernel is graded against itself again and again, one grading after the other: for that the drill's
``timed_reference`` is taken out. Others (``--also``) are graded against what the drill has. Then, the judge gone and
the GPU free, another process times the kernel's calls by the device's own events, in one CUDA graph.
"""

from __future__ import annotations

import argparse
import json
import secrets
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from graders.package import Package  # noqa: E402
from graders.report import CaseResult, PerformanceStatus, Report  # noqa: E402
from graders.verdict import Lane, State  # noqa: E402
from worker.job import Job  # noqa: E402
from worker.supervisor.lane import STANDBY, choose_post  # noqa: E402
from worker.supervisor.supervisor import Supervisor  # noqa: E402

SLUG = "t2_softmax"
REFERENCE = ROOT / "reference" / f"{SLUG}.py"
SHORT_SHAPES = ROOT / "scripts" / "short_shapes.py"


class Quiet:
    """A listener that hears nothing."""

    def state(self, state: State) -> None: ...

    def case(self, result: CaseResult) -> None: ...

    def cancelled(self) -> bool:
        return False


def without_timed_reference(package: Package) -> Package:
    """The drill as it would be without: its entry point is what submissions are timed against."""
    name = REFERENCE.relative_to(ROOT).as_posix()
    return Package(package.slug, package.files | {name: package.files[name] + b"\ndel timed_reference\n"})


def at_short_shapes(package: Package) -> Package:
    """The drill with other timed shapes."""
    return Package(package.slug, package.files | {f"graders/{SLUG}/performance.py": SHORT_SHAPES.read_bytes()})


Graded = list[tuple[Report, float]]
"""Reports that have speeds, each with the seconds that its grading took: of one source, by the file's name."""


def grade_all(shipped: Package, sources: list[Path], gradings: int, keep: Callable[[str, Report, float], None]) -> None:
    """``gradings`` gradings of each source, after one that warms the judge. ``keep`` gets each that has speeds, and the
    seconds that it took."""
    post = choose_post("gpu", "auto")
    itself = without_timed_reference(shipped)
    supervisor = Supervisor(Lane.GPU, STANDBY[Lane.GPU], sandbox=post.sandbox)
    supervisor.warm_up()

    def grade(source: Path) -> tuple[Report, float]:
        package = itself if source == REFERENCE else shipped
        job = Job(
            id=source.stem,
            slug=SLUG,
            version=1,
            digest=package.digest,
            attempt=1,
            source=source.read_text("utf-8"),
            seed=secrets.token_hex(16),
            lane=Lane.GPU,
            limits=package.manifest.limits_for(Lane.GPU),
            sandbox=post.sandbox.name,
        )
        archive = package.to_zip()
        began = time.monotonic()
        report = supervisor.grade(job, archive, Quiet())
        seconds = time.monotonic() - began
        ratio = report.performance.ratio
        print(f"{source.stem}: {seconds:.2f} s, {report.score:g} points, ratio {ratio and round(ratio, 4)}", flush=True)
        return report, seconds

    try:
        for place, source in enumerate(sources):
            if place < 2:
                print("the first grading of this drill, with the baselines, is not counted:", flush=True)
                grade(source)
            for _ in range(gradings):
                report, seconds = grade(source)
                if report.performance.status is PerformanceStatus.MEASURED:
                    keep(source.stem, report, seconds)
                else:
                    print(f"not counted: {report.verdict}, {report.performance.reason or report.cause}", flush=True)
    finally:
        supervisor.close()


def own_times(*arguments: str) -> dict[str, float]:
    """Microseconds a call by the device's own clock, from a process of its own; none if it fails, and says why."""
    program = ROOT / "scripts" / "device_times.py"
    done = subprocess.run([sys.executable, program, *arguments], stdout=subprocess.PIPE, text=True, check=False)
    times: dict[str, float] = json.loads(done.stdout) if done.returncode == 0 else {}
    return times


def print_shapes(name: str, graded: Graded, own: dict[str, float]) -> None:
    print(f"\n{name}: {len(graded)} gradings\n")
    print("| shape | ratio: mean, least, most | sd | median half-width | rounds | µs | device's own | copy | torch |")
    print("|---|---|---|---|---|---|---|---|---|")
    by_shape = zip(*(report.performance.shapes for report, _ in graded), strict=True)
    for timings in by_shape:
        ratios = [timing.ratio for timing in timings]
        time_us = statistics.median(timing.time_us for timing in timings)
        own_us = own.get(timings[0].name) if name == SLUG else None
        compared = f"{own_us:.2f} ({100 * (time_us / own_us - 1):+.1f} %)" if own_us else "-"
        print(
            f"| {timings[0].name} | {statistics.fmean(ratios):.4f} {min(ratios):.4f} {max(ratios):.4f} "
            f"| {statistics.pstdev(ratios):.4f} | {statistics.median(t.half_width for t in timings):.4f} "
            f"| {statistics.median(t.rounds for t in timings):g} | {time_us:.2f} | {compared} "
            f"| {timings[0].copy_us or 0:.2f} | {timings[0].torch_us or 0:.2f} |"
        )
    scores = [report.score for report, _ in graded]
    print(f"\nscore: least {min(scores):.3f}, most {max(scores):.3f}, spread {max(scores) - min(scores):.3f} points")


def print_phases(graded: Graded) -> None:
    """Medians in milliseconds: 'ours' is all but the submission's own code and the measurement."""
    rows: dict[str, list[float]] = {}
    for report, seconds in graded:
        phases = report.timeline.phases_ms
        ours = seconds * 1e3 - phases["submission"] - phases["measure"]
        measuring = {f"  {part}": spent for part, spent in report.timeline.measuring_ms.items()}
        for key, value in {**phases, "ours": ours, "total": seconds * 1e3, **measuring}.items():
            rows.setdefault(key, []).append(value)
    for key, values in rows.items():
        print(f"{key:12} median {statistics.median(values):9.1f} ms, least {min(values):9.1f}, most {max(values):9.1f}")
    per_minute = 60 / statistics.fmean(seconds for _, seconds in graded)
    print(f"gradings a minute, one after the other: {per_minute:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gradings", type=int, default=20)
    parser.add_argument("--also", type=Path, nargs="*", default=[], help="other submissions, graded as often")
    parser.add_argument("--short", action="store_true", help="at shapes of 5 to 35 µs a call instead of the drill's")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()

    sources = [REFERENCE, *(path.resolve() for path in arguments.also)]
    if len({source.stem for source in sources}) < len(sources):
        parser.error("two files of one name, or the reference beside itself")
    graded: dict[str, Graded] = {}

    def keep(name: str, report: Report, seconds: float) -> None:
        graded.setdefault(name, []).append((report, seconds))
        if arguments.json:
            kept = {name: [as_json(report, seconds) for report, seconds in done] for name, done in graded.items()}
            arguments.json.write_text(json.dumps(kept))

    package = Package.from_tree(SLUG)
    package = at_short_shapes(package) if arguments.short else package
    try:
        grade_all(package, sources, arguments.gradings, keep)
    finally:
        tell(graded, ["--short"] if arguments.short else [])


def tell(graded: dict[str, Graded], shapes: list[str]) -> None:
    """Print the tables. ``shapes`` tells the program with the device's own times which shapes they are."""
    for reports in graded.values():
        print_phases(reports)
        print(f"GPU: {reports[-1][0].environment.gpu}, {reports[-1][0].performance.conditions}", flush=True)
    own = own_times(*shapes) if graded else {}
    for name, reports in graded.items():
        print_shapes(name, reports, own)


def as_json(report: Report, seconds: float) -> dict[str, object]:
    performance, timeline = (part.model_dump(mode="json") for part in (report.performance, report.timeline))
    return {"score": report.score, "performance": performance, "timeline": timeline, "seconds": seconds}


if __name__ == "__main__":
    main()
