"""Derivatives of a write into a part: what was there before has one where nothing was written, the new value elsewhere.

tinygrad says such a write as `AFTER(x, AFTER(view, STORE(view, value)))`, with a `view` of `x` by movements.
"""

from __future__ import annotations

from typing import Any

from tinygrad import dtypes
from tinygrad.uop.ops import Ops, UOp

Views = list[UOp]
"""The movements that lead from a value to the part of it that is written, in their order."""

_MOVES = {Ops.RESHAPE, Ops.SHRINK, Ops.PERMUTE, Ops.FLIP, Ops.DETACH}


def written_part(u: UOp) -> Views | None:
    """The part of `u.src[0]` that the AFTER `u` writes; None where it is not a write into a part."""
    if len(u.src) != 2 or u.src[1].op is not Ops.AFTER or len(u.src[1].src) != 2:
        return None
    view, store = u.src[1].src
    if store.op is not Ops.STORE or store.src[0] is not view:
        return None
    views: Views = []
    while view is not u.src[0]:
        if view.op not in _MOVES:
            return None
        views.insert(0, view)
        view = view.src[0]
    return views


def part_of(x: UOp, views: Views) -> UOp:
    """That part of `x`."""
    for v in views:
        x = x if v.op is Ops.DETACH else v.replace(src=(x, *v.src[1:]))
    return x


def at_part(x: UOp, views: Views) -> UOp:
    """`x` in the place of that part, and zeros elsewhere."""
    for v in reversed(views):
        shape: Any = v.src[0].shape
        if v.op is Ops.RESHAPE:
            x = x.reshape(shape)
        elif v.op is Ops.SHRINK:
            x = x.pad(tuple((o, n - o - size) for n, (o, size) in zip(shape, v.marg, strict=True)))
        elif v.op is Ops.PERMUTE:
            x = x.permute(tuple(v.marg.index(i) for i in range(len(shape))))
        elif v.op is Ops.FLIP:
            x = x.flip([i for i, flipped in enumerate(v.marg) if flipped])
    return x


def is_written(u: UOp, views: Views) -> UOp:
    """For each element of `u.src[0]`, is it in that part?"""
    part: UOp = u.src[1].src[0].const_like(1).cast(dtypes.int32)
    return at_part(part, views).ne(0)


def pulled_back(ctx: UOp, u: UOp) -> tuple[UOp, UOp] | None:
    """The cotangents of the value before a write into a part of it, and of what is written there."""
    views = written_part(u)
    return None if views is None else (is_written(u, views).where(ctx.const_like(0), ctx), part_of(ctx, views))
