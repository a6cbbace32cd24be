"""What an operator's Prometheus reads."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import update

from app.access.principals import Role
from app.store.columns import utc_now
from app.store.models import Grading
from app.workers import service as workers
from graders.verdict import Verdict
from tests import builders
from tests.api.conftest import resources_of
from tests.played import PlayedWorker
from tests.uploads import form, toy_upload

SignUp = Callable[..., dict[str, str]]
ORDER = {"drill": "toy", "source": builders.SOURCE}


def scraped(client: TestClient) -> dict[tuple[str, ...], float]:
    """Samples by name and values of the labels, by the labels' names."""
    answer = client.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    families = list(text_string_to_metric_families(answer.text))
    assert len({family.name for family in families}) == len(families)
    samples = [sample for family in families for sample in family.samples]
    return {(one.name, *(one.labels[name] for name in sorted(one.labels))): one.value for one in samples}


def test_what_waits_and_what_was_judged_is_counted(local: TestClient) -> None:
    before = scraped(local)
    assert before["warpgrade_gradings_active", "queued"] == before["warpgrade_queue_oldest_seconds",] == 0
    first, _ = (local.post("/api/v1/submissions", json=ORDER).json()["id"] for _ in range(2))
    with resources_of(local).store.transaction() as session:
        session.execute(update(Grading).values(queued_at=utc_now() - timedelta(minutes=2)))
    waiting = scraped(local)
    assert waiting["warpgrade_gradings_active", "queued"] == 2
    assert 120 <= waiting["warpgrade_queue_oldest_seconds",] < 600
    worker = PlayedWorker(resources_of(local).store)
    grading = worker.take(first)
    assert scraped(local)["warpgrade_gradings_active", "compiling"] == 1
    grading.finish(builders.report([builders.failed_case(1)], verdict=Verdict.WRONG_ANSWER))
    after = scraped(local)
    assert after["warpgrade_gradings_total", "wrong_answer"] == 1
    assert after["warpgrade_gradings_total", "accepted"] == 0
    assert after["warpgrade_gradings_active", "queued"] == 1
    assert after["warpgrade_workers", "yes", worker.info.queue] == 1


def test_a_worker_that_is_not_healthy_is_told_apart(local: TestClient) -> None:
    info = builders.worker_info()
    with resources_of(local).store.transaction() as session:
        workers.register(session, info)
        workers.heartbeat(session, info.id, healthy=False, note="the GPU is lost")
    assert scraped(local)["warpgrade_workers", "no", info.queue] == 1


def test_a_validation_counts_while_it_waits(server: TestClient, sign_up: SignUp) -> None:
    assert scraped(server)["warpgrade_validations_active",] == 0
    upload = server.post("/api/v1/drills", files=form(toy_upload().to_zip()), headers=sign_up("ines", Role.INSTRUCTOR))
    assert upload.status_code == 202
    assert scraped(server)["warpgrade_validations_active",] == 1


def test_requests_are_counted_by_route_and_not_by_path(local: TestClient) -> None:
    for path in ("/api/v1/submissions/a", "/api/v1/submissions/b", "/nowhere/a", "/nowhere/b"):
        assert local.get(path).status_code == 404
    counts = scraped(local)
    assert counts["warpgrade_requests_total", "GET", "/api/v1/submissions/{submission_id}", "404"] == 2
    assert counts["warpgrade_requests_total", "GET", "none", "404"] == 2
    assert counts["warpgrade_request_seconds_count", "GET", "/api/v1/submissions/{submission_id}"] == 2
    assert not [key for key in counts if "/nowhere/a" in key]
    assert counts["process_resident_memory_bytes",] > 0


def test_methods_that_clients_invent_are_counted_together(local: TestClient) -> None:
    for method in ("BREW", "WHEN"):
        local.request(method, "/ready")
    counted = {key[1]: value for key, value in scraped(local).items() if key[0] == "warpgrade_requests_total"}
    assert counted["other"] == 2
    assert not {"BREW", "WHEN"} & set(counted)
