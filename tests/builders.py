"""Builders of what tests need: a small drill, people, submissions, reports."""

from __future__ import annotations

from typing import Any

from sqlalchemy.orm import Session

from app.access.principals import Principal, Role, Via
from app.drills import service as drills
from app.store.ids import new_id
from app.store.models import DrillVersion, User, VersionState
from app.submissions.service import Submitted, submit
from app.workers.service import WorkerInfo
from graders.package import Package
from graders.report import CaseResult, Cause, Environment, Message, Performance, PerformanceStatus, Report, Timeline
from graders.verdict import CaseStatus, Lane, State, Verdict, Visibility

SOURCE = "def toy(x, out):\n    out.copy_(x)\n"

_MANIFEST = """
format = 1
slug = "{slug}"
title = {{ en = "Toy", zh = "玩具" }}
summary = {{ en = "Copy a tensor.", zh = "复制一个张量。" }}
tags = ["copy"]

[entry_point]
name = "toy"
inputs = ["x"]
outputs = ["out"]

[tolerance]
policy = "one_rounding"
relative = 1e-5
reason = "a copy is exact"

[limits.interpreter]
case_s = 20

[operations]
allowed = ["empty"]

[performance]
points = 40

[[categories]]
name = "basic"
points = 20
visibility = "public"
title = {{ en = "Basics", zh = "基础" }}

[[categories]]
name = "edges"
points = 40
visibility = "hidden"
title = {{ en = "Edges", zh = "边界" }}
"""


def toy_package(slug: str = "toy", statement: str = "Copy $x$.") -> Package:
    """A drill that only the web service reads: nothing in it can be judged."""
    folder = f"graders/{slug}"
    texts = {
        f"{folder}/drill.toml": _MANIFEST.format(slug=slug),
        f"{folder}/statement.en.md": statement,
        f"{folder}/statement.zh.md": "复制 $x$。",
        f"{folder}/sentences.en.toml": "",
        f"{folder}/sentences.zh.toml": "",
        f"{folder}/starter.py": "def toy(x, out):\n    ...\n",
        f"reference/{slug}.py": "",
    }
    return Package(slug, {name: text.encode() for name, text in texts.items()})


def add_drill(session: Session, package: Package | None = None) -> DrillVersion:
    """A published drill version; adding it again is adding nothing."""
    version = drills.add_version(session, package or toy_package(), owner_id=None, state=VersionState.VALID)
    if version.state == VersionState.VALID.value:
        drills.publish(session, version)
    return version


def add_user(session: Session, name: str = "ada", role: Role = Role.STUDENT) -> Principal:
    user = User(name=name, role=role.value)
    session.add(user)
    session.flush()
    return Principal(user_id=user.id, name=name, role=role, via=Via.TOKEN)


def add_submission(session: Session, principal: Principal, slug: str = "toy", source: str = SOURCE) -> Submitted:
    return submit(session, principal, slug, source, per_hour=1000)


def environment(**changes: Any) -> Environment:
    values = {"mode": "interpreter", "python": "3.11", "torch": "2.13", "triton": "3.9", "sandbox": "A"}
    return Environment(**(values | changes))


def worker_info(lane: Lane = Lane.INTERPRETER, **changes: Any) -> WorkerInfo:
    values: dict[str, Any] = {
        "id": new_id(),
        "queue": lane.queue,
        "lane": lane,
        "hostname": "bench",
        "pid": 1,
        "sandbox": "A",
        "environment": environment(mode="gpu" if lane is Lane.GPU else "interpreter"),
    }
    return WorkerInfo(**(values | changes))


def passed_case(ordinal: int = 1, visibility: Visibility = Visibility.PUBLIC, **changes: Any) -> CaseResult:
    values: dict[str, Any] = {
        "ordinal": ordinal,
        "name": f"case_{ordinal}",
        "category": "basic" if visibility is Visibility.PUBLIC else "edges",
        "visibility": visibility,
        "status": CaseStatus.PASSED,
        "verdict": Verdict.ACCEPTED,
        "points": 10,
        "max_points": 10,
        "duration_ms": 1.5,
        "stdout": "printed",
    }
    return CaseResult(**(values | changes))


def failed_case(ordinal: int = 1, visibility: Visibility = Visibility.HIDDEN) -> CaseResult:
    return passed_case(
        ordinal,
        visibility,
        status=CaseStatus.FAILED,
        verdict=Verdict.WRONG_ANSWER,
        points=0,
        cause=Cause(key="case.mismatch", params={"secret": "0.2578125"}),
    )


def report(cases: list[CaseResult] | None = None, **changes: Any) -> Report:
    """An accepted report, or whatever ``changes`` make of it."""
    cases = [passed_case()] if cases is None else cases
    values: dict[str, Any] = {
        "id": "",
        "drill": "toy",
        "drill_version": 1,
        "attempt": 1,
        "state": State.DONE,
        "verdict": Verdict.ACCEPTED,
        "score": 10,
        "max_score": 60,
        "environment": environment(),
        "timeline": Timeline(phases_ms={"judge": 12.0}),
        "expected_cases": len(cases),
        "cases": cases,
        "performance": Performance(
            status=PerformanceStatus.NOT_MEASURED, reason=Message(key="performance.no_gpu"), pending_points=40
        ),
    }
    return Report(**(values | changes))
