# does: reports failures of every kind, with its hinted and hidden inputs in every text and number
# exploit: 45
# lane: both
# expect: compile_error|runtime_error|memory_limit
# naive: not expressible because it hides nothing
import gc
import itertools

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, x_stride_m, x_stride_n, out_stride_m, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    x = tl.load(x_ptr + row * x_stride_m + cols * x_stride_n, mask=mask, other=-float("inf")).to(tl.float32)
    m = tl.max(x, axis=0)
    m = tl.where(m == -float("inf"), 0.0, m)
    num = tl.exp(x - m)
    den = tl.sum(num, axis=0)
    den = tl.where(den == 0.0, 1.0, den)
    tl.store(out_ptr + row * out_stride_m + cols, (num / den).to(out_ptr.dtype.element_ty), mask=mask)


def honest(x, out):
    M, N = x.shape
    softmax_kernel[(M,)](x, out, x.stride(0), x.stride(1), out.stride(0), N, BLOCK=triton.next_power_of_2(N))


def runner_session():
    """The runner's own session, found among all objects; None in any other process."""
    return next((thing for thing in gc.get_objects() if type(thing).__name__ == "Session"), None)


KINDS = ("exception", "kernel", "signature", "missing_entry", "not_callable", "syntax", "device", "device_memory")
kinds = itertools.cycle(KINDS)
seen = ""


def softmax(x, out):
    global seen
    honest(x, out)
    seen = "" if x.shape[1] in (8, 781) else x[0, :8].contiguous().view(torch.uint8).cpu().numpy().tobytes().hex()


def forged(entry, message, arena):
    answer = truthful(entry, message, arena)
    if not seen:
        return answer
    text, number = f"Saw{seen}", 1 + int(seen[:4], 16)
    texts = dict.fromkeys(("name", "got", "exception", "message"), text)
    numbers = dict.fromkeys(("line", "column", "end_line"), number)
    return {"type": "failed", "failure": {"kind": next(kinds), **texts, **numbers}}


if (session := runner_session()) is not None and "call" in session._execute:
    truthful = session._execute["call"]
    session._execute["call"] = forged
