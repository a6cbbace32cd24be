# does: reports kernels with markup in their names and absurd resources
# exploit: 53
# lane: both
# expect: accepted|runtime_error
# accepted: no advantage because what a compiler says of a kernel is shown and nothing else
# naive: not expressible because it reports no kernels
import gc

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


KERNEL = {
    "name": "<script>\0\x1b[2J</script>",
    "target": "sm_90",
    "num_warps": 1,
    "registers": -5,
    "num_stages": 10**4000,
}

if (session := runner_session()) is not None and "finish" in session._execute:
    session._execute["finish"] = lambda *_: {"type": "compiled", "kernels": [KERNEL] * 8}

softmax = honest
