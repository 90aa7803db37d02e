"""`conv_transpose2d` with a stride, without products with zeros, on the CPU if CPU codegen is enabled.

tinygrad puts zeros between the entries and convolves: with a stride of 2 along two axes, three of four products have a
zero factor. Here one matrix multiplication computes the products of all entries with all weights k = s t + r, for the
phases r of the stride s. Shifted copies of these products are added:

    y[s j + r] = Σₜ x[j - t] w[s t + r]
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from typing import Any

from tinygrad import Tensor

from branded import tinygrad_compat
from branded.hooks.host_sort import is_on_host
from branded.tinygrad_compat.private_api import all_int
from branded.tinygrad_compat.tensor_methods import Method, override_if, wrap


def _per_axis(option: Any, axes: int) -> tuple[int, ...] | None:
    """Return an option for each axis, or None if it is not valid."""
    values = (option,) * axes if type(option) is int else option
    is_valid = isinstance(values, tuple | list) and len(values) == axes and all(type(v) is int for v in values)
    return tuple(values) if is_valid else None


def _cuts(padding: Any, axes: int) -> list[tuple[int, int]] | None:
    """Return how much is cut off before and after each axis; the flat form of `padding` starts at the last axis."""
    if (one := _per_axis(padding, axes)) is not None:
        return [(p, p) for p in one]
    flat = _per_axis(padding, 2 * axes)
    return None if flat is None else [(flat[i], flat[i + 1]) for i in range(2 * axes - 2, -1, -2)]


def _size(n: int, k: int, s: int, cut: tuple[int, int], more: int) -> int:
    """Return the size of an axis of the result."""
    return (n - 1) * s + k - sum(cut) + more


def _has_zeros(
    x: Any,
    weight: Any,
    bias: Any = None,
    groups: Any = 1,
    stride: Any = 1,
    dilation: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
) -> bool:
    """Return whether the stride puts zeros between the entries, and the operation is valid."""
    if not (isinstance(x, Tensor) and isinstance(weight, Tensor) and all_int(x.shape) and 0 not in x.shape):
        return False
    axes = x.ndim - 2
    strides, more, cuts = _per_axis(stride, axes), _per_axis(output_padding, axes), _cuts(padding, axes)
    if axes < 1 or weight.ndim != x.ndim or not all_int(weight.shape) or 0 in weight.shape or strides is None:
        return False
    if more is None or cuts is None or _per_axis(dilation, axes) != (1,) * axes or min(strides) < 1 or max(strides) < 2:
        return False
    if type(groups) is not int or groups < 1 or weight.shape[0] % groups or weight.shape[0] != x.shape[1]:
        return False
    rows = zip(x.shape[2:], weight.shape[2:], strides, cuts, more, strict=True)
    return is_on_host(x) and all(_size(*row) > 0 for row in rows)


def _on_axis(x: Tensor, axis: int, option: tuple[int, int]) -> tuple[tuple[int, int] | None, ...]:
    """Return an option of `pad` or `shrink` for one axis, and None for the others."""
    return tuple(option if i == axis % x.ndim else None for i in range(x.ndim))


def _shift(x: Tensor, axis: int, by: int, most: int) -> Tensor:
    return x.pad(_on_axis(x, axis, (by, most - by)))


@override_if(_has_zeros)
def _conv_transpose2d(
    original: Method,
    self: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    groups: int = 1,
    stride: Any = 1,
    dilation: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
) -> Tensor:
    axes = self.ndim - 2
    strides, more, cuts = _per_axis(stride, axes), _per_axis(output_padding, axes), _cuts(padding, axes)
    assert strides is not None and more is not None and cuts is not None
    sizes, size, outputs = weight.shape[2:], self.shape[2:], weight.shape[1]
    steps = [-(-k // s) for k, s in zip(sizes, strides, strict=True)]
    w = weight.pad((None, None, *((0, s * t - k) for s, t, k in zip(strides, steps, sizes, strict=True))))
    w = w.reshape(groups, -1, outputs, *itertools.chain(*zip(steps, strides, strict=True)))
    w = w.permute(0, *range(3, 3 + 2 * axes, 2), 2, *range(4, 4 + 2 * axes, 2), 1).flatten(1, -2)
    y = w @ self.reshape(self.shape[0], groups, -1, math.prod(size))
    y = y.reshape(-1, groups, *steps, outputs, *strides, *size)
    if max(steps) > 1:
        y = y.contiguous()
    for axis, n in zip(range(-axes, 0), steps, strict=True):
        y = functools.reduce(operator.add, [_shift(y[:, :, t], axis, t, n - 1) for t in range(n)])
    y = y.reshape(-1, groups * outputs, *strides, *y.shape[-axes:])
    y = y.permute(0, 1, *itertools.chain(*((2 + axes + i, 2 + i) for i in range(axes))))
    y = y.reshape(-1, groups * outputs, *(n * s for n, s in zip(y.shape[2::2], strides, strict=True)))
    for axis, (n, k, s, cut, extra) in enumerate(zip(size, sizes, strides, cuts, more, strict=True), 2):
        start = cut[0]
        end = start + _size(n, k, s, cut, extra)
        low, high = max(start, 0), min(end, y.shape[axis])
        y = y.shrink(_on_axis(y, axis, (low, high)))
        y = y.pad(_on_axis(y, axis, (low - start, end - high)))
    return y if bias is None else y + bias.reshape(1, -1, *(1,) * axes)


def install() -> None:
    """Install the method unless the patches of tinygrad are disabled."""
    if tinygrad_compat.installed:
        wrap("conv_transpose2d", _conv_transpose2d)
