"""Writes into captured memory by a function that is differentiated or traced as the body of a call.

Other tensors can read the captured memory too. They and the results use the same written value, so that the write
runs once.
Example: `value_and_grad(f)(x)` with `state.assign(state + x)` in `f`; p is the leaf of x.

    state in f      AFTER(s, STORE(s, s + p))
    afterwards      AFTER(s, STORE(s, s + x)), in the results and in all tensors that read the memory
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from tinygrad import Tensor
from tinygrad.uop.ops import Ops, UOp

from branded.core.analysis import aliasing
from branded.graph.rows import is_differentiated
from branded.graph.tags import is_tagged
from branded.graph.uops import living_tensors, replace_ops, tensor
from branded.tinygrad_compat.context_stack import ContextEntry, ContextStack
from branded.tinygrad_compat.tinygrad_lock import LOCK


class CapturedWrites:
    """The writes into captured memory during one call."""

    def __init__(self) -> None:
        self.memory = set[UOp]()
        """The buffers that are written."""
        self._states: dict[_Write, Tensor] = {}
        """Written values, as tensors: tinygrad updates their UOps when it realizes a write."""

    def writes_in(self, us: Sequence[UOp]) -> list[UOp]:
        """Return the writes into captured memory in the graphs of `us`."""
        graph = UOp(Ops.SINK, src=tuple(us)).toposort(enter_calls=False)
        return [u for u in graph if u.op is Ops.AFTER and aliasing.root(u) in self.memory]

    def settle(self, new: Callable[[Sequence[UOp]], list[UOp]], but: Iterable[Tensor] = ()) -> None:
        """Apply `new` to the value of every live tensor that contains these writes, except the tensors in `but`."""
        apart = {*map(id, but)}
        with LOCK:
            live = [t for t in living_tensors() if id(t) not in apart]
            affected = [
                t for t in live if is_differentiated(t.uop) and not is_tagged(t.uop) and self.writes_in([t.uop])
            ]
            us = new([t.uop for t in affected])
            self.follow(us)
            for t, u in zip(affected, self.now(us), strict=True):
                t.uop = u

    def follow(self, us: Sequence[UOp]) -> None:
        """Remember the captured writes in the graphs of `us`, except writes that are already known."""
        self._states = {_which(u): tensor(u) for u in self.writes_in(us)} | self._states

    def now(self, us: Sequence[UOp]) -> list[UOp]:
        """Replace each remembered write by its current UOp, also where a derivative has rewritten it."""
        if not self._states:
            return list(us)
        states = {u: self._states.get(_which(u)) for u in self.writes_in(us)}
        return replace_ops(us, lambda _: None, at={u: t.uop for u, t in states.items() if t is not None})


class _Write(NamedTuple):
    """The key of a write: the buffer, its ordinal among the writes into the buffer, and the shape of its value."""

    memory: UOp
    number: int
    shape: tuple[Any, ...]
    joins: bool
    """Whether it joins a written part to the whole buffer instead of storing directly."""


def _which(u: UOp) -> _Write:
    n, below = 1, u.src[0]
    while below is not below.base or below.op is Ops.AFTER or below.op is Ops.BITCAST:
        n += below.op is Ops.AFTER
        below = below.src[0]
    return _Write(aliasing.root(u), n, u.shape, u.src[1].op is not Ops.STORE)


_open: ContextStack[CapturedWrites] = ContextStack("branded_outside")


def record_captured_writes(outside: CapturedWrites) -> ContextEntry[CapturedWrites]:
    """Record the captured writes of a function while it runs."""
    return _open.during(outside)


def note(target: UOp) -> None:
    """Record a write into the memory that `target` is a view of, which the function did not allocate."""
    for outside in _open.get():
        outside.memory.add(aliasing.root(target))
