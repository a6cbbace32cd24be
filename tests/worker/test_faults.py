"""What a submission can do to its own process: each ends in a verdict that helps, with the results so far kept,
and the next grading is right."""

from __future__ import annotations

import time

import pytest

from graders.package import Package
from graders.report import Report
from graders.verdict import CaseStatus, Verdict
from tests.worker.conftest import Grade, Quiet, make_job
from worker.supervisor.supervisor import Supervisor

RIGHT_KERNEL = '''
import os, signal, sys, threading, time, socket, ctypes
import torch, triton, triton.language as tl

@triton.jit
def kernel(x, o, sx, sx1, so, N, B: tl.constexpr):
    r = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, B)
    v = tl.load(x + r * sx + c.to(tl.int64) * sx1, mask=c < N, other=-float("inf")).to(tl.float32)
    m = tl.max(v, axis=0)
    e = tl.exp(v - tl.where(m == -float("inf"), 0.0, m))
    d = tl.sum(e, axis=0)
    tl.store(o + r * so + c, (e / tl.where(d == 0.0, 1.0, d)).to(o.dtype.element_ty), mask=c < N)

def right(x, out):
    M, N = x.shape
    kernel[(M,)](x, out, x.stride(0), x.stride(1), out.stride(0), N, B=triton.next_power_of_2(N))

calls = 0
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"

def softmax(x, out):
    """Right until the third interpreted call, which does FAULT."""
    global calls
    calls += 1
    if INTERPRETED and calls == 3:
        fault()
    right(x, out)

def channel():
    for number in range(3, 64):
        try:
            return socket.socket(fileno=os.dup(number))
        except OSError:
            continue

'''

FAULTS = {
    "exit": ("os._exit(0)", Verdict.RUNTIME_ERROR, "case.exited"),
    "sys_exit": ("sys.exit(3)", Verdict.RUNTIME_ERROR, "case.exception"),
    "segfault": ("ctypes.string_at(0)", Verdict.RUNTIME_ERROR, "case.signal"),
    "abort": ("os.abort()", Verdict.RUNTIME_ERROR, "case.signal"),
    "kill_itself": ("os.kill(os.getpid(), signal.SIGKILL); os._exit(7)", Verdict.RUNTIME_ERROR, None),
    "endless": ("while True: pass", Verdict.TIME_LIMIT, "case.time_limit"),
    "sleep": ("time.sleep(1e6)", Verdict.TIME_LIMIT, "case.time_limit"),
    "memory": ("hog = [bytearray(b'x' * (1 << 26)) for _ in range(64)]", Verdict.MEMORY_LIMIT, "case.memory_limit"),
    "shared_memory": (
        "fd = os.memfd_create('x'); m = [os.write(fd, b'x' * (1 << 26)) for _ in range(64)]",
        Verdict.RUNTIME_ERROR,
        None,
    ),
    "stdout": ("print('x' * (1 << 21))", Verdict.OUTPUT_LIMIT, "case.output_limit"),
    "stderr_flood": ("[os.write(2, b'y' * 65536) for _ in range(1000)]", Verdict.OUTPUT_LIMIT, "case.output_limit"),
    "file_flood": ("open('/scratch/big', 'wb').write(b'x' * (700 << 20))", Verdict.RUNTIME_ERROR, None),
    "shut_socket": ("channel().shutdown(socket.SHUT_RDWR); time.sleep(1e6)", Verdict.RUNTIME_ERROR, None),
    "flood_socket": (
        "c = channel(); c.settimeout(2); [c.send(b'\\x00' * 65536) for _ in range(10000)]",
        Verdict.RUNTIME_ERROR,
        "case.protocol",
    ),
    "forged_verdict": (
        "m = b'{\"type\":\"accepted\",\"score\":70}'; channel().sendall(len(m).to_bytes(4, 'big') + b'\\0' + m)",
        Verdict.RUNTIME_ERROR,
        "case.protocol",
    ),
    "oversized_message": ("channel().sendall(b'\\xff\\xff\\xff\\xff\\x00')", Verdict.RUNTIME_ERROR, "case.protocol"),
    "stack": ("exec('def f(): f()\\nf()')", Verdict.RUNTIME_ERROR, "case.exception"),
    "surrogate": ("raise ValueError('\\udc80')", Verdict.RUNTIME_ERROR, "case.exception"),
    "raise": ("raise ValueError('I give up')", Verdict.RUNTIME_ERROR, "case.exception"),
}

ONE_CASE_A_CATEGORY = b"""
_first = {}
for _case in CASES:
    _first.setdefault(_case.category, _case)
CASES = tuple(_first.values())
"""


@pytest.fixture(scope="module")
def small_package(package: Package) -> Package:
    """The drill with one case a category: enough to see what a fault costs."""
    cases = "graders/t2_softmax/cases.py"
    return Package(package.slug, package.files | {cases: package.files[cases] + ONE_CASE_A_CATEGORY})


@pytest.fixture
def grade(supervisor: Supervisor, small_package: Package) -> Grade:
    def run(source: str, **limits: object) -> Report:
        return supervisor.grade(make_job(source, small_package, **limits), small_package.to_zip(), Quiet())

    return run


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_costs_its_case_and_no_other(grade: Grade, name: str) -> None:
    fault, verdict, key = FAULTS[name]
    report = grade(RIGHT_KERNEL + f"def fault():\n    {fault}\n")
    assert report.verdict is verdict, report
    third = [case for case in report.cases if case.status is not CaseStatus.SKIPPED][2]
    assert third.verdict is verdict
    assert third.cause is not None
    assert key is None or third.cause.key == key
    assert [case.status for case in report.cases[:2]] == [CaseStatus.PASSED] * 2, "the results so far are kept"
    passed = sum(case.status is CaseStatus.PASSED for case in report.cases)
    assert passed > 3, "the rest ran in another runner"


def test_a_fork_bomb_is_contained_and_the_next_grading_is_right(grade: Grade) -> None:
    bomb = RIGHT_KERNEL + "def fault():\n    while True:\n        os.fork()\n"
    assert grade(bomb).verdict in (Verdict.RUNTIME_ERROR, Verdict.TIME_LIMIT)
    assert grade(RIGHT_KERNEL + "def fault():\n    pass\n").verdict is Verdict.ACCEPTED


def test_a_thread_bomb_is_contained(grade: Grade) -> None:
    bomb = "[threading.Thread(target=time.sleep, args=(1e6,)).start() for _ in range(5000)]"
    report = grade(RIGHT_KERNEL + f"def fault():\n    {bomb}\n")
    assert report.verdict is Verdict.RUNTIME_ERROR


def test_a_submission_that_always_crashes_is_run_four_times_in_all(grade: Grade) -> None:
    report = grade("import os\ndef softmax(x, out):\n    os._exit(1)\n")
    judged = [case for case in report.cases if case.status is not CaseStatus.SKIPPED]
    keys = [case.cause.key for case in judged if case.cause]
    assert keys[:4] == ["case.exited"] * 4
    assert set(keys[4:]) == {"case.not_run"}
    assert report.verdict is Verdict.RUNTIME_ERROR
    assert report.score == 0


def test_a_submission_that_always_hangs_is_not_waited_for_again_and_again(grade: Grade) -> None:
    report = grade("def softmax(x, out):\n    while True:\n        pass\n", case_s=1.0)
    judged = [case for case in report.cases if case.status is not CaseStatus.SKIPPED]
    keys = [case.cause.key for case in judged if case.cause]
    assert keys[:3] == ["case.time_limit"] * 3
    assert set(keys[3:]) == {"case.not_run"}
    assert report.verdict is Verdict.TIME_LIMIT


@pytest.mark.parametrize(
    ("source", "verdict", "key"),
    [
        ("def softmax(x, out:\n", Verdict.COMPILE_ERROR, "compile.syntax"),
        ("x = 1\n", Verdict.COMPILE_ERROR, "compile.missing_entry"),
        ("softmax = 3\n", Verdict.COMPILE_ERROR, "compile.not_callable"),
        ("def softmax(x):\n    return x\n", Verdict.COMPILE_ERROR, "compile.signature"),
        ("import nothing_of_this_name\n", Verdict.RUNTIME_ERROR, "case.exception"),
        ("import os\nos._exit(0)\n", Verdict.RUNTIME_ERROR, "case.exited"),
        ("import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()\n", Verdict.TIME_LIMIT, None),
        ("raise SystemExit(0)\n", Verdict.RUNTIME_ERROR, "case.exception"),
    ],
)
def test_what_fails_before_any_case(grade: Grade, source: str, verdict: Verdict, key: str | None) -> None:
    report = grade(source, compile_s=4.0)
    assert (report.verdict, report.cases, report.score) == (verdict, [], 0)
    assert report.cause is not None
    assert key is None or report.cause.key == key
    assert report.max_score == 70


def test_a_syntax_error_is_marked_in_the_file(grade: Grade) -> None:
    (annotation,) = grade("import torch\n\ndef softmax(x, out)\n    pass\n").annotations
    assert annotation.line == 3
    assert annotation.key == "compile.syntax"


def test_everything_of_a_submission_is_dead_soon_after(grade: Grade) -> None:
    started = time.monotonic()
    report: Report = grade(RIGHT_KERNEL + "def fault():\n    os.fork() or time.sleep(1e6)\n")
    assert report.verdict is Verdict.ACCEPTED
    assert time.monotonic() - started < 30
