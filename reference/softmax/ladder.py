"""The rungs in teaching order, each with its range and its traffic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from reference import traffic
from reference.softmax import (
    aligned,
    naive,
    one_row,
    online,
    persistent,
    pieces,
    ring,
    several_rows,
    split,
)
from reference.traffic import Traffic


@dataclass(frozen=True)
class Rung:
    """One way to compute a softmax.

    ``softmax(x, out, *, empty_row)`` takes any matrix with rows of at most ``longest_row`` elements.
    ``traffic(M, N)`` is what it moves; of a row that programs share, as if one program had all of it.
    """

    softmax: Callable[..., None]
    traffic: Callable[[int, int], Traffic]
    longest_row: int | None = None


RUNGS = {
    "naive": Rung(naive.softmax, traffic.naive),
    "one_row": Rung(one_row.softmax, traffic.fused, one_row.LONGEST_ROW),
    "several_rows": Rung(several_rows.softmax, traffic.fused, several_rows.LONGEST_ROW),
    "persistent": Rung(persistent.softmax, traffic.fused, persistent.LONGEST_ROW),
    "online": Rung(online.softmax, traffic.two_passes),
    "split": Rung(split.softmax, traffic.split),
    "pieces": Rung(pieces.softmax, traffic.fused, pieces.LONGEST_ROW),
    "aligned": Rung(aligned.softmax, traffic.fused, aligned.LONGEST_ROW),
    "ring": Rung(ring.softmax, traffic.ring, ring.LONGEST_ROW),
}
