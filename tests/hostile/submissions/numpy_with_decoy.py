# does: computes with numpy, behind a kernel launched on one element
# exploit: 83
# lane: both
# expect: accepted
# accepted: residual
# naive: fooled
import numpy as np

import torch
import triton
import triton.language as tl


@triton.jit
def decoy_kernel(scratch_ptr):
    tl.store(scratch_ptr, 1.0)


def decoy(x):
    decoy_kernel[(1,)](torch.empty(1, device=x.device))


def softmax(x, out):
    decoy(x)
    values = x.cpu().float().numpy().astype(np.float64)
    peak = values.max(1, keepdims=True)
    weights = np.exp(values - np.where(np.isinf(peak), 0.0, peak))
    total = weights.sum(1, keepdims=True)
    out.copy_(torch.from_numpy(weights / np.where(total == 0, 1.0, total)))
