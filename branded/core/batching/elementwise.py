"""Elementwise operations."""

from tinygrad.uop.ops import GroupOp, Ops, UOp

from branded.core.batching.store import stored_as_read
from branded.core.batching.unsupported import refuse
from branded.dispatch import Resolution, rule
from branded.graph.primitive import Batched
from branded.graph.rows import info_of
from branded.graph.tags import is_storage
from branded.graph.uops import again, ranks, reshape
from branded.tinygrad_compat.private_api import broadcast_to

SHAPELESS = {Ops.CAST, Ops.CONTIGUOUS_BACKWARD, Ops.DETACH, Ops.ALLREDUCE, Ops.MSELECT}


@rule(*GroupOp.Unary, *SHAPELESS)
def unary(u: UOp, resolution: Resolution, x: Batched) -> UOp:
    """vmap(f)(xs) = f(xs), because an elementwise operation ignores axes.

    Tags are removed: all writes are complete when the rules run.
    """
    return x.uop if is_storage(u) else again(u, x.uop)


@rule(Ops.CONTIGUOUS, Ops.COPY)
def contiguous(u: UOp, resolution: Resolution, x: Batched) -> UOp:
    """vmap(contiguous)(xs) = contiguous(xs), in the order of the memory that is read; the same for copy."""
    return stored_as_read(x, lambda x: again(u, x))


@rule(*GroupOp.Broadcastable)
def broadcastable(u: UOp, resolution: Resolution, *xs: Batched) -> UOp:
    """vmap(f)(xs, ys) = f(xs, ys), each operand aligned to the brands and the per-example axes of the result."""
    if sum(x.uop.op is not Ops.CONST for x in xs) == 1:
        return again(u, *[x.uop for x in xs])  # constants broadcast to any shape
    operand_ranks = ranks(u)
    if u.op is Ops.WHERE and xs[2].uop.op is Ops.DETACH and xs[2].uop.src[0] is xs[1].uop:
        # both branches are the same value and only one passes derivatives: tinygrad 0.14 replaces such a `where` by the
        # value itself, so the value needs the shape of the flag too
        full = tuple(b.size for b in resolution.row)
        flag, *values = [
            _align_sharded(resolution, x, rank, max(operand_ranks)) for x, rank in zip(xs, operand_ranks, strict=True)
        ]
        shape = (*full, *u.shape)
        return again(u, flag, *[broadcast_to(x, shape) for x in values])
    if resolution.is_zip and len({*operand_ranks}) == 1:
        return again(u, *[x.uop for x in xs])  # already aligned
    return again(
        u, *[_align_sharded(resolution, x, rank, max(operand_ranks)) for x, rank in zip(xs, operand_ranks, strict=True)]
    )


def _align_sharded(resolution: Resolution, x: Batched, per_example: int, rank: int) -> UOp:
    """Align `x`; a sharded `x` gets all axes, because tinygrad 0.14 counts the sharded axis from the left."""
    if x.row or not resolution.row or not info_of(x.uop).sharded:
        return resolution.align(x, per_example, rank)
    return reshape(x.uop, (1,) * (len(resolution.row) + rank - per_example) + x.uop.shape)


@rule(Ops.BITCAST)
def bitcast(u: UOp, resolution: Resolution, x: Batched) -> UOp:
    """vmap(bitcast)(xs) = bitcast(xs): a different item size rescales the last axis, which is never a brand axis."""
    if not u.shape and u.dtype.itemsize != u.src[0].dtype.itemsize:
        raise refuse(
            u, "bitcast: a 0-d value has no axis to rescale to another item size", "x.reshape(1).bitcast(...)", x
        )
    return u.replace(src=(x.uop,))


@rule(Ops.MSTACK)
def mstack(u: UOp, resolution: Resolution, *xs: Batched) -> UOp:
    """vmap(mstack)(xs, ys) = mstack(xs, ys): the copies on all devices are batched in the same way."""
    return u.replace(src=tuple(resolution.fill(x) for x in xs))
