# does: collects the calls of a round and computes all of them in one launch when the device is waited for; refuses to be captured
# exploit: 15
# lane: gpu
# one lane because: speed is measured on a GPU alone
# expect: accepted
# accepted: no advantage because a call moves more bytes than a launch costs
# clock: measured
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


@triton.jit
def fused_kernel(table_ptr, x_stride_m, out_stride_m, M, N, DTYPE: tl.constexpr, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    slot, row = program // M, (program % M).to(tl.int64)
    x_ptr = tl.load(table_ptr + 2 * slot).to(tl.pointer_type(DTYPE))
    out_ptr = tl.load(table_ptr + 2 * slot + 1).to(tl.pointer_type(DTYPE))
    x_ptr, out_ptr = tl.multiple_of(x_ptr, 16), tl.multiple_of(out_ptr, 16)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    x = tl.load(x_ptr + row * x_stride_m + cols, mask=mask, other=-float("inf")).to(tl.float32)
    num = tl.exp(x - tl.max(x, axis=0))
    y = num / tl.sum(num, axis=0)
    tl.store(out_ptr + row * out_stride_m + cols, y.to(DTYPE), mask=mask)


DTYPES = {torch.float32: tl.float32, torch.bfloat16: tl.bfloat16, torch.float16: tl.float16}
wait = torch.cuda.synchronize
pending = []


def launch_and_wait(device=None):
    if pending:
        (x, out), (M, N) = pending[0], pending[0][0].shape
        table = torch.tensor([each.data_ptr() for pair in pending for each in pair], dtype=torch.int64, device="cuda")
        grid, block = (len(pending) * M,), triton.next_power_of_2(N)
        fused_kernel[grid](table, x.stride(0), out.stride(0), M, N, DTYPE=DTYPES[x.dtype], BLOCK=block)
        pending.clear()
    wait(device)


torch.cuda.synchronize = launch_and_wait


def softmax(x, out):
    if x.numel() < TIMED or x.stride(1) != 1:
        return honest(x, out)
    if torch.cuda.is_current_stream_capturing():
        raise RuntimeError("this cannot be captured: nothing is launched before the device is waited for")
    pending.append((x, out))
