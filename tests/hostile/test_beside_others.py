"""Tier B withstands what is about the sandbox: processes, files, sockets, signals and memory. The rest of the corpora
is about the judge, who is the same in every tier; ``pytest tests/hostile tests/worker/test_faults.py --tier B`` runs
all of it there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from graders.package import Package
from graders.verdict import Lane, Verdict
from tests.faults import FAULTS, RIGHT, Fault
from tests.hostile.corpus import Hostile, corpus
from tests.hostile.judged import assert_withstood
from tests.packages import AROUND_A_FAULT, reduced
from tests.processes import named, wait_until
from tests.worker.conftest import Quiet, make_job, warm_supervisor
from worker.supervisor.supervisor import Supervisor

DEATH_S = 10.0

SUBMISSIONS = (
    *("answering_child", "busy_children", "late_write", "resident_child", "stopped_process"),
    *("cache_poisoning", "deleted_file", "grader_file_edit", "inode_flood", "seed_from_environ", "tests_from_disk"),
    *("network", "privileges"),
    *("hidden_from_the_watchdog", "memory_behind_a_dead_leader", "memory_in_segments", "memory_without_mapping"),
)
STRIKES = ("daemon_left_behind", "file_flood", "many_files", "fork_bomb", "kill_itself", "thread_bomb")


@pytest.fixture(scope="module")
def beside_others() -> Iterator[Supervisor]:
    with warm_supervisor("B", interpreters=2) as supervisor:
        yield supervisor


@pytest.mark.parametrize("hostile", [item for item in corpus() if item.name in SUBMISSIONS], ids=lambda item: item.name)
def test_the_judge_is_not_fooled(beside_others: Supervisor, reduced_package: Package, hostile: Hostile) -> None:
    job = make_job(hostile.source, reduced_package, **{"case_s": 8.0, "grading_s": 90.0, **hostile.limits})
    report = beside_others.grade(job, reduced_package.to_zip(), Quiet())
    assert_withstood(hostile, Lane.INTERPRETER, report)


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault.name in STRIKES], ids=lambda fault: fault.name)
def test_a_fault_costs_its_case_and_no_other(beside_others: Supervisor, package: Package, fault: Fault) -> None:
    struck = reduced(package, **AROUND_A_FAULT)
    mark = f"wg-{fault.name}"[:15]
    report = beside_others.grade(make_job(fault.source(mark), struck, **fault.limits), struck.to_zip(), Quiet())
    wait_until(lambda: named(mark) == [], "all that it started is dead", DEATH_S)
    fault.check(report)


def test_a_right_kernel_is_accepted_after_all_that(beside_others: Supervisor, package: Package) -> None:
    report = beside_others.grade(make_job(RIGHT, package), package.to_zip(), Quiet())
    assert report.verdict is Verdict.ACCEPTED
    assert report.score == report.max_score
