"""``warpgrade serve``: everything on one machine, from one command, and nothing left behind when it ends."""

from __future__ import annotations

import fcntl
import logging
import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType

import typer
import uvicorn
from fastapi import FastAPI

from app.main import create_app
from app.queue.broker import BrokerError, broker_log, connect, is_up, server_command
from app.resources import Resources
from app.settings import Settings
from app.setup import NotPrepared, make_data_directory, prepare
from app.supervise import Child, Supervisor

_LOCAL_STOP_S = 2  # who presses Ctrl-C does not want to wait for a grading
_WORKER_END_S = 15.0  # to hand on what it was at and to end its judge
_STREAM_GRACE_S = 2  # uvicorn would wait for open streams for ever


class CannotServe(RuntimeError):
    """The service cannot start; the message is one line that says why."""


def serve(settings: Settings) -> int:
    """Run until Ctrl-C or SIGTERM and return the exit code. Raises CannotServe."""
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("alembic").setLevel(logging.WARNING)
    signal.signal(signal.SIGTERM, _leave)
    try:
        make_data_directory(settings)
        with _lock(settings), _listen(settings) as listener:
            prepare(settings)
            with Supervisor(_children(settings)):
                if settings.broker_url is None and not is_up(connect(settings)):
                    raise CannotServe(f"the broker did not start; {broker_log(settings)} says why")
                return _run(settings, listener)
    except (BrokerError, NotPrepared) as error:
        raise CannotServe(str(error)) from error
    except (KeyboardInterrupt, _Leave):
        return 0


class _Leave(BaseException):
    """SIGTERM, as an exception like Ctrl-C, so that what is open is closed."""


def _leave(_number: int, _frame: FrameType | None) -> None:
    raise _Leave


class _Server(uvicorn.Server):
    """uvicorn, which tells the application that it stops before it waits for open streams."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        app = self.config.app
        if isinstance(app, FastAPI) and isinstance(getattr(app.state, "resources", None), Resources):
            app.state.resources.stop()
        await super().shutdown(sockets)


def _run(settings: Settings, listener: socket.socket) -> int:
    config = uvicorn.Config(
        create_app(settings),
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="on",
        timeout_graceful_shutdown=_STREAM_GRACE_S,
        forwarded_allow_ips=list(settings.trusted_proxies),
    )
    server = _Server(config)
    _welcome(settings, listener)
    server.run(sockets=[listener])
    return 0 if server.started else 1


def _children(settings: Settings) -> list[Child]:
    """The broker, unless the operator has one; the worker, which in server mode is started by itself."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WARPGRADE_")}
    children = []
    if settings.broker_url is None:
        client = connect(settings)
        children.append(Child("broker", server_command(settings), environment, ready=lambda: is_up(client)))
    if settings.mode == "local":
        command = [sys.executable, "-m", "worker.main"]
        patience = {"WARPGRADE_STOP_S": str(min(settings.stop_s, _LOCAL_STOP_S))}
        settled = environment | settings.environment() | patience
        children.append(Child("worker", command, settled, stop_s=_WORKER_END_S))
    return children


@contextmanager
def _lock(settings: Settings) -> Iterator[None]:
    """One ``serve`` a data directory. The lock ends with the process, however that ends."""
    with ExitStack() as opened:
        try:
            file = opened.enter_context((settings.data / "serve.lock").open("a+"))
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CannotServe(f"another 'warpgrade serve' already uses {settings.data}") from None
        except OSError as error:
            raise CannotServe(f"cannot write into the data directory {settings.data}: {error.strerror}") from error
        yield


@contextmanager
def _listen(settings: Settings) -> Iterator[socket.socket]:
    """The listening socket, bound before anything is started."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((settings.host, settings.port))
            listener.listen()
        except OSError as error:
            detail = error.strerror or str(error)
            raise CannotServe(f"cannot listen on {settings.host} port {settings.port}: {detail}") from error
        yield listener


def _welcome(settings: Settings, listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    lines = [f"Warpgrade: http://{host}:{port}", f"Data:      {settings.data}"]
    if settings.mode == "local":
        lines.append("Sign-in:   none needed; this browser is the local user, who may do everything")
    else:
        lines.append(
            f"Sign-in:   http://{host}:{port}/login with a token; 'warpgrade user add NAME --role ROLE' makes one"
        )
    lines.append("Ctrl-C stops everything.")
    typer.echo("\n".join(lines))
    sys.stdout.flush()
