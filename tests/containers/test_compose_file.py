"""What docker-compose.yml promises of every service. `make compose-check` looks whether the engine keeps it."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from app.settings import Settings
from tests.serving import ROOT

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
WORKERS = [name for name in SERVICES if name.endswith("-worker")]
LASTING = [name for name in SERVICES if name != "migrate"]
OURS = ["migrate", "web", *WORKERS]


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_is_hardened_and_limited(name: str) -> None:
    service = SERVICES[name]
    assert service["init"] is service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["mem_limit"]
    assert service["pids_limit"]
    assert service["logging"]["options"]["max-size"]
    assert not {"privileged", "pid", "ipc", "network_mode", "cgroup_parent"} & service.keys()
    assert not any("docker.sock" in str(volume) for volume in service.get("volumes", []))


def test_workers_alone_have_capabilities_and_those_of_tier_b_only() -> None:
    assert {name: sorted(service["cap_add"]) for name, service in SERVICES.items() if "cap_add" in service} == {
        key: ["KILL", "SETGID", "SETUID"] for key in WORKERS
    }
    assert {name for name, service in SERVICES.items() if "user" in service} == set(WORKERS)
    assert all(SERVICES[name]["entrypoint"] == ["as-worker"] for name in WORKERS)


def test_the_web_service_alone_has_a_port_and_on_loopback_unless_told_otherwise() -> None:
    assert {name: service["ports"] for name, service in SERVICES.items() if "ports" in service} == {
        "web": ["${WARPGRADE_PUBLISH:-127.0.0.1:8000}:8000"]
    }


def test_a_worker_shares_a_network_with_redis_and_postgres_only() -> None:
    for worker in WORKERS:
        assert SERVICES[worker]["networks"] == ["worker_data"]
    assert {name for name, service in SERVICES.items() if "worker_data" in service["networks"]} == {
        "postgres",
        "redis",
        *WORKERS,
    }
    assert COMPOSE["networks"] == {"front": {}, "web_data": {"internal": True}, "worker_data": {"internal": True}}
    assert [name for name, service in SERVICES.items() if "front" in service["networks"]] == ["web"]


@pytest.mark.parametrize("name", LASTING)
def test_every_service_that_lasts_is_started_again_and_has_a_health_check(name: str) -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()
    target = {"postgres": "postgres", "redis": "redis"}.get(name, "warpgrade")
    stage = dockerfile.partition(f" AS {target}\n")[2].partition("\nFROM ")[0]
    assert SERVICES[name]["restart"] == "unless-stopped"
    assert "\nHEALTHCHECK " in stage
    assert "\nUSER " in stage
    if name in WORKERS:
        assert SERVICES[name]["healthcheck"]["test"][-2:] == ["app.probe", "worker"]


def test_the_migrations_run_once_before_whatever_uses_the_database() -> None:
    assert SERVICES["migrate"]["restart"] == "no"
    assert SERVICES["migrate"]["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    for name in ("web", *WORKERS):
        assert SERVICES[name]["depends_on"] == {
            "postgres": {"condition": "service_healthy"},
            "redis": {"condition": "service_healthy"},
            "migrate": {"condition": "service_completed_successfully"},
        }


def test_secrets_come_from_files_and_have_no_default() -> None:
    names = {"database_password", "broker_password", "admin_token"}
    assert {name: list(secret) for name, secret in COMPOSE["secrets"].items()} == {key: ["file"] for key in names}
    for service in SERVICES.values():
        environment = service["environment"]
        for variable, value in environment.items():
            secret = any(word in variable for word in ("PASSWORD", "TOKEN", "SECRET"))
            assert secret == str(value).startswith("/run/secrets/"), variable
            if secret:
                assert variable.endswith("_FILE")
                assert value.removeprefix("/run/secrets/") in service["secrets"]
    assert "admin_token" not in SERVICES["web"]["secrets"]


@pytest.mark.parametrize("name", OURS)
def test_what_is_set_is_a_setting(name: str) -> None:
    known = {f"WARPGRADE_{field.upper()}" for field in Settings.model_fields}
    variables = {name for name in SERVICES[name]["environment"] if name.startswith("WARPGRADE_")}
    assert {variable.removesuffix("_FILE") for variable in variables} <= known
    assert SERVICES[name]["environment"]["WARPGRADE_MODE"] == "server"


def test_a_worker_has_longer_to_stop_than_it_takes_for_its_grading() -> None:
    for name in WORKERS:
        default = re.fullmatch(r"\$\{WARPGRADE_STOP_GRACE_PERIOD:-(\d+)s\}", SERVICES[name]["stop_grace_period"])
        assert default
        assert float(default[1]) > Settings.model_fields["stop_s"].default + 15


def test_what_can_be_set_in_the_file_stands_in_the_guide() -> None:
    guide = (ROOT / "docs/operating.md").read_text()
    variables = set(re.findall(r"\$\{(WARPGRADE_\w+)", (ROOT / "docker-compose.yml").read_text()))
    assert variables
    assert [name for name in sorted(variables) if not re.search(rf"^\|.*`{name}`.*\|.*\|", guide, re.MULTILINE)] == []


def test_the_guides_proxy_keeps_metrics_from_the_public() -> None:
    (server,) = re.findall(r"^server \{\n.*?^\}", (ROOT / "docs/operating.md").read_text(), re.MULTILINE | re.DOTALL)
    assert "location = /metrics { return 403; }" in server


def test_the_gpu_worker_waits_for_its_profile_and_reserves_one_gpu() -> None:
    assert {name for name, service in SERVICES.items() if "profiles" in service} == {"gpu-worker"}
    (device,) = SERVICES["gpu-worker"]["deploy"]["resources"]["reservations"]["devices"]
    assert (device["driver"], device["capabilities"], len(device["device_ids"])) == ("nvidia", ["gpu"], 1)


def test_scratch_folders_let_programs_run_and_have_a_size() -> None:
    for name in WORKERS:
        mounts = dict(mount.split(":") for mount in SERVICES[name]["tmpfs"])
        assert "exec" in mounts["/tmp"].split(",")  # Triton loads what it compiles
        assert all("size=" in options for options in mounts.values())
