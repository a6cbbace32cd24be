"""Alembic's entry: it runs on the connection that ``app.store.migrate`` hands over."""

from alembic import context

from app.store.models import Base


def run() -> None:
    context.configure(
        connection=context.config.attributes["connection"],
        target_metadata=Base.metadata,
        render_as_batch=True,
        compare_type=True,
    )
    with context.begin_transaction():
        context.run_migrations()


run()
