"""The leaves of active derivative transforms; `graph.tags` defines leaves."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import TypeVar

from tinygrad import Tensor
from tinygrad.uop.ops import Ops, UOp

from branded.graph.tags import Level, Placeholder, transforms
from branded.tinygrad_compat.context_stack import ContextEntry, ContextStack, run_then_undo
from branded.tinygrad_compat.private_api import all_tensors

T = TypeVar("T")


_watched: ContextStack[list[Tensor]] = ContextStack("branded_watched")
_began: ContextStack[int] = ContextStack("branded_began")


def transforming(levels: Sequence[Level] = ()) -> ContextEntry[Sequence[Level]]:
    """Mark a transform with respect to the leaves of these levels as active."""
    return transforms.during(levels)


def track_leaves(leaves: list[Tensor]) -> ContextEntry[list[Tensor]]:
    """Track the leaves of a call while its function runs, so that `hide_leaves` can hide them."""
    return _watched.during(leaves)


def differentiated_from(slot: int) -> ContextEntry[int]:
    """Mark buffers with this slot or a later one as allocated by the function under differentiation."""
    return _began.during(slot)


def is_own(root: UOp) -> bool:
    """Return whether this buffer was allocated by the function that is being differentiated."""
    began = _began.get()
    return bool(began) and root.op is Ops.BUFFER and bool(root.arg.slot >= began[0])


def hide_leaves(run: Callable[[], T]) -> T:
    """Run `run` with tracked leaves hidden: tinygrad does not write into part of a tensor that another one shares."""
    refs = dict.fromkeys(ref for leaves in _watched.get() for t in leaves if (ref := weakref.ref(t)) in all_tensors)

    def without() -> T:
        for ref in refs:
            all_tensors.pop(ref, None)
        return run()

    return run_then_undo(without, lambda: all_tensors.update(refs)) if refs else run()


def in_place_of(level: Level, values: Sequence[UOp]) -> Callable[[UOp], UOp | None]:
    """Return a rewrite that replaces each placeholder of this level by the value at its index.

    It matches by tag, so it also works on graphs from before tinygrad renamed the leaves.
    """
    return lambda u: values[u.arg.index] if type(u.arg) is Placeholder and u.arg.level is level else None
