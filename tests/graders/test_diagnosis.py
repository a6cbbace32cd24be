"""The rule by which a misconception is named."""

from __future__ import annotations

import re

import torch

from graders.diagnosis import Evidence, diagnose
from graders.inputs import destination, strided
from graders.memory import Call
from graders.misconception import Misconception, Model
from graders.tolerance import OneRounding

POLICY = OneRounding(2e-5)
NAN = float("nan")


def call_of(*values: float) -> Call:
    x = strided(torch.tensor([values], dtype=torch.float32))
    return Call((x,), (destination(x),))


def evidence(ordinal: int, got: list[float], expected: list[float], *, passed: bool = False) -> Evidence:
    return Evidence(
        ordinal,
        passed,
        call_of(*expected),
        (torch.tensor([got], dtype=torch.float32),),
        (torch.tensor([expected], dtype=torch.float64),),
    )


def doubled(call: Call) -> tuple[torch.Tensor, ...]:
    """Twice what is right: the oracle of these calls is the identity."""
    return (call.inputs[0].values.double() * 2,)


def tripled(call: Call) -> tuple[torch.Tensor, ...]:
    return (call.inputs[0].values.double() * 3,)


def capped(call: Call) -> tuple[torch.Tensor, ...]:
    """Right below 10."""
    return (call.inputs[0].values.double().clamp(max=10),)


def named(items: list[Evidence], *models: Model, only_above: float = -1e9) -> list[list[int]]:
    misconception = Misconception("m", lambda call: float(call.inputs[0].values.max()) > only_above, models)
    return [found.cases for found in diagnose((misconception,), items, "", POLICY)]


def test_a_model_that_equals_every_failing_output_is_named():
    items = [evidence(4, [2, 4], [1, 2]), evidence(2, [6, 6], [3, 3])]
    assert named(items, doubled) == [[2, 4]]


def test_nothing_is_named_when_everything_passed():
    assert named([evidence(1, [1, 2], [1, 2], passed=True)], capped) == []


def test_one_failing_output_that_differs_refutes_a_model():
    assert named([evidence(1, [2, 4], [1, 2]), evidence(2, [9, 6], [3, 3])], doubled) == []


def test_a_passed_case_on_which_the_model_would_fail_refutes_it():
    items = [evidence(1, [2, 4], [1, 2]), evidence(2, [3, 3], [3, 3], passed=True)]
    assert named(items, doubled) == []
    assert named([evidence(1, [10], [12]), evidence(2, [3, 3], [3, 3], passed=True)], capped) == [[1]]


def test_cases_to_which_the_mistake_does_not_apply_say_nothing():
    items = [evidence(1, [2, 4], [1, 2]), evidence(2, [0.5], [0.5], passed=True), evidence(3, [9], [0.25])]
    assert named(items, doubled, only_above=0.9) == [[1]]
    assert named(items, doubled, only_above=5) == []


def test_a_failing_case_that_the_model_would_pass_refutes_it():
    nearly = 3 * (1 + 1e-4)
    assert named([evidence(1, [nearly], [3])], capped) == []


def test_on_the_edge_of_the_tolerance_a_model_need_not_fall_on_the_kernels_side():
    def off_by(share: float) -> Model:
        return lambda call: (call.inputs[0].values.double() * torch.tensor([2.0, 1 + share]),)

    both_fail = evidence(1, [2, 4], [1, 4])
    for share, passed, said in [
        (1.96e-5, False, [[1, 2]]),
        (1.8e-5, False, []),
        (2.04e-5, True, [[1]]),
        (2.2e-5, True, []),
    ]:
        got = 3.0 * (1 + (1.99e-5 if passed else 2.01e-5))
        edge = evidence(2, [0, got], [0, 3], passed=passed)
        assert named([both_fail, edge], off_by(share)) == said, share


def test_one_variant_has_to_explain_all_cases():
    twice, thrice = evidence(1, [2, 4], [1, 2]), evidence(2, [9, 9], [3, 3])
    assert named([twice], tripled, doubled) == [[1]]
    assert named([thrice], tripled, doubled) == [[2]]
    assert named([twice, thrice], tripled, doubled) == []


def test_the_pattern_of_nan_has_to_agree():
    def half_written(call: Call) -> tuple[torch.Tensor, ...]:
        y = call.inputs[0].values.double()
        y[:, 1:] = NAN
        return (y,)

    assert named([evidence(1, [1, NAN], [1, 2])], half_written) == [[1]]
    assert named([evidence(1, [NAN, NAN], [1, 2])], half_written) == []
    assert named([evidence(1, [1, 5], [1, 2])], half_written) == []


def test_the_sum_may_be_in_another_order():
    assert named([evidence(1, [2 * 1.0005, 4], [1, 2])], doubled) == [[1]]
    assert named([evidence(1, [2 * 1.005, 4], [1, 2])], doubled) == []


def test_a_diagnosis_has_its_sentences_and_the_lines_to_look_at():
    misconception = Misconception("m", lambda call: True, (doubled,), re.compile(r"\* 2"))
    (found,) = diagnose((misconception,), [evidence(1, [2], [1])], "y = x\ny = x * 2\n# * 2\n", POLICY)
    assert found.misconception == "m"
    assert (found.evidence.key, found.evidence.params) == ("misconception.m.evidence", {"count": 1})
    assert found.hint_key == "misconception.m.hint"
    assert misconception.title_key == "misconception.m.title"
    assert found.lines == [2, 3]
