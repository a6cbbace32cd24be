"""Is a drill's tolerance sound? Known-wrong answers must fail it and right ones pass, at every size it is used at.

The trials are the drill's own tests with their values replaced by N(0,1): the same dtypes, shapes and oracle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from graders.compare import compare
from graders.drill import Oracle
from graders.memory import Call
from graders.tolerance import Policy
from graders.validation import Finding, FindingCode

LARGEST = 1 << 20
"""Elements of a trial's inputs and outputs: larger ones tell no more, and take long."""

PIECE = 64
"""Elements that the other order of summation adds up at once."""

_SEED = 20_260_101
"""The same trials at every validation: whether a drill is sound does not depend on luck."""

_SHAPES_TOLD = 4


@dataclass(frozen=True)
class Trial:
    """Inputs, and the oracle's answer to them in float64 for outputs of the given dtypes."""

    inputs: tuple[torch.Tensor, ...]
    expected: tuple[torch.Tensor, ...]
    dtypes: tuple[torch.dtype, ...]

    @property
    def shape(self) -> str:
        return "×".join(map(str, max(self.inputs, key=torch.Tensor.numel).shape))


@dataclass(frozen=True)
class _Output:
    """One output of a trial, with the inputs that it might be taken for."""

    expected: torch.Tensor
    dtype: torch.dtype
    inputs: tuple[torch.Tensor, ...]
    policy: Policy

    def passes(self, got: torch.Tensor) -> bool:
        return compare(got.to(self.dtype), self.expected, self.policy) is None

    def same(self, got: torch.Tensor) -> bool:
        """Whether ``got`` is the right answer after all, in this dtype."""
        return torch.equal(got.to(self.dtype).nan_to_num(), self.expected.to(self.dtype).nan_to_num())


def trials(calls: Iterable[Call], oracle: Oracle) -> list[Trial]:
    """A trial for each dtype and shape among ``calls`` that has rows and columns and at most ``LARGEST`` elements."""
    made: dict[object, Trial] = {}
    for call in calls:
        shapes = [operand.values.shape for operand in call.inputs]
        key = (tuple(shapes), *(operand.values.dtype for operand in call.inputs), *(out.dtype for out in call.outs))
        sizes = [*(shape.numel() for shape in shapes), *(out.layout.view_numel for out in call.outs)]
        matrix = any(len(shape) >= 2 and min(shape) >= 2 for shape in shapes)
        if key not in made and matrix and max(sizes) <= LARGEST:
            inputs = _normal(call)
            made[key] = Trial(inputs, oracle(*inputs), tuple(out.dtype for out in call.outs))
    return list(made.values())


def check_tolerance(trials: Sequence[Trial], oracle: Oracle, policy: Policy) -> list[Finding]:
    """What the policy lets pass or refuses wrongly: one finding for each kind of answer and dtype."""
    if not trials:
        return [Finding.of(FindingCode.TOLERANCE_NOT_TESTED)]
    shapes: dict[tuple[FindingCode, torch.dtype], list[str]] = {}
    for trial in trials:
        for code, dtype in _unsound(trial, oracle, policy):
            found = shapes.setdefault((code, dtype), [])
            if trial.shape not in found:
                found.append(trial.shape)
    return [_finding(code, dtype, found) for (code, dtype), found in shapes.items()]


def _finding(code: FindingCode, dtype: torch.dtype, shapes: list[str]) -> Finding:
    told = ", ".join(shapes[:_SHAPES_TOLD]) + (
        f" (+{len(shapes) - _SHAPES_TOLD})" if len(shapes) > _SHAPES_TOLD else ""
    )
    return Finding.of(code, dtype=str(dtype).removeprefix("torch."), shapes=told)


def _normal(call: Call) -> tuple[torch.Tensor, ...]:
    """The call's inputs with N(0,1) in place of what is floating."""

    def drawn(values: torch.Tensor) -> torch.Tensor:
        if not values.is_floating_point():
            return values
        generator = torch.Generator(values.device).manual_seed(_SEED + values.numel())
        normal = torch.randn(values.shape, generator=generator, dtype=torch.float64, device=values.device)
        return normal.to(values.dtype)

    return tuple(drawn(operand.values) for operand in call.inputs)


def _unsound(trial: Trial, oracle: Oracle, policy: Policy) -> Iterator[tuple[FindingCode, torch.dtype]]:
    others = [answer for answer in (_in_float32(oracle, trial.inputs, order) for order in _ORDERS) if answer]
    for index, (expected, dtype) in enumerate(zip(trial.expected, trial.dtypes, strict=True)):
        output = _Output(expected, dtype, trial.inputs, policy)
        for code, answers in _WRONG.items():
            if any(output.passes(answer) and not output.same(answer) for answer in answers(output)):
                yield code, dtype
        if not output.passes(expected):
            yield FindingCode.REFUSES_ROUNDED, dtype
        if not all(output.passes(answer[index]) for answer in others):
            yield FindingCode.REFUSES_OTHER_ORDER, dtype


# Answers that are wrong


def _zeros(output: _Output) -> Iterator[torch.Tensor]:
    yield torch.zeros_like(output.expected)


def _constant(output: _Output) -> Iterator[torch.Tensor]:
    finite = output.expected[output.expected.isfinite()]
    if finite.numel():
        yield torch.full_like(output.expected, float(finite.mean()))


def _input(output: _Output) -> Iterator[torch.Tensor]:
    return (x for x in output.inputs if x.shape == output.expected.shape)


def _one_element_off(output: _Output) -> Iterator[torch.Tensor]:
    """The element of median size, off by a tenth."""
    changed = output.expected.clone(memory_format=torch.contiguous_format)
    flat = changed.view(-1)
    sizes = flat.abs().masked_fill(~flat.isfinite() | (flat == 0), torch.nan)
    if not bool(sizes.isnan().all()):
        flat[int(sizes.nanmedian(0).indices)] *= 1.1
        yield changed


def _rows_swapped(output: _Output) -> Iterator[torch.Tensor]:
    """The first row and the one that is least like it."""
    if output.expected.dim() < 1 or output.expected.shape[0] < 2:
        return
    rows = output.expected.nan_to_num().reshape(output.expected.shape[0], -1)
    other = int((rows - rows[0]).abs().sum(1).argmax())
    changed = output.expected.clone()
    changed[[0, other]] = changed[[other, 0]]
    yield changed


def _thrice_the_bound(output: _Output) -> Iterator[torch.Tensor]:
    yield output.expected + 3 * output.policy.bound(output.expected, output.dtype)


_WRONG: dict[FindingCode, Callable[[_Output], Iterator[torch.Tensor]]] = {
    FindingCode.PASSES_ZEROS: _zeros,
    FindingCode.PASSES_CONSTANT: _constant,
    FindingCode.PASSES_INPUT: _input,
    FindingCode.PASSES_ONE_ELEMENT_OFF: _one_element_off,
    FindingCode.PASSES_ROWS_SWAPPED: _rows_swapped,
    FindingCode.PASSES_THRICE_THE_BOUND: _thrice_the_bound,
}


# Answers that are right: the oracle's own arithmetic in float32


Sum = Callable[[torch.Tensor, int, bool], torch.Tensor]
"""A sum along a dimension, kept or not."""


def _as_torch_sums(x: torch.Tensor, dim: int, keepdim: bool) -> torch.Tensor:
    return x.sum(dim, keepdim=keepdim)


def _backwards_in_pieces(x: torch.Tensor, dim: int, keepdim: bool) -> torch.Tensor:
    """One piece of the dimension after the other, the last one first."""
    total = torch.zeros_like(x.select(dim, 0)) if x.shape[dim] else x.sum(dim)
    for piece in reversed(torch.split(x, PIECE, dim)):
        total = total + piece.sum(dim)
    return total.unsqueeze(dim) if keepdim else total


_ORDERS: tuple[Sum, ...] = (_as_torch_sums, _backwards_in_pieces)


Dims = Sequence[int] | None


def _sum(
    order: Sum, x: torch.Tensor, dims: Dims = None, keepdim: bool = False, *, dtype: torch.dtype | None = None
) -> torch.Tensor:
    over = sorted({dim % x.dim() for dim in (dims or range(x.dim()))})
    total = x.to(dtype or x.dtype)
    for dim in over:
        total = order(total, dim, True)
    return total if keepdim else total.squeeze(over)


def _mean(
    order: Sum, x: torch.Tensor, dims: Dims = None, keepdim: bool = False, *, dtype: torch.dtype | None = None
) -> torch.Tensor:
    total = _sum(order, x, dims, keepdim, dtype=dtype)
    return total / (x.numel() / max(total.numel(), 1))


def _norm(
    order: Sum,
    x: torch.Tensor,
    ord: float = 2,
    dims: Dims = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
) -> torch.Tensor:
    if ord == 2:
        return _sum(order, x * x, dims, keepdim, dtype=dtype).sqrt()
    norm: torch.Tensor = torch.linalg.vector_norm(x, ord, dims, keepdim, dtype=dtype)
    return norm


_REDUCTIONS: dict[Any, Callable[..., torch.Tensor]] = {
    torch.ops.aten.sum.default: _sum,
    torch.ops.aten.sum.dim_IntList: _sum,
    torch.ops.aten.mean.default: _mean,
    torch.ops.aten.mean.dim: _mean,
    torch.ops.aten.linalg_vector_norm.default: _norm,
}
"""What an oracle sums with. Other operations that sum, such as softmax itself, keep torch's order."""


class _InFloat32(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Makes what asks for float64 compute in float32, and sum in a given order."""

    def __init__(self, order: Sum) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._order = order

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        args, kwargs = tree_map(_narrowed, args), tree_map(_narrowed, kwargs or {})
        reduction = _REDUCTIONS.get(func)
        if reduction is not None and args[0].is_floating_point():
            return reduction(self._order, *args, **kwargs)
        return tree_map(_narrowed, func(*args, **kwargs))


def _narrowed(item: Any) -> Any:
    if isinstance(item, torch.Tensor) and item.dtype is torch.float64:
        return item.float()
    return torch.float32 if item is torch.float64 else item


def _in_float32(oracle: Oracle, inputs: tuple[torch.Tensor, ...], order: Sum) -> tuple[torch.Tensor, ...]:
    """The oracle's outputs by float32 arithmetic; empty where its code has no float32 form."""
    try:
        with _InFloat32(order):
            return oracle(*inputs)
    except (RuntimeError, TypeError, NotImplementedError):
        return ()
