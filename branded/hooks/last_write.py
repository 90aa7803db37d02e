"""`scatter` and `x[i] = v` with many entries on the CPU: a maximum finds the last entry written to each element.

tinygrad chains one `where` for each entry: a graph of 100,000 entries does not fit in memory.  Here the position of the
last entry that is written to an element is a maximum over the entries, and the value is read from there.  Both become
loops over the entries alone: see `branded.backends.cpu.renderer.scatter`.
"""

from __future__ import annotations

import math
from typing import Any

from tinygrad import Tensor

from branded import tinygrad_compat
from branded.backends.cpu.renderer.loops import cpu_codegen
from branded.tinygrad_compat import features, private_api
from branded.tinygrad_compat.tensor_methods import Method, override_if, wrap

MANY = 16
"""The number of entries from which a maximum is faster than a chain."""


def _has_many(self: Tensor, values: Tensor, mask: Tensor, axes: tuple[int, ...]) -> bool:
    devices = {x.device for x in (self, values, mask) if x.device is not None}
    on_cpu = all(isinstance(d, str) and d.split(":")[0] == "CPU" for d in devices)
    return bool(cpu_codegen.value) and on_cpu and math.prod(mask.shape[a] for a in axes) >= MANY


@override_if(_has_many)
def _merge(original: Method, self: Tensor, values: Tensor, mask: Tensor, axes: tuple[int, ...]) -> Tensor:
    """Return `self` where the mask is False for all entries, and the last entry for which it is True elsewhere."""
    first = axes[0] % mask.ndim
    mask, values = (_with_one_axis(x, first, len(axes)) for x in (mask, values))
    position = Tensor.arange(mask.shape[first]).reshape(-1, *(1,) * (mask.ndim - first - 1))
    last = mask.where(position, position.dtype.min).max(first, keepdim=True)
    value = position.eq(last).where(values, 0).sum(first, dtype=values.dtype)
    out: Tensor = (last >= 0).squeeze(first).where(value, self)
    return out


def _with_one_axis(x: Any, first: int, axes: int) -> Any:
    return x.reshape(*x.shape[:first], -1, *x.shape[first + axes :])


def install() -> None:
    """Install the method unless tinygrad is unpatched or lacks private names."""
    if tinygrad_compat.installed and features.fits("backend") and hasattr(Tensor, private_api.MERGES):
        wrap(private_api.MERGES, _merge)
