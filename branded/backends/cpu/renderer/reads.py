"""Optimizations of CPU kernels without sums, chosen by the order in which they read memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinygrad import dtypes
from tinygrad.uop.ops import AxisType, Ops, UOp

from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.fixes.kernels.buffer_layouts import step
from branded.tinygrad_compat.private_api import Opt, OptOps, Scheduler

LONG = 16
"""The minimum number of steps for which vectorizing a loop pays."""
ADJACENT = 8
"""The number of adjacent elements to read at a time where a loop runs down the columns of a matrix."""
AT_ONCE = 4
"""The number of such rows to read at a time if their elements are smaller than 32 bits."""
LOOPS: Any = Opt(OptOps.NOLOCALS) if private_api.are_there(Opt, OptOps) else None
"""Marks a kernel that has plain loops: an option without effect on the CPU, which tinygrad never uses there."""


def with_options(k: Scheduler, opts: Sequence[Opt]) -> Scheduler:
    k = k.copy()
    for opt in opts:
        k.apply_opt(opt)
    return k


def in_order(indices: list[UOp], r: UOp, least: int = LONG) -> bool:
    """Return whether a loop of at least `least` steps accesses memory contiguously or at a fixed place."""
    return r.vmax + 1 >= least and all(step(i, r) in (0, 1) for i in indices)


def is_gated(k: Scheduler) -> bool:
    """Return whether a load has a condition."""
    return any(len(b.src) < 2 or b.src[1].get_valid().op is not Ops.CONST for b in k.bufs)


def gathers(k: Scheduler) -> Scheduler | None:
    """Return plain loops for a kernel that loads elements at computed places, one at each step; None for others."""
    if not k.rngs or k.reduceops:
        return None
    loop, is_gather = k.rngs[-1], False
    for b in k.bufs:
        index = b.src[1].get_idx()
        if step(index, loop) is None and any(u.op is Ops.INDEX for u in index.toposort()):
            is_gather = True
        elif not in_order([index], loop) or b.src[1].get_valid().op is not Ops.CONST:
            return None
    return with_options(k, [LOOPS]) if is_gather else None


def adjacent(k: Scheduler) -> Scheduler | None:
    """Read `ADJACENT` elements of each row at a time if the innermost loop runs down columns; None for other kernels.

    In `a + b.T` the innermost loop steps from row to row of `b`.  The rows of a matrix with 1,024 columns are in the
    same few places of the cache, where they evict each other before their next element is read.
    """
    if not k.rngs or k.reduceops or not all(isinstance(n, int) for n in k.full_shape):
        return None
    if any(len(b.src) < 2 for b in k.bufs) or k.full_shape[-1] < LONG:
        return None
    indices = [b.src[1] for b in k.bufs]
    steps = [step(i, k.rngs[-1]) for i in indices]
    columns = [i for i, n in zip(indices, steps, strict=True) if n not in (-1, 0, 1)]
    if None in steps or not columns:
        return None
    for axis in k.axes_of(AxisType.WEAK)[:-1]:
        if k.full_shape[axis] % ADJACENT == 0 and all(step(i, k.rngs[axis]) in (-1, 1) for i in columns):
            options = [Opt(OptOps.UPCAST, axis, ADJACENT)]
            if k.full_shape[-1] % AT_ONCE == 0 and min(b.dtype.itemsize for b in k.bufs) < dtypes.int32.itemsize:
                options.append(Opt(OptOps.UPCAST, len(k.full_shape) - 1, AT_ONCE))
            return with_options(k, [LOOPS, *options])
    return None
