"""``python -m tests.reference.interpreted``: what Triton's interpreter runs, as {name: what is wrong, or null} in JSON.

A process of its own, because ``TRITON_INTERPRET=1`` has to be there before Triton is imported.
"""

from __future__ import annotations

import json
import sys

import numpy as np
from triton.runtime.interpreter import GridExecutor

from tests.reference.softmax_checks import CHECKS
from tests.reference.softmax_matrix import INTERPRETER_CASES, INTERPRETER_SKIPS


def main() -> None:
    np.seterr(invalid="ignore", divide="ignore", over="ignore")  # rows of NaN, of +inf and of nothing but -inf
    # All tensors are on the host: "restoring" them would copy memory onto itself, and touch every page of a sparse one.
    GridExecutor._restore_args_dev = lambda *_: None
    cases = [case for case in INTERPRETER_CASES if case.dtype not in INTERPRETER_SKIPS]
    faults = {case.name: case.fault("cpu") for case in cases} | {name: check() for name, check in CHECKS.items()}
    json.dump(faults, sys.stdout)


if __name__ == "__main__":
    main()
