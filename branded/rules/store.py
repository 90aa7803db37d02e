"""Writes.  A per-example value is never written in place: the write gives a new value, as it does for the reader."""

from tinygrad.uop.ops import Ops, UOp

from branded.dispatch import Batched, Resolution, refuse, resolve, rule
from branded.rules.movement import rebase


@rule(Ops.STORE)
def store(u: UOp, how: Resolution, dest: Batched, value: Batched, *_: Batched) -> UOp:
    """vmap(write)(dest, value) = value, in the shape of dest; the AFTER that follows makes it a buffer."""
    aligned: UOp = how.align(value, len(u.src[1].shape), len(u.shape))
    if aligned.shape != how.sizes + u.shape:
        aligned = aligned._broadcast_to(how.sizes + u.shape)
    return aligned


@rule(Ops.AFTER)
def after(u: UOp, how: Resolution, x: Batched, effect: Batched, *rest: Batched) -> UOp:
    """vmap(x after write) = what was written; after a write into a view of x, a copy of x with that part written."""
    write = u.src[1]
    if rest or write.op not in {Ops.STORE, Ops.AFTER}:
        raise refuse(
            u,
            "custom_kernel: a kernel written by hand has no batching rule",
            "call it outside of vmap, on the whole batch",
            x,
            effect,
        )
    if write.op is Ops.STORE and write.src[0] is u.src[0]:
        # a parameter stands for a buffer inside of a @function, where none can be made
        return effect.uop.contiguous() if x.uop.base.op is Ops.PARAM else _copy(effect.uop)
    # AFTER(x, AFTER(view of x, STORE(view of x, value))): `effect` holds the value
    copy = _copy(how.fill(x))
    view = rebase(write.src[0], u.src[0], lambda v, below: _apply(v, below), Batched(copy, how.row))
    if view is None or write.op is not Ops.AFTER:
        raise refuse(u, "assign: this in-place write has no batching rule", "return the new value instead", x, effect)
    out: UOp = copy.after(view.uop.after(view.uop.store(how.fill(effect))))
    return out


def _copy(x: UOp) -> UOp:
    buffer: UOp = x.empty_like(x.dtype)
    copy: UOp = buffer.after(buffer.store(x))
    return copy


def _apply(view: UOp, below: Batched) -> UOp:
    rows = (below.row, *((),) * (len(view.src) - 1))
    how = resolve(view.op, rows)
    out = how.rule(view, how, below, *(Batched(s, ()) for s in view.src[1:]))
    assert isinstance(out, UOp)
    return out
