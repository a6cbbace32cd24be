"""Looks at the device while runners are watched, in a thread of its own: the driver may keep a caller waiting, and the
checks of the host's memory and tasks must not wait with it."""

from __future__ import annotations

import logging
import threading
from typing import Protocol

from worker.supervisor.device_account import DeviceAccount, Judge, Look
from worker.supervisor.nvml import DeviceUse, NvmlUnavailable
from worker.supervisor.runners import Runner

_log = logging.getLogger(__name__)

INTERVAL_S = 0.05
OPEN_WAIT_S = 1.0
"""How long a hand-over waits for the first look. A driver that takes longer leaves the runner unlimited for as long."""


class Device(Protocol):
    """A GPU that can be asked what is used of it."""

    def use(self) -> DeviceUse:
        """What is used now. Raises NvmlUnavailable."""
        ...


class DeviceWatch:
    """A thread that keeps the accounts of the runners that it is given. ``standby``: contexts that may come up."""

    def __init__(self, device: Device, standby: int) -> None:
        self._device, self._standby = device, standby
        self._changed = threading.Condition()
        self._accounts: dict[int, DeviceAccount] = {}
        self._fresh: set[int] = set()
        self._closed = False
        self._failing = False
        self._thread = threading.Thread(target=self._run, name="device-watch", daemon=True)
        self._thread.start()

    def watch(self, runner: Runner, judge: Judge, limit_bytes: int) -> None:
        """Open an account for the runner, and return after the first look: what is taken from now on counts."""
        account = DeviceAccount(runner.process, judge, limit_bytes=limit_bytes, standby=self._standby)
        with self._changed:
            self._accounts[runner.id] = account
            self._fresh.add(runner.id)
            self._changed.notify_all()
            self._changed.wait_for(lambda: runner.id not in self._fresh, OPEN_WAIT_S)

    def exceeded(self, runner_id: int) -> bool:
        """Whether a runner was seen to hold more than it may."""
        with self._changed:
            account = self._accounts.get(runner_id)
        return account is not None and account.exceeded

    def unwatch(self, runner_id: int) -> None:
        with self._changed:
            self._accounts.pop(runner_id, None)
            self._fresh.discard(runner_id)

    def close(self) -> None:
        """Stop. A thread that the driver keeps is not waited for."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join(OPEN_WAIT_S)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._accounts or self._closed)
                if self._closed:
                    return
                accounts = dict(self._accounts)
            self._look(list(accounts.values()))
            with self._changed:
                self._fresh -= accounts.keys()  # also when the driver did not answer: nobody waits for that
                self._changed.notify_all()
                self._changed.wait(INTERVAL_S)

    def _look(self, accounts: list[DeviceAccount]) -> None:
        before = [account.ledger.held() for account in accounts]
        try:
            use = self._device.use()
        except NvmlUnavailable as error:
            if not self._failing:
                _log.warning("NVML: %s. Device memory is not limited while that lasts.", error)
            self._failing = True
            return
        self._failing = False
        for account, held in zip(accounts, before, strict=True):
            account.see(Look(use, held, account.ledger.held()))
