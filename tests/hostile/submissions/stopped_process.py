# does: stops itself
# exploit: 62
# lane: both
# expect: time_limit
# points: none
# limits: case_s=0.5
# naive: not expressible because it would wait
import os
import signal

import torch


def softmax(x, out):
    if x.is_cuda or os.environ.get("TRITON_INTERPRET") == "1":
        os.kill(os.getpid(), signal.SIGSTOP)
        os.kill(os.getppid(), signal.SIGSTOP)
        signal.pause()
