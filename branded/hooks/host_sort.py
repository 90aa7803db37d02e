"""`sort`, `topk` and `argsort` as one call of C on the CPU, if CPU codegen is enabled.

Otherwise tinygrad's sorting network runs. It loses NaN (`[2, nan, 1]` becomes `[1, 2, 2]`), so `_sort_nan` replaces NaN
by infinity before the sort. In both cases NaN is the largest value, as in numpy.
"""

from __future__ import annotations

import functools
import math
from typing import Any

from tinygrad import Tensor, dtypes
from tinygrad.helpers import Context

from branded import tinygrad_compat
from branded.backends.cpu.renderer.loops import cpu_codegen
from branded.backends.cpu.runtime import native
from branded.tinygrad_compat.private_api import all_int
from branded.tinygrad_compat.tensor_methods import Method, override_if, wrap


def suits(x: Any, dim: Any) -> bool:
    """Return whether the axis has several elements, and C code can read the memory."""
    return _has_axis(x, dim) and is_on_host(x)


def is_on_host(x: Tensor) -> bool:
    """Return whether C code of this process can read the memory, if CPU codegen is enabled."""
    return bool(cpu_codegen.value) and isinstance(x.device, str) and _is_of_the_host(x.device)


def _has_axis(x: Any, dim: Any) -> bool:
    if not (isinstance(x, Tensor) and isinstance(dim, int) and x.dtype not in dtypes.weaks):
        return False
    return -x.ndim <= dim < x.ndim and all_int(x.shape) and 0 not in x.shape and x.shape[dim] > 1


@functools.cache
def _is_of_the_host(device: str) -> bool:
    with Context(ALLOW_DEVICE_USAGE=1):  # type: ignore[no-untyped-call]  # also while a @function is traced
        return native.can_run(device)


def _may_hold_nan(x: Any, dim: Any = -1, descending: bool = False) -> bool:
    is_axis = isinstance(x, Tensor) and isinstance(dim, int) and -x.ndim <= dim < x.ndim
    return is_axis and dtypes.is_float(x.dtype) and x.shape[dim] not in (0, 1)


@override_if(_may_hold_nan)
def _sort_nan(network: Method, self: Tensor, dim: int = -1, descending: bool = False) -> tuple[Tensor, Tensor]:
    """Sort infinity instead of NaN with tinygrad's `sort`, and put NaN after all infinities."""
    axis = dim % self.ndim
    n = int(self.shape[axis])
    lost = self.isnan()
    filled = lost.where(math.inf, self)
    ordered, _ = network(filled, axis, descending)
    count, place = lost.sum(axis, keepdim=True), Tensor.arange(n).reshape((n,) + (1,) * (self.ndim - axis - 1))
    last = (place < count) if descending else (place >= n - count)
    return last.where(math.nan, ordered), _places((filled, lost), (ordered, last), axis)


Entries = tuple[Tensor, Tensor]
"""Values with NaN replaced by infinity, and the mask of NaN."""


def _places(x: Entries, y: Entries, dim: int) -> Tensor:
    """Return the indices of the sorted `y` in `x`; equal elements, including NaN, keep their order."""
    n, rest = int(x[0].shape[dim]), (1,) * (x[0].ndim - dim - 1)
    place = Tensor.arange(n)
    before = (place <= place.unsqueeze(1)).reshape((n, n, *rest))
    number = [(before & _same(t, t, dim)).sum(dim + 1) for t in (x, y)]
    hit = _same(y, x, dim) & number[1].unsqueeze(dim + 1).eq(number[0].unsqueeze(dim))
    return hit.where(place.reshape((n, *rest)), 0).sum(dim + 1).cast(dtypes.default_int)


def _same(a: Entries, b: Entries, dim: int) -> Tensor:
    """Compare all pairs of elements of `a` and `b`."""
    left, right = ([t.unsqueeze(dim + k) for t in ts] for ts, k in ((a, 1), (b, 0)))
    return left[0].eq(right[0]) & left[1].eq(right[1])


def _sorts_here(x: Any, dim: Any = -1, descending: bool = False) -> bool:
    return suits(x, dim) or (_has_axis(x, dim) and dtypes.is_float(x.dtype) and isinstance(x.device, str))


@override_if(_sorts_here)
def _sort(network: Method, self: Tensor, dim: int = -1, descending: bool = False) -> tuple[Tensor, Tensor]:
    if suits(self, dim):
        from branded.callbacks import sorting

        return sorting.sort(self, dim, bool(descending))
    from branded.hooks import sort_network as networks

    return networks.sort(network, self, dim, bool(descending))


def _selects_in_numpy(x: Tensor, k: int, dim: int = -1, largest: bool = True, sorted_: bool = True) -> bool:
    return type(k) is int and k > 0 and sorted_ and suits(x, dim) and bool(k < x.shape[dim])


@override_if(_selects_in_numpy)
def _topk(
    original: Method, self: Tensor, k: int, dim: int = -1, largest: bool = True, sorted_: bool = True
) -> tuple[Tensor, Tensor]:
    from branded.callbacks import sorting

    return sorting.sort(self, dim, bool(largest), k)


def install() -> None:
    """Install the methods unless the patches of tinygrad are disabled."""
    if tinygrad_compat.installed:
        wrap("topk", _topk)  # before `sort`, on which tinygrad's `topk` is based
        wrap("sort", _sort_nan)
        wrap("sort", _sort)
