"""Optimizations of CPU kernels without sums, chosen by the order in which they read memory."""

from __future__ import annotations

from collections.abc import Sequence

from tinygrad import dtypes
from tinygrad.uop.ops import AxisType, Ops, UOp

from branded.backends.cpu.renderer.kernel_marks import LOOPS
from branded.tinygrad_compat.fixes.kernels.buffer_layouts import step
from branded.tinygrad_compat.private_api import Opt, OptOps, Scheduler

LONG = 16
"""The minimum number of steps for which vectorizing a loop pays."""
DEAR = {Ops.EXP2, Ops.LOG2, Ops.SIN, Ops.SQRT, Ops.RECIPROCAL, Ops.POW, Ops.FDIV}
"""Operations so slow that vectorizing them pays in any loop of at least `LONG` steps."""
ADJACENT = (8, 4)
"""The numbers of adjacent elements to read at a time where a loop runs down the columns of a matrix."""
AT_ONCE = 4
"""The number of such rows to read at a time if their elements are smaller than 32 bits."""


def with_options(k: Scheduler, opts: Sequence[Opt]) -> Scheduler:
    k = k.copy()
    for opt in opts:
        k.apply_opt(opt)
    return k


def in_order(indices: list[UOp], r: UOp, least: int = LONG) -> bool:
    """Return whether a loop of at least `least` steps accesses memory contiguously or at a fixed place."""
    return r.vmax + 1 >= least and all(step(i, r) in (0, 1) for i in indices)


def indices(reduce: UOp) -> list[UOp]:
    """Return the indices of the elements that the terms of a reduction read."""
    return [u.src[1] for u in reduce.src[0].backward_slice_with_self if u.op is Ops.INDEX]


def has_fixed_shape(k: Scheduler) -> bool:
    return all(isinstance(n, int) for n in k.full_shape)


def is_gated(k: Scheduler) -> bool:
    """Return whether a load has a condition."""
    return any(len(b.src) < 2 or b.src[1].get_valid().op is not Ops.CONST for b in k.bufs)


def gathers(k: Scheduler) -> Scheduler | None:
    """Return plain loops for a kernel that loads elements at computed places, one at each step; None for others."""
    if not k.rngs or k.reduceops or any(len(b.src) < 2 for b in k.bufs):
        return None
    return with_options(k, [LOOPS]) if are_gathers([b.src[1] for b in k.bufs], k.rngs[-1]) else None


def are_gathers(indices: Sequence[UOp], loop: UOp) -> bool:
    """Return whether a loop reads some elements at computed places, and the others in order without a condition."""
    is_gather = False
    for i in indices:
        if step(i.get_idx(), loop) is None and any(u.op is Ops.INDEX for u in i.get_idx().toposort()):
            is_gather = True
        elif not in_order([i.get_idx()], loop) or i.get_valid().op is not Ops.CONST:
            return False
    return is_gather


def slow_on_distant(k: Scheduler) -> Scheduler | None:
    """Return plain loops for a kernel with a slow operation for each read of distant elements; None for others."""
    if not k.rngs or k.reduceops or any(len(b.src) < 2 for b in k.bufs):
        return None
    indices, loop = [b.src[1] for b in k.bufs], k.rngs[-1]
    far = [i for i in indices if not in_order([i], loop, 1)]
    if any(step(i, loop) is None or i.get_valid().op is not Ops.CONST for i in far):
        return None
    lines = k.ast.toposort()
    stores = [u.src[0].src[1] for u in lines if u.op is Ops.STORE]
    is_slow = in_order(stores, loop) and sum(u.op in DEAR for u in lines) >= len(far)
    return with_options(k, [LOOPS]) if is_slow else None


def in_memory_order(k: Scheduler) -> Scheduler:
    """Return the kernel with the loops of its reductions in the order of the memory that they read, if it has one.

    The innermost loop reads contiguously, and the others go from large steps to small ones.
    """
    new = dict[UOp, UOp]()
    for reduce in k.reduceops:
        loops = [r for r in k.rngs if r in reduce.src[1:]]
        read = indices(reduce)
        inner = next((r for r in reversed(loops) if in_order(read, r)), None)
        if inner is None or inner is loops[-1] or not new.keys().isdisjoint(loops):
            continue
        others = [r for r in loops if r is not inner]
        steps = {r: max((step(i, r) or 0 for i in read), default=0) for r in others}
        order = [*sorted(others, key=steps.__getitem__, reverse=True), inner]
        new |= {r: r.replace(arg=place.arg) for r, place in zip(order, loops, strict=True)}
    if not new or any(not new.keys().isdisjoint(u.src[1:]) and not {*u.src[1:]} <= new.keys() for u in k.reduceops):
        return k
    k = k.copy()
    k.ast = k.ast.substitute(new, walk=True)
    return k


def adjacent(k: Scheduler) -> Scheduler | None:
    """Read some elements of each row at a time if the innermost loop runs down columns; None for other kernels.

    In `a + b.T` the innermost loop steps from row to row of `b`.  The rows of a matrix with 1,024 columns are in the
    same few places of the cache, where they evict each other before their next element is read.  In `(a * b.T).sum()`
    the rows are steps of a reduction.
    """
    if not k.rngs or len(k.reduceops) > 1 or not has_fixed_shape(k):
        return None
    if any(len(b.src) < 2 for b in k.bufs) or k.full_shape[-1] < LONG:
        return None
    steps = [step(b.src[1], k.rngs[-1]) for b in k.bufs]
    columns = [b.src[1] for b, n in zip(k.bufs, steps, strict=True) if n not in (-1, 0, 1)]
    if None in steps or not columns:
        return None
    axes = k.axes_of(AxisType.REDUCE if k.reduceops else AxisType.WEAK)
    for i, axis in enumerate(axes[:-1]):
        if all(step(u, k.rngs[axis]) in (-1, 1) for u in columns):
            for n in (n for n in ADJACENT[: 1 + len(k.reduceops)] if k.full_shape[axis] % n == 0):
                if k.reduceops:
                    return with_options(k, [LOOPS, Opt(OptOps.UNROLL, i, n)])
                options = [Opt(OptOps.UPCAST, axis, n)]
                if k.full_shape[-1] % AT_ONCE == 0 and min(b.dtype.itemsize for b in k.bufs) < dtypes.int32.itemsize:
                    options.append(Opt(OptOps.UPCAST, len(k.full_shape) - 1, AT_ONCE))
                return with_options(k, [LOOPS, *options])
    return None
