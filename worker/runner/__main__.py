"""``python -m worker.runner CHANNEL_FD KIND``: warm up, say ready, serve one submission, end with the channel."""

from __future__ import annotations

import contextlib
import importlib
import sys

import torch

from worker.protocol.channel import RUNNER_FRAME_BYTES, PeerGone, from_descriptor
from worker.runner.session import Session, scratch_folder

KINDS = {
    "interpreter": "worker.runner.interpreter",
    "compiler": "worker.runner.compiling",
    "gpu": "worker.runner.device",
    "reference": "worker.runner.device",
}
"""What a runner can be. The module is imported by name: each one patches Triton in its own way."""


def main(arguments: list[str]) -> None:
    descriptor, kind = int(arguments[0]), arguments[1]
    torch.set_num_threads(1)
    channel = from_descriptor(descriptor, RUNNER_FRAME_BYTES, max_descriptors=1)
    executors = importlib.import_module(KINDS[kind]).executors()
    with contextlib.suppress(PeerGone):
        Session(channel, scratch_folder(), executors).serve()


if __name__ == "__main__":
    main(sys.argv[1:])
