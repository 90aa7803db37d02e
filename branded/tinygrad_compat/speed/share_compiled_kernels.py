"""One compilation of a kernel for all identical devices, instead of one for each of them.

The parameters of a kernel, and therefore its key, name the devices of their buffers:

    PARAM(0, float, device=("CPU", "CPU:1"))    the rows of x, on two devices
    PARAM(0, float, device="CPU:2")             x on a third

The code is the same. Here a kernel is compiled for the first device of its kind, if all devices have the same compiler.
It runs on the devices of the buffers of its call.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tinygrad import Device
from tinygrad.uop.ops import Ops, UOp

from branded.tinygrad_compat import private_api

_kernels_on_first: weakref.WeakKeyDictionary[UOp, UOp] = weakref.WeakKeyDictionary()
"""The kernels of other devices, rewritten for the first device."""


def _first_device(device: str | tuple[str, ...] | None) -> str | None:
    """Return the first device of the same kind if it shares its kernels with all of these, else None."""
    if device is None or (isinstance(device, str) and ":" not in device):
        return None
    names = (device,) if isinstance(device, str) else device
    first = names[0].partition(":")[0]
    if not private_api.is_open(first):
        return None
    renderer = Device[first].renderer
    return first if all(_is_same(Device[d].renderer, renderer) for d in names) else None


def _is_same(one: Any, other: Any) -> bool:
    """Return whether two renderers generate the same code."""
    return type(one) is type(other) and bool(one.target == other.target)


def _on_first_device(kernel: UOp, first: str) -> UOp:
    if (out := _kernels_on_first.get(kernel)) is None:
        away = [u for u in kernel.toposort() if u.op is Ops.PARAM and u.arg.device is not None]
        out = kernel.substitute({u: u.replace(arg=replace(u.arg, device=first)) for u in away})
        _kernels_on_first[kernel] = out
    return out


def _compile_for_first_device(original: Callable[[UOp], UOp]) -> Callable[[UOp], UOp]:
    @functools.wraps(original)
    def lower_and_compile(linear: UOp) -> UOp:
        calls = [c for c in linear.src if c.op is Ops.CALL and c.src[0].op is Ops.SINK]
        away = {c: first for c in calls if (first := _first_device(c.src[0].device)) is not None}
        if away:
            replacements = {
                c: c.replace(src=(_on_first_device(c.src[0], first), *c.src[1:])) for c, first in away.items()
            }
            linear = linear.replace(src=tuple(replacements.get(c, c) for c in linear.src))
        return original(linear)

    return lower_and_compile


def install() -> None:
    private_api.realize.lower_and_compile = _compile_for_first_device(private_api.realize.lower_and_compile)
