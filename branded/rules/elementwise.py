"""Operations that work on each element by itself."""

from tinygrad.uop.ops import GroupOp, Ops, UOp

from branded.dispatch import Resolution, rule
from branded.graph import again, ranks
from branded.primitive import Batched
from branded.rows import is_cell
from branded.rules.refusal import refuse

SHAPELESS = {
    Ops.CAST,
    Ops.CONTIGUOUS,
    Ops.CONTIGUOUS_BACKWARD,
    Ops.DETACH,
    Ops.COPY,
    Ops.ALLREDUCE,
    Ops.MSELECT,
}


@rule(*GroupOp.Unary, *SHAPELESS)
def unary(u: UOp, how: Resolution, x: Batched) -> UOp:
    """vmap(f)(xs) = f(xs): an operation on each element does not see axes.  All writes are done: no storage is left."""
    return x.uop if is_cell(u) else again(u, x.uop)


@rule(*GroupOp.Broadcastable)
def broadcastable(u: UOp, how: Resolution, *xs: Batched) -> UOp:
    """vmap(f)(xs, ys) = f(xs, ys), each operand aligned to the brands and to the per-example axes of the result."""
    if sum(x.uop.op is not Ops.CONST for x in xs) == 1:
        return again(u, *[x.uop for x in xs])  # numbers align with anything
    of = ranks(u)
    if how.is_zip and len({*of}) == 1:
        return again(u, *[x.uop for x in xs])  # they are aligned
    return again(u, *[how.align(x, rank, max(of)) for x, rank in zip(xs, of, strict=True)])


@rule(Ops.BITCAST)
def bitcast(u: UOp, how: Resolution, x: Batched) -> UOp:
    """vmap(bitcast)(xs) = bitcast(xs): another item size rescales the last axis, which is never a brand's."""
    if not u.shape and u.dtype.itemsize != u.src[0].dtype.itemsize:
        raise refuse(
            u, "bitcast: a 0-d value has no axis to rescale to another item size", "x.reshape(1).bitcast(...)", x
        )
    return u.replace(src=(x.uop,))


@rule(Ops.MSTACK)
def mstack(u: UOp, how: Resolution, *xs: Batched) -> UOp:
    """vmap(mstack)(xs, ys) = mstack(xs, ys): the copies on several devices are batched alike."""
    return u.replace(src=tuple(how.fill(x) for x in xs))
