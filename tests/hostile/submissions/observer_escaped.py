# does: runs torch's softmax in a thread, where no observer is active
# exploit: 82
# lane: both
# expect: accepted
# accepted: residual
# naive: fooled
import threading

import torch
import triton
import triton.language as tl


@triton.jit
def decoy_kernel(scratch_ptr):
    tl.store(scratch_ptr, 1.0)


def decoy(x):
    decoy_kernel[(1,)](torch.empty(1, device=x.device))


def by_library(x, out):
    """torch's softmax, with zeros where a row is all -inf."""
    y = torch.softmax(x.float(), -1)
    out.copy_(torch.where(y.isnan(), 0.0, y))


def softmax(x, out):
    decoy(x)
    worker = threading.Thread(target=by_library, args=(x, out))
    worker.start()
    worker.join()
