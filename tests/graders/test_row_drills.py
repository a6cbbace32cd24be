"""The drills over rows: their cases ask what they say, their models are told apart, their references pass."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest
import torch

from graders.cases import Case
from graders.compare import compare
from graders.diagnosis import Evidence, diagnose
from graders.memory import Call
from graders.package import Package
from tests.graders.calls import drawn, placed
from tests.graders.row_drills import ROOT, SUBJECTS, Subject
from tests.processes import unwatched

Answer = tuple[Call, tuple[torch.Tensor, ...]]

each_drill = pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.slug)
each_case = pytest.mark.parametrize(
    ("subject", "case"),
    [pytest.param(subject, case, id=f"{subject.slug}-{case.name}") for subject in SUBJECTS for case in subject.judged],
)
each_mistake = pytest.mark.parametrize(
    ("subject", "key"),
    [pytest.param(subject, key, id=f"{subject.slug}-{key}") for subject in SUBJECTS for key in subject.modelled],
)


def values_of(call: Call) -> tuple[torch.Tensor, ...]:
    return tuple(operand.values for operand in call.inputs)


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """As in a judge: threads that wait for one another cost more than they bring."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@each_drill
def test_points_and_visibility_are_the_tables(subject: Subject):
    manifest = subject.drill.manifest
    found = {category.name: (category.points, category.visibility) for category in manifest.categories}
    assert found == subject.categories
    assert manifest.correctness_points == 70
    assert manifest.performance_points == 30


@each_case
def test_an_output_is_like_its_input(subject: Subject, case: Case):
    call = drawn(case)
    x, (out,) = call.inputs[0], call.outs
    assert out.dtype is x.values.dtype is getattr(torch, case.dtype)
    assert out.layout.shape == x.layout.shape == tuple(x.values.shape)
    assert out.layout.strides[1] == 1


@each_case
def test_zeros_and_a_constant_fail_every_case(subject: Subject, case: Case):
    drill = subject.drill
    (expected,) = drill.oracle(*values_of(drawn(case)))
    dtype = getattr(torch, case.dtype)
    if case.name not in subject.zero:
        assert compare(torch.zeros(expected.shape, dtype=dtype), expected, drill.policy) is not None
    if case.name not in subject.zero | subject.constant:
        constant = torch.full(expected.shape, float(expected.nanmean()), dtype=dtype)
        assert compare(constant, expected, drill.policy) is not None


@each_drill
def test_each_category_is_judged_without_a_gpu(subject: Subject):
    assert {case.category for case in subject.judged} == set(subject.categories)


@each_drill
def test_bfloat16_waits_for_a_gpu(subject: Subject):
    skipped = [case.name for case in subject.drill.cases if case.dtype == "bfloat16"]
    assert skipped
    assert not {case.name for case in subject.judged} & set(skipped)


@each_drill
def test_wrapped_rows_find_the_decoy(subject: Subject):
    placing = placed(drawn(subject.case_named("far_rows_of_x")))
    layout = placing.call.inputs[0].layout
    assert layout.strides[0] < 2**31 <= 2 * layout.strides[0]
    wrapped = 2 * layout.strides[0] - 2**32
    found = placing.call.gather(0, wrapped + torch.arange(layout.shape[1]))
    assert torch.equal(found, placing.inputs[0][1].flip(0).double())
    assert not torch.equal(found, placing.inputs[0][2].double())


@each_drill
def test_wrapped_rows_of_the_output_stay_in_its_storage(subject: Subject):
    out = drawn(subject.case_named("far_rows_of_out")).outs[0].layout
    assert out.lead + 2 * out.strides[0] - 2**32 >= 0


# Diagnosis: an output that a model predicts is told by that model's name, and by no other's


@pytest.fixture(scope="module")
def answers() -> dict[str, list[Answer]]:
    """By slug, each case's call with its storages, and the right outputs."""
    made = {}
    for subject in SUBJECTS:
        calls = [placed(drawn(case)).call for case in subject.judged]
        made[subject.slug] = [(call, subject.drill.oracle(*values_of(call))) for call in calls]
    return made


@each_mistake
def test_a_mistake_is_told_by_its_name_alone(subject: Subject, key: str, answers: dict[str, list[Answer]]):
    drill = subject.drill
    (mistake,) = (item for item in drill.misconceptions if item.key == key)
    model = mistake.models[subject.modelled[key]]
    evidence = []
    for ordinal, (call, expected) in enumerate(answers[subject.slug], 1):
        applies = mistake.applies(call)
        outputs = model(call) if applies else expected
        got = outputs[0].to(call.outs[0].dtype)
        passed = not applies or compare(got, expected[0], drill.policy) is None
        evidence.append(Evidence(ordinal, passed, call, (got,), expected))
    assert not all(item.passed for item in evidence)
    found = diagnose(drill.misconceptions, evidence, "", drill.policy)
    assert [diagnosis.misconception for diagnosis in found] == [key]
    assert found[0].cases == [item.ordinal for item in evidence if not item.passed]


@each_drill
def test_every_misconception_is_tried(subject: Subject):
    assert set(subject.modelled) == {item.key for item in subject.drill.misconceptions}


@each_drill
def test_the_reference_passes_every_case(subject: Subject):
    environment = unwatched() | {"TRITON_INTERPRET": "1"}
    command = [sys.executable, "-m", "tests.graders.interpreted", subject.slug, str(subject.drill.reference)]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {case.name: None for case in subject.judged}


@each_drill
@pytest.mark.parametrize("locale", ["en", "zh"])
def test_the_statement_says_what_is_judged(subject: Subject, locale: str):
    statement = Package.from_tree(subject.slug).statement(locale)
    for said in (subject.drill.manifest.entry_point.signature, "stride", "2³¹", "float32", *subject.said):
        assert said in statement
    for case in subject.drill.cases:
        assert f" {case.name} " not in statement
    for category in subject.drill.manifest.categories:
        assert f"| {category.points:g} |" in statement
