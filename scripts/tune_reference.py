"""What to put into ``reference/softmax/tuning.py``: a line of JSON for every matrix, with its fastest rungs.

Every candidate is checked, timed briefly, and the fastest are timed again in turn with a copy of the same tensor. Lines
come as they are measured, because a run may be cut off.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402
from bench_peers import copy  # noqa: E402
from bench_points import DTYPES, FEW_ROWS, LENGTHS, LONG, Point, fault, in_a_word, points, timed, times_us  # noqa: E402
from bench_pool import in_turn, serve  # noqa: E402
from tune_candidates import candidates  # noqa: E402

from reference.softmax import RUNGS  # noqa: E402
from reference.softmax.tuning import Choice  # noqa: E402

BRIEF_ROUNDS = 3
LAST_CHECK_S = 45.0
"""What may pass beyond the time to compile: start, inputs, and the candidate that is under way when it ends."""

CLOSE = 1.08
"""What is slower than this times the fastest is not timed again."""


def prepare(point: Point, options: dict[str, Any]) -> Callable[[], Any]:
    """Compile the candidates and check them, for so many seconds; hand out the measurement."""
    (x, out), *_ = point.pairs()
    tried: list[tuple[Choice, Callable[..., None]]] = []
    errors: list[str] = []
    until = time.monotonic() + options["compile_s"]
    found = candidates(point)
    for choice in found:
        if time.monotonic() > until:
            errors.append(f"{len(found) - len(tried) - len(errors)} not tried: no time")
            break
        softmax = partial(RUNGS[choice.rung].softmax, **choice.options)
        try:
            wrong = fault(softmax, x, out)
        except torch.AcceleratorError as error:  # nothing runs in this process any more
            raise RuntimeError(f"{choice.rung} {json.dumps(dict(choice.options))}: {in_a_word(error)}") from error
        except Exception as error:
            wrong = in_a_word(error)
        if wrong:
            errors.append(f"{choice.rung} {json.dumps(dict(choice.options))}: {wrong}")
        else:
            tried.append((choice, softmax))
    del x, out
    torch.cuda.empty_cache()
    return lambda: measure(point, tried, errors, options)


def measure(
    point: Point, tried: list[tuple[Choice, Callable[..., None]]], errors: list[str], options: dict[str, Any]
) -> dict[str, Any]:
    """All of them briefly, then the fastest and a copy at length."""
    pairs = point.pairs()
    runs = {str(place): timed(softmax, pairs, point.replayed) for place, (_, softmax) in enumerate(tried)}
    brief = {name: min(times) for name, times in times_us(point, runs, len(pairs), BRIEF_ROUNDS).items()}
    fastest = sorted(brief, key=brief.__getitem__)[: 2 * options["top"]]
    close = {name: runs[name] for name in fastest if brief[name] <= CLOSE * brief[fastest[0]]}
    close["copy"] = timed(copy, pairs, point.replayed)
    us = {name: statistics.median(times) for name, times in times_us(point, close, len(pairs), 15).items()}
    copied = us.pop("copy")
    best = [
        {
            "rung": tried[int(name)][0].rung,
            "options": dict(tried[int(name)][0].options),
            "us": round(us[name], 2),
            "of_copy": round(copied / us[name], 4),
        }
        for name in sorted(us, key=us.__getitem__)[: options["top"]]
    ]
    return {"copy_us": round(copied, 2), "tried": len(tried), "best": best, "errors": errors}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="these N, with commas between them")
    parser.add_argument("--dtype", default="fp32,bf16", help=f"of {', '.join(DTYPES)}")
    parser.add_argument("--few-rows", choices=["with", "without", "only"], default="with", help="M = 1, 8 and 64")
    parser.add_argument("--top", type=int, default=5, help="choices to tell of every matrix")
    parser.add_argument("--compile-s", type=float, default=45, help="seconds to compile the candidates of a matrix")
    parser.add_argument("--keep", type=Path, help="a file for the lines, too")
    parser.add_argument("--at-once", type=int, default=min(16, os.cpu_count() or 1), help="processes that compile")
    arguments = parser.parse_args()
    lengths = tuple(int(n) for n in arguments.only.split(",")) if arguments.only else None
    wanted = points(
        arguments.dtype.split(","),
        () if arguments.few_rows == "only" else lengths or LENGTHS,
        () if arguments.few_rows == "without" else FEW_ROWS,
        LONG if lengths is None else tuple(n for n in lengths if n in LONG),
    )
    options = {"top": arguments.top, "compile_s": arguments.compile_s}
    for point, result in in_turn(
        Path(__file__), wanted, options, arguments.at_once, ready_s=arguments.compile_s + LAST_CHECK_S
    ):
        line = json.dumps(asdict(point) | result)
        print(line, flush=True)
        if arguments.keep:
            with arguments.keep.open("a") as file:
                file.write(line + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        serve(prepare)
    else:
        main()
