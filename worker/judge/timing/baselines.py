"""What else is known of a shape: how long a copy of the same bytes takes, and torch's own function."""

from __future__ import annotations

import logging
import statistics
from collections.abc import Callable

from worker.judge.timing.contestant import Contestant
from worker.judge.timing.rounds import Rounds, WrongOutput

_log = logging.getLogger(__name__)

ROUNDS = 8


class Baselines:
    """Seconds a call by drill version, shape and function, each measured once in a judge's life: no submission has a
    part in them."""

    def __init__(self) -> None:
        self._seconds: dict[tuple[str, str, str], float | None] = {}

    def seconds(self, digest: str, shape: str, function: str, measure: Callable[[], float]) -> float | None:
        """The figure, measured now if it is not known yet. None where the output is wrong: what only stands beside the
        submission's time may be left out."""
        key = (digest, shape, function)
        if key not in self._seconds:
            try:
                self._seconds[key] = measure()
            except WrongOutput as wrong:
                _log.warning("%s at %s is left out: %d elements of its output are wrong", function, shape, wrong.count)
                self._seconds[key] = None
        return self._seconds[key]


def call_s(contestant: Contestant, rounds: Rounds, *, graphs: bool, checked: bool) -> float:
    """Seconds a call of a trusted function, from rounds of one call or graph and of nearly all. Raises WrongOutput,
    with the contestant at rest."""
    contestant.prepare()
    if graphs:
        contestant.capture()
    contestant.begin()
    count = len(contestant.units) - 1
    try:
        few, many = (
            statistics.median(rounds.run(contestant, number, checked=checked).seconds for _ in range(ROUNDS))
            for number in (1, count)
        )
    except WrongOutput:
        _rest(contestant)
        raise
    _rest(contestant)
    return (many - few) / (count - 1) / len(contestant.units[0])


def _rest(contestant: Contestant) -> None:
    contestant.resume()
    contestant.end()
    contestant.pause()
