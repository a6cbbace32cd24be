"""Who holds too much of the device, told from what NVML names, or from what is left when it names nobody."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.device_ledger import DeviceLedger
from worker.supervisor.device_account import CONTEXT_BYTES, DeviceAccount, Look
from worker.supervisor.nvml import DeviceUse

MIB, GIB = 1 << 20, 1 << 30
LIMIT = 8 * GIB
JUDGE, RUNNER, CHILD, STRANGER = 10, 20, 21, 99
STANDBY = 2
COMING = (STANDBY + 1) * CONTEXT_BYTES


@dataclass
class Tree:
    numbers: list[int]

    def pids(self) -> list[int]:
        return self.numbers


@dataclass
class Played:
    """A judge, a runner and a device, all of them numbers."""

    process: Tree = field(default_factory=lambda: Tree([JUDGE]))
    ledger: DeviceLedger = field(default_factory=DeviceLedger)
    runner: Tree = field(default_factory=lambda: Tree([RUNNER, CHILD]))
    named: bool = True
    importer_counts: bool = True
    private: int = 0
    arenas: list[int] = field(default_factory=list)
    made: int = 0
    mapped: int = 0
    own: int = 500 * MIB
    strangers: int = 0

    def account(self) -> DeviceAccount:
        account = DeviceAccount(self.runner, self, limit_bytes=LIMIT, standby=STANDBY)
        self.look(account)
        return account

    def make_arena(self, nbytes: int) -> None:
        self.arenas.append(nbytes)
        self.made += nbytes

    def look(self, account: DeviceAccount, *, judge_works: bool = False) -> bool:
        """One look; whether the runner is over by now."""
        self.ledger.waiting(self.private, sum(self.arenas), self.made)
        before = self.ledger.held()
        if judge_works:
            self.ledger.working()
        account.see(Look(self.use(), before, self.ledger.held()))
        return account.exceeded

    def use(self) -> DeviceUse:
        judge = 600 * MIB + self.private + sum(self.arenas)
        total = judge + self.own + self.strangers + 500 * MIB * STANDBY
        listed = self.own + (self.mapped if self.importer_counts else 0)
        by_pid = {JUDGE: judge, RUNNER: listed, STRANGER: self.strangers}
        return DeviceUse(total, by_pid if self.named else {})


@pytest.fixture(params=[True, False], ids=["named", "unnamed"])
def played(request: pytest.FixtureRequest) -> Played:
    return Played(named=request.param)


def test_up_to_the_limit_nothing_is_exceeded(played: Played) -> None:
    account = played.account()
    played.own += LIMIT
    assert not played.look(account)


def test_far_over_the_limit_is_seen_at_once(played: Played) -> None:
    account = played.account()
    played.own += LIMIT + COMING + GIB
    assert played.look(account)
    played.own = 0
    assert played.look(account), "it is not forgotten"


def test_what_the_judge_takes_for_itself_is_no_fault_of_the_runner(played: Played) -> None:
    account = played.account()
    played.private += 60 * GIB
    played.make_arena(40 * GIB)
    assert not played.look(account)


@pytest.mark.parametrize("importer_counts", [True, False])
def test_arenas_are_allowed_for_whoever_they_are_counted_to(played: Played, importer_counts: bool) -> None:
    played.importer_counts = importer_counts
    played.make_arena(30 * GIB)
    account = played.account()
    played.mapped = 30 * GIB
    played.own += LIMIT
    assert not played.look(account), "one that was there before the runner"
    played.make_arena(20 * GIB)
    played.mapped += 20 * GIB
    assert not played.look(account), "one that came later"


def test_an_arena_that_goes_excuses_nothing_later_that_is_not_there(played: Played) -> None:
    played.make_arena(30 * GIB)
    account = played.account()
    played.arenas.clear()
    played.look(account)
    played.make_arena(2 * GIB)
    played.mapped = 2 * GIB
    played.own += LIMIT
    assert not played.look(account)


def test_a_runner_that_is_handed_over_cold_gets_its_context(played: Played) -> None:
    played.own = 0
    account = played.account()
    played.own = 700 * MIB + LIMIT
    assert not played.look(account)


def test_memory_of_a_process_that_the_runner_started_counts() -> None:
    played = Played()
    account = played.account()
    use = played.use()
    account.see(Look(DeviceUse(use.total_bytes, use.by_pid | {CHILD: LIMIT + GIB}), None, None))
    assert account.exceeded


def test_strangers_on_the_gpu_are_told_apart_where_processes_are_named() -> None:
    played = Played()
    account = played.account()
    played.strangers = 100 * GIB
    assert not played.look(account)


def test_names_are_not_believed_when_the_judge_is_not_among_them() -> None:
    """In a container NVML may number processes as the host does: another process has the runner's number there."""
    played = Played(named=False)
    account = played.account()
    use = played.use()
    account.see(Look(DeviceUse(use.total_bytes, {RUNNER: 100 * GIB}), None, None))
    assert not account.exceeded


def test_while_the_judge_works_the_rest_says_nothing() -> None:
    played = Played(named=False)
    account = played.account()
    played.own += 100 * GIB
    assert not played.look(account, judge_works=True)
    assert played.look(account)


def test_memory_that_a_killed_runner_still_holds_neither_accuses_nor_excuses() -> None:
    played = Played(named=False, strangers=60 * GIB)
    account = played.account()
    played.own += LIMIT
    assert not played.look(account)
    played.strangers = 0
    assert not played.look(account)
    played.own += LIMIT + COMING + GIB
    assert played.look(account)


Step = st.tuples(st.sampled_from(["private", "make", "drop", "own", "drain"]), st.integers(0, 40 * GIB))


@given(named=st.booleans(), importer_counts=st.booleans(), steps=st.lists(Step, max_size=30))
def test_whatever_the_judge_does_a_runner_within_its_limit_is_not_accused(
    named: bool, importer_counts: bool, steps: list[tuple[str, int]]
) -> None:
    played = Played(named=named, importer_counts=importer_counts, strangers=40 * GIB)
    account = played.account()
    context = played.own
    for what, nbytes in steps:
        match what:
            case "private":
                played.private = nbytes
            case "make":
                played.make_arena(nbytes)
                played.mapped += nbytes  # the runner keeps what it has mapped once
            case "drop":
                played.arenas = played.arenas[1:]
            case "own":
                played.own = context + min(nbytes, LIMIT)
            case "drain":
                played.strangers = min(played.strangers, nbytes)
        assert not played.look(account)
