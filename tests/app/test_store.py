"""Schema, transactions, column types, ids."""

from __future__ import annotations

import multiprocessing
import threading
from datetime import UTC, datetime, timedelta, timezone
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from pydantic import SecretStr
from sqlalchemy import inspect, select, text
from sqlalchemy.exc import IntegrityError, StatementError
from sqlalchemy.orm import undefer

from app.settings import Settings
from app.setup import prepare
from app.store.engine import Store
from app.store.ids import new_id
from app.store.migrate import downgrade, upgrade
from app.store.models import Base, Drill, DrillVersion, Grading, Token, User
from tests import builders, databases
from tests.databases import ON_POSTGRESQL, ON_SQLITE


def test_models_and_migrations_agree(store: Store) -> None:
    with store.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []


def test_migrations_go_down_and_up_again(store: Store) -> None:
    downgrade(store.engine, "base")
    assert inspect(store.engine).get_table_names() == ["alembic_version"]
    upgrade(store.engine)
    upgrade(store.engine)
    assert set(inspect(store.engine).get_table_names()) == {*Base.metadata.tables, "alembic_version"}


def test_a_path_with_odd_characters_is_no_trouble(tmp_path: Path) -> None:
    folder = tmp_path / "50% of 数据"
    folder.mkdir()
    store = Store(f"sqlite:///{folder / 'warpgrade.db'}")
    upgrade(store.engine)
    store.close()


@ON_SQLITE
def test_sqlite_runs_with_wal_and_foreign_keys(store: Store) -> None:
    with store.reading() as session:
        assert session.scalar(text("PRAGMA journal_mode")) == "wal"
        assert session.scalar(text("PRAGMA foreign_keys")) == 1
        assert session.scalar(text("PRAGMA busy_timeout")) == 10_000


@ON_POSTGRESQL
def test_nobody_holds_up_postgresql_for_ever(store: Store) -> None:
    for open_session in (store.reading, store.transaction):
        with open_session() as session:
            assert session.scalar(text("SHOW lock_timeout")) == "10s"
            assert session.scalar(text("SHOW idle_in_transaction_session_timeout")) == "1min"


def test_a_reading_session_sees_one_moment(store: Store) -> None:
    names = select(User.name).order_by(User.id)
    with store.transaction() as session:
        builders.add_user(session, "ada")
    with store.reading() as reading:
        assert reading.scalars(names).all() == ["ada"]
        with store.transaction() as session:
            builders.add_user(session, "bob")
        assert reading.scalars(names).all() == ["ada"]
    with store.reading() as reading:
        assert reading.scalars(names).all() == ["ada", "bob"]


def test_several_processes_start_on_an_empty_database_at_once(settings: Settings) -> None:
    settings.data.mkdir(parents=True)
    databases.create(settings)
    fresh = multiprocessing.get_context("spawn")
    barrier = fresh.Barrier(3)
    processes = [fresh.Process(target=prepare_together, args=(settings, barrier)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    store = Store(settings.database)
    with store.reading() as session:
        assert sorted(session.scalars(select(User.name))) == ["admin", "local"]
        assert len(session.scalars(select(Token)).all()) == 1
        assert set(session.scalars(select(DrillVersion.number))) == {1}
    store.close()


def prepare_together(settings: Settings, barrier: Barrier) -> None:
    barrier.wait(60)
    prepare(settings.model_copy(update={"admin_token": SecretStr("the-operators-token")}))


def test_a_package_keeps_its_bytes_and_json_its_text(store: Store) -> None:
    content, told = bytes(range(256)), "a NUL \0, a quote ', 核 and \U0001f600"
    with store.transaction() as session:
        drill = Drill(slug="toy")
        made = DrillVersion(drill=drill, number=1, digest="d", state="valid", manifest={told: told}, package=content)
        session.add(made)
    with store.reading() as session:
        kept = session.get_one(DrillVersion, made.id, options=[undefer(DrillVersion.package)])
        assert (kept.package, kept.manifest) == (content, {told: told})


def test_writers_wait_for_each_other(store: Store) -> None:
    with store.transaction() as session:
        counter = builders.add_user(session, "0")

    def count() -> None:
        for _ in range(20):
            with store.transaction() as session:
                user = session.get_one(User, counter.user_id, with_for_update={"key_share": True})
                user.name = str(int(user.name) + 1)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with store.reading() as session:
        assert session.get_one(User, counter.user_id).name == "80"


def test_a_failed_transaction_leaves_nothing(store: Store) -> None:
    def fail() -> None:
        with store.transaction() as session:
            builders.add_user(session)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    with store.reading() as session:
        assert session.scalars(select(User)).all() == []


def test_times_come_back_aware_and_in_utc(store: Store) -> None:
    moment = datetime(2026, 5, 1, 12, 0, tzinfo=timezone(timedelta(hours=8)))
    with store.transaction() as session:
        session.add(User(id="u", name="ada", role="student", created_at=moment))
    with store.reading() as session:
        found = session.get_one(User, "u").created_at
    assert found == moment
    assert found.tzinfo is UTC


def test_a_time_without_a_zone_is_refused(store: Store) -> None:
    with pytest.raises(StatementError, match="without a zone"), store.transaction() as session:
        session.add(User(name="ada", role="student", created_at=datetime(2026, 5, 1)))  # noqa: DTZ001


def test_one_grading_of_a_submission_is_current(store: Store) -> None:
    with store.transaction() as session:
        builders.add_drill(session)
        submitted = builders.add_submission(session, builders.add_user(session))
        first = session.get_one(Grading, submitted.grading_id)
        again = {
            "submission_id": first.submission_id,
            "drill_version_id": first.drill_version_id,
            "state": "queued",
            "seed": "0",
        }
        session.add(Grading(**again, is_current=False))
    with pytest.raises(IntegrityError), store.transaction() as session:
        session.add(Grading(**again))


def test_ids_sort_by_the_time_they_were_made() -> None:
    ids = [new_id() for _ in range(2000)]
    by_time = [made[:18] for made in ids]
    assert by_time == sorted(by_time)
    assert len(set(ids)) == len(ids)
    assert all(made[14] == "7" and made[19] in "89ab" for made in ids)


def test_a_database_of_the_first_schema_keeps_what_it_holds(settings: Settings) -> None:
    settings.data.mkdir(parents=True)
    databases.create(settings)
    old = Store(settings.database)
    upgrade(old.engine, "0001")
    with old.engine.begin() as connection:
        connection.execute(text("INSERT INTO drills VALUES ('d', 'toy', NULL, '2026-01-01 00:00:00')"))
        connection.execute(
            text(
                "INSERT INTO drill_versions (id, drill_id, number, digest, state, manifest, package, created_at) "
                "VALUES ('v', 'd', 1, 'x', 'published', '{}', 'zip', '2026-01-01 00:00:00')"
            )
        )
    upgrade(old.engine)
    with old.reading() as session:
        kept = session.get_one(DrillVersion, "v")
        assert (kept.state, kept.retired_at) == ("published", None)
    downgrade(old.engine, "0001")
    with old.engine.connect() as connection:
        assert connection.execute(text("SELECT state FROM drill_versions")).scalars().all() == ["published"]
    old.close()
