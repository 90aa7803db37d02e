"""Primitives: functions in a graph with their own rules for batching and derivatives.

A primitive is a tinygrad FUNCTION whose call carries a `Primitive`, such as a loop or a function with custom rules.
Any other FUNCTION is transformed through its body.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence, Set
from typing import Any, NamedTuple, Protocol, cast

from tinygrad.uop.ops import Ops, UOp

from branded.graph.scope import Row, union
from branded.tinygrad_compat.private_api import CallInfo


class Batched(NamedTuple):
    """A value of all examples: `uop` has one leading axis for each brand of `row`, in that order."""

    uop: UOp
    row: Row


class Bundle(NamedTuple):
    """The results of a TUPLE or FUNCTION as `Batched`; GETTUPLE selects one of them."""

    uop: UOp
    rows: tuple[Row, ...]

    @property
    def row(self) -> Row:
        return functools.reduce(union, self.rows, ())


Env = dict[UOp, Batched | Bundle]
"""The batched value of each operation of a graph."""


class BatchingRun(Protocol):
    """A run of the batching rules over a graph; a primitive continues the run in its body."""

    closing: Row | None
    bodies: dict[Any, Bundle]

    def run(self, roots: Sequence[UOp], env: Env, gate: Callable[[UOp], bool] | None) -> list[Batched]: ...


class OnOneDevice:
    """A `BatchingRun` over the step of a loop, which runs on one device even if the examples are on several."""


class Primitive:
    """The transformation rules of a FUNCTION call.  Argument 0 is the first after the body: `u.src[1]`."""

    is_rule = False
    """Whether its derivative is a custom rule, which runs in the scope of the call."""
    is_transposed = False
    """Whether it exists only to be transposed, and cannot run."""
    is_opaque = False
    """Whether its body gives only the types of the results, and does not compute them."""
    is_atomic = False
    """Whether its results are computed together.  If so, results that a live tensor needs are kept when it runs."""
    can_fail = False
    """Whether it runs a function of the user, which may raise."""
    is_local = False
    """Whether it runs on one device; each of several devices then runs it for its own examples."""

    @property
    def content(self) -> str:
        """A text that differs between primitives with equal bodies and different meanings, for the key of a graph."""
        return ""

    def batch(self, u: UOp, run: BatchingRun, args: Sequence[Batched]) -> Bundle:
        """Return the call on the values of all examples."""
        raise NotImplementedError

    def jvp(self, u: UOp, tangents: Sequence[UOp | None]) -> tuple[UOp, list[int | None]]:
        """Return a call that also computes tangents, and for each result of `u` the index of its tangent."""
        raise NotImplementedError

    def vjp(self, u: UOp, cotangents: Sequence[UOp | None], needed: Set[int]) -> list[UOp | None]:
        """Return the cotangents of the arguments, at least of the arguments in `needed`."""
        raise NotImplementedError

    def on_other_device(self, moved: Callable[[UOp], UOp]) -> Primitive:
        """Return the primitive for another device; `moved` moves a graph to that device."""
        return self

    def as_equation(self) -> tuple[str, dict[str, Any]] | None:
        """Return the operation of this package that the call represents, and its parameters; None for other calls."""
        return None

    def in_reverse(self, u: UOp, moved: Set[int]) -> Sequence[UOp] | None:
        """Return the results that reverse mode over the arguments `moved` computes, or None if they are unchanged."""
        return None

    def predicated(self, u: UOp, flag: UOp, effects: bool) -> UOp | None:
        """Return a call that runs the user's function only if the flag is true, or None without such a function.

        Without `effects`, only functions without effects are gated: functions with effects already know the flag.
        """
        return None

    def uses(self, u: UOp, i: int) -> set[int]:
        """Return the arguments on which the result `i` depends."""
        return slots(u.src[0].src[i])

    def invariant_inputs(self, u: UOp, i: int, axis: int) -> list[tuple[int, int]] | None:
        """Return the (argument, axis) pairs that must be invariant for the result `i` to be invariant along `axis`.

        None means that the result may vary.
        """
        return None

    def tangent_inputs(self, u: UOp, i: int) -> set[int]:
        """Return the arguments with respect to which the result `i` may have derivatives."""
        return self.uses(u, i)


class CallName(str):
    """The name of a call, extended by the content that distinguishes it from other calls in the key of a graph."""

    __slots__ = ("content",)
    content: str

    def __new__(cls, name: str, content: str) -> CallName:
        new = super().__new__(cls, name)
        new.content = content
        return new

    def __repr__(self) -> str:
        return f"{super().__repr__()} {self.content}"

    def __reduce__(self) -> Any:
        return CallName, (str(self), self.content)


def info(name: str, primitive: Primitive) -> CallInfo:
    """Return the tinygrad call info of a primitive: its name and the primitive."""
    return CallInfo(name=CallName(name, primitive.content), aux=primitive)


def primitive_of(u: UOp) -> Primitive | None:
    p = u.arg.aux if u.op is Ops.FUNCTION else None
    return p if isinstance(p, Primitive) else None


def params(body: UOp) -> list[UOp]:
    """Return the parameters of a body by their slots, without parameters of functions inside."""
    by_slot = {p.arg.slot: p for p in body.toposort(enter_calls=False) if p.op is Ops.PARAM}
    return [by_slot[i] for i in sorted(by_slot)]


def uses(call: UOp, i: int) -> set[int]:
    """Return the arguments on which the result `i` of a function depends."""
    return p.uses(call, i) if (p := primitive_of(call)) is not None else slots(call.src[0].src[i])


def depends(u: UOp) -> Sequence[UOp]:
    """Return the operands on which `u` depends; for a result of a function, the arguments that the result uses."""
    if u.op is Ops.GETTUPLE and (call := u.src[0]).op is Ops.FUNCTION:
        return [call.src[1 + slot] for slot in uses(call, u.arg)]
    return u.src


def derives_from(u: UOp) -> Sequence[UOp]:
    """Return the operands with respect to which `u` may have derivatives.

    A custom rule may give derivatives with respect to arguments on which the value does not depend.
    """
    call = u.src[0] if u.op is Ops.GETTUPLE else u
    if u is not call and (p := primitive_of(call)) is not None:
        return [call.src[1 + slot] for slot in p.tangent_inputs(call, u.arg)]
    return depends(u)


_SLOTS = "_branded_slots"


def slots(body: UOp) -> set[int]:
    """Return the arguments that a body uses; an inner function counts only the arguments of results that are used."""
    if (cached := body.__dict__.get(_SLOTS)) is not None:
        return cast("set[int]", cached)
    used, visited, todo = set[int](), set[UOp](), [body]
    while todo:
        if (u := todo.pop()) in visited:
            continue
        visited.add(u)
        if u.op is Ops.PARAM:
            used.add(u.arg.slot)
        else:
            todo += u.src[1:] if u.op in {Ops.CALL, Ops.FUNCTION} else depends(u)
    body.__dict__[_SLOTS] = used
    return used


def at_slot(param: UOp, slot: int) -> UOp:
    return param.replace(arg=dataclasses.replace(param.arg, slot=slot))


def results(call: UOp) -> list[UOp]:
    """Return the results of a FUNCTION, or of the TUPLE that replaces it."""
    return list(call.src) if call.op is Ops.TUPLE else [call.gettuple(i) for i in range(len(call.src[0].src))]
