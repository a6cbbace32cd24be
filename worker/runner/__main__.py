"""``python -m worker.runner CHANNEL_FD KIND``: warm up, say ready, serve one submission, end with the channel."""

from __future__ import annotations

import contextlib
import gc
import importlib
import sys

gc.disable()  # what is imported is never garbage, and to look through it all takes a seventh of the time to get warm

import torch  # noqa: E402

from worker.protocol.channel import RUNNER_FRAME_BYTES, PeerGone, from_descriptor  # noqa: E402
from worker.runner.session import Session, scratch_folder  # noqa: E402

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
    gc.enable()
    with contextlib.suppress(PeerGone):
        Session(channel, scratch_folder(), executors).serve()


if __name__ == "__main__":
    main(sys.argv[1:])
