"""What writes have become, for the threads that do not know of it.

tinygrad tells all tensors that a write is done, or that what it writes has another form now.  What a thread is just
making of them is not a tensor yet, and would do the write again: it looks here before it is computed.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable
from typing import Any

from tinygrad import Tensor
from tinygrad.uop.ops import GroupOp, Ops, UOp

from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.tinygrad_lock import LOCK

EMBEDDING = "Embed View Assign"

became: weakref.WeakKeyDictionary[UOp, UOp] = weakref.WeakKeyDictionary()
"""Where a write that is done left its value, or what a write that is not done is now.

`u` in `x.assign(u)` holds the earlier writes that it reads, so the write of `u` is another node once these are done.
A write that is yet to be done, in the form that tensors have, is no key.  The lock is held where this is looked at.
"""


def _is_kept() -> bool:
    """Is there, or was there, a thread beside this one?"""
    return threading.active_count() > 1 or len(became) > 0


def _due(*us: UOp) -> dict[UOp, UOp]:
    return {u: became[u] for u in UOp.sink(*us).toposort() if u.op is Ops.AFTER and u in became}


def _catch_up() -> None:
    """All tensors are of what writes have become, also those that threads have made in the meantime."""
    while len(became) and (due := _due(*(t.uop for t in _tensors()))):
        if not _substitute(due, "writes of other threads"):
            return  # they are in the body of a function, which stays as it is


def _tensors() -> list[Tensor]:
    return [t for ref in list(private_api.tensor.all_tensors) if (t := ref()) is not None]


def _substitute(applied: dict[UOp, UOp], name: str) -> bool:
    """What tinygrad does, noting what writes are in all these tensors now; whether any is another."""
    in_scope: dict[UOp, bool] = {}

    def is_in(u: UOp) -> bool:
        return u in applied or any(in_scope.get(s, False) for s in u.src)

    # a tensor that is made from here on holds writes as they were
    tensors = [(t, u) for t in _tensors() if (u := t.uop).topovisit(is_in, in_scope)]
    old = UOp.sink(*(u for _, u in tensors))
    new = old.substitute(applied, name=f"substitute {name}", walk=True)
    for (t, u), v in zip(tensors, new.src, strict=True):
        if u is not v:
            t.uop = v
    _note(old, new, applied, name)
    return old is not new


def _note(old: UOp, new: UOp, applied: dict[UOp, UOp], name: str) -> None:
    """What the writes in `old` are in `new`, which is `old` but for what was applied."""
    walked, stack = set[UOp](), [(old, new)]
    while stack:
        u, v = stack.pop()
        if u is v or u in walked or u in applied:
            continue
        walked.add(u)
        stack.extend(zip(u.src, v.src, strict=True))
        if u.op is Ops.AFTER:
            became.pop(v, None)
            if name != EMBEDDING or u not in v.backward_slice:
                became[u] = v


def noting(original: Callable[..., Any]) -> Callable[..., Any]:
    """`_apply_map_to_tensors`, noting what becomes of writes."""

    @functools.wraps(original)
    def apply_map(applied_map: dict[UOp, UOp], name: str) -> None:
        if not _is_kept():
            original(applied_map, name)
            return
        with LOCK:
            _catch_up()
            _substitute(applied_map, name)
            if name != EMBEDDING and not private_api.realize.capturing:
                became.update((u, new) for u, new in applied_map.items() if u.op is Ops.AFTER)

    return apply_map


def caught_up(original: Callable[..., Any]) -> Callable[..., Any]:
    """`linear_with_vars`, of what tensors have become."""

    @functools.wraps(original)
    def linear_with_vars(self: Tensor, *others: Tensor) -> Any:
        with LOCK:
            if len(became) and _due(*(t.uop for t in (self, *others))):
                _catch_up()
            return original(self, *others)

    return linear_with_vars


def writing(original: Callable[..., Any]) -> Callable[..., Any]:
    """`assign`, into what a tensor has become; it is yet to be done, also where one just like it was done before."""

    @functools.wraps(original)
    def assign(self: Tensor, x: Any) -> Tensor:
        with LOCK:
            if len(became) and _due(self.uop):
                _catch_up()
            out: Tensor = original(self, x)
            for u in _last(self.uop) if len(became) else ():
                became.pop(u, None)
            return out

    return assign


def _last(u: UOp) -> tuple[UOp, ...]:
    """The write that was made last, and what joins it to the whole where it is one into a part."""
    while u.op in GroupOp.Movement | {Ops.BITCAST, Ops.DETACH}:
        u = u.src[0]
    return (u, *u.src[1:]) if u.op is Ops.AFTER else ()
