"""``python -m worker.runner CHANNEL_FD KIND [WARM_UP_FD]``: warm up, say ready, serve one submission, end with the
channel. ``WARM_UP_FD`` keeps measurements away until it is warm."""

from __future__ import annotations

import contextlib
import gc
import importlib
import sys

gc.disable()  # what is imported is never garbage, and to look through it all takes a seventh of the time to get warm

import torch  # noqa: E402

from worker.protocol.channel import RUNNER_FRAME_BYTES, PeerGone, from_descriptor  # noqa: E402
from worker.protocol.warming import end_warm_up  # noqa: E402
from worker.runner.session import Session, scratch_folder  # noqa: E402

KINDS = {
    "interpreter": "worker.runner.interpreter",
    "compiler": "worker.runner.compiling",
    "gpu": "worker.runner.device",
    "reference": "worker.runner.device",
}
"""What a runner can be. The module is imported by name: each one patches Triton in its own way."""


def main(arguments: list[str]) -> None:
    descriptor, kind, *warm_up = arguments
    torch.set_num_threads(1)
    channel = from_descriptor(int(descriptor), RUNNER_FRAME_BYTES, max_descriptors=1)
    executors = importlib.import_module(KINDS[kind]).executors()
    end_warm_up(warm_up)
    gc.enable()
    with contextlib.suppress(PeerGone):
        Session(channel, scratch_folder(), executors).serve()


if __name__ == "__main__":
    main(sys.argv[1:])
