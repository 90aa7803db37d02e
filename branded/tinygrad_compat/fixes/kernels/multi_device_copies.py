"""A fix for expressions that read a tensor and its copy on several devices.

`(W.to(("CPU:0", "CPU:1")) * 2).to("CPU:0") + W.sum(0)` raises "UOp verification failed". The device that holds `W` has
only a view of the whole buffer instead of a copy, and tinygrad does not find the buffer in it. Here the buffer is
copied, and the view is taken from the copy. Shards are excluded, because each device should receive its part only.

`Tensor([2.0]).expand(2).shard(("CPU:0", "CPU:1"), 0)` raises the same error: each device gets one element of the
repeated value, which is the whole buffer. Here the buffer is copied.

`x.sum().reshape(1).expand(2).exp().to(("CPU:0", "CPU:1"))` raises it too: on the device that holds the value, the copy
is the value itself. tinygrad stores one element and a repeated view, which no kernel reads. Here the value is stored
in full.
"""

from __future__ import annotations

from tinygrad.uop.ops import GroupOp, Ops, PatternMatcher, UOp, UPat

from branded.tinygrad_compat import private_api


def _of_the_buffer(s: UOp) -> UOp:
    if s.op is not Ops.COPY or not isinstance(s.arg, tuple) or s.src[0].op is not Ops.RESHAPE:
        return s
    view = s.src[0]
    if isinstance(view.device, tuple) or not view.has_buffer_identity():  # type: ignore[no-untyped-call]
        return s
    return view.replace(src=(s.replace(src=(view.src[0],), tag=None), *view.src[1:]), tag=s.tag)


def _reader(u: UOp) -> UOp | None:
    src = tuple(map(_of_the_buffer, u.src))
    return None if src == u.src else u.replace(src=src)


def _of_all(copy: UOp, view: UOp) -> UOp | None:
    """Replace the copy of a view that has each element of a buffer, in order, by a copy of the buffer."""
    if view.numel() != view.base.numel() or (whole := view.base.reshape(view.shape)) is view:
        return None
    return copy.replace(src=(whole,)) if view.contiguous_view_offset() == 0 else None


def _whole(stack: UOp) -> UOp | None:
    """Store the original in full on the device that holds it, in a value on several devices."""
    src = tuple(map(_original, stack.src))
    return None if src == stack.src else stack.replace(src=src)


def _original(s: UOp) -> UOp:
    if s.op is not Ops.COPY or (x := s.src[0]).device != s.device:
        return s
    return x if x.has_buffer_identity(after_ok=True) else x.contiguous()  # type: ignore[no-untyped-call]


def install() -> None:
    views = UPat(Ops.COPY, src=(UPat(GroupOp.Movement, name="view"),), name="copy")
    stacks = UPat(Ops.MSTACK, name="stack", custom_early_reject={Ops.COPY})
    private_api.rangeify.earliest_rewrites = (
        PatternMatcher([(views, _of_all), (stacks, _whole)]) + private_api.rangeify.earliest_rewrites
    )
    readers = UPat(GroupOp.All - {Ops.SHRINK}, name="u", custom_early_reject={Ops.COPY})
    private_api.tensor.pm_early_transform_tensor_graph = (
        PatternMatcher([(readers, _reader)]) + private_api.tensor.pm_early_transform_tensor_graph
    )
