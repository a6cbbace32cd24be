"""A claim that is kept while its work goes on."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from sqlalchemy.orm import Session

from app.gradings.service import Renewal
from app.settings import Settings
from app.store.engine import AWAY, Store, why_away

_log = logging.getLogger(__name__)


class Lease:
    """Renews a claim in a thread of its own, and hears there that the work is to stop."""

    def __init__(self, store: Store, renew: Callable[[Session], Renewal], settings: Settings) -> None:
        self._store, self._renew, self._settings = store, renew, settings
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="lease", daemon=True)
        self.lost = False
        self.cancel_requested = False

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._closed.set()
        self._thread.join()

    def _keep(self) -> None:
        interval_s = min(self._settings.heartbeat_s, self._settings.lease_s / 3, 1.0)
        while not self._closed.wait(interval_s):
            try:
                with self._store.transaction() as session:
                    renewal = self._renew(session)
            except AWAY as error:
                # For a moment that costs nothing; afterwards the lease is still held until somebody has taken it.
                _log.warning("a lease was not renewed: %s", why_away(error))
                continue
            except Exception:
                _log.exception("a lease was not renewed")
                continue
            self.lost, self.cancel_requested = not renewal.held, renewal.cancel_requested
            if self.lost:
                return
