"""More requests at the same moment than the service has threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import httpx2 as httpx
import pytest
from fastapi.testclient import TestClient

from tests.api.conftest import resources_of
from tests.databases import ON_SQLITE

CROWD = 120


def crowd(client: TestClient, method: str, path: str, **request: Any) -> list[httpx.Response]:
    """The answers to ``CROWD`` requests that are all under way at once."""

    async def send() -> list[httpx.Response]:
        transport = httpx.ASGITransport(client.app)
        async with httpx.AsyncClient(transport=transport, base_url=client.base_url) as sending:
            return await asyncio.gather(*(sending.request(method, path, **request) for _ in range(CROWD)))

    return asyncio.run(send())


@ON_SQLITE
def test_who_writes_waits_for_no_thread_that_waits_for_him(server: TestClient, sign_up: Callable[..., Any]) -> None:
    ada = sign_up("ada")
    answers = crowd(server, "POST", "/api/v1/tokens", headers=ada, json={"name": "laptop"})
    assert {answer.status_code for answer in answers} == {201}
    assert len(server.get("/api/v1/tokens", headers=ada).json()["items"]) == CROWD + 1


@pytest.mark.parametrize("path", ["/api/v1/tokens", "/api/v1/submissions"])
def test_who_reads_waits_for_no_thread_that_waits_for_him(
    server: TestClient, sign_up: Callable[..., Any], path: str
) -> None:
    answers = crowd(server, "GET", path, headers=sign_up("ada"))
    assert {answer.status_code for answer in answers} == {200}
    assert resources_of(server).store.engine.pool.checkedout() == 0  # type: ignore[attr-defined]
