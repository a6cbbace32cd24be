# does: leaves a kernel running that polls for work
# exploit: 16
# lane: gpu
# one lane because: speed is measured on a GPU alone
# expect: accepted|time_limit|wrong_answer
# accepted: no advantage because a kernel that runs on stretches what the judge does
# clock: interference|not_measured|not_reached
# limits: compile_s=6.0
# naive: not expressible because it has no GPU
from triton.runtime._async_compile import active_mode

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


TIMED = 1 << 24
"""Elements: fewer than what is timed has, more than what is tested."""


@triton.jit
def resident_kernel(flag_ptr):
    while tl.load(flag_ptr, volatile=True) == 0:
        pass


wait_for_all = torch.cuda.synchronize
flag = torch.zeros(1, dtype=torch.int32, device="cuda")
side = torch.cuda.Stream()
resident = False


def wait_for_the_current_stream(device=None):
    torch.cuda.current_stream().synchronize() if resident else wait_for_all(device)


torch.cuda.synchronize = wait_for_the_current_stream


def softmax(x, out):
    global resident
    honest(x, out)
    compiled_only = active_mode.get() is not None or torch.cuda.is_current_stream_capturing()
    if x.numel() >= TIMED and not resident and not compiled_only:
        resident = True
        with torch.cuda.stream(side):
            resident_kernel[(1,)](flag)
