"""The hostile submissions and what their headers promise.

``# does``, ``# exploit`` (the number of the mechanism in the catalogue), ``# lane`` (interpreter, gpu or both),
``# expect`` (the verdicts that the judge may give) and ``# naive`` (whether a naive grader is fooled, and about what)
stand in every file. ``# accepted`` says why a submission may be accepted all the same; ``# points: none`` promises
that it gets none; ``# limits`` and ``# cases: all`` say what it needs to show its trick.

``# expect on gpu`` stands where a GPU tells another verdict than the interpreter; ``# one lane because`` where a trick
exists in one of them alone; ``# clock`` where it is about speed: the ways in which its measurement may end.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from graders.report import PerformanceStatus
from graders.verdict import Lane, Verdict

REQUIRED = {"does", "exploit", "lane", "expect", "naive"}
OPTIONAL = {"accepted", "points", "limits", "cases", "expect on gpu", "one lane because", "clock"}

FOLDER = Path(__file__).with_name("submissions")

NOT_EXPRESSIBLE = {
    5: "the judge keeps no event handles in the submission's process",
    10: "one file cannot resubmit itself; quotas are tested with the service",
    13: "a callback of the driver needs a compiled extension, and what it writes late is what a thread writes late",
    18: "nothing searches the source for words",
    19: "no input exists while the submission is imported: see seed_replay and embedded_answers",
    23: "results are destinations: nothing that is returned is compared",
    24: "results are destinations: nothing that is returned is compared",
    25: "results are destinations: nothing moves them",
    33: "a cache in an extension is a cache: see pointer_cache",
    44: "the judge counts mismatches in its own memory",
    48: "no source is executed in a shared namespace: see call_the_reference",
    55: "there is no secret to sign with",
    72: "no expected value is infinite",
    74: "a property of a tolerance: tests/graders",
    75: "the drill requires no algorithm beyond its result",
    80: "outputs are poisoned, and what lies there by luck is read as such: see freed_memory and silent_failure",
    85: "there is no reference class to inherit from",
    86: "the reference is not in the sandbox; resubmitting somebody's file is no matter of the judge",
    87: "the drill does not forbid what the language offers",
    89: "what a harness does to the cache: tests of the timing",
}
"""Mechanisms of the catalogue without a submission, and why."""

CATALOGUE = {
    *range(1, 8), 9, 10, *range(11, 20), *range(21, 26), 27, 29, 30, *range(32, 36), 36, 37, 38, *range(40, 46),
    46, 47, 48, 50, 51, 52, *range(53, 61), *range(62, 66), *range(67, 82), *range(82, 88), 89, 90,
}  # fmt: skip
"""The numbers of the catalogue, which has gaps."""


@dataclass(frozen=True)
class Hostile:
    """One submission."""

    path: Path
    header: dict[str, str]

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def source(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @property
    def exploit(self) -> int:
        return int(self.header["exploit"])

    @property
    def lane(self) -> str:
        return self.header["lane"]

    def runs_in(self, lane: Lane) -> bool:
        return self.lane in ("both", lane.value)

    def expected_in(self, lane: Lane) -> set[Verdict]:
        """The verdicts that the judge may give there."""
        expected = self.header["expect"]
        if lane is Lane.GPU:
            expected = self.header.get("expect on gpu", expected)
        return {Verdict(name) for name in expected.split("|")}

    @property
    def clock(self) -> set[PerformanceStatus]:
        """How its measurement may end; empty where speed is not its matter."""
        names = self.header.get("clock", "")
        return {PerformanceStatus(name) for name in names.split("|") if name}

    @property
    def accepted_because(self) -> str | None:
        return self.header.get("accepted")

    @property
    def scores_nothing(self) -> bool:
        return self.header.get("points") == "none"

    @property
    def needs_every_case(self) -> bool:
        return self.header.get("cases") == "all"

    @property
    def limits(self) -> dict[str, float]:
        pairs = (pair.split("=") for pair in self.header.get("limits", "").split())
        return {name: float(value) if name.endswith("_s") else int(value) for name, value in pairs}

    @property
    def fools_about(self) -> str | None:
        """What a naive grader gets wrong: ``answer``, ``time`` or ``speed-up``; None where it is not fooled."""
        told, _, about = self.header["naive"].partition(" about ")
        return (about or "answer") if told == "fooled" else None


def corpus() -> list[Hostile]:
    """All submissions by name."""
    return [Hostile(path, _header(path)) for path in sorted(FOLDER.glob("*.py"))]


def _header(path: Path) -> dict[str, str]:
    header: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("# "):
            break
        key, _, value = line.removeprefix("# ").partition(": ")
        header[key] = value
    return header
