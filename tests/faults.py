"""What a submission can do to its own process, to the machine and to the GPU, and what has to come of it: for both
lanes. Imports none of the web packages."""

from __future__ import annotations

from dataclasses import dataclass, field

from graders.report import CaseResult, Report
from graders.verdict import CaseStatus, Lane, Verdict

AT = 3
"""The case in which the submission does what it should not: there are results before it and a case after it."""

RIGHT = """
import ctypes, os, signal, socket, sys, threading, time
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

def softmax(x, out):
    M, N = x.shape
    kernel[(M,)](x, out, x.stride(0), x.stride(1), out.stride(0), N, B=triton.next_power_of_2(N))
"""

_KERNELS = """
@triton.jit
def wild(x):
    tl.store(x + tl.program_id(0).to(tl.int64) * 1000000000000, 1.0)

@triton.jit
def skewed(x):
    byte = x.to(tl.pointer_type(tl.int8)) + 1
    tl.store(byte.to(tl.pointer_type(tl.float32)), 1.0)

@triton.jit(debug=True)
def asserting(x):
    tl.device_assert(tl.load(x) > 0.0, "never so")

@triton.jit
def spin(x):
    while tl.load(x, volatile=True) == tl.load(x, volatile=True):
        tl.atomic_add(x, 1.0)
"""

_FAULTY = """
STRUCK = {{"interpreter": 1, "gpu": 2}}.get(sys.argv[2])  # on a GPU the compile pass calls in the same process
ctypes.CDLL(None).prctl(15, {mark!r}.encode())  # the name of this process and of all that it starts

def channel():
    return socket.socket(fileno=os.dup(int(sys.argv[1])))

def say(body, length=None):
    head = (len(body) if length is None else length).to_bytes(4, "big") + b"\\0"
    channel().sendall(head + body)

right, calls = softmax, 0

def softmax(x, out):
    global calls
    calls += x.shape == (3, 1000)  # T2's all_equal
    if x.shape == (3, 1000) and calls == STRUCK:
        fault(x, out)
    right(x, out)

def fault(x, out):
    {call}

{on_import}
"""

_BOTH = (Lane.INTERPRETER, Lane.GPU)


@dataclass(frozen=True)
class Fault:
    """A fault and its consequences.

    ``call`` is done in the tested case ``AT``, ``on_import`` at the end of the file. ``keys`` are the causes that may
    be named, nothing where none is. ``contained`` is whether the case after it passes in another runner; what fills
    the process or the disk without ending them may cost the rest as well. ``limits`` are its own, for the GPU lane.
    """

    name: str
    call: str
    verdicts: tuple[Verdict, ...]
    keys: tuple[str, ...] = ()
    lanes: tuple[Lane, ...] = _BOTH
    contained: bool = True
    on_import: str = ""
    limits: dict[str, float] = field(default_factory=dict)

    def source(self, mark: str) -> str:
        """The submission, whose processes all have the name ``mark`` (at most 15 letters)."""
        call = self.call.replace("\n", "\n    ")
        faulty = _FAULTY.format(mark=mark, call=call, on_import=self.on_import)
        return RIGHT + (_KERNELS if self.lanes == (Lane.GPU,) else "") + faulty

    def check(self, report: Report) -> None:
        """Assert that ``report`` says what has to come of it, and has the results from before."""
        assert report.verdict in self.verdicts, report.cause or report.cases
        if self.on_import:
            assert report.cases == []
            assert report.cause is not None
            assert report.cause.key in self.keys
            return
        judged = [case for case in report.cases if case.status is not CaseStatus.SKIPPED]
        stricken = judged[AT - 1]
        assert [_passed(case) for case in judged[: AT - 1]] == [True] * (AT - 1), "the results so far are kept"
        assert stricken.verdict in self.verdicts
        assert (stricken.cause.key if stricken.cause else None) in (self.keys or (None,))
        if self.contained:
            assert [_passed(case) for case in judged[AT:]] == [True] * (len(judged) - AT), "the rest ran elsewhere"
            assert len(judged) > AT


def _passed(case: CaseResult) -> bool:
    return case.status is CaseStatus.PASSED


_GPU = (Lane.GPU,)
_INTERPRETER = (Lane.INTERPRETER,)
_ENDLESS: dict[str, float] = {"case_s": 3.0}
_DEVICE_FAULT = ((Verdict.RUNTIME_ERROR,), ("case.device_fault",))
_EXCEPTION = ((Verdict.RUNTIME_ERROR,), ("case.exception",))
_SIGNAL = ((Verdict.RUNTIME_ERROR,), ("case.signal",))
_PROTOCOL = ((Verdict.RUNTIME_ERROR,), ("case.protocol",))
_TIME = ((Verdict.TIME_LIMIT,), ("case.time_limit",))
_OUTPUT = ((Verdict.OUTPUT_LIMIT,), ("case.output_limit",))
_MEMORY = ((Verdict.MEMORY_LIMIT,), ("case.memory_limit",))

FAULTS = (
    Fault("illegal_address", "wild[(64,)](torch.empty(1, device=x.device))", *_DEVICE_FAULT, _GPU),
    Fault(
        "fault_met_by_a_launch",
        "wild[(64,)](torch.empty(1, device=x.device))\ntime.sleep(0.1)",
        *_DEVICE_FAULT,
        _GPU,
    ),
    Fault("misaligned_access", "skewed[(1,)](torch.empty(4, device=x.device))", *_DEVICE_FAULT, _GPU),
    Fault("device_assert", "asserting[(1,)](torch.zeros(1, device=x.device))", *_DEVICE_FAULT, _GPU),
    Fault(
        "index_out_of_range",
        "torch.zeros(4, device=x.device)[torch.full((1,), 9, device=x.device)]",
        *_DEVICE_FAULT,
        _GPU,
    ),
    Fault("endless_kernel", "spin[(1,)](torch.zeros(1, device=x.device))", *_TIME, _GPU, limits=_ENDLESS),
    Fault(
        "device_memory_filled",
        "hog = [torch.empty(1 << 34, dtype=torch.uint8, device=x.device) for _ in range(64)]",
        (Verdict.MEMORY_LIMIT,),
        ("case.device_memory", "case.device_memory_limit"),
        _GPU,
    ),
    Fault(
        "device_memory_held",
        "hog = torch.empty(3 << 33, dtype=torch.uint8, device=x.device)\ntime.sleep(1e6)",
        (Verdict.MEMORY_LIMIT,),
        ("case.device_memory_limit",),
        _GPU,
    ),
    Fault("endless_host", "while True: pass", *_TIME, limits=_ENDLESS),
    Fault("sleep", "time.sleep(1e6)", *_TIME, _INTERPRETER),
    Fault("host_memory", "hog = []\nwhile True: hog.append(bytearray(b'x' * (1 << 26)))", *_MEMORY),
    Fault(
        "shared_memory",
        "fd = os.memfd_create('x'); m = [os.write(fd, b'x' * (1 << 26)) for _ in range(64)]",
        *_EXCEPTION,
        _INTERPRETER,
    ),
    Fault(
        "fork_bomb",
        "while True: os.fork()",
        (Verdict.RUNTIME_ERROR, Verdict.TIME_LIMIT),
        ("case.tasks", "case.exception", "case.time_limit", "case.protocol"),
        contained=False,
    ),
    Fault(
        "thread_bomb",
        "[threading.Thread(target=time.sleep, args=(1e6,)).start() for _ in range(5000)]",
        (Verdict.RUNTIME_ERROR,),
        ("case.tasks", "case.exception"),
        contained=False,
    ),
    Fault(
        "file_flood",
        "file = open(os.environ['TMPDIR'] + '/big', 'wb', 0)\nwhile True: file.write(b'x' * (1 << 20))",
        (Verdict.RUNTIME_ERROR,),
        ("case.exception", "case.scratch"),
        contained=False,
    ),
    Fault(
        "many_files",
        "for number in range(1 << 20): open(os.environ['TMPDIR'] + f'/{number}', 'wb').write(bytes(1 << 20))",
        (Verdict.RUNTIME_ERROR,),
        ("case.exception", "case.scratch"),
        contained=False,
    ),
    Fault("stdout_flood", "print('x' * (1 << 21))", *_OUTPUT),
    Fault("stderr_flood", "[os.write(2, b'y' * 65536) for _ in range(1000)]", *_OUTPUT, _INTERPRETER),
    Fault(
        "shut_socket",
        "channel().shutdown(socket.SHUT_RDWR); time.sleep(1e6)",
        (Verdict.RUNTIME_ERROR,),
        ("case.exited",),
    ),
    Fault(
        "flooded_socket", "c = channel(); c.settimeout(2); [c.send(b'\\x00' * 65536) for _ in range(10000)]", *_PROTOCOL
    ),
    Fault("malformed_message", "say(b'no JSON')", *_PROTOCOL),
    Fault("forged_verdict", 'say(b\'{"type":"accepted","score":70}\')', *_PROTOCOL),
    Fault("oversized_message", "say(b'', length=(1 << 32) - 1)", *_PROTOCOL),
    Fault("exit", "os._exit(0)", (Verdict.RUNTIME_ERROR,), ("case.exited",)),
    Fault("sys_exit", "sys.exit(3)", *_EXCEPTION, _INTERPRETER),
    Fault(
        "kill_itself",
        "os.kill(os.getpid(), signal.SIGKILL); os._exit(7)",
        (Verdict.RUNTIME_ERROR,),
        ("case.signal", "case.exited"),  # the first process of a pid namespace cannot kill itself
    ),
    Fault("segfault", "ctypes.string_at(0)", *_SIGNAL),
    Fault("abort", "os.abort()", *_SIGNAL, _INTERPRETER),
    Fault("stack", "exec('def f(): f()\\nf()')", *_EXCEPTION, _INTERPRETER),
    Fault("surrogate", "raise ValueError('\\udc80')", *_EXCEPTION, _INTERPRETER),
    Fault("raise", "raise ValueError('I give up')", *_EXCEPTION, _INTERPRETER),
    Fault(
        "deadlock_on_import",
        "pass",
        (Verdict.TIME_LIMIT,),
        ("compile.time_limit",),
        on_import="lock = threading.Lock(); lock.acquire(); lock.acquire()",
        limits={"compile_s": 3.0},
    ),
    Fault(
        "daemon_left_behind",
        "if os.fork() == 0:\n    os.setsid()\n    os.fork()\n    while True: time.sleep(1e6)",
        (Verdict.ACCEPTED,),
    ),
)


def faults_of(lane: Lane) -> list[Fault]:
    """The faults that can be made in a lane."""
    return [fault for fault in FAULTS if lane in fault.lanes]
