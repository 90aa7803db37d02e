"""Marks on the results of this package, which also apply to all values that are computed from these results.

A mark is an attribute of a UOp.  A graph is ours, and is computed with the changes to tinygrad, if one of its nodes is
marked or has a type that only this package makes.  Nodes that tinygrad adds to a graph therefore need no mark.  Equal
graphs are the same object in tinygrad: while the result of `vmap(lambda x: x + 1)(x)` exists, a graph `x + 1` that the
user builds is ours too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tinygrad import Tensor
from tinygrad.uop.ops import GroupOp, Ops, UOp

_OURS = "_branded_ours"
"""The attribute of a UOp: True, or the number of marks at the time when its graph was found to have none."""
_KINDS = frozenset({Ops.CUSTOM_FUNCTION, Ops.CONTIGUOUS_BACKWARD, Ops.FUNCTION, Ops.CALL})
"""The operations whose argument may be of a type of this package."""
_ONLY_SHAPES = GroupOp.Movement | {Ops.DETACH, Ops.CONTIGUOUS, Ops.BITCAST}
"""The operations that change no value.  tinygrad may combine them with the operations before them."""


class _Count:
    marked = 0
    """The number of marks so far, counted from 1 once this package is active."""


def begin() -> None:
    """Make `is_ours` look for marks from now on; before, no graph can have one."""
    _Count.marked = max(_Count.marked, 1)


def mark(*us: UOp) -> None:
    """Mark graphs as ours.  Memory, constants and parameters on their own stay unmarked: they may be the user's."""
    for u in us:
        while u.op in _ONLY_SHAPES:
            u = u.src[0]
        if u.src and u.op is not Ops.BUFFER:
            mark_itself(u)


def mark_schedules(linears: Iterable[UOp]) -> None:
    """Mark schedules and their calls, so that a TinyJit that captures them runs them with the changes to tinygrad."""
    for linear in linears:
        for u in (linear, *linear.src):
            mark_new(u)


def mark_memory(us: Iterable[UOp]) -> None:
    """Mark buffers that hold values of this package."""
    for u in us:
        if (base := u.base).op is Ops.BUFFER:
            mark_itself(base)


def mark_new(u: UOp) -> None:
    """Mark a new node, which is not yet an operand of another node."""
    u.__dict__[_OURS] = True


def mark_itself(u: UOp) -> None:
    """Mark this node, even if it is memory or a constant."""
    if u.__dict__.get(_OURS) is not True:
        u.__dict__[_OURS] = True
        _Count.marked += 1


def is_ours(u: UOp) -> bool:
    """Return whether a graph has a mark.  Repeated calls for growing graphs visit each node once."""
    now = _Count.marked
    if now == 0 or (known := _lookup(u, now)) is False:
        return False
    if known:
        return True
    path = [(u, iter(u.src))]
    while path:
        node, operands = path[-1]
        for operand in operands:
            known = _lookup(operand, now)
            if known:
                for above, _ in path:
                    above.__dict__[_OURS] = True
                return True
            if known is None:
                path.append((operand, iter(operand.src)))
                break
        else:
            node.__dict__[_OURS] = now
            path.pop()
    return False


def _lookup(u: UOp, now: int) -> bool | None:
    """Return whether a graph is ours, or None if its operands decide."""
    state = u.__dict__.get(_OURS)
    if state is True:
        return True
    if state == now:
        return False
    if u.op in _KINDS and _is_of_our_type(u.arg):
        u.__dict__[_OURS] = True
        return True
    return None


def _is_of_our_type(arg: Any) -> bool:
    """Return whether an argument, or the name or the content of a call, has a type of this package."""
    parts = (arg, getattr(arg, "name", None), getattr(arg, "aux", None))
    return any(type(x).__module__.startswith("branded.") for x in parts)


def any_ours(values: Iterable[Any]) -> bool:
    """Return whether one of these arguments of a function of tinygrad is ours, or a list or tuple with one."""
    if _Count.marked == 0:
        return False
    for x in values:
        kind = type(x)
        if isinstance(x, Tensor):
            if (u := getattr(x, "uop", None)) is not None and is_ours(u):  # `__init__` sets it
                return True
        elif isinstance(x, UOp):
            if is_ours(x):
                return True
        elif (kind is tuple or kind is list) and any_ours(x):
            return True
    return False
