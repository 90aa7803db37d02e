"""The replacement of computed graphs by their results in memory, in all tensors that contain them."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from sys import getrefcount

from tinygrad import Tensor, dtypes
from tinygrad.uop.ops import GroupOp, Ops, UOp

from branded.graph.uops import tensor
from branded.tinygrad_compat import private_api


def replace_graphs(values: Sequence[Tensor], roots: list[UOp], results: Sequence[UOp]) -> None:
    """Replace the graphs `roots` by their results, in these values and in all other tensors that contain them.

    tinygrad searches the graphs of all living tensors. Most graphs belong to one of the values alone, which the
    reference counts tell. The caller keeps no other reference to the graphs than `roots`.
    """
    position = {u: i for i, u in enumerate(roots)}
    bases = [(t, i) for t in values if (i := position.get(t.uop.base)) is not None]
    del position  # it would count as a reference
    alone, shared = _counts_alone(), set(range(len(roots)))
    for t, i in bases:
        *views, root = _reference_counts(t, roots[i])
        if root == alone[1] and all(n == alone[0] for n in views):
            t.uop = _with_base(t.uop, results[i])
            shared.discard(i)
    if shared:
        private_api.tensor._apply_map_to_tensors({roots[i]: results[i] for i in shared}, name="buffers")


def _reference_counts(t: Tensor, root: UOp) -> list[int]:
    """Return the reference counts of a value and of the values that it is a view of, down to its base `root`."""
    u, counts = t.uop, []
    while u is not root:
        counts.append(getrefcount(u))
        u = u.src[0]
    return [*counts, getrefcount(u)]


@functools.cache
def _counts_alone() -> tuple[int, int]:
    """Return the reference counts of a view and of its base that belong to one tensor alone."""
    roots = [UOp.new_buffer("CPU", 2, dtypes.int32)]
    t = tensor(roots[0].reshape((2, 1)))
    view, root = _reference_counts(t, roots[0])
    return view, root


def _with_base(u: UOp, base: UOp) -> UOp:
    """Return the same view of another base."""
    if u.op not in GroupOp.Movement and u.op is not Ops.DETACH:
        return base
    return UOp(u.op, u.dtype, (_with_base(u.src[0], base), *u.src[1:]), u.arg, u.tag)
