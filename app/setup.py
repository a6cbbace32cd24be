"""What must be there before the service starts: directory, schema, first accounts, built-in drills."""

from __future__ import annotations

from app.access.service import TokenTaken, ensure_admin_token, ensure_local_user
from app.drills.service import load_built_in
from app.settings import Settings
from app.store.engine import AWAY, Store, why_away
from app.store.migrate import upgrade


class NotPrepared(RuntimeError):
    """What is needed cannot be had; the message is one line that says why."""


def make_data_directory(settings: Settings) -> None:
    """Raises NotPrepared."""
    try:
        settings.data.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise NotPrepared(f"cannot make the data directory {settings.data}: {error.strerror}") from error


def prepare(settings: Settings) -> None:
    """Make it so. Safe to repeat, also at once; a change of the built-in drills becomes a new version.

    Raises NotPrepared.
    """
    make_data_directory(settings)
    store = Store(settings.database)
    try:
        upgrade(store.engine)
        with store.transaction() as session:
            if settings.mode == "local":
                ensure_local_user(session)
            if settings.admin_token is not None:
                ensure_admin_token(session, settings.admin_token.get_secret_value())
            load_built_in(session)
    except TokenTaken as error:
        raise NotPrepared(f"WARPGRADE_ADMIN_TOKEN cannot be used: {error}") from error
    except AWAY as error:
        raise NotPrepared(f"the database does not answer: {why_away(error)}") from error
    finally:
        store.close()
