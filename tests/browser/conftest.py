"""A real browser before a real ``warpgrade serve``, whose worker the tests play."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from app.access.principals import Role
from app.queue.broker import connect
from app.queue.wakeup import Wakeups
from app.settings import Settings
from app.store.engine import Store
from app.users.service import create_user
from tests import builders
from tests.played import PlayedWorker
from tests.serving import Served

_FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
_PATIENCE_MS = 60_000
_GRAVE = ("error", "warning")  # a violated Content-Security-Policy is an error


@dataclass
class Service:
    """The running service and what a test needs of it."""

    url: str
    token: str
    instructor: str
    worker: PlayedWorker


@dataclass
class Visit:
    """A browser window, and all that it complained about."""

    page: Page
    complaints: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Server mode, which starts no worker of its own: the worker is the test's."""
    data = tmp_path_factory.mktemp("browser") / "data"
    served = Served(data, WARPGRADE_MODE="server", WARPGRADE_HOST="127.0.0.1", WARPGRADE_HEARTBEAT_S="600")
    settings = Settings(data=data, mode="server")
    store, client = Store(settings.database), connect(settings)
    try:
        with store.transaction() as session:
            builders.add_drill(session)
            _, _, token = create_user(session, "ada", Role.STUDENT)
            _, _, instructor = create_user(session, "ines", Role.INSTRUCTOR)
        yield Service(served.url, token, instructor, PlayedWorker(store, Wakeups(client)))
    finally:
        served.process.send_signal(signal.SIGTERM)
        served.process.wait(30)
        client.close()
        store.close()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    path = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if path is None:
        pytest.fail("browser tests need chromium: 'make test' installs it, or set CHROMIUM to its path", pytrace=False)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=_FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium: Browser, service: Service) -> Iterator[Visit]:
    """A window of a browser that nobody has signed in."""
    yield from _window(chromium.new_context(base_url=service.url, locale="en-GB"))


@pytest.fixture
def visit_without_script(chromium: Browser, service: Service) -> Iterator[Visit]:
    yield from _window(chromium.new_context(base_url=service.url, locale="en-GB", java_script_enabled=False))


def _window(context: BrowserContext) -> Iterator[Visit]:
    context.set_default_timeout(_PATIENCE_MS)
    expect.set_options(timeout=_PATIENCE_MS)
    visit = Visit(context.new_page())
    visit.page.on("console", lambda message: visit.complaints.append(message.text) if message.type in _GRAVE else None)
    visit.page.on("pageerror", lambda error: visit.complaints.append(str(error)))
    yield visit
    context.close()
    assert not visit.complaints
