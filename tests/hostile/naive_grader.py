"""A small grader like many public ones: honest, and in one process with the code that it grades.

``python naive_grader.py SUBMISSION`` prints its result, a JSON object, as the last line of standard output. It stands
here to be fooled: each submission beside it shows a way, and the judge is then shown to withstand the same file.
"""

from __future__ import annotations

import importlib.util
import json
import os
import statistics
import sys
import time
from collections.abc import Callable

import torch

SHAPES = ((2, 8192), (2, 12288))
TOLERANCE = 1e-2
TIMED_CALLS = 4
SEED = int(os.environ.pop("GRADER_SEED", "0"))

Softmax = Callable[[torch.Tensor, torch.Tensor], None]


def generate_input(shape: tuple[int, int], seed: int) -> torch.Tensor:
    drawn = torch.randn(shape, generator=torch.Generator().manual_seed(seed))
    return drawn.clamp_(-4, 4)  # beside one that is far out zeros would be wrong even with this tolerance


def reference(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, dim=-1)


def mismatches(out: torch.Tensor, expected: torch.Tensor) -> int:
    """How many elements are wrong."""
    if torch.allclose(out.float(), expected, rtol=TOLERANCE, atol=TOLERANCE):
        return 0
    difference = (out.float() - expected).abs()
    return int((difference > TOLERANCE + TOLERANCE * expected.abs()).sum())


def milliseconds(call: Callable[[], object]) -> float:
    """The median time of a call."""
    times = []
    for _ in range(TIMED_CALLS):
        started = time.perf_counter()
        call()
        times.append((time.perf_counter() - started) * 1e3)
    return statistics.median(times)


def load(path: str) -> Softmax:
    spec = importlib.util.spec_from_file_location("submission", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["submission"] = module
    spec.loader.exec_module(module)
    function: Softmax = module.softmax
    return function


def grade_shape(softmax: Softmax, x: torch.Tensor) -> tuple[int, float, float]:
    """Wrong elements, the time of a call, and the reference's."""
    out = torch.zeros_like(x)
    expected = reference(x)
    reference(x)  # the second call is a warm one
    softmax(x, out)
    wrong = mismatches(out, expected)
    time_ms = milliseconds(lambda: softmax(x, out))
    wrong += mismatches(out, reference(x))  # what the timed calls left
    return wrong, time_ms, milliseconds(lambda: reference(x))


def grade(path: str) -> dict[str, object]:
    softmax = load(path)
    found = [grade_shape(softmax, generate_input(shape, SEED + number)) for number, shape in enumerate(SHAPES)]
    time_ms, reference_ms = (statistics.mean(row[column] for row in found) for column in (1, 2))
    return {
        "passed": all(wrong == 0 for wrong, *_ in found),
        "time_ms": time_ms,
        "speed_up": reference_ms / max(time_ms, 1e-9),
    }


def main() -> None:
    try:
        result = grade(sys.argv[1])
    except Exception as error:
        result = {"passed": False, "error": f"{type(error).__name__}: {error}"}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
