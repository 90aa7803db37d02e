"""A fix for writes in several threads: a write that one thread has computed is not repeated by another thread.

tinygrad updates the graphs of all tensors when a write is done, or when the written value is rewritten. But a graph
that another thread is building belongs to no tensor yet, and would write again. Here such a graph is updated before it
is computed.
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
from branded.tinygrad_compat.uops import living_tensors, tensors_containing

EMBEDDING = "Embed View Assign"

became: weakref.WeakKeyDictionary[UOp, UOp] = weakref.WeakKeyDictionary()
"""For each UOp of a write, the value after a finished write, or the current UOp of an unfinished one.

The value `u` in `x.assign(u)` contains the earlier writes that it reads. Once they are done, the write is another UOp.
An unfinished write that tensors hold unchanged is not a key. Accesses require the lock.
"""


def _has_threads() -> bool:
    """Return whether there is, or was, another thread."""
    return threading.active_count() > 1 or len(became) > 0


def _outdated_writes(*us: UOp) -> dict[UOp, UOp]:
    """Return the writes in some graphs that have a newer UOp, each with this UOp."""
    return {u: became[u] for u in UOp.sink(*us).toposort() if u.op is Ops.AFTER and u in became}


def _catch_up() -> None:
    """Replace outdated writes in the graphs of all tensors, including new tensors of other threads."""
    while len(became) and (outdated := _outdated_writes(*(t.uop for t in living_tensors()))):
        if not _substitute(outdated, "writes of other threads"):
            return  # the rest is in the body of a function, which is not rewritten


def _substitute(applied: dict[UOp, UOp], name: str) -> bool:
    """Substitute UOps in the graphs of all tensors, record the new writes, and return whether anything changed."""
    tensors = tensors_containing(applied)  # tensors created after this line hold the old UOps of the writes
    old = UOp.sink(*(u for _, u in tensors))
    new = old.substitute(applied, name=f"substitute {name}", walk=True)
    for (t, u), v in zip(tensors, new.src, strict=True):
        if u is not v:
            t.uop = v
    _record_writes(old, new, applied, name)
    return old is not new


def _record_writes(old: UOp, new: UOp, applied: dict[UOp, UOp], name: str) -> None:
    """Record, for each write in `old`, its UOp in `new`, the result of the substitutions in `applied`."""
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


def wrap_apply_map(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `_apply_map_to_tensors` to record the new UOps of the writes."""

    @functools.wraps(original)
    def apply_map(applied_map: dict[UOp, UOp], name: str) -> None:
        if not _has_threads():
            original(applied_map, name)
            return
        with LOCK:
            _catch_up()
            _substitute(applied_map, name)
            if name != EMBEDDING and not private_api.realize.capturing:
                became.update((u, new) for u, new in applied_map.items() if u.op is Ops.AFTER)

    return apply_map


def wrap_linear_with_vars(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `linear_with_vars` to update the tensors first."""

    @functools.wraps(original)
    def linear_with_vars(self: Tensor, *others: Tensor) -> Any:
        with LOCK:
            if len(became) and _outdated_writes(*(t.uop for t in (self, *others))):
                _catch_up()
            return original(self, *others)

    return linear_with_vars


def wrap_assign(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `assign` to update its target first, and to mark the write as unfinished even if an equal one is done."""

    @functools.wraps(original)
    def assign(self: Tensor, x: Any) -> Tensor:
        with LOCK:
            if len(became) and _outdated_writes(self.uop):
                _catch_up()
            out: Tensor = original(self, x)
            for u in _last_write(self.uop) if len(became) else ():
                became.pop(u, None)
            return out

    return assign


def _last_write(u: UOp) -> tuple[UOp, ...]:
    """Return the UOp of the last write to `u`; for a write to a part, also the UOps that insert the part."""
    while u.op in GroupOp.Movement | {Ops.BITCAST, Ops.DETACH}:
        u = u.src[0]
    return (u, *u.src[1:]) if u.op is Ops.AFTER else ()
