"""Collective communication between devices, and alignment of single-device values with values on all devices."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tinygrad.dtype import strong_dtype
from tinygrad.uop.ops import AxisType, GroupOp, Ops, UOp

from branded.core.sharding.layout import Devices
from branded.errors import UnsupportedError
from branded.graph.primitive import params, primitive_of
from branded.graph.rows import has_brand, info_of, is_differentiated
from branded.graph.uops import is_of_a_tensor, on_device, replace_ops, tensor
from branded.tinygrad_compat.private_api import keep_device, part_of_each


def everywhere(x: UOp, devices: Devices) -> UOp:
    """Replicate a value of all examples on all devices: an allgather if the devices hold shards."""
    return _as_example(_whole(x, devices), x)


def reshard(x: UOp, devices: Devices, axis: int) -> UOp:
    """Shard `x` along another axis: an all-to-all."""
    if has_brand(x):
        return _as_example(_shards(_whole(x, devices), devices, axis), x)
    return _all_to_all(x, devices, axis) if x.device == devices else _shards(_whole(x, devices), devices, axis)


def whole_if_moved(reshaped: UOp) -> UOp:
    """Return the reshape; replicate its operand on all devices first if a shard would have to change devices."""
    if reshaped.op is not Ops.RESHAPE or not info_of(x := reshaped.src[0]).sharded or not isinstance(x.device, tuple):
        return reshaped
    try:
        _ = reshaped.axis
    except RuntimeError:
        return reshaped.replace(src=(everywhere(x, x.device), *reshaped.src[1:]))
    return reshaped


def _whole(x: UOp, devices: Devices) -> UOp:
    out: UOp = on_device(x.cast(strong_dtype(x.dtype)), devices[0]).copy_to_device(devices)
    return out


def _as_example(new: UOp, x: UOp) -> UOp:
    """Return `new`, marked as being on the device of `x`, on which the body of an example is traced."""
    if isinstance(x.device, str):
        keep_device(new, x.device)
    return new


def _shards(x: UOp, devices: Devices, axis: int) -> UOp:
    """Keep on each device its own part of an axis of a replicated value, in memory, where tinygrad reads it."""
    number = UOp.range(len(devices), -1, AxisType.DEVICE)
    out: UOp = part_of_each(x, axis, number).contiguous().unshard(axis, number)
    return out


def _all_to_all(x: UOp, devices: Devices, axis: int) -> UOp:
    """Shard along another axis: each device receives the parts that it keeps."""
    if x.axis is None or x.axis == axis:
        return _shards(x, devices, axis) if x.axis is None else x
    parts = tuple(entries(x, axis, i, len(devices)).copy_to_device(d) for i, d in enumerate(devices))
    out: UOp = UOp(Ops.MSTACK, x.dtype, parts).unshard(axis)
    return out


class Rows(NamedTuple):
    """Consecutive rows that each device receives from the device `before` positions earlier, cyclically."""

    before: int
    start: int
    many: int


def passed_on(x: UOp, devices: Devices, runs: Sequence[Rows]) -> UOp:
    """Return on each device the concatenated rows of these runs, from the sharded leading axis of `x`.

    The graph contains a full copy and the slice of it that each device keeps, so that all batching rules apply.
    `copied_to_all` later replaces the full copy by the rows that are needed.
    """
    whole, number, n = _whole(x, devices), UOp.range(len(devices), -1, AxisType.DEVICE), len(devices)
    local_rows, rest = x.shape[0] // n, tuple((0, s) for s in x.shape[1:])
    parts = list[UOp]()
    for r in runs:
        start = (number + (n - r.before)) % n * local_rows + r.start
        parts.append(whole.shrink(((start, start + r.many), *rest)))
    joined = tensor(parts[0]).cat(*map(tensor, parts[1:])).uop if len(parts) > 1 else parts[0]
    out: UOp = joined.contiguous().unshard(0, number)
    return _as_example(out, x)


def starts_of_each(u: UOp, axis: int) -> tuple[UOp | None, list[int]]:
    """Return the RANGE over devices in a slice whose start depends on the device, and the starts; else None and []."""
    starts = u.src[1].src if u.src[1].op is Ops.STACK else (u.src[1],)
    numbers = [v for v in starts[axis].toposort() if v.op is Ops.RANGE and v.arg[-1] is AxisType.DEVICE]
    if len(numbers) != 1:
        return None, []
    r = numbers[0]
    device_starts = [starts[axis].substitute({r: r.const_like(i)}).simplify() for i in range(int(r.vmax) + 1)]
    return (r, [int(s.arg) for s in device_starts]) if all(s.op is Ops.CONST for s in device_starts) else (None, [])


def _move_rows(u: UOp) -> UOp | None:
    """Rewrite a per-device slice of a full copy to move only its rows; return None if a slice spans several shards."""
    if u.op is not Ops.SHRINK or (copy := u.src[0]).op is not Ops.COPY or copy.src[0].device != copy.arg:
        return None
    x, devices = copy.src[0], copy.arg
    if (axis := x.axis) is None or u.shape[:axis] + u.shape[axis + 1 :] != x.shape[:axis] + x.shape[axis + 1 :]:
        return None
    local_rows, count = int(x.shape[axis]) // len(devices), int(u.shape[axis])
    number, starts = starts_of_each(u, axis)
    if number is None or any(start // local_rows != (start + count - 1) // local_rows for start in starts):
        return None
    x, parts = x.contiguous(), list[UOp]()
    for device, start in zip(devices, starts, strict=True):
        shard, first = divmod(start, local_rows)
        rows = entries(x, axis, shard, len(devices)).mselect(shard)
        bounds = tuple((first, first + count) if a == axis else (0, s) for a, s in enumerate(rows.shape))
        parts.append(rows.shrink(bounds).contiguous().copy_to_device(device))
    return UOp(Ops.MSTACK, u.dtype, tuple(parts))


def copied_part(u: UOp) -> tuple[UOp, Devices, int] | None:
    """Return the value, devices and axis if `u` shards a value that was copied to all devices, else None."""
    if u.op is not Ops.UNSHARD or len(u.arg) > 1:
        return None
    if (whole := _whole_of(u)) is None or whole.op is not Ops.COPY:
        return None
    return whole.src[0], whole.arg, u.arg[0]


def _whole_of(u: UOp) -> UOp | None:
    """Return the replicated value that `u` keeps one part of on each device, or None."""
    part = u.src[0].src[0] if u.src[0].op is Ops.CONTIGUOUS else u.src[0]
    return part.src[0] if part.op is Ops.SHRINK else None


def copied_to_all(roots: Sequence[UOp], devices: Devices) -> list[UOp]:
    """Return the graphs with single-device operands copied to all devices where they are combined with sharded ones.

    If the examples are on one device, values on other devices are copied to it. The last two rules rewrite copies that
    the earlier rules recognize, so they run in a second pass.
    """
    align = functools.partial(_align_operands, first=devices[0] if len(devices) == 1 else None)
    aligned = _apply(roots, _move_rows, _exchange, _copy_buffers, _run_local, align, _align_body)
    return _apply(aligned, _allgather, _store)


def _apply(roots: Sequence[UOp], *rules: Callable[[UOp], UOp | None]) -> list[UOp]:
    """Return the graphs with each operation rewritten by all rules in order; a rule returns None to keep it."""

    def rewrite(u: UOp) -> UOp | None:
        new = u
        for rule in rules:
            new = new if (v := rule(new)) is None else v
        return None if new is u else new

    return replace_ops(roots, rewrite)


def _exchange(u: UOp) -> UOp | None:
    """Rewrite a shard of a full copy of a sharded value as an all-to-all."""
    copied = copied_part(u)
    return _all_to_all(*copied) if copied is not None and copied[0].device == copied[1] else None


def _copy_buffers(u: UOp) -> UOp | None:
    """Copy a buffer instead of its view to all devices, except a part of a copy, which `copied_part` recognizes."""
    src = tuple(s if (v := _of_buffer(s)) is None else v for s in u.src)
    return None if src == u.src or u.op is Ops.SHRINK else u.replace(src=src)


def _allgather(u: UOp) -> UOp | None:
    """Rewrite the copy of a sharded value to all devices: each shard is moved to the devices that lack it."""
    if u.op is not Ops.COPY or not isinstance(u.arg, tuple) or (x := u.src[0]).device != u.arg:
        return None
    return x if x.axis is None else UOp(Ops.MSTACK, x.dtype, tuple(x.copy_to_device(d) for d in u.arg))


def _store(u: UOp) -> UOp | None:
    """Store a distributed value before it is copied to one device.

    tinygrad 0.14 fails on a kernel that fuses the copy with an elementwise operation on a sum over devices.
    """
    if u.op is not Ops.COPY or isinstance(u.arg, tuple) or not isinstance(u.src[0].device, tuple):
        return None
    return u.replace(src=(u.src[0].contiguous(),)) if u.src[0].op in GroupOp.Elementwise else None


_APART = {Ops.COPY, Ops.MSELECT, Ops.MSTACK, Ops.STORE, Ops.AFTER, Ops.TUPLE}
"""Operations whose operands may be on different devices or have no device."""


def _operands(u: UOp) -> tuple[UOp, ...]:
    """Return the operands that must be on the same devices."""
    return () if u.op in _APART else u.src[u.op in {Ops.FUNCTION, Ops.CALL} :]


def _run_local(u: UOp) -> UOp | None:
    """Run a call that cannot be distributed on one device, with its operands there."""
    several = [d for s in _operands(u) if isinstance(d := s.device, tuple)]
    if not several or (p := primitive_of(u)) is None or not p.is_local:
        return None
    home = next((d for x in params(u.src[0]) if isinstance(d := x.device, str)), several[0][0])
    return u.replace(src=(u.src[0], *(on_one(s, home) for s in u.src[1:])))


def _align_operands(u: UOp, first: str | None) -> UOp | None:
    """Copy the operands on one device to the devices of the others, or to `first` if each is on one device."""
    operands = _operands(u)
    devices = dict.fromkeys(d for s in operands if (d := s.device) is not None)
    several = [d for d in devices if isinstance(d, tuple)]
    if len(several) > 1:
        raise UnsupportedError(
            "zip: the operands are on different devices",
            *((str(i), ", ".join(d)) for i, d in enumerate(several, 1)),
            fix="use the same devices for both, in the same order, or move one with .to()",
        )
    if len(devices) < 2 or (to := several[0] if several else first) is None:
        return None
    new = (s if s.device in {None, to} else copy_to_devices(s, to) for s in operands)
    return u.replace(src=(*u.src[: -len(operands)], *new))


def _align_body(u: UOp) -> UOp | None:
    """Align the body of a call whose distributed arguments its parameters take from other devices."""
    operands = _operands(u)
    devices = next((d for s in operands if isinstance(d := s.device, tuple)), None)
    if devices is None or u.op is not Ops.FUNCTION:
        return None
    inner = params(u.src[0])
    if all(p.device == operands[p.arg.slot].device for p in inner):
        return None
    here = {p: operands[p.arg.slot].param_like(p.arg.slot) for p in inner}
    body = copied_to_all(replace_ops([u.src[0]], lambda _: None, at=here), devices)
    return u.replace(src=(*body, *operands))


def _of_buffer(u: UOp) -> UOp | None:
    """Rewrite a copy of a view to all devices as a view of a copy; return None for other nodes."""
    is_copied = u.op is Ops.COPY and isinstance(u.arg, tuple) and is_view(u.src[0])
    return copy_to_devices(u.src[0], u.arg) if is_copied and isinstance(u.src[0].device, str) else None


def of_buffers(roots: Sequence[UOp]) -> list[UOp]:
    """Return the graphs, after arguments were substituted, with each copy of a view replaced by a view of a copy."""
    return replace_ops(roots, _of_buffer)


def on_one(x: UOp, device: str) -> UOp:
    """Return `x` on this device: reuse the original of a distributed value, or materialize and copy a computed one."""
    if x.device in {None, device}:
        return x
    if (part := copied_part(x)) is not None and part[0].device == device:
        return part[0]
    if not isinstance(x.device, tuple):
        return copy_to_devices(x, device)
    if x.op in GroupOp.Movement:
        return x.replace(src=(on_one(x.src[0], device), *x.src[1:]))
    out: UOp = x.contiguous().copy_to_device(device)
    return out


class Layout(NamedTuple):
    """The devices that hold a value, and the axis along which it is sharded."""

    devices: Devices
    axis: int | None


def layout_of(x: UOp, gains: int = 0) -> Layout | None:
    """Return the layout of a value on several devices, shifted by `gains` leading axes; None on one device."""
    if not isinstance(x.device, tuple):
        return None
    return Layout(x.device, None if x.axis is None else x.axis + gains)


def laid_out_as(x: UOp, layout: Layout | None) -> UOp:
    """Distribute a value that one device computed according to the layout."""
    if layout is None:
        return x
    whole = _whole(x, layout.devices)
    return whole if layout.axis is None else _shards(whole, layout.devices, layout.axis)


def shared_by_all(u: UOp) -> UOp | None:
    """Return the replicated value that `u` has one part of on each device, if the shapes are equal; else None."""
    whole = _whole_of(u)
    return whole if whole is not None and whole.shape == u.shape else None


def is_view(x: UOp) -> bool:
    """Return whether this is a view of memory, and not a user's tensor, whose gradient may be requested."""
    if x.has_buffer_identity():  # type: ignore[no-untyped-call]
        return False
    return x.op is Ops.DETACH or (x.op in GroupOp.Movement and not is_of_a_tensor(x))


def copy_to_devices(x: UOp, devices: str | Devices) -> UOp:
    """Copy `x` to these devices before it is expanded to all examples, where it is smallest.

    This copies the buffer and not a view: tinygrad 0.14 fails on a kernel that reads both a view and its copy.
    """
    views = [x]
    while is_view(views[-1]):
        views.append(views[-1].src[0])
    least = min(range(len(views)), key=lambda i: (math.prod(views[i].max_shape), -i))
    constant = _as_constant(views[least], views[-1].op)
    out: UOp = views[least].copy_to_device(devices) if constant is None else constant
    for view in reversed(views[:least]):
        out = view.replace(src=(out, *view.src[1:]))
    return out


def _as_constant(x: UOp, op: Ops) -> UOp | None:
    """Return `x` simplified if it is a constant, such as `w * 0`; tinygrad loses the devices of its copy."""
    if (op not in GroupOp.Elementwise and op is not Ops.REDUCE) or is_differentiated(x):
        return None
    same: UOp = x.simplify()  # type: ignore[no-untyped-call]
    return same if same.device is None else None


def entries(u: UOp, axis: int, i: int, parts: int) -> UOp:
    """Return part `i` of an axis that is divided into `parts` parts."""
    n = u.shape[axis] // parts
    out: UOp = u.shrink(tuple((i * n, (i + 1) * n) if a == axis else (0, s) for a, s in enumerate(u.shape)))
    return out
