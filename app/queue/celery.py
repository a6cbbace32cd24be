"""Celery, configured once for both sides of the queue. Messages carry the work's id and nothing else."""

from __future__ import annotations

from celery import Celery

from app.queue.broker import broker_url
from app.settings import Settings

TASK_NAME = "warpgrade.grade"
VALIDATE_TASK_NAME = "warpgrade.validate"

_CONNECT_TIMEOUT_S = 2
_SOCKET_TIMEOUT_S = 15
_SENDING_TIMEOUT_S = 1
_RESTORE_INTERVAL_S = 5


def make_sender(settings: Settings) -> Celery:
    """The application that the web service sends with. It soon gives up on a silent broker: the sweeper tries again."""
    return make_celery(settings, socket_timeout_s=_SENDING_TIMEOUT_S)


def make_celery(settings: Settings, *, socket_timeout_s: float = _SOCKET_TIMEOUT_S) -> Celery:
    """The application that a worker consumes with.

    Correctness rests on the database's leases, not on these options: they only keep the queue brisk.
    """
    celery = Celery("warpgrade", broker=broker_url(settings), set_as_current=False)
    celery.conf.update(
        task_serializer="json",
        accept_content=["json"],
        task_ignore_result=True,
        task_store_errors_even_if_ignored=False,
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        task_default_queue="cpu",
        task_publish_retry=False,
        worker_prefetch_multiplier=1,
        # A lost broker connection says nothing about the run: its lease decides.
        worker_cancel_long_running_tasks_on_connection_loss=False,
        worker_enable_remote_control=False,
        worker_hijack_root_logger=False,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_transport_options={
            # A message is never given to a second worker while the first may still run it.
            "visibility_timeout": int(2 * settings.limits.grading_s) + 600,
            "unacked_restore_interval": _RESTORE_INTERVAL_S,
            "unacked_restore_throttle": 1,
            "socket_connect_timeout": _CONNECT_TIMEOUT_S,
            "socket_timeout": socket_timeout_s,
            "socket_keepalive": True,
            # Give up soon when the broker is down: the sweeper sends later. Consumers reconnect by themselves.
            "max_retries": 1,
            "interval_start": 0,
            "interval_step": 0.1,
            "interval_max": 0.1,
        },
    )
    return celery
