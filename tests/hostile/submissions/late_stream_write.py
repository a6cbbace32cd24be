# does: has a second stream write the true output some time after the call has returned and the device was said to be at rest
# exploit: 14
# lane: gpu
# one lane because: speed is measured on a GPU alone
# expect: accepted|wrong_answer
# accepted: no advantage because what it delays is missing when its outputs are taken, or is waited for
# clock: measured|interference|not_reached
# naive: not expressible because it has no GPU
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
DELAY_CYCLES = 200_000

side = torch.cuda.Stream()
wait_for_all = torch.cuda.synchronize
delayed = False


def wait_for_the_current_stream(device=None):
    torch.cuda.current_stream().synchronize() if delayed else wait_for_all(device)


torch.cuda.synchronize = wait_for_the_current_stream


def softmax(x, out):
    global delayed
    delayed = x.numel() >= TIMED and not torch.cuda.is_current_stream_capturing()
    if not delayed:
        return honest(x, out)
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        torch.cuda._sleep(DELAY_CYCLES)
        honest(x, out)
