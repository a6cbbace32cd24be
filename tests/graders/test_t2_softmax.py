"""The row softmax drill: its cases ask what they say, its models are told apart, its reference passes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import graders
from graders.cases import Case
from graders.compare import compare
from graders.diagnosis import Evidence, diagnose
from graders.drill import Drill, load_drill
from graders.memory import Call, Draw
from graders.package import Package
from graders.verdict import Lane, Visibility
from tests.graders.calls import drawn, placed

ROOT = Path(graders.__file__).parent.parent
DRILL: Drill = load_drill(ROOT, "t2_softmax")
JUDGED = [case for case in DRILL.cases if case.skip_reason(Lane.INTERPRETER) is None]
TABLE = {
    "basic": (6, Visibility.PUBLIC),
    "all_negative": (8, Visibility.HINTED),
    "large_magnitude": (8, Visibility.HINTED),
    "strided_views": (10, Visibility.HINTED),
    "huge": (6, Visibility.HIDDEN),
    "all_inf": (8, Visibility.HINTED),
    "partial_inf": (6, Visibility.HINTED),
    "lengths": (8, Visibility.HINTED),
    "dtypes": (5, Visibility.HIDDEN),
    "contract": (5, Visibility.HINTED),
}


def case_named(name: str) -> Case:
    (case,) = (case for case in DRILL.cases if case.name == name)
    return case


def values_of(name: str) -> torch.Tensor:
    return drawn(case_named(name)).inputs[0].values


def test_points_and_visibility_are_the_tables():
    found = {category.name: (category.points, category.visibility) for category in DRILL.manifest.categories}
    assert found == TABLE
    assert DRILL.manifest.correctness_points == 70
    assert DRILL.manifest.performance_points == 30


def test_the_interpreter_is_not_asked_for_much():
    programs = sum(drawn(case).outs[0].layout.shape[0] * case.calls for case in JUDGED)
    assert programs < 400
    assert max(drawn(case).outs[0].layout.view_numel for case in JUDGED) <= 200_000


@pytest.mark.parametrize("case", JUDGED, ids=lambda case: case.name)
def test_an_output_is_like_its_input(case: Case):
    call = drawn(case)
    (x,), (out,) = call.inputs, call.outs
    assert out.dtype is x.values.dtype is getattr(torch, case.dtype)
    assert out.layout.shape == x.layout.shape == tuple(x.values.shape)
    assert out.layout.strides[1] == 1


@pytest.mark.parametrize("case", JUDGED, ids=lambda case: case.name)
def test_zeros_and_a_constant_fail_every_case(case: Case):
    (expected,) = DRILL.oracle(drawn(case).inputs[0].values)
    dtype = getattr(torch, case.dtype)
    if case.name not in ("whole_matrix", "n1"):
        assert compare(torch.zeros(expected.shape, dtype=dtype), expected, DRILL.policy) is not None
    if case.name not in ("all_equal", "n1"):
        constant = torch.full(expected.shape, 1 / expected.shape[1], dtype=dtype)
        assert compare(constant, expected, DRILL.policy) is not None


@pytest.mark.parametrize("category", TABLE)
def test_each_category_is_judged_without_a_gpu(category: str):
    assert any(case.category == category for case in JUDGED)


def test_values_are_what_the_table_says():
    assert set(values_of("small_numbers").flatten().tolist()) <= {-4.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0}
    assert float(values_of("around_minus_1000_n1025").max()) < -900
    assert float(values_of("near_minus_1e30").max()) == pytest.approx(-1e30)
    assert float(values_of("up_to_60000_fp16").abs().max()) > 50_000
    assert values_of("one_finite").isfinite().sum(1).tolist() == [1, 1, 1]
    assert values_of("first_and_last_row").isfinite().any(1).tolist() == [False, True, True, False]
    assert not values_of("whole_matrix").isfinite().any()
    assert values_of("causal").isfinite().sum(1).tolist() == list(range(1, 17))
    assert float(values_of("over_11_float16").min()) > 11
    late = values_of("first_blocks_of_a_long_row").isfinite()
    assert not late[0, :32_768].any()
    assert not late[-1, :-32].any()


def test_wrapped_rows_find_the_decoy():
    placing = placed(drawn(case_named("far_rows_of_x")))
    layout = placing.call.inputs[0].layout
    assert layout.strides[0] < 2**31 <= 2 * layout.strides[0]
    wrapped = 2 * layout.strides[0] - 2**32
    found = placing.call.gather(0, wrapped + torch.arange(1000))
    assert torch.equal(found, placing.inputs[0][1].flip(0).double())
    assert not torch.equal(found, placing.inputs[0][2].double())


def test_wrapped_rows_of_the_output_stay_in_its_storage():
    out = drawn(case_named("far_rows_of_out")).outs[0].layout
    assert out.lead + 2 * out.strides[0] - 2**32 >= 0


@pytest.mark.parametrize("name", ["many_elements", "many_rows"])
def test_real_sizes_wait_for_a_gpu(name: str):
    case = case_named(name)
    reason = case.skip_reason(Lane.INTERPRETER)
    assert reason is not None
    assert reason.key == "skip.needs_gpu"
    assert case.skip_reason(Lane.GPU, device_gb=139) is None


def test_a_small_gpu_is_spared():
    reason = case_named("many_elements").skip_reason(Lane.GPU, device_gb=24)
    assert reason is not None
    assert reason.key == "skip.device_memory"
    x = case_named("many_elements").make(Draw(torch.Generator().manual_seed(1), interpreter=False)).inputs[0]
    assert x.layout.view_numel > 2**31
    assert x.values.untyped_storage().nbytes() < 1 << 20


def test_bfloat16_waits_for_a_gpu():
    skipped = [case.name for case in DRILL.cases if case.dtype == "bfloat16"]
    assert skipped
    assert not {case.name for case in JUDGED} & set(skipped)


# Diagnosis: an output that a model predicts is told by that model's name, and by no other's

MODELLED = {
    "padding_zero": 0,
    "padding_finite": 5,
    "stride_is_n": -1,
    "column_stride_is_1": 0,
    "out_like_x": 0,
    "int32_rows": 0,
    "no_max": 1,
    "max_from_zero": 1,
    "sixteen_bits": 0,
    "nan_on_all_inf": 0,
    "block_capped": 11,
}


@pytest.fixture(scope="module")
def answers() -> list[tuple[Call, tuple[torch.Tensor, ...]]]:
    """Each case's call, with its storages, and the right outputs."""
    calls = [placed(drawn(case)).call for case in JUDGED]
    return [(call, DRILL.oracle(call.inputs[0].values)) for call in calls]


@pytest.mark.parametrize("key", MODELLED)
def test_a_mistake_is_told_by_its_name_alone(key: str, answers: list[tuple[Call, tuple[torch.Tensor, ...]]]):
    (mistake,) = (item for item in DRILL.misconceptions if item.key == key)
    model = mistake.models[MODELLED[key]]
    evidence = []
    for ordinal, (call, expected) in enumerate(answers, 1):
        outputs = model(call) if mistake.applies(call) else expected
        got = outputs[0].to(call.outs[0].dtype)
        passed = compare(got, expected[0], DRILL.policy) is None
        evidence.append(Evidence(ordinal, passed, call, (got,), expected))
    assert not all(item.passed for item in evidence)
    found = diagnose(DRILL.misconceptions, evidence, "", DRILL.policy)
    assert [diagnosis.misconception for diagnosis in found] == [key]
    assert found[0].cases == [item.ordinal for item in evidence if not item.passed]


def test_every_misconception_is_tried():
    assert set(MODELLED) == {item.key for item in DRILL.misconceptions}


def test_the_reference_passes_every_case():
    environment = os.environ | {"TRITON_INTERPRET": "1"}
    command = [sys.executable, "-m", "tests.graders.interpreted", str(DRILL.reference)]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {case.name: None for case in JUDGED}


@pytest.mark.parametrize("locale", ["en", "zh"])
def test_the_statement_says_what_is_judged(locale: str):
    statement = Package.from_tree("t2_softmax").statement(locale)
    for said in ("softmax(x: torch.Tensor, out: torch.Tensor) -> None", "exp2", "stride", "2³¹", "float32", "−inf"):
        assert said in statement
    for case in DRILL.cases:
        assert f" {case.name} " not in statement
    for category in DRILL.manifest.categories:
        assert f"| {category.points:g} |" in statement
