"""A step of a loop: parameters for what it is given, and what it makes of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from tinygrad.dtype import DType
from tinygrad.uop.ops import UOp

from branded.graph.scope import Row
from branded.graph.uops import replaced

S = TypeVar("S")
T = TypeVar("T")


class Carry(NamedTuple):
    """A value that each step gives to the next: as a parameter of the step, at first, and what the step makes of it."""

    param: UOp
    init: UOp
    next: UOp


class Input(NamedTuple):
    """A value of which each step gets a slice: as a parameter of the step, and whole, with the steps in front."""

    param: UOp
    whole: UOp


class Args(NamedTuple, Generic[T]):
    """The arguments of a loop, in their order, or something for each of them."""

    carries: Sequence[T]
    """What each step gives to the next."""
    inputs: Sequence[T]
    """Of which each step gets a slice."""
    fixed: Sequence[T]
    """What no step changes."""
    gate: Sequence[T] = ()
    """The flag without which the loop has no steps, of a loop in a branch: one, or none."""


def cut(xs: Sequence[T], carries: int, inputs: int, gated: bool = False) -> Args[T]:
    last = len(xs) - gated
    return Args(xs[:carries], xs[carries : carries + inputs], xs[carries + inputs : last], xs[last:])


class Step(NamedTuple):
    """A step over parameters that no other graph has: what it makes of the carries, and what it gives beside."""

    params: Args[UOp]
    nexts: list[UOp]
    outs: list[UOp]


_slots = itertools.count(1 << 20)


def param(shape: tuple[Any, ...], dtype: DType, device: str | tuple[str, ...] | None) -> UOp:
    """A parameter that no other graph has."""
    out: UOp = UOp.param(next(_slots), dtype, shape, device)
    return out


def like(x: UOp, drop: int = 0) -> UOp:
    return param(x.shape[drop:], x.dtype, x.device)


def pairs(xs: Iterable[T], ys: Iterable[S]) -> Iterator[tuple[T, S]]:
    return zip(xs, ys, strict=True)


def wider(p: UOp, row: Row) -> UOp:
    return param((*(b.size for b in row), *p.shape), p.dtype, p.device) if row else p


def without_size_zero(carries: Sequence[Carry], inputs: Sequence[Input], outs: Sequence[UOp]) -> list[UOp]:
    """The results of the step, in which values without elements, which no kernel computes, are zeros."""
    empty = {p: p.const_like(0) for p in (*(c.param for c in carries), *(x.param for x in inputs)) if 0 in p.shape}
    return [x.const_like(0) if 0 in x.shape else x for x in (replaced(outs, empty.get) if empty else outs)]


def steady_carries(carries: Sequence[Carry]) -> dict[UOp, UOp]:
    """Carries that no step changes are constants."""
    return {c.param: c.init for c in carries if c.next is c.param or 0 in c.param.shape}
