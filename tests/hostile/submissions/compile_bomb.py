# does: unrolls a loop so often that compiling takes for ever
# exploit: 62
# lane: both
# expect: compile_error|time_limit
# points: none
# limits: compile_s=3.0 case_s=1.0
# naive: not expressible because nothing there keeps it from it
import torch
import triton
import triton.language as tl


@triton.jit
def bomb_kernel(out_ptr, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    y = cols.to(tl.float32)
    for _ in tl.static_range(1_000_000):
        y = tl.exp(y)
    tl.store(out_ptr + cols, y)


def softmax(x, out):
    bomb_kernel[(1,)](out, BLOCK=1024)
