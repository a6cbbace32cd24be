"""Run a file's entry point over a drill's cases in Triton's interpreter: prints, for each, what is wrong or null.

Started by tests in a process of its own, since Triton decides at import whether it interprets.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import torch

from graders.cases import Case
from graders.compare import compare
from graders.drill import Drill, load_drill
from graders.verdict import Lane
from tests.graders.calls import drawn, placed


def finding(drill: Drill, case: Case, entry_point) -> str | None:
    placing = placed(drawn(case))
    entry_point(*placing.inputs, *placing.outs)
    values = [operand.values for operand in placing.call.inputs]
    (out,), (expected,) = placing.outs, drill.oracle(*values)
    mismatch = compare(out, expected, drill.policy)
    if mismatch is not None:
        return str(mismatch.pattern)
    if not all(torch.equal(bits(found), bits(given)) for found, given in zip(placing.inputs, values, strict=True)):
        return "input changed"
    out.fill_(torch.nan)
    layout, storage = placing.call.outs[0].layout, placing.out_storages[0]
    return None if layout.sparse or storage.isnan().all() else "written outside"


def bits(x: torch.Tensor) -> torch.Tensor:
    """The same memory as integers, so that NaNs compare."""
    return x.view(torch.int16 if x.element_size() == 2 else torch.int32)


def main(slug: str, path: Path) -> None:
    torch.set_num_threads(1)
    drill = load_drill(Path(__file__).parent.parent.parent, slug)
    spec = importlib.util.spec_from_file_location("submission", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    judged = [case for case in drill.cases if case.skip_reason(Lane.INTERPRETER) is None]
    entry_point = getattr(module, drill.manifest.entry_point.name)
    print(json.dumps({case.name: finding(drill, case, entry_point) for case in judged}))  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
