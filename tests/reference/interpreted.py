"""``python -m tests.reference.interpreted``: what Triton's interpreter runs, as {name: what is wrong, or null} in JSON.

A process of its own, because ``TRITON_INTERPRET=1`` has to be there before Triton is imported.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
from triton.runtime import interpreter
from triton.runtime.interpreter import GridExecutor, InterpretedFunction

from reference.softmax import ring
from tests.reference.gluon_on_host import interpreted
from tests.reference.softmax_checks import CHECKS
from tests.reference.softmax_matrix import INTERPRETER_CASES, INTERPRETER_SKIPS

_PREPARED: set[str] = set()


def main() -> None:
    np.seterr(invalid="ignore", divide="ignore", over="ignore")  # rows of NaN, of +inf and of nothing but -inf
    # All tensors are on the host: "restoring" them would copy memory onto itself, and touch every page of a sparse one.
    GridExecutor._restore_args_dev = lambda *_: None
    InterpretedFunction.__call__ = _call
    ring.softmax_ring = interpreted(ring.softmax_ring)
    cases = [case for case in INTERPRETER_CASES if case.dtype not in INTERPRETER_SKIPS]
    faults = {case.name: case.fault("cpu") for case in cases} | {name: check() for name, check in CHECKS.items()}
    json.dump(faults, sys.stdout)


def _call(function: InterpretedFunction, *arguments: Any, **named: Any) -> Any:
    """Call a function from a kernel, whose launch has put the interpreter's operations into ``triton.language``.

    The interpreter does that again for every call, which is most of its time. Only the modules of Triton's own
    functions need it, once, as nothing takes theirs out again.
    """
    module = function.fn.__module__
    if module.startswith("triton.") and module not in _PREPARED:
        _PREPARED.add(module)
        interpreter._patch_lang(function.fn)
    return function.rewrite()(*arguments, **named)


if __name__ == "__main__":
    main()
