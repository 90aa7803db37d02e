"""Writes of a function into memory from outside of it, while it is differentiated or becomes the body of a call.

What it wrote is there for others too: they hold the value that the results are made of, so it is written once.  Of
`value_and_grad(f)(x)`, with `state.assign(state + x)` in `f`, and p the leaf of x:

    state in f      AFTER(s, STORE(s, s + p))
    afterwards      AFTER(s, STORE(s, s + x)), in the results and in all tensors that see the write
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from tinygrad import Tensor
from tinygrad.uop.ops import Ops, UOp

from branded.core.analysis import aliasing
from branded.graph.rows import is_differentiated, is_marked
from branded.graph.scope import Block, Blocks
from branded.graph.uops import replaced, tensor
from branded.tinygrad_compat.private_api import all_tensors
from branded.tinygrad_compat.tinygrad_lock import LOCK


class Outside:
    """The writes of one call."""

    def __init__(self) -> None:
        self.memory = set[UOp]()
        """The buffers that are written."""
        self._states: dict[_Write, Tensor] = {}
        """What writes gave, and what has become of that: tinygrad tells tensors when a write is done."""

    def written(self, us: Sequence[UOp]) -> list[UOp]:
        """What such writes gave, of which these are made."""
        graph = UOp(Ops.SINK, src=tuple(us)).toposort(enter_calls=False)
        return [u for u in graph if u.op is Ops.AFTER and aliasing.root(u) in self.memory]

    def settle(self, new: Callable[[Sequence[UOp]], list[UOp]], own: Iterable[Tensor] = ()) -> None:
        """All tensors that see these writes are of the new values, but for those of the call itself."""
        apart = {*map(id, own)}
        with LOCK:
            live = [t for ref in list(all_tensors) if (t := ref()) is not None and id(t) not in apart]
            seen = [t for t in live if is_differentiated(t.uop) and not is_marked(t.uop) and self.written([t.uop])]
            for t, u in zip(seen, new([t.uop for t in seen]), strict=True):
                t.uop = u
                self.follow([u])

    def follow(self, us: Sequence[UOp]) -> None:
        """Remember what the writes gave of which these are made."""
        self._states |= {_which(u): tensor(u) for u in self.written(us)}

    def now(self, us: Sequence[UOp]) -> list[UOp]:
        """The same values, whose writes are those that tensors see, in a derivative's own form too, or are done."""
        if not self._states:
            return list(us)
        states = {u: self._states.get(_which(u)) for u in self.written(us)}
        return replaced(us, lambda _: None, at={u: t.uop for u, t in states.items() if t is not None})


class _Write(NamedTuple):
    """A write: the how many-th into which buffer it is, and what it gives."""

    memory: UOp
    number: int
    shape: tuple[Any, ...]
    joins: bool
    """Does it join a part to the whole, and not write itself?"""


def _which(u: UOp) -> _Write:
    n, below = 1, u.src[0]
    while below is not below.base or below.op is Ops.AFTER or below.op is Ops.BITCAST:
        n += below.op is Ops.AFTER
        below = below.src[0]
    return _Write(aliasing.root(u), n, u.shape, u.src[1].op is not Ops.STORE)


_open: Blocks[Outside] = Blocks("branded_outside")


def noted(outside: Outside) -> Block[Outside]:
    """While a function runs whose writes are noted."""
    return _open.during(outside)


def note(target: UOp) -> None:
    """There is a write into what this is a view of, which is no memory of the function."""
    for outside in _open.get():
        outside.memory.add(aliasing.root(target))
