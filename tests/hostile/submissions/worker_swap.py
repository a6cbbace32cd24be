# does: replaces, by name, what the next task of a reused worker would run
# exploit: 52
# lane: both
# expect: wrong_answer
# points: none
# naive: not expressible because it has no pool of workers
import sys

import torch


def lie(*_args, **_kwargs):
    return {"type": "returned", "launches": 1, "functions": ["k"], "operations": [], "returned": None}


for name, module in list(sys.modules.items()):
    if name.startswith("worker.runner") and hasattr(module, "bound_call"):
        module.bound_call = lambda *_args: lie


def softmax(x, out):
    out.fill_(7.0)
