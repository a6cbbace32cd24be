"""``python -m worker.main``: one Celery worker with its judge. Refuses to start without a sandbox."""

from __future__ import annotations

import ctypes
import logging
import multiprocessing
import os
import platform
import secrets
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

from celery import Celery
from celery.exceptions import Reject
from celery.signals import (
    worker_process_init,
    worker_process_shutdown,
    worker_ready,
    worker_shutdown,
    worker_shutting_down,
)

from app.queue.broker import connect
from app.queue.celery import TASK_NAME, VALIDATE_TASK_NAME, make_celery
from app.queue.wakeup import Wakeups
from app.settings import Misconfigured, Settings, read_settings
from app.store.engine import AWAY, Store, why_away
from app.workers.service import WorkerInfo, heartbeat, register, unregister
from graders.package import Package
from graders.report import Environment
from graders.validation import ValidationReport
from graders.verdict import Lane
from worker.sandbox.tiers import Sandbox
from worker.sandbox.walls import SandboxUnavailable
from worker.stopping import Stopping, WorkerStops
from worker.supervisor.lane import STANDBY, Post, choose_post
from worker.supervisor.supervisor import Supervisor
from worker.tasks import RETRY_S, Grader, Health
from worker.validation.engine import Validation, Watcher
from worker.validator import Validator

_log = logging.getLogger(__name__)
_PR_SET_PDEATHSIG = 1
_UNHEALTHY = (
    "its judge does not start, or does not accept a submission that is known to be right; the log has the reason"
)


class Heart:
    """Registers the worker and says, in a thread of the main process, that it lives."""

    def __init__(self, settings: Settings, info: WorkerInfo, health: Health) -> None:
        self._settings, self._info, self._health = settings, info, health
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _beat(self) -> None:
        store = Store(self._settings.database)
        while True:
            try:
                healthy = bool(self._health.value)
                with store.transaction() as session:
                    if not heartbeat(session, self._info.id, healthy, None if healthy else _UNHEALTHY):
                        register(session, self._info)
                if healthy:
                    self._settings.worker_sign.touch()
            except AWAY as error:
                _log.warning("the heartbeat was not written: %s", why_away(error))
            except Exception:
                _log.exception("the heartbeat was not written")
            if self._stopped.wait(self._settings.heartbeat_s):
                break
        self._settings.worker_sign.unlink(missing_ok=True)
        try:
            with store.transaction() as session:
                unregister(session, self._info.id)
        except AWAY as error:  # those who look for it see that it is silent
            _log.warning("this worker was not struck from the register: %s", why_away(error))
        store.close()


class TaskProcess:
    """What the process that runs the tasks holds: made after the fork, since connections do not survive one."""

    def __init__(self, settings: Settings, post: Post, worker_id: str, health: Health, stopping: Stopping) -> None:
        self._settings, self._worker_id, self._health, self._stopping = settings, worker_id, health, stopping
        self._post, self._lane, self._sandbox = post, post.lane, post.sandbox
        self._supervisor: Supervisor | None = None
        self._workers: tuple[Grader, Validator] | None = None

    def start(self, **_: Any) -> None:
        """Die with the parent, whatever happens to it; then warm up.

        Celery goes on whatever is raised here: what could not be made is made with the first task. Until then it is
        not told to be unhealthy, or no task would be sent.
        """
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        self._made()

    def stop(self, **_: Any) -> None:
        if self._supervisor is not None:
            self._supervisor.close()
            self._supervisor = None

    def grade(self, grading_id: str) -> None:
        with _passing_on():
            grader, _ = self._ready()
            grader.grade(grading_id)

    def validate(self, validation_id: str) -> None:
        with _passing_on():
            _, validator = self._ready()
            validator.validate(validation_id)

    def _ready(self) -> tuple[Grader, Validator]:
        """What does the tasks. While it cannot be made no work is taken: the worker says so where it is looked at, and
        tries again. Raises WorkerStops when it is to take no more work."""
        while (made := self._made()) is None:
            self._health.value = False  # until the canary is right
            self._stopping.rest(RETRY_S)
        return made

    def _made(self) -> tuple[Grader, Validator] | None:
        """The same each time, once it could be made. None: it cannot be made now, and the log has the reason."""
        if self._workers is None:
            try:
                self._make()
            except Exception:
                _log.exception("this worker cannot judge")
                self.stop()
        return self._workers

    def _make(self) -> None:
        settings = self._settings
        store, wakeups = Store(settings.database), Wakeups(connect(settings))
        self._supervisor = Supervisor(self._lane, STANDBY[self._lane], sandbox=self._sandbox, maximum=settings.limits)
        self._supervisor.warm_up()
        grader = Grader(
            store,
            self._supervisor,
            settings,
            wakeups,
            worker_id=self._worker_id,
            sandbox=self._sandbox.name,
            health=self._health,
            stopping=self._stopping,
        )
        validator = Validator(
            store, settings, wakeups, grader, self._run, worker_id=self._worker_id, stopping=self._stopping
        )
        self._workers = grader, validator

    def _run(self, package: Package, watcher: Watcher) -> ValidationReport:
        return Validation(package, self._post, watcher, self._settings.limits).run()


@contextmanager
def _passing_on() -> Iterator[None]:
    """A message that this worker does not begin with goes back to the queue."""
    try:
        yield
    except WorkerStops as error:
        raise Reject(str(error), requeue=True) from error


def main() -> int:
    """Run until told to stop. Exit code 1 when no sandbox can be built, or what is set cannot be used."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s worker %(levelname)s %(name)s: %(message)s")
    try:
        settings = read_settings()
        post = choose_post(settings.lane, settings.sandbox)
    except (Misconfigured, SandboxUnavailable) as error:
        print(f"warpgrade worker: not started: {error}", file=sys.stderr)
        return 1
    lane, sandbox = post.lane, post.sandbox
    worker_id = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"
    environment = _environment(lane, sandbox)
    info = WorkerInfo(worker_id, lane.queue, lane, socket.gethostname(), os.getpid(), sandbox.name, environment)
    health = multiprocessing.Value("b", True, lock=False)  # a task process that is killed would keep the lock
    stopping = Stopping(settings.stop_s)
    process = TaskProcess(settings, post, worker_id, health, stopping)
    heart = Heart(settings, info, health)
    worker_process_init.connect(process.start, weak=False)
    worker_process_shutdown.connect(process.stop, weak=False)
    worker_ready.connect(lambda **_: heart.start(), weak=False)
    _log.info("worker %s: lane %s, queue %s, sandbox %s", worker_id, lane.value, lane.queue, sandbox.name)
    worker_shutting_down.connect(lambda **_: stopping.tell(), weak=False)
    worker_shutdown.connect(lambda **_: heart.stop(), weak=False)
    celery = make_celery(settings)
    celery.task(process.grade, name=TASK_NAME)
    celery.task(process.validate, name=VALIDATE_TASK_NAME)
    _run(celery, lane, worker_id)
    return 0


def _run(celery: Celery, lane: Lane, worker_id: str) -> None:
    pool = ["--pool", "prefork", "--concurrency", "1", "--prefetch-multiplier", "1"]
    quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "WARNING"]
    celery.worker_main(["worker", "--queues", lane.queue, "--hostname", worker_id, *pool, *quiet])


def _environment(lane: Lane, sandbox: Sandbox) -> Environment:
    return Environment(
        mode=lane.value,
        python=platform.python_version(),
        torch=version("torch"),
        triton=version("triton"),
        sandbox=sandbox.name,
    )


if __name__ == "__main__":
    sys.exit(main())
