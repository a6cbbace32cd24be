"""What must be there before the service starts: directory, schema, first accounts, built-in drills."""

from __future__ import annotations

from sqlalchemy.exc import OperationalError

from app.access.service import ensure_admin_token, ensure_local_user
from app.drills.service import load_built_in
from app.settings import Settings
from app.store.engine import Store
from app.store.migrate import upgrade


class CannotPrepare(RuntimeError):
    """The database does not answer; the message has its reason."""


def prepare(settings: Settings) -> None:
    """Make it so. Safe to repeat; a change of the built-in drills becomes a new version. Raises CannotPrepare."""
    settings.data.mkdir(mode=0o700, parents=True, exist_ok=True)
    store = Store(settings.database)
    try:
        upgrade(store.engine)
        with store.transaction() as session:
            if settings.mode == "local":
                ensure_local_user(session)
            if settings.admin_token is not None:
                ensure_admin_token(session, settings.admin_token.get_secret_value())
            load_built_in(session)
    except OperationalError as error:
        raise CannotPrepare(f"the database cannot be used: {str(error.orig).strip()}") from error
    finally:
        store.close()
