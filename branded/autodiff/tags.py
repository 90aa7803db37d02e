"""The leaves of derivative transforms, each tagged with a `Level`.

A leaf is a unique identity operation: CONTIGUOUS_BACKWARD with a `Level`. A derivative therefore never confuses a leaf
with another value, however transforms nest. The outermost transform removes the leaves from its results, so the plain
graph runs.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Sequence
from typing import TypeVar

from tinygrad import Tensor
from tinygrad.uop.ops import Ops, UOp

from branded.core.tracing.state import transforms
from branded.graph.rows import Mark, is_marked
from branded.graph.scope import Block, Blocks, undone
from branded.graph.uops import tensor
from branded.tinygrad_compat.private_api import all_tensors, keep_shape

T = TypeVar("T")


class Level(Mark):
    """The tag of a leaf: two leaves differ even if their values are equal."""

    def __init__(self) -> None:
        self.number = next(_numbers)

    @property
    def is_over(self) -> bool:
        """Whether no active transform uses the leaf; only values made while that transform ran need it."""
        return not any(self in levels for levels in transforms.get())


_numbers = itertools.count()


_watched: Blocks[list[Tensor]] = Blocks("branded_watched")
_began: Blocks[int] = Blocks("branded_began")


def transforming(levels: Sequence[Level] = ()) -> Block[Sequence[Level]]:
    """Mark a transform with respect to the leaves of these levels as active."""
    return transforms.during(levels)


def track_leaves(leaves: list[Tensor]) -> Block[list[Tensor]]:
    """Track the leaves of a call while its function runs, so that `hide_leaves` can hide them."""
    return _watched.during(leaves)


def differentiated_from(slot: int) -> Block[int]:
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

    return undone(without, lambda: all_tensors.update(refs)) if refs else run()


def leaf(x: Tensor) -> Tensor:
    out = UOp(Ops.CONTIGUOUS_BACKWARD, x.dtype, (x.uop,), Level())
    keep_shape(out, x.shape)
    return tensor(out)


def in_place_of(level: Level, values: Sequence[UOp]) -> Callable[[UOp], UOp | None]:
    """Return a rewrite that replaces each leaf of this level by the value at its index.

    It matches by tag, so it also works on graphs from before tinygrad renamed the leaves.
    """
    return lambda u: values[u.arg[1]] if is_marked(u) and type(u.arg) is tuple and u.arg[0] is level else None
