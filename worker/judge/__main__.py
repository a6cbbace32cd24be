"""``python -m worker.judge CHANNEL_FD LANE LEDGER_FD [WARM_UP_FD]``: take jobs from the supervisor until it hangs up.

``WARM_UP_FD`` keeps other gradings' measurements away until it is warm."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from functools import cache
from pathlib import Path

import torch

from graders.verdict import Lane
from worker.device_ledger import DeviceLedger
from worker.job import Job, SelfTest
from worker.judge.device import Device, DeviceUnhealthy, device_of
from worker.judge.device_share import DeviceShare
from worker.judge.grading import Grading
from worker.judge.packages import Packages
from worker.judge.self_test import self_test
from worker.judge.supervisor_link import SupervisorLink
from worker.judge.timing.baselines import Baselines
from worker.judge.timing.calibration import calibrate
from worker.judge.timing.measure import Instruments
from worker.protocol.channel import JUDGE_FRAME_BYTES, Channel, PeerGone, from_descriptor
from worker.protocol.warming import end_warm_up


def main(arguments: list[str]) -> None:
    torch.set_num_threads(1)
    channel_fd, lane, ledger_fd, *warm_up = arguments
    channel = from_descriptor(int(channel_fd), JUDGE_FRAME_BYTES, max_descriptors=2)
    packages = Packages(Path(os.environ["TMPDIR"]) / "packages")
    device = device_of(Lane(lane))
    device.require_health()
    share = DeviceShare(DeviceLedger(int(ledger_fd)), device.torch)
    end_warm_up(warm_up)
    channel.send({"type": "ready"})
    with contextlib.suppress(PeerGone):
        while True:
            _serve_one(channel, packages, device, share)


@cache
def _instruments(device: Device) -> Instruments | None:
    """Calibrated in the first job, before any submission runs: only then is nobody else on the device."""
    return Instruments(calibrate(device.torch), Baselines()) if device.lane is Lane.GPU else None


def _serve_one(channel: Channel, packages: Packages, device: Device, share: DeviceShare) -> None:
    """One job. A failure of ours is told, never turned into a verdict: the supervisor decides what follows."""
    message, (package,) = channel.receive()
    try:
        if message["type"] == "self_test":
            tested = self_test(SelfTest.model_validate(message["job"]), packages, package, device)
            channel.send({"type": "self_tested", "tested": tested.model_dump(mode="json")})
        else:
            _grade(Job.model_validate(message["job"]), channel, packages, package, device, share)
    except PeerGone:
        raise
    except Exception as error:
        reason = traceback.format_exc(limit=-12)[-8000:]
        channel.send({"type": "failed", "reason": reason, "unhealthy": isinstance(error, DeviceUnhealthy)})
    finally:
        os.close(package)


def _grade(job: Job, channel: Channel, packages: Packages, package: int, device: Device, share: DeviceShare) -> None:
    link = SupervisorLink(channel, job.limits, share)
    instruments = _instruments(device)
    drill = packages.drill(job.slug, job.digest, package)
    link.report(Grading(job, drill, link, instruments).run())


if __name__ == "__main__":
    main(sys.argv[1:])
