"""Faster traversals of graphs: the operations of a graph in order, and the estimated work of a kernel.

tinygrad's traversal puts a pair on its stack for each operand; here the operands are put there at once. Its estimate of
a kernel's work copies the set of all operations that compute indices for each index; here one traversal finds them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from tinygrad.uop.ops import GroupOp, Ops, UOp

from branded.tinygrad_compat import private_api

_INDICES = {Ops.INDEX, Ops.SHRINK}
_COUNTED = GroupOp.ALU | {Ops.WMMA}
"""The operations that an estimate counts, unless they compute an index."""


def _wrap_toposort(original: Callable[..., dict[UOp, None]]) -> Callable[..., dict[UOp, None]]:
    @functools.wraps(original)
    def toposort(self: UOp, gate: Callable[[UOp], bool] | None = None, enter_calls: bool = True) -> dict[UOp, None]:
        if gate is not None or not enter_calls:
            return original(self, gate, enter_calls)
        order: dict[UOp, None] = {}
        stack: list[Any] = [self]
        pop, push, extend = stack.pop, stack.append, stack.extend
        while stack:
            u = pop()
            if u is None:  # the operands of the next entry are in order
                order[pop()] = None
            elif u not in order:
                if u.src:
                    push(u)
                    push(None)
                    extend(u.src[::-1])
                else:
                    order[u] = None
        return order

    return toposort


def _index_operations(uops: Sequence[UOp]) -> set[UOp]:
    """Return the operations that compute indices, up to the ends of loops."""
    found = set[UOp]()
    stack = [x for u in uops if u.op in _INDICES for x in u.src[1:]]
    while stack:
        u = stack.pop()
        if u not in found and u.op is not Ops.END:
            found.add(u)
            stack.extend(u.src)
    return found


def _wrap_estimate(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def from_uops(uops: Sequence[UOp], ignore_indexing: bool = False) -> Any:
        if not ignore_indexing:
            return original(uops)
        indices = _index_operations(uops)
        return original([u for u in uops if u.op not in _COUNTED or u not in indices])

    return from_uops


def install() -> None:
    setattr(UOp, "toposort", _wrap_toposort(UOp.toposort))  # noqa: B010  mypy: a method is not assigned
    private_api.Estimates.from_uops = staticmethod(_wrap_estimate(private_api.Estimates.from_uops))
