"""What the tests expect of each drill over rows that comes with Warpgrade."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import graders
from graders.cases import Case
from graders.drill import Drill, load_drill
from graders.verdict import Lane, Visibility

PUBLIC, HINTED, HIDDEN = Visibility.PUBLIC, Visibility.HINTED, Visibility.HIDDEN


@dataclass(frozen=True)
class Subject:
    """A drill and what is written of it in the issue.

    ``modelled`` names every misconception, and the variant of it that the tests try. ``zero`` and ``constant`` are
    cases of which zeros, or else one number everywhere, are the right answer. ``said`` stands in both statements.
    """

    drill: Drill
    categories: dict[str, tuple[float, Visibility]]
    modelled: dict[str, int]
    zero: frozenset[str]
    constant: frozenset[str]
    said: tuple[str, ...]

    @property
    def slug(self) -> str:
        return self.drill.slug

    @property
    def judged(self) -> list[Case]:
        """The cases that are judged without a GPU."""
        return [case for case in self.drill.cases if case.skip_reason(Lane.INTERPRETER) is None]

    def case_named(self, name: str) -> Case:
        (case,) = (case for case in self.drill.cases if case.name == name)
        return case


ROOT = Path(graders.__file__).parent.parent

ROW = Subject(
    load_drill(ROOT, "t2_softmax"),
    categories={
        "basic": (6, PUBLIC),
        "all_negative": (8, HINTED),
        "large_magnitude": (8, HINTED),
        "strided_views": (10, HINTED),
        "huge": (6, HIDDEN),
        "all_inf": (8, HINTED),
        "partial_inf": (6, HINTED),
        "lengths": (8, HINTED),
        "dtypes": (5, HIDDEN),
        "contract": (5, HINTED),
    },
    modelled={
        "padding_zero": 0,
        "padding_finite": 5,
        "stride_is_n": -1,
        "column_stride_is_1": 0,
        "out_like_x": 0,
        "int32_rows": 0,
        "no_max": 1,
        "max_from_zero": 1,
        "sixteen_bits": 0,
        "nan_on_all_inf": 0,
        "block_capped": 11,
    },
    zero=frozenset({"whole_matrix"}),
    constant=frozenset({"all_equal", "n1"}),
    said=("exp2", "−inf"),
)

ONLINE = Subject(
    load_drill(ROOT, "t2_online_softmax"),
    categories={
        "basic": (5, PUBLIC),
        "rescaling": (12, HINTED),
        "leading_inf": (8, HINTED),
        "all_inf": (6, HINTED),
        "special_values": (4, HINTED),
        "magnitude": (7, HINTED),
        "lengths": (6, HINTED),
        "long_rows": (6, HINTED),
        "strided_views": (5, HINTED),
        "huge": (3, HIDDEN),
        "dtypes": (3, HIDDEN),
        "contract": (5, HINTED),
    },
    modelled={
        "no_rescale": 5,
        "rescale_by_ratio": 5,
        "rescale_inverted": 4,
        "max_of_last_block": 5,
        "old_numerators": 3,
        "sums_added": 6,
        "pieces_alone": 6,
        "max_in_16_bits": 5,
        "nan_on_leading_inf": 2,
        "nan_on_all_inf": 0,
        "nan_dropped": 0,
        "no_max": 1,
        "max_from_zero": 1,
        "padding_zero": 6,
        "finite_for_inf": 5,
        "one_block": 6,
        "tail_lost": 4,
        "stride_is_n": -1,
        "column_stride_is_1": 0,
        "out_like_x": 0,
        "int32_rows": 0,
        "sixteen_bits": 0,
    },
    zero=frozenset({"whole_matrix", "single_long_row"}),
    constant=frozenset({"all_equal", "n1"}),
    said=("exp2", "−inf"),
)

RMSNORM = Subject(
    load_drill(ROOT, "t3_rmsnorm"),
    categories={
        "basic": (8, PUBLIC),
        "weights": (8, HINTED),
        "small": (10, HINTED),
        "large": (6, HINTED),
        "lengths": (10, HINTED),
        "strided_views": (10, HINTED),
        "huge": (6, HIDDEN),
        "dtypes": (7, HIDDEN),
        "contract": (5, HINTED),
    },
    modelled={
        "sum_for_mean": 0,
        "eps_outside": 0,
        "no_eps": 0,
        "eps_as_least": 0,
        "mean_subtracted": 1,
        "padded_width": 0,
        "last_step_only": 7,
        "tail_lost": 7,
        "no_weight": 0,
        "one_plus_weight": 0,
        "weight_by_row": 1,
        "weight_stride_is_1": 0,
        "weight_of_first_block": 7,
        "sixteen_bits": 0,
        "rounded_twice": 0,
        "block_capped": 11,
        "stride_is_n": -1,
        "column_stride_is_1": 0,
        "out_like_x": 0,
        "int32_rows": 0,
    },
    zero=frozenset({"matrix_of_zeros"}),
    constant=frozenset({"n1"}),
    said=("ε", "10⁻³", "1 + w"),
)

SUBJECTS = (ROW, ONLINE, RMSNORM)
