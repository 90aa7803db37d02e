"""A fix for expressions that read a tensor and its copy on several devices.

`(W.to(("CPU:0", "CPU:1")) * 2).to("CPU:0") + W.sum(0)` raises "UOp verification failed". The device that holds `W` has
only a view of the whole buffer instead of a copy, and tinygrad does not find the buffer in it. Here the buffer is
copied, and the view is taken from the copy. Shards are excluded, because each device should receive its part only.

`Tensor([2.0]).expand(2).shard(("CPU:0", "CPU:1"), 0)` raises the same error: each device gets one element of the
repeated value, which is the whole buffer. Here the buffer is copied.

`x.sum().reshape(1).expand(2).exp().to(("CPU:0", "CPU:1"))` raises it too: on the device that holds the value, the copy
is the value itself. tinygrad stores one element and a repeated view, which no kernel reads. Here the value is stored
in full.

With `x = Tensor([[1.0, 2.0], [3.0, 5.0]]).shard(("CPU:0", "CPU:1"), 0)`, `x.sum(1).to("CPU:0") + x.to("CPU:0").sum(0)`
raises it too. The sum reads the shards through the value on several devices, and the copy reads each shard alone. A
shard is a reshaped buffer, and tinygrad replaces the reshape by the element that the copy reads. Here the value on
several devices has views of its own.

Second derivatives of collectives raise "unbound Variable '_device_num'". Each device takes its rows by its number, and
tinygrad also uses the number to read the rows of one device. Only kernels on all devices have it. Here the rows are
those of the device that is read.
"""

from __future__ import annotations

from tinygrad.uop.ops import AxisType, GroupOp, Ops, PatternMatcher, UOp, UPat

from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.uops import base_of


def _copy_of_buffer(s: UOp) -> UOp:
    """Replace a copy of a reshaped buffer by a reshaped copy of the buffer."""
    if s.op is not Ops.COPY or not isinstance(s.arg, tuple) or s.src[0].op is not Ops.RESHAPE:
        return s
    view = s.src[0]
    if isinstance(view.device, tuple) or not view.has_buffer_identity():  # type: ignore[no-untyped-call]
        return s
    return view.replace(src=(s.replace(src=(view.src[0],), tag=None), *view.src[1:]), tag=s.tag)


def _read_copies_of_buffers(u: UOp) -> UOp | None:
    src = tuple(map(_copy_of_buffer, u.src))
    return None if src == u.src else u.replace(src=src)


def _copy_whole_buffer(copy: UOp, view: UOp) -> UOp | None:
    """Replace the copy of a view that has each element of a buffer, in order, by a copy of the buffer."""
    if view.numel() != view.base.numel() or (whole := view.base.reshape(view.shape)) is view:
        return None
    return copy.replace(src=(whole,)) if view.contiguous_view_offset() == 0 else None


def _store_parts(parts: UOp) -> UOp | None:
    """Store each part of a value on several devices in full."""
    src = tuple(map(_store_part, parts.src))
    return None if src == parts.src else parts.replace(src=src)


_COMPUTED = {*GroupOp.Elementwise, *GroupOp.Movement, Ops.STACK, Ops.REDUCE}


def _store_part(s: UOp) -> UOp:
    if s.op is Ops.COPY and (x := s.src[0]).device == s.device:
        return x if x.has_buffer_identity(after_ok=True) else x.contiguous()  # type: ignore[no-untyped-call]
    return s.contiguous() if s.device is not None and base_of(s).op in _COMPUTED else s


def _separate_views(parts: UOp) -> UOp | None:
    """Read the parts on each device through views that nothing else reads."""
    src = tuple(map(_separate_view, parts.src))
    return None if src == parts.src else parts.replace(src=src)


_SEPARATE_VIEW = "branded_own_view"


def _separate_view(x: UOp) -> UOp:
    base = base_of(x)
    return x if base is x else x.replace(src=(base, x.src[1]), tag=_SEPARATE_VIEW)


def _select_before_view(select: UOp, view: UOp) -> UOp | None:
    """Select the part of one device before the view, whose offsets may depend on the device."""
    device_ranges = {r for s in view.src[1:] for r in s.ranges if r.arg[-1] is AxisType.DEVICE}
    if not device_ranges:
        return None
    replacements = {r: r.const_like(select.arg) for r in device_ranges}
    return view.replace(src=(view.src[0].mselect(select.arg), *(s.substitute(replacements) for s in view.src[1:])))


def install() -> None:
    views = UPat(Ops.COPY, src=(UPat(GroupOp.Movement, name="view"),), name="copy")
    parts = UPat({Ops.MSTACK, Ops.MSELECT}, name="parts")
    private_api.rangeify.earliest_rewrites = (
        PatternMatcher([(views, _copy_whole_buffer), (parts, _store_parts)]) + private_api.rangeify.earliest_rewrites
    )
    private_api.rangeify.pm_copy_to_store = (
        PatternMatcher([(parts, _separate_views)]) + private_api.rangeify.pm_copy_to_store
    )
    selects = UPat(Ops.MSELECT, src=(UPat(GroupOp.Movement, name="view"),), name="select")
    private_api.rangeify.multi_pm = PatternMatcher([(selects, _select_before_view)]) + private_api.rangeify.multi_pm
    readers = UPat(GroupOp.All - {Ops.SHRINK}, name="u", custom_early_reject={Ops.COPY})
    private_api.tensor.pm_early_transform_tensor_graph = (
        PatternMatcher([(readers, _read_copies_of_buffers)]) + private_api.tensor.pm_early_transform_tensor_graph
    )
