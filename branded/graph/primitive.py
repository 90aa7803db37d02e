"""Primitives: functions in a graph that bring their own rules for batching and for derivatives.

A primitive is a FUNCTION of tinygrad whose call carries a `Primitive`.  Loops and functions with custom rules are such;
any other FUNCTION is transformed through its body.
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
    """The values of a TUPLE or FUNCTION, which GETTUPLE takes apart."""

    uop: UOp
    rows: tuple[Row, ...]

    @property
    def row(self) -> Row:
        return functools.reduce(union, self.rows, ())


Env = dict[UOp, Batched | Bundle]
"""What became of the operations of a graph."""


class BatchingRun(Protocol):
    """A run of the batching rules over a graph, which a primitive goes on with in its body."""

    closing: Row | None
    bodies: dict[Any, Bundle]

    def run(self, roots: Sequence[UOp], env: Env, gate: Callable[[UOp], bool] | None) -> list[Batched]: ...


class OnOneDevice:
    """A run over the step of a loop, which runs on one device, whatever devices its examples are on."""


class Primitive:
    """What a call of FUNCTION means to the transforms.  Arguments are counted without the body."""

    is_rule = False
    """Is its derivative a rule of the user, which runs in the scope of the call?"""
    is_transposed = False
    """Is it there to be transposed alone, so that nobody can run it?"""
    is_opaque = False
    """Does its body say nothing but what the results are like?"""
    is_one = False
    """Are its results worked out together, whoever asks for one?  Then those that somebody has are kept."""
    can_fail = False
    """Does it run a function of the user, which may raise?"""
    is_local = False
    """Does it run on one device, so that each of several runs it for those examples that it has?"""

    @property
    def content(self) -> str:
        """What tells it from others whose body is equal, and which compute something else."""
        return ""

    def batch(self, u: UOp, run: BatchingRun, args: Sequence[Batched]) -> Bundle:
        """The call on the values of all examples."""
        raise NotImplementedError

    def push(self, u: UOp, tangents: Sequence[UOp | None]) -> tuple[UOp, list[int | None]]:
        """A call that also gives tangents, and for each result of `u` which of its results is its tangent."""
        raise NotImplementedError

    def pull(self, u: UOp, cotangents: Sequence[UOp | None], needed: Set[int]) -> list[UOp | None]:
        """The cotangents of the arguments, at least of those that are needed."""
        raise NotImplementedError

    def on_other_device(self, moved: Callable[[UOp], UOp]) -> Primitive:
        """The same on another device, where `moved` gives a graph on that one."""
        return self

    def said(self) -> tuple[str, dict[str, Any]] | None:
        """The operation of this package that the call is, and its parameters, for a typed program; None of others."""
        return None

    def in_reverse(self, u: UOp, moved: Set[int]) -> Sequence[UOp] | None:
        """The results as reverse mode by these arguments gives them, where it does not give them as they are."""
        return None

    def only_if(self, u: UOp, flag: UOp, effects: bool) -> UOp | None:
        """The call that runs a function of the user's only where the flag is true; None where it runs none.

        Without `effects` that is for a function without any: the others know of the flag.
        """
        return None

    def uses(self, u: UOp, i: int) -> set[int]:
        """The arguments on which the result `i` depends."""
        return slots(u.src[0].src[i])

    def same_with(self, u: UOp, i: int, axis: int) -> list[tuple[int, int]] | None:
        """The arguments, and an axis of each, that are the same along it where the result `i` is along `axis`.

        None where they do not say it.
        """
        return None

    def speaks_of(self, u: UOp, i: int) -> set[int]:
        """The arguments by which the result `i` may have derivatives."""
        return self.uses(u, i)


class CallName(str):
    """The name of a call, and what tells it from others in the key of a graph, which no other part of it does."""

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
    """What the call of a primitive says beside its operands."""
    return CallInfo(name=CallName(name, primitive.content), aux=primitive)


def primitive_of(u: UOp) -> Primitive | None:
    p = u.arg.aux if u.op is Ops.FUNCTION else None
    return p if isinstance(p, Primitive) else None


# ---- functions in a graph ----


def params(body: UOp) -> list[UOp]:
    """The parameters of a body itself, not those of functions in it, by their slots."""
    found = {p.arg.slot: p for p in body.toposort(enter_calls=False) if p.op is Ops.PARAM}
    return [found[i] for i in sorted(found)]


def uses(call: UOp, i: int) -> set[int]:
    """The arguments on which the result `i` of a function depends."""
    return p.uses(call, i) if (p := primitive_of(call)) is not None else slots(call.src[0].src[i])


def depends(u: UOp) -> Sequence[UOp]:
    """The operands on which `u` depends; of a result of a function those arguments that it uses."""
    if u.op is Ops.GETTUPLE and (call := u.src[0]).op is Ops.FUNCTION:
        return [call.src[1 + slot] for slot in uses(call, u.arg)]
    return u.src


def derives_from(u: UOp) -> Sequence[UOp]:
    """The operands by which `u` may have derivatives: more than it depends on, where a rule says so."""
    call = u.src[0] if u.op is Ops.GETTUPLE else u
    if u is not call and (p := primitive_of(call)) is not None:
        return [call.src[1 + slot] for slot in p.speaks_of(call, u.arg)]
    return depends(u)


_SLOTS = "_branded_slots"


def slots(body: UOp) -> set[int]:
    """The arguments that a body uses; of a function in it, those on which the results depend that it takes."""
    if (known := body.__dict__.get(_SLOTS)) is not None:
        return cast("set[int]", known)
    found, seen, todo = set[int](), set[UOp](), [body]
    while todo:
        if (u := todo.pop()) in seen:
            continue
        seen.add(u)
        if u.op is Ops.PARAM:
            found.add(u.arg.slot)
        else:
            todo += u.src[1:] if u.op in {Ops.CALL, Ops.FUNCTION} else depends(u)
    body.__dict__[_SLOTS] = found
    return found


def at_slot(param: UOp, slot: int) -> UOp:
    """The parameter, for another argument."""
    return param.replace(arg=dataclasses.replace(param.arg, slot=slot))


def results(call: UOp) -> list[UOp]:
    """What a FUNCTION gives, or a TUPLE that stands for what it gives."""
    return list(call.src) if call.op is Ops.TUPLE else [call.gettuple(i) for i in range(len(call.src[0].src))]
