"""The strongest sandbox that holds is chosen, and none is a reason not to start."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

from tests.container import in_tier
from tests.processes import unwatched
from worker.sandbox import landlock, seccomp, tier_a, tier_b
from worker.sandbox.tiers import TIER_A, TIER_B
from worker.sandbox.walls import SandboxUnavailable
from worker.supervisor import sandbox_choice
from worker.supervisor.sandbox_choice import OFF, choose_sandbox

CHOOSE = """
from worker.supervisor.sandbox_choice import choose_sandbox
print(choose_sandbox("auto").name)
"""

CAPABILITIES = "-all,+setuid,+setgid,+kill"
AN_ORDINARY_USER = [
    *("setpriv", "--reuid=10001", "--regid=10001", "--clear-groups", "--no-new-privs"),
    *(f"--inh-caps={CAPABILITIES}", f"--ambient-caps={CAPABILITIES}", "--"),
]


def test_the_strongest_tier_is_chosen() -> None:
    assert choose_sandbox("auto") is TIER_A


def test_where_tier_a_is_denied_tier_b_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tier_a, "bubblewrap", lambda: "/bin/false")
    with in_tier("B"):
        assert choose_sandbox("auto") is TIER_B


@pytest.mark.parametrize("user", [[], AN_ORDINARY_USER], ids=["root", "ordinary user"])
def test_in_a_container_tier_b_is_chosen(user: list[str]) -> None:
    """Under the restrictions of an engine: few capabilities, no mounts, a root that cannot be written."""
    with in_tier("B"):
        filter_fd = seccomp.filter_file()
        box = ["bwrap", *("--ro-bind", "/", "/"), *("--dev", "/dev"), *("--proc", "/proc"), "--unshare-pid"]
        box += [*("--perms", "1777"), *("--tmpfs", "/run"), *("--setenv", "TMPDIR", "/run"), "--unshare-ipc"]
        box += ["--die-with-parent", *("--seccomp", str(filter_fd)), *("--cap-drop", "ALL")]
        for name in ("CAP_SETUID", "CAP_SETGID", "CAP_KILL"):
            box += ["--cap-add", name]
        command = [*box, *user, sys.executable, "-c", CHOOSE]
        environment = unwatched()  # coverage could not write down there what it saw
        done = subprocess.run(
            command, pass_fds=(filter_fd,), env=environment, capture_output=True, text=True, check=False
        )
        os.close(filter_fd)
    assert (done.stdout.strip(), done.stderr) == ("B", "")


def test_with_neither_the_reasons_and_the_cures_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tier_a, "bubblewrap", lambda: "/bin/false")
    monkeypatch.setattr(landlock, "abi", lambda: 0)
    with in_tier("B"), pytest.raises(SandboxUnavailable) as refused:
        choose_sandbox("auto")
    told = str(refused.value)
    assert "tier A cannot be built here" in told
    assert "user namespaces" in told
    assert "tier B cannot be built here: the kernel offers version 0 of Landlock" in told
    assert "SETUID, SETGID and KILL" in told


def test_an_ordinary_user_is_told_what_tier_b_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tier_a, "bubblewrap", lambda: "/bin/false")
    monkeypatch.setattr("worker.sandbox.credentials.missing_capabilities", lambda _: ["CAP_SETUID"])
    with pytest.raises(SandboxUnavailable, match="has not the capabilities CAP_SETUID"):
        choose_sandbox("B")


def test_who_asks_for_tier_a_gets_no_less(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tier_a, "bubblewrap", lambda: "/bin/false")
    with pytest.raises(SandboxUnavailable, match="tier A cannot be built here") as refused:
        choose_sandbox("A")
    assert "tier B" not in str(refused.value)


def test_without_bubblewrap_the_cure_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.sandbox.tier_a.shutil.which", lambda _: None)
    monkeypatch.setattr("worker.sandbox.tier_a.find_spec", lambda _: None)
    with pytest.raises(SandboxUnavailable, match="install the package 'bubblewrap'"):
        choose_sandbox("A")


def test_a_call_that_is_not_denied_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seccomp, "DENIED", tuple(call for call in seccomp.DENIED if call != "ptrace"))
    with pytest.raises(SandboxUnavailable, match="does not hold for: system calls"):
        sandbox_choice._require_walls(TIER_A)


@pytest.mark.parametrize(
    ("wall", "too_much"), [("files", ("/", landlock.READ)), ("writing", ("/var/tmp", landlock.EVERYTHING))]
)
def test_a_rule_too_many_is_found(monkeypatch: pytest.MonkeyPatch, wall: str, too_much: tuple[str, int]) -> None:
    rules = tier_b._rules
    monkeypatch.setattr(tier_b, "_rules", lambda walls, slot: [*rules(walls, slot), too_much])
    with in_tier("B") as sandbox, pytest.raises(SandboxUnavailable, match=f"does not hold for: {wall}"):
        sandbox_choice._require_walls(sandbox)


def test_a_socket_that_can_be_connected_to_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    add = seccomp._add

    def add_all_but_connect(rules: Any, action: Any, name: str, *arguments: Any) -> None:
        if name != "connect":
            add(rules, action, name, *arguments)

    monkeypatch.setattr(seccomp, "_add", add_all_but_connect)
    monkeypatch.setattr(landlock, "abi", lambda: landlock.REQUIRED_ABI)
    with in_tier("B") as sandbox, pytest.raises(SandboxUnavailable, match="does not hold for: sockets"):
        sandbox_choice._require_walls(sandbox)


def test_off_is_said_to_be_off() -> None:
    assert choose_sandbox("off") is OFF
    assert OFF.name == "unsandboxed"


def test_what_is_no_tier_is_refused() -> None:
    with pytest.raises(SandboxUnavailable, match="it can be 'auto', 'A', 'B' or 'off'"):
        choose_sandbox("C")
