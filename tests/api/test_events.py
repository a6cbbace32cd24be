"""Following a submission over server-sent events, from a real server."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2 as httpx
import pytest
from sqlalchemy import select

from app.gradings import service as gradings
from app.settings import Settings
from app.store.models import Grading
from graders.verdict import State, Visibility
from tests import builders
from tests.api.live import Follower, Live
from tests.broker import running_broker
from tests.processes import wait_until


@pytest.fixture
def live(settings: Settings) -> Iterator[Live]:
    with Live(settings) as made:
        yield made


def test_events_come_as_they_happen_and_end_with_done(live: Live) -> None:
    claim = live.claimed()
    follower = Follower(live.path(claim), live.ada)
    follower.wait_for(1)
    assert follower.response_headers["content-type"].startswith("text/event-stream")
    with live.store.transaction() as session:
        gradings.record_state(session, claim, State.TESTING)
    follower.wait_for(2)
    with live.store.transaction() as session:
        gradings.record_case(session, claim, builders.passed_case())
        gradings.finish(session, claim, builders.report())
    follower.wait_for_end()
    assert follower.told == [(1, "state"), (2, "state"), (3, "case"), (4, "done")]
    assert follower.events[1].data == '{"state": "testing"}'


def test_a_number_that_no_event_has_is_refused(live: Live) -> None:
    path = live.path(live.claimed())
    for after in ("-1", str(2**31), "9" * 30, "1.5"):
        assert httpx.get(f"{path}?after={after}", headers=live.ada).status_code == 422


def test_a_stream_resumes_where_it_broke_off(live: Live) -> None:
    claim = live.claimed()
    with live.store.transaction() as session:
        for _ in range(3):
            gradings.record_state(session, claim, State.TESTING)
        gradings.finish(session, claim, builders.report())
    for url, headers, first in (
        (live.path(claim), {}, 1),
        (live.path(claim), {"Last-Event-ID": "3"}, 4),
        (live.path(claim) + "?after=2", {}, 3),
        (live.path(claim) + "?after=2", {"Last-Event-ID": "4"}, 5),
        (live.path(claim), {"Last-Event-ID": "nonsense"}, 1),
        (live.path(claim), {"Last-Event-ID": "9" * 5000}, 1),
        (live.path(claim), {"Last-Event-ID": "9999999999"}, 6),
        (live.path(claim), {"Last-Event-ID": "5"}, 6),
    ):
        follower = Follower(url, live.ada | headers)
        follower.wait_for_end()
        assert [number for number, _ in follower.told] == list(range(first, 6))


def test_many_events_come_in_order(live: Live) -> None:
    claim = live.claimed()
    with live.store.transaction() as session:
        for _ in range(450):
            gradings.record_state(session, claim, State.TESTING)
        gradings.finish(session, claim, builders.report())
    follower = Follower(live.path(claim), live.ada)
    follower.wait_for_end()
    assert [number for number, _ in follower.told] == list(range(1, 453))


def test_events_are_filtered_like_the_report(live: Live) -> None:
    claim = live.claimed()
    with live.store.transaction() as session:
        gradings.record_case(session, claim, builders.failed_case(1, Visibility.HIDDEN))
        gradings.finish(session, claim, builders.report())
    for headers, seen in ((live.ada, False), (live.staff, True)):
        follower = Follower(live.path(claim), headers)
        follower.wait_for_end()
        assert ("0.2578125" in follower.events[1].data) == seen


def test_a_wake_up_hastens_an_event(live: Live, settings: Settings) -> None:
    claim = live.claimed()
    with running_broker(settings) as client:
        follower = Follower(live.path(claim), live.ada)
        follower.wait_for(1)
        wait_until(lambda: client.pubsub_numsub("warpgrade.events")[0][1] == 1, "the server subscribes")
        with live.store.transaction() as session:
            gradings.finish(session, claim, builders.report())
        live.resources.wakeups.publish(claim.submission_id)
        follower.wait_for_end()
    assert follower.told[-1] == (2, "done")


def test_a_stream_has_a_longest_life(settings: Settings) -> None:
    with Live(settings.model_copy(update={"stream_s": 0.2})) as live:
        follower = Follower(live.path(live.claimed()), live.ada)
        follower.wait_for_end()
        assert follower.told == [(1, "state")]


def test_a_student_has_so_many_streams_open_at_a_time(settings: Settings) -> None:
    with Live(settings.model_copy(update={"streams": 2})) as live:
        claim = live.claimed()
        followers = [Follower(live.path(claim), live.ada) for _ in range(2)]
        for follower in followers:
            follower.wait_for(1)
        refused = httpx.get(live.path(claim), headers=live.ada)
        assert (refused.status_code, refused.json()["type"]) == (429, "/problems/too-many-streams")
        assert refused.headers["Content-Type"] == "application/problem+json"
        assert int(refused.headers["Retry-After"]) > 0
        Follower(live.path(claim), live.staff).wait_for(1)
        with live.store.transaction() as session:
            gradings.finish(session, claim, builders.report())
        for follower in followers:
            follower.wait_for_end()
        wait_until(lambda: httpx.get(live.path(claim), headers=live.ada).status_code == 200, "there is room again")


def test_a_stream_that_its_reader_left_is_no_longer_counted(settings: Settings) -> None:
    with Live(settings.model_copy(update={"streams": 1})) as live:
        claim = live.claimed()

        def opens() -> bool:
            with httpx.stream("GET", live.path(claim), headers=live.ada, timeout=5) as response:
                return bool(response.status_code == 200)

        assert opens()
        wait_until(opens, "the stream that was left is closed")


def test_streams_end_when_the_service_stops(live: Live) -> None:
    follower = Follower(live.path(live.claimed()), live.ada)
    follower.wait_for(1)
    live.resources.stop()
    follower.wait_for_end()


def test_a_cancelled_submission_ends_its_stream(live: Live) -> None:
    with live.store.transaction() as session:
        submitted = builders.add_submission(session, live.user)
    url = f"{live.url}/api/v1/submissions/{submitted.submission_id}"
    follower = Follower(f"{url}/events", live.ada)
    assert httpx.post(f"{url}/cancel", headers=live.ada).json()["state"] == "cancelled"
    follower.wait_for_end()
    assert follower.told == [(1, "done")]
    with live.store.reading() as session:
        assert session.scalars(select(Grading.state)).all() == ["cancelled"]
