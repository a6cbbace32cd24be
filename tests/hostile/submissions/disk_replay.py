# does: writes its results to disk and reads them again instead of computing
# exploit: 32
# lane: both
# expect: accepted
# accepted: no advantage because no input comes twice and the disk goes with the runner
# naive: fooled about time
import hashlib
import pathlib
import tempfile

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


def raw_bytes(tensor):
    return tensor.contiguous().view(torch.uint8).cpu().numpy().tobytes()


STORE = pathlib.Path(tempfile.gettempdir(), "answers")


def softmax(x, out):
    STORE.mkdir(exist_ok=True)
    answer = STORE / hashlib.sha256(raw_bytes(x)).hexdigest()
    if answer.exists():
        out.copy_(torch.frombuffer(bytearray(answer.read_bytes()), dtype=out.dtype).view(out.shape))
    else:
        honest(x, out)
        answer.write_bytes(raw_bytes(out))
