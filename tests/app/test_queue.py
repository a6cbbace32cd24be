"""Dispatching, sweeping and waking, with a real Redis."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import redis
from sqlalchemy import select, update

from app.gradings import service as gradings
from app.queue.broker import connect, redis_url
from app.queue.celery import TASK_NAME, make_celery, make_sender
from app.queue.dispatch import Dispatcher
from app.queue.sweeper import Sweeper
from app.queue.wakeup import Listeners, Wakeups, wait_for
from app.settings import Settings
from app.store.columns import utc_now
from app.store.engine import Store
from app.store.models import DrillVersion, Grading, IdempotencyKey, Submission, Worker
from app.submissions.service import Submitted, request_cancel
from app.workers import service as workers
from graders.verdict import Lane
from tests import builders
from tests.broker import running_broker
from tests.databases import ON_SQLITE
from tests.processes import wait_until
from tests.statements import recorded


class Bench:
    """The queue's sending side with everything at hand."""

    def __init__(self, store: Store, settings: Settings, client: redis.Redis) -> None:
        self.store, self.settings, self.client = store, settings, client
        self.celery = make_sender(settings)
        self.dispatcher = Dispatcher(store, self.celery, settings)
        self.sweeper = Sweeper(store, self.dispatcher, Wakeups(client), client, settings)
        with store.transaction() as session:
            builders.add_drill(session)
            self.user = builders.add_user(session)

    def submit(self) -> Submitted:
        with self.store.transaction() as session:
            return builders.add_submission(session, self.user)

    def worker(self, lane: Lane = Lane.INTERPRETER) -> str:
        info = builders.worker_info(lane)
        with self.store.transaction() as session:
            workers.register(session, info)
        return info.id

    def silence(self, worker_id: str) -> None:
        with self.store.transaction() as session:
            session.execute(
                update(Worker).where(Worker.id == worker_id).values(heartbeat_at=utc_now() - timedelta(minutes=1))
            )

    def set(self, submitted: Submitted, **values: Any) -> None:
        with self.store.transaction() as session:
            session.execute(update(Grading).where(Grading.id == submitted.grading_id).values(values))

    def grading(self, submitted: Submitted) -> Grading:
        with self.store.reading() as session:
            return session.get_one(Grading, submitted.grading_id)

    def waiting(self, queue: str = "cpu") -> int:
        return self.client.llen(queue)

    def claim(self, submitted: Submitted, worker_id: str = "w") -> gradings.Claim | None:
        with self.store.transaction() as session:
            return gradings.claim(session, submitted.grading_id, worker_id=worker_id, lease_s=30)


@pytest.fixture
def bench(store: Store, settings: Settings) -> Iterator[Bench]:
    with running_broker(settings) as client:
        made = Bench(store, settings, client)
        yield made
        made.celery.close()


LONG_AGO = timedelta(minutes=5)


def test_a_grading_goes_to_a_gpu_else_to_a_cpu_else_it_waits(bench: Bench) -> None:
    waits, cpu, gpu = bench.submit(), bench.submit(), bench.submit()
    assert not bench.dispatcher.dispatch(waits.grading_id)
    assert bench.grading(waits).queue is None
    bench.worker(Lane.INTERPRETER)
    assert bench.dispatcher.dispatch(cpu.grading_id)
    gpu_worker = bench.worker(Lane.GPU)
    assert bench.dispatcher.dispatch(gpu.grading_id)
    assert (bench.grading(cpu).queue, bench.grading(gpu).queue) == ("cpu", "gpu")
    assert (bench.waiting("cpu"), bench.waiting("gpu")) == (1, 1)
    with bench.store.transaction() as session:
        workers.heartbeat(session, gpu_worker, healthy=False, note="the GPU fell off the bus")
    after = bench.submit()
    bench.dispatcher.dispatch(after.grading_id)
    assert bench.grading(after).queue == "cpu"


def test_a_message_carries_the_id_and_nothing_else(bench: Bench) -> None:
    bench.worker()
    submitted = bench.submit()
    bench.dispatcher.dispatch(submitted.grading_id)
    with bench.celery.connection_for_read() as connection, connection.SimpleQueue("cpu") as queue:
        message = queue.get(timeout=5)
        message.ack()
    assert message.headers["task"] == TASK_NAME
    assert message.content_type == "application/json"
    assert message.payload[:2] == [[submitted.grading_id], {}]


def test_a_grading_is_sent_once_however_many_dispatch_it(bench: Bench) -> None:
    bench.worker()
    submitted = bench.submit()
    threads = [threading.Thread(target=bench.dispatcher.dispatch, args=[submitted.grading_id]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    bench.sweeper.sweep()
    assert bench.waiting() == 1


def test_a_broker_that_is_down_delays_and_nothing_else(store: Store, settings: Settings) -> None:
    client = connect(settings)
    bench = Bench(store, settings, client)
    bench.worker()
    submitted = bench.submit()
    assert not bench.dispatcher.dispatch(submitted.grading_id)
    assert bench.grading(submitted).sent_at is None
    bench.sweeper.sweep()
    Wakeups(client).publish(submitted.submission_id)
    with running_broker(settings):
        bench.sweeper.sweep()
        assert bench.waiting() == 1
        bench.celery.close()
    client.close()


def test_a_broker_that_is_silent_is_left_to_the_sweeper_for_a_while(bench: Bench) -> None:
    """Requests' threads would wait for it, all of them."""
    bench.worker()
    first, second = bench.submit(), bench.submit()
    broker = bench.client.info()["process_id"]
    os.kill(broker, signal.SIGSTOP)
    try:
        assert not bench.dispatcher.dispatch(first.grading_id)
    finally:
        os.kill(broker, signal.SIGCONT)
    assert not bench.dispatcher.dispatch(second.grading_id)
    assert bench.waiting() == 0
    bench.sweeper.sweep()
    assert bench.waiting() == 2


def test_a_request_waits_for_a_silent_broker_less_than_a_worker_does(settings: Settings) -> None:
    sender, consumer = (make(settings).conf.broker_transport_options for make in (make_sender, make_celery))
    assert sender["socket_timeout"] * 5 < consumer["socket_timeout"]


def test_a_lost_message_is_sent_again(bench: Bench) -> None:
    bench.worker()
    submitted = bench.submit()
    bench.dispatcher.dispatch(submitted.grading_id)
    bench.client.flushall()
    bench.sweeper.sweep()
    assert bench.waiting() == 0
    bench.set(submitted, sent_at=utc_now() - LONG_AGO)
    bench.sweeper.sweep()
    assert bench.waiting() == 1
    bench.set(submitted, sent_at=utc_now() - LONG_AGO)
    bench.sweeper.sweep()
    assert bench.waiting() == 1, "a message that still waits its turn is not doubled"


def test_a_message_that_is_missing_among_others_is_sent_again(bench: Bench) -> None:
    """Each message is a turn for whoever is first in line: what is missing is a number, and not one of them."""
    bench.worker()
    every = [bench.submit() for _ in range(3)]
    for submitted in every:
        bench.dispatcher.dispatch(submitted.grading_id)
        bench.set(submitted, sent_at=utc_now() - LONG_AGO)
    bench.client.lpop("cpu")
    bench.sweeper.sweep()
    assert bench.waiting() == 3
    bench.sweeper.sweep()
    assert bench.waiting() == 3


def test_what_was_overtaken_in_line_has_lost_no_message(bench: Bench) -> None:
    bench.worker()
    waits, later = bench.submit(), bench.submit()
    for submitted in (waits, later):
        bench.dispatcher.dispatch(submitted.grading_id)
        bench.set(submitted, sent_at=utc_now() - LONG_AGO)
    bench.client.lpop("cpu")
    assert bench.claim(later) is not None
    bench.sweeper.sweep()
    assert bench.waiting() == 1


def test_what_was_cancelled_leaves_its_turn_to_others(bench: Bench) -> None:
    bench.worker()
    cancelled, waits = bench.submit(), bench.submit()
    for submitted in (cancelled, waits):
        bench.dispatcher.dispatch(submitted.grading_id)
        bench.set(submitted, sent_at=utc_now() - LONG_AGO)
    bench.client.lpop("cpu")
    with bench.store.transaction() as session:
        request_cancel(session, session.get_one(Submission, cancelled.submission_id))
    bench.sweeper.sweep()
    assert bench.waiting() == 1


@ON_SQLITE
def test_what_is_missing_is_found_without_a_look_at_all_there_was(bench: Bench) -> None:
    bench.worker()
    first, second = bench.submit(), bench.submit()
    for submitted in (first, second):
        bench.dispatcher.dispatch(submitted.grading_id)
    bench.set(first, sent_at=utc_now() - LONG_AGO)
    with recorded(bench.store.engine) as statements:
        bench.sweeper.sweep()
    plans = [step for step in statements.plans() if "gradings" in step]
    assert plans
    assert [step for step in plans if "SCAN" in step] == []


def test_a_queue_whose_workers_are_gone_is_given_to_another(bench: Bench) -> None:
    gpu = bench.worker(Lane.GPU)
    submitted = bench.submit()
    bench.dispatcher.dispatch(submitted.grading_id)
    bench.silence(gpu)
    bench.worker(Lane.INTERPRETER)
    bench.set(submitted, sent_at=utc_now() - LONG_AGO)
    bench.sweeper.sweep()
    assert bench.grading(submitted).queue == "cpu"
    assert bench.waiting("cpu") == 1


def test_an_expired_lease_is_queued_again(bench: Bench) -> None:
    bench.worker()
    submitted = bench.submit()
    first = bench.claim(submitted)
    bench.sweeper.sweep()
    assert bench.grading(submitted).state == "compiling"
    bench.set(submitted, lease_until=utc_now() - timedelta(seconds=1))
    bench.sweeper.sweep()
    row = bench.grading(submitted)
    assert (row.state, row.worker_id, row.queue) == ("queued", None, "cpu")
    assert row.faults[0]["reason"] == "worker w fell silent"
    assert bench.waiting() == 1
    second = bench.claim(submitted)
    assert first is not None
    assert second is not None
    with bench.store.transaction() as session:
        assert not gradings.finish(session, first, builders.report())
        assert gradings.finish(session, second, builders.report())


def test_three_silent_attempts_are_a_judge_error(bench: Bench) -> None:
    submitted = bench.submit()
    for _ in range(3):
        assert bench.claim(submitted) is not None
        bench.set(submitted, lease_until=utc_now() - timedelta(seconds=1))
        bench.sweeper.sweep()
    row = bench.grading(submitted)
    assert (row.state, row.verdict, row.attempt) == ("done", "judge_error", 3)
    assert bench.claim(submitted) is None


def test_a_cancelled_grading_whose_worker_died_ends(bench: Bench) -> None:
    submitted = bench.submit()
    bench.claim(submitted)
    with bench.store.transaction() as session:
        request_cancel(session, session.get_one(Submission, submitted.submission_id))
    bench.set(submitted, lease_until=utc_now() - timedelta(seconds=1))
    bench.sweeper.sweep()
    assert bench.grading(submitted).state == "cancelled"


def test_a_grading_that_cannot_be_ended_keeps_no_other_waiting(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    broken, sound = bench.submit(), bench.submit()
    expired = utc_now() - timedelta(seconds=1)
    for submitted in (broken, sound):
        assert bench.claim(submitted) is not None
        bench.set(submitted, lease_until=expired, faults=["first", "second"])
    with bench.store.transaction() as session:
        version = bench.grading(broken).drill_version_id
        other = builders.add_drill(session, builders.toy_package("other"))
        session.execute(update(Grading).where(Grading.id == sound.grading_id).values(drill_version_id=other.id))
        session.execute(update(DrillVersion).where(DrillVersion.id == version).values(manifest={}))
    bench.sweeper.sweep()
    assert (bench.grading(broken).state, bench.grading(sound).state) == ("compiling", "done")
    assert "the next sweep tries again" in caplog.text


def test_several_sweepers_do_each_thing_once(bench: Bench) -> None:
    bench.worker()
    every = [bench.submit() for _ in range(4)]
    for submitted in every:
        bench.claim(submitted)
        bench.set(submitted, lease_until=utc_now() - timedelta(seconds=1))
    threads = [threading.Thread(target=bench.sweeper.sweep) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert bench.waiting() == 4
    assert all(len(bench.grading(submitted).faults) == 1 for submitted in every)


def test_old_keys_and_long_gone_workers_are_forgotten(bench: Bench) -> None:
    worker_id = bench.worker()
    old = utc_now() - timedelta(days=2)
    with bench.store.transaction() as session:
        session.execute(update(Worker).where(Worker.id == worker_id).values(heartbeat_at=old))
        session.add(IdempotencyKey(user_id=bench.user.user_id, key="k", body_sha256="", created_at=old))
    bench.sweeper.sweep()
    with bench.store.reading() as session:
        assert session.scalars(select(Worker)).all() == []
        assert session.scalars(select(IdempotencyKey)).all() == []


def test_the_sweeper_runs_until_it_is_stopped(store: Store, settings: Settings) -> None:
    quick = settings.model_copy(update={"sweep_s": 0.01})
    bench = Bench(store, quick, connect(quick))
    submitted = bench.submit()
    bench.claim(submitted)
    bench.set(submitted, lease_until=utc_now() - timedelta(seconds=1))
    stop = threading.Event()
    thread = threading.Thread(target=bench.sweeper.run, args=[stop])
    thread.start()
    wait_until(lambda: bench.grading(submitted).state == "queued", "the sweeper takes the grading back")
    stop.set()
    thread.join(5)
    assert not thread.is_alive()


def test_listeners_wake_across_a_broker_restart(store: Store, settings: Settings) -> None:
    async def scenario() -> None:
        listeners = Listeners(redis_url(settings))
        subscription = asyncio.create_task(listeners.run())
        with listeners.listening("s1") as woken, listeners.listening("s2") as other:
            for _ in range(2):
                with running_broker(settings) as client:
                    await asyncio.wait_for(woken.wait(), 10)  # it has subscribed, and lets all look once
                    woken.clear()
                    other.clear()
                    await asyncio.to_thread(Wakeups(client).publish, "s1")
                    await asyncio.wait_for(woken.wait(), 10)
                    assert not other.is_set()
                    woken.clear()
            await wait_for(other, 0.01)
        subscription.cancel()
        await asyncio.gather(subscription, return_exceptions=True)

    asyncio.run(scenario())
