"""Operations that move elements: the brand axes stay in front."""

import functools

from tinygrad.uop.ops import GroupOp, Ops, UOp

from branded.core.sharding.resharding import whole_if_moved
from branded.dispatch import Resolution, rule
from branded.errors import ShapeError
from branded.graph.primitive import Batched
from branded.graph.rows import type_text
from branded.graph.uops import again, behind, permute


@functools.lru_cache(maxsize=256)
def _consts(sizes: tuple[int, ...]) -> tuple[UOp, ...]:
    return tuple(map(UOp.const, sizes))


@rule(Ops.RESHAPE)
def reshape_(u: UOp, resolution: Resolution, x: Batched, *_: Batched) -> UOp:
    """vmap(reshape)(xs) = reshape with the brand axes kept in front."""
    if u.shape == u.src[0].shape:
        return x.uop
    return whole_if_moved(again(u, x.uop, behind(_consts(resolution.sizes), u.src[1])))


@rule(Ops.EXPAND)
def expand_(u: UOp, resolution: Resolution, x: Batched, *_: Batched) -> UOp:
    """vmap(expand)(xs) = expand, then the brand axes moved in front of the new ones."""
    new, n = len(u.shape) - len(u.src[0].shape), len(resolution.row)
    order = (*range(new, new + n), *range(new), *range(new + n, n + len(u.shape)))
    return permute(again(u, x.uop, u.src[1]), order)


@rule(Ops.PERMUTE)
def permute_(u: UOp, resolution: Resolution, x: Batched) -> UOp:
    """vmap(permute)(xs) = permute of the axes behind the brand axes."""
    n = len(resolution.row)
    return permute(x.uop, (*range(n), *(i + n for i in u.arg)))


@rule(Ops.FLIP)
def flip(u: UOp, resolution: Resolution, x: Batched) -> UOp:
    """vmap(flip)(xs) = flip of the axes behind the brand axes."""
    return UOp(Ops.FLIP, u.dtype, (x.uop,), (False,) * len(resolution.row) + tuple(u.arg))


@rule(Ops.PAD, Ops.SHRINK)
def pad_shrink(u: UOp, resolution: Resolution, x: Batched, *_: Batched) -> UOp:
    """vmap(pad)(xs) = pad of the axes behind the brand axes; the same for shrink."""
    return again(
        u, x.uop, behind((UOp.const(0),) * len(resolution.row), u.src[1]), behind(_consts(resolution.sizes), u.src[2])
    )


@rule(Ops.UNSHARD)
def unshard(u: UOp, resolution: Resolution, x: Batched, *_: Batched) -> UOp:
    """vmap(unshard)(xs) = unshard of the axes behind the brand axes."""
    return u.replace(src=(x.uop, *u.src[1:]), arg=tuple(a + len(resolution.row) for a in u.arg))


@rule(*GroupOp.Movement, Ops.UNSHARD, when=lambda carries: any(carries[1:]))
def data_dependent(u: UOp, resolution: Resolution, x: Batched, *_: Batched) -> UOp:
    """Raise an error for a shape or offset that differs between examples: the results would not stack."""
    raise ShapeError(
        f"{u.op.name.lower()}: a shape or an offset differs from example to example",
        ("value", type_text(u.src[0], resolution.row)),
        fix="index with a tensor, or mask with where",
    )
