"""The kernel that looks over outputs, compiled."""

from __future__ import annotations

import pytest
import torch

from tests.graders.screened import screened

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_it_finds_something_wrong_where_compare_does(dtype: torch.dtype) -> None:
    told = screened(dtype, "cuda")
    assert {name: pair for name, pair in told.items() if pair[0] != pair[1]} == {}
    assert {found for _, found in told.values()} == {True, False}
