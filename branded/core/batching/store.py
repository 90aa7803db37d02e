"""Writes.  A per-example value is never written in place: the write creates a new value for all readers."""

from collections.abc import Callable

from tinygrad.uop.ops import Ops, UOp

from branded.core.analysis.aliasing import in_memory, part, write_view
from branded.core.batching.unsupported import KERNEL, KERNEL_FIX, refuse
from branded.dispatch import Resolution, resolve, rule
from branded.graph.primitive import Batched
from branded.graph.tags import new_storage
from branded.graph.uops import again, inverse, permute, replace_ops
from branded.tinygrad_compat.fixes.kernels.buffer_layouts import layout_of
from branded.tinygrad_compat.private_api import broadcast_to


@rule(Ops.STORE)
def store(u: UOp, resolution: Resolution, dest: Batched, value: Batched, *_: Batched) -> UOp:
    """vmap(write)(dest, value) = value, in the shape of dest; the AFTER that follows makes it a buffer."""
    aligned: UOp = resolution.align(value, len(u.src[1].shape), len(u.shape))
    if aligned.shape != resolution.sizes + u.shape:
        aligned = broadcast_to(aligned, resolution.sizes + u.shape)
    return aligned


@rule(Ops.AFTER)
def after(u: UOp, resolution: Resolution, x: Batched, effect: Batched, *rest: Batched) -> UOp:
    """vmap(x after write) = the written value; after a write to a view of x, x with that part replaced."""
    write = u.src[1]
    if write.op is Ops.CALL and not resolution.row:  # a custom kernel on a whole batch
        return again(u, x.uop, effect.uop, *(y.uop for y in rest))
    if rest or write.op not in {Ops.STORE, Ops.AFTER}:
        raise refuse(u, KERNEL, KERNEL_FIX, x, effect)
    if write.op is Ops.STORE and write.src[0] is u.src[0]:
        # a parameter represents a buffer inside a @function, where no buffer can be created
        return stored_as_read(effect, UOp.contiguous if x.uop.base.op is Ops.PARAM else _copy)
    if (views_and_write := part(u)) is None:
        raise refuse(u, "assign: this in-place write has no batching rule", "return the new value instead", x, effect)
    apart = new_storage(whole := resolution.fill(x))  # hides `whole` from rules that merge movement operations
    view = Batched(apart, resolution.row)
    for v in reversed(views_and_write[0]):
        view = _apply(v, view)
    out = write_view(view.uop, resolution.fill(effect), apart)  # `effect` is the written value
    (out,) = replace_ops([out], lambda _: None, lambda v: v is not apart, at={apart: whole})
    return stored_as_read(Batched(out, resolution.row), in_memory)


def stored_as_read(x: Batched, stored: Callable[[UOp], UOp]) -> UOp:
    """Return `stored(x)`, which writes `x` to memory, in the order of the memory that is read."""
    order = order_as_read(x)
    return permute(stored(permute(x.uop, order)), inverse(order))


def order_as_read(x: Batched) -> tuple[int, ...]:
    """Return the order of the axes of `x` in new memory: a brand axis along which elements are adjacent is last."""
    axes = range(len(x.uop.shape))
    layout = layout_of(x.uop) if x.row else None
    if layout is None or (last := layout.strides.index(1)) >= len(x.row) or not isinstance(x.uop.device, str):
        return tuple(axes)
    return (*(i for i in axes if i != last), last)


def _copy(x: UOp) -> UOp:
    buffer: UOp = x.empty_like(x.dtype)
    copy: UOp = buffer.after(buffer.store(x))
    return copy


def _apply(view: UOp, below: Batched) -> Batched:
    resolution = resolve(view.op, (below.row, *((),) * (len(view.src) - 1)))
    out = resolution.rule(view, resolution, below, *(Batched(s, ()) for s in view.src[1:]))
    assert isinstance(out, UOp)
    return Batched(out, below.row)
