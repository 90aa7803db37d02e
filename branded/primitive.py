"""Primitives: functions in a graph that bring their own rules for batching and for derivatives.

A primitive is a FUNCTION of tinygrad whose call carries a `Primitive`.  Loops and functions with custom rules are such;
any other FUNCTION is transformed through its body.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence, Set
from typing import TYPE_CHECKING

from tinygrad.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from branded.dispatch import Batched, Bundle, Pass


class Primitive:
    """What a call of FUNCTION means to the transforms.  Arguments are counted without the body."""

    def batch(self, u: UOp, run: Pass, args: Sequence[Batched]) -> Bundle:
        """The call on the values of all examples."""
        raise NotImplementedError

    def push(self, u: UOp, tangents: Sequence[UOp | None]) -> tuple[UOp, list[int | None]]:
        """A call that also gives tangents, and for each result of `u` which of its results is its tangent."""
        raise NotImplementedError

    def pull(self, u: UOp, cotangents: Sequence[UOp | None], needed: Set[int]) -> list[UOp | None]:
        """The cotangents of the arguments, at least of those that are needed."""
        raise NotImplementedError

    def uses(self, u: UOp, i: int) -> set[int]:
        """The arguments on which the result `i` depends."""
        return slots(u.src[0].src[i])


def primitive_of(u: UOp) -> Primitive | None:
    p = u.arg.aux if u.op is Ops.FUNCTION else None
    return p if isinstance(p, Primitive) else None


# ---- functions in a graph ----


def params(body: UOp) -> list[UOp]:
    """The parameters of a body itself, not those of functions in it, by their slots."""
    found = {p.arg.slot: p for p in body.toposort(enter_calls=False) if p.op is Ops.PARAM}
    return [found[i] for i in sorted(found)]


def slots(body: UOp) -> set[int]:
    """The arguments that a body uses."""
    return {p.arg.slot for p in params(body)}


def at_slot(param: UOp, slot: int) -> UOp:
    """The parameter, for another argument."""
    return param.replace(arg=dataclasses.replace(param.arg, slot=slot))


def results(call: UOp) -> list[UOp]:
    """What a FUNCTION gives, or a TUPLE that stands for what it gives."""
    return list(call.src) if call.op is Ops.TUPLE else [call.gettuple(i) for i in range(len(call.src[0].src))]
