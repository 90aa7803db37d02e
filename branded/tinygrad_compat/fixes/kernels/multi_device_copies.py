"""A tensor can be read beside its copy to several devices.

`(W.to(("CPU:0", "CPU:1")) * 2).to("CPU:0") + W.sum(0)` raises "UOp verification failed": the device that has `W` has no
copy of it, and tinygrad does not find a buffer in the view of all of it that stands there.  So the copy is one of the
buffer, and the view is one of the copy; but not where each device takes its part of it, which is then all that moves.

`Tensor([2.0]).expand(2).shard(("CPU:0", "CPU:1"), 0)` raises the same: each device gets one entry of what is repeated,
which is all of the buffer, and tinygrad does not find that in the view.  So it is a copy of the buffer.

`x.sum().reshape(1).expand(2).exp().to(("CPU:0", "CPU:1"))` raises it too: on the device that has the value, its copy is
the value itself, of which tinygrad keeps one entry and repeats it, which no kernel reads.  So all of it is in memory.
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
    """A copy of a view that has each entry of a buffer, in its order: a copy of the buffer."""
    if view.numel() != view.base.numel() or (whole := view.base.reshape(view.shape)) is view:
        return None
    return copy.replace(src=(whole,)) if view.contiguous_view_offset() == 0 else None


def _whole(stack: UOp) -> UOp | None:
    """What several devices have, of which one has the original."""
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
