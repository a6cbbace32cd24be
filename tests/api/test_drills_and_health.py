"""Reading drills, the probes, and problems in general."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from app import VERSION
from app.errors import PROBLEMS
from app.settings import Settings
from app.store.models import VersionState
from app.workers import service as workers
from graders.verdict import Lane
from tests import builders
from tests.api.conftest import resources_of, serving
from tests.databases import ON_SQLITE


def test_drills_are_listed_and_shown_in_both_languages(local: TestClient) -> None:
    toy = next(item for item in local.get("/api/v1/drills").json()["items"] if item["slug"] == "toy")
    assert (toy["title"], toy["version"], toy["max_score"]) == ({"en": "Toy", "zh": "玩具"}, 1, 100)
    drill = local.get("/api/v1/drills/toy").json()
    assert drill["statement"] == {"en": "Copy $x$.", "zh": "复制 $x$。"}
    assert drill["entry_point"]["signature"] == "toy(x: torch.Tensor, out: torch.Tensor) -> None"
    assert [category["points"] for category in drill["categories"]] == [20, 40]
    assert drill["performance_points"] == 40
    assert drill["starter"].startswith("def toy")
    assert (drill["limits"]["gpu"]["case_s"], drill["limits"]["interpreter"]["case_s"]) == (10, 20)
    assert local.get("/api/v1/drills/nope").json()["type"] == "/problems/unknown-drill"


def test_the_operators_limits_are_the_most_a_drill_gets(settings: Settings) -> None:
    limits = settings.limits.model_copy(update={"case_s": 7.0})
    with serving(settings.model_copy(update={"limits": limits})) as client:
        assert client.get("/api/v1/drills/toy").json()["limits"]["interpreter"]["case_s"] == 7


def test_students_get_the_newest_published_version(local: TestClient) -> None:
    with resources_of(local).store.transaction() as session:
        second = builders.add_drill(session, builders.toy_package(statement="Copy it."))
        builders.drills.add_version(
            session, builders.toy_package(statement="Draft."), owner_id=None, state=VersionState.VALIDATING
        )
    assert second.number == 2
    drill = local.get("/api/v1/drills/toy").json()
    assert (drill["version"], drill["statement"]["en"]) == (2, "Copy it.")
    with resources_of(local).store.transaction() as session:
        session.merge(second).state = VersionState.RETIRED.value
    assert local.get("/api/v1/drills/toy").json()["version"] == 1


def test_health_tells_what_runs_here(local: TestClient) -> None:
    info = builders.worker_info(Lane.GPU)
    with resources_of(local).store.transaction() as session:
        workers.register(session, info)
        workers.heartbeat(session, info.id, healthy=False, note="self-test failed")
    body = local.get("/health").json()
    assert (body["version"], body["mode"], body["database"], body["broker"]) == (VERSION, "local", "up", "down")
    worker = body["workers"][0]
    assert (worker["lane"], worker["sandbox"], worker["healthy"]) == ("gpu", "A", False)
    assert worker["note"] == "self-test failed"


def test_ready_says_what_is_missing(local: TestClient) -> None:
    answer = local.get("/ready")
    assert (answer.status_code, answer.json()) == (503, {"ready": False, "reasons": ["the broker does not answer"]})


@ON_SQLITE
def test_health_survives_the_database(settings: Settings) -> None:
    with serving(settings) as client:
        store = resources_of(client).store
        store.close()
        (settings.data / "warpgrade.db").unlink()
        (settings.data / "warpgrade.db").mkdir()
        assert client.get("/health").status_code == 200
        assert client.get("/health").json()["database"] == "down"
        assert "the database does not answer" in client.get("/ready").json()["reasons"]


@pytest.mark.parametrize(
    ("method", "path", "slug"),
    [("GET", "/nope", "not-found"), ("PUT", "/api/v1/me", "method-not-allowed"), ("GET", "/docs", "not-found")],
)
def test_every_error_is_a_problem(local: TestClient, method: str, path: str, slug: str) -> None:
    answer = local.request(method, path)
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.json() == {
        "type": f"/problems/{slug}",
        "title": PROBLEMS[slug].title,
        "status": PROBLEMS[slug].status,
        "detail": PROBLEMS[slug].help,
    }
    assert answer.status_code == PROBLEMS[slug].status


@pytest.mark.parametrize(
    "path", ["/drills/%00", "/submissions/a%00b", "/submissions?user=%00", "/submissions?drill=a%00"]
)
def test_an_address_with_a_nul_names_nothing(local: TestClient, path: str) -> None:
    answer = local.get(f"/api/v1{path}")
    assert (answer.status_code, answer.json()["type"]) == (400, "/problems/bad-request")


def test_every_problem_has_its_page(local: TestClient) -> None:
    for slug, problem in PROBLEMS.items():
        page = local.get(f"/problems/{slug}").json()
        assert (page["type"], page["help"]) == (problem.uri, problem.help)
    assert local.get("/problems/nope").status_code == 404


def test_an_internal_error_tells_nothing_but_a_reference(local: TestClient) -> None:
    app = local.app
    assert isinstance(app, FastAPI)

    @app.get("/broken")
    def broken() -> None:
        raise RuntimeError("secret detail")

    answer = local.get("/broken")
    assert (answer.status_code, answer.json()["type"]) == (500, "/problems/internal-error")
    assert "secret" not in answer.text
    assert "Reference:" in answer.json()["detail"]


def test_the_api_describes_itself(local: TestClient) -> None:
    document = local.get("/api/v1/openapi.json").json()
    assert {"application/json", "multipart/form-data"} == set(
        document["paths"]["/api/v1/submissions"]["post"]["requestBody"]["content"]
    )


OF_BODIES = {"400", "403", "413", "415", "422"}
OF_VERSIONS = {"403", "404", "422"}
PROBLEMS_OF = {
    "GET /drills": set(),
    "POST /drills": OF_BODIES | {"409"},
    "GET /drills/{slug}": {"404"},
    "GET /drills/{slug}/versions": {"403", "404"},
    "GET /drills/{slug}/versions/{version}": OF_VERSIONS,
    "GET /drills/{slug}/versions/{version}/events": OF_VERSIONS,
    "GET /drills/{slug}/versions/{version}/diff/{other}": OF_VERSIONS,
    "POST /drills/{slug}/versions/{version}/publish": OF_VERSIONS | {"409"},
    "POST /drills/{slug}/versions/{version}/retire": OF_VERSIONS | {"409"},
    "POST /drills/{slug}/versions/{version}/validate": OF_VERSIONS | {"409"},
    "POST /submissions": OF_BODIES | {"404", "409", "429"},
    "GET /submissions": {"422"},
    "GET /submissions/{submission_id}": {"404"},
    "GET /submissions/{submission_id}/events": {"404", "422", "429"},
    "POST /submissions/{submission_id}/cancel": {"403", "404", "409"},
    "GET /me": set(),
    "POST /users": OF_BODIES | {"409"},
    "GET /tokens": {"403", "404", "422"},
    "POST /tokens": OF_BODIES | {"404"},
    "DELETE /tokens/{token_id}": {"403", "404"},
}


def test_the_document_says_how_one_signs_in_and_what_goes_wrong(local: TestClient) -> None:
    document = local.get("/api/v1/openapi.json").json()
    assert document["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    assert "ValidationError" not in str(document)
    problem = document["components"]["schemas"]["Problem"]
    assert problem["required"] == ["type", "title", "status", "detail"]
    found = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if not path.startswith("/api/v1"):
                assert "security" not in operation
                continue
            assert operation["security"] == [{"token": []}]
            wrong = {code: answer for code, answer in operation["responses"].items() if not code.startswith("2")}
            for answer in wrong.values():
                assert answer["content"] == {
                    "application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}
                }
            assert ("429" in wrong) == any("Retry-After" in answer.get("headers", {}) for answer in wrong.values())
            found[f"{method.upper()} {path.removeprefix('/api/v1')}"] = wrong.keys() - {"401", "default"}
            assert {"401", "default"} <= wrong.keys()
    assert found == PROBLEMS_OF


def test_every_reference_in_the_document_leads_somewhere(local: TestClient) -> None:
    document = local.get("/api/v1/openapi.json").json()
    references = set(re.findall(r"'\$ref': '#/components/schemas/(\w+)'", str(document)))
    assert "Problem" in references
    assert references <= document["components"]["schemas"].keys()


def test_the_web_process_never_imports_torch() -> None:
    code = "import app.main, app.cli, app.serve, sys; assert not {'torch', 'triton', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
