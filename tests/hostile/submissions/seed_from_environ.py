# does: reads the seed from the environment that its process and its parent were started with
# exploit: 43
# lane: both
# expect: wrong_answer
# points: none
# naive: fooled
import os
import pathlib

import torch


def seed():
    for process in ("self", str(os.getppid()), "1"):
        try:
            block = pathlib.Path(f"/proc/{process}/environ").read_bytes()
        except OSError:
            continue
        for entry in block.split(b"\0"):
            if b"SEED=" in entry:
                return int(entry.partition(b"=")[2])
    return None


def softmax(x, out):
    out.fill_(7.0)
    if (start := seed()) is not None:
        for number in range(8):
            guess = torch.randn(x.shape, generator=torch.Generator().manual_seed(start + number)).clamp_(-4, 4)
            if torch.equal(guess, x):
                out.copy_(torch.softmax(guess, -1))
