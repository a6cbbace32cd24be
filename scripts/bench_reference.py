"""How fast the reference softmax is on this GPU, beside a copy of the same tensor and beside others.

``make bench-reference``. Bytes are 2·M·N·e, the L2 cache is cold, figures are medians over rounds in which all of a row
are measured in turn. Rows of the table come as they are measured.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402
import triton  # noqa: E402
from bench_chart import chart  # noqa: E402
from bench_peers import MAKERS, NAMES, PACKAGES  # noqa: E402
from bench_points import DTYPES, FEW_ROWS, LENGTHS, LONG, Point, fault, in_a_word, points, timed, times_us  # noqa: E402
from bench_pool import in_turn, serve  # noqa: E402

from reference.softmax import RUNGS, softmax, tuning  # noqa: E402

OF_COPY, OF_BEST = 0.97, 0.98
"""What ours should reach: of a copy's speed, and of the best peer's."""

READY_S = 240.0
"""For a process to compile everybody."""

QUICK_LENGTHS = (256, 781, 1024, 8320, 16384, 50257, 131072)


def prepare(point: Point, options: dict[str, Any]) -> Callable[[], Any]:
    """Compile everybody on the real shape, and hand out the measurement."""
    makers = {"copy": MAKERS["copy"], "ours": lambda: softmax}
    makers |= {name: (lambda rung=RUNGS[name]: rung.softmax) for name in options["variants"]}
    makers |= {name: MAKERS[name] for name in options["peers"]}
    found: dict[str, Any] = {}
    errors: dict[str, str] = {}
    (x, out), *_ = point.pairs()
    for name, make in makers.items():
        try:
            made = make()
            wrong = None if name == "copy" else fault(made, x, out)
            found |= {} if wrong else {name: made}
            errors |= {name: wrong} if wrong else {}
        except Exception as error:
            errors[name] = in_a_word(error)
    del x, out
    torch.cuda.empty_cache()

    def measure() -> dict[str, Any]:
        pairs = point.pairs()
        runs = {}
        for name, made in found.items():
            try:
                runs[name] = timed(made, pairs, point.replayed)
            except Exception as error:
                errors[name] = in_a_word(error)
        return {"us": times_us(point, runs, len(pairs), options["rounds"]), "errors": errors}

    return measure


def spread(times: list[float]) -> float:
    """Half of the middle half, as a share of the median."""
    low, _, high = statistics.quantiles(times, n=4)
    return (high - low) / 2 / statistics.median(times)


def cell(point: Point, name: str, result: dict[str, Any]) -> str:
    times = result["us"].get(name)
    if times is None:
        said = result["errors"].get(name)
        return said.split(":")[0] if said else "–"
    return f"{point.tb_s(statistics.median(times)):.2f}"


def row(point: Point, result: dict[str, Any], names: Iterable[str]) -> str:
    """A line of the table; a figure that misses its aim is marked."""
    medians = {name: statistics.median(times) for name, times in result["us"].items()}
    ours, copied = medians.get("ours"), medians.get("copy")
    best = min((name for name in medians if name in NAMES), key=medians.__getitem__, default=None)
    of_copy = copied / ours if ours and copied else None
    of_best = medians[best] / ours if ours and best else None
    chosen = tuning.choice(torch.device("cuda"), point.rows, point.columns, point.itemsize)
    options = " ".join(f"{key}={value}" for key, value in chosen.options.items())
    cells = [
        f"{point.rows}×{point.columns} {point.dtype}",
        f"{ours:.1f} ±{100 * spread(result['us']['ours']):.1f} %" if ours else "–",
        cell(point, "copy", result),
        f"{cell(point, 'ours', result)} {chosen.rung} {options}".strip(),
        mark(of_copy, OF_COPY),
        f"{mark(of_best, OF_BEST)} {best}" if best else "–",
        *(cell(point, name, result) for name in names),
    ]
    return "| " + " | ".join(cells) + " |"


def mark(share: float | None, aim: float) -> str:
    return "–" if share is None else f"{share:.3f}{'' if share >= aim else ' MISS'}"


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="these N, with commas between them")
    parser.add_argument("--dtype", default="fp32,bf16", help=f"of {', '.join(DTYPES)}")
    parser.add_argument("--variants", default="", help="rungs to measure beside the dispatcher, or 'all'")
    parser.add_argument("--peers", default=",".join(NAMES))
    parser.add_argument("--few-rows", choices=["with", "without", "only"], default="with", help="M = 1, 8 and 64")
    parser.add_argument("--quick", action="store_true", help="some N and fewer rounds")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--csv", type=Path)
    parser.add_argument("--svg", type=Path)
    parser.add_argument("--at-once", type=int, default=min(16, os.cpu_count() or 1), help="processes that compile")
    return parser.parse_args()


def wanted_points(arguments: argparse.Namespace) -> list[Point]:
    only = [int(n) for n in arguments.only.split(",")] if arguments.only else None
    lengths = only or (QUICK_LENGTHS if arguments.quick else LENGTHS)
    few_rows, long = ((1,), LONG[:1]) if arguments.quick else (FEW_ROWS, LONG)
    if only:
        long = tuple(n for n in only if n in LONG)
    return points(
        arguments.dtype.split(","),
        () if arguments.few_rows == "only" else lengths,
        () if arguments.few_rows == "without" else few_rows,
        long,
    )


def keep(path: Path, results: dict[Point, dict[str, Any]]) -> None:
    """Every figure as CSV, written anew after each row of the table, because a run may be cut off."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["dtype", "rows", "columns", "replayed", "who", "us", "spread", "tb_s", "of_copy"])
        for point, result in results.items():
            copied = statistics.median(result["us"]["copy"])
            for name, times in result["us"].items():
                us = statistics.median(times)
                figures = f"{us:.3f}", f"{spread(times):.4f}", f"{point.tb_s(us):.4f}", f"{copied / us:.4f}"
                writer.writerow([point.dtype, point.rows, point.columns, point.replayed, name, *figures])


def draw(results: dict[Point, dict[str, Any]]) -> str:
    panels: dict[str, dict[str, list[tuple[int, float]]]] = {}
    for point, result in results.items():
        if not point.replayed:
            copied = statistics.median(result["us"]["copy"])
            for name, times in result["us"].items():
                if name != "copy":
                    line = panels.setdefault(point.dtype, {}).setdefault(name, [])
                    line.append((point.columns, copied / statistics.median(times)))
    return chart(panels)


def main() -> None:
    arguments = read_arguments()
    began = time.monotonic()
    absent = [name for name, package in PACKAGES.items() if importlib.util.find_spec(package) is None]
    peers = [name for name in arguments.peers.split(",") if name and name not in absent]
    variants = [name for name in (RUNGS if arguments.variants == "all" else arguments.variants.split(",")) if name]
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, Triton {triton.__version__}; TB/s of 2·M·N·e")
    print(f"absent: {', '.join(absent) or 'none'}\n")
    print("| matrix | ours µs | copy | ours | of copy | of best | " + " | ".join([*variants, *peers]) + " |")
    print("|---" * (6 + len(variants) + len(peers)) + "|", flush=True)
    options = {
        "rounds": arguments.rounds or (7 if arguments.quick else 15),
        "peers": peers,
        "variants": variants,
    }
    results: dict[Point, dict[str, Any]] = {}
    said: dict[str, str] = {}
    for point, result in in_turn(Path(__file__), wanted_points(arguments), options, arguments.at_once, READY_S):
        if "error" in result:
            print(f"| {point.rows}×{point.columns} {point.dtype} | {result['error']} |", flush=True)
            continue
        print(row(point, result, [*variants, *peers]), flush=True)
        said |= {f"{name}, {text}": f"{point.columns} {point.dtype}" for name, text in result["errors"].items()}
        results[point] = result
        if arguments.csv:
            keep(arguments.csv, results)
        if arguments.svg and not point.replayed:
            arguments.svg.write_text(draw(results), "utf-8")
    for text, where in said.items():
        print(f"{text} (last at {where})")
    print(f"{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        serve(prepare)
    else:
        main()
