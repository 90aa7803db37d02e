"""A loop's step: its parameters and its results."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from tinygrad.dtype import DType
from tinygrad.uop.ops import UOp

from branded.graph.scope import Row
from branded.graph.uops import replace_ops

S = TypeVar("S")
T = TypeVar("T")


class Carry(NamedTuple):
    """A value that each step passes to the next: the step's parameter, the initial value, and the step's result."""

    param: UOp
    init: UOp
    next: UOp


class Input(NamedTuple):
    """A value sliced by step: the step's parameter, and the whole value with the steps as its leading axis."""

    param: UOp
    whole: UOp


class Args(NamedTuple, Generic[T]):
    """A sequence with one entry per argument of a loop, divided by the kind of argument."""

    carries: Sequence[T]
    """The values that each step passes to the next."""
    inputs: Sequence[T]
    """The values that each step gets a slice of."""
    fixed: Sequence[T]
    """The values that no step changes."""
    gate: Sequence[T] = ()
    """For a loop in a branch, the flag of the branch: if it is false, the loop takes no steps.  Else empty."""


def split_arguments(xs: Sequence[T], carries: int, inputs: int, gated: bool = False) -> Args[T]:
    last = len(xs) - gated
    return Args(xs[:carries], xs[carries : carries + inputs], xs[carries + inputs : last], xs[last:])


class Step(NamedTuple):
    """A step over unique parameters: its new carries, and its other results."""

    params: Args[UOp]
    nexts: list[UOp]
    outs: list[UOp]


_slots = itertools.count(1 << 20)


def param(shape: tuple[Any, ...], dtype: DType, device: str | tuple[str, ...] | None) -> UOp:
    """Return a parameter that no other graph has."""
    out: UOp = UOp.param(next(_slots), dtype, shape, device)
    return out


def like(x: UOp, drop: int = 0) -> UOp:
    return param(x.shape[drop:], x.dtype, x.device)


def pairs(xs: Iterable[T], ys: Iterable[S]) -> Iterator[tuple[T, S]]:
    return zip(xs, ys, strict=True)


def wider(p: UOp, row: Row) -> UOp:
    return param((*(b.size for b in row), *p.shape), p.dtype, p.device) if row else p


def without_size_zero(carries: Sequence[Carry], inputs: Sequence[Input], outs: Sequence[UOp]) -> list[UOp]:
    """Return the step's results with zeros for values without elements, which no kernel computes."""
    empty = {p: p.const_like(0) for p in (*(c.param for c in carries), *(x.param for x in inputs)) if 0 in p.shape}
    return [x.const_like(0) if 0 in x.shape else x for x in (replace_ops(outs, empty.get) if empty else outs)]


def steady_carries(carries: Sequence[Carry]) -> dict[UOp, UOp]:
    """Return the carries that no step changes, with their initial values."""
    return {c.param: c.init for c in carries if c.next is c.param or 0 in c.param.shape}
