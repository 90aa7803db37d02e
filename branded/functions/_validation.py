"""Validation of arguments: operands become tensors, axes are counted from the front, options are checked."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any, cast

from tinygrad import Tensor, dtypes
from tinygrad.dtype import DType, DTypeLike, strong_dtype, to_dtype

from branded import tree
from branded.core.boundary import live_tensor
from branded.core.validation.arguments import as_int, normalize_axis
from branded.core.values import vec_type
from branded.errors import ArgumentError, AxesError, BrandedError, OperandError
from branded.tinygrad_compat.private_api import broadcast_shape, least_upper_dtype, least_upper_float

Axes = int | Sequence[int] | None
"""One axis, several, or all."""


def operand(x: Any, api_name: str, name: str) -> Tensor:
    """Return a tensor, number or numpy array as a tensor whose brands are open."""
    fix = "convert it with branded.array(...)" if isinstance(x, list | tuple) else "pass a tensor or a number"
    if x is None or isinstance(x, str | dict | set):
        raise OperandError(f"{api_name}: {name} is {tree.describe(x)}, not a tensor", fix=fix)
    return live_tensor(x, f"{api_name}: {name}", OperandError, fix)


def operands(api_name: str, **arguments: Any) -> list[Tensor]:
    """Return several operands in one dtype, the dtype of their sum."""
    xs = [operand(x, api_name, name) for name, x in arguments.items()]
    dtype = least_upper_dtype(*(x.dtype for x in xs))
    for x, name in zip(xs, arguments, strict=True):
        tree.check_fits(x, dtype, f"{api_name}: {name}")
    return [x.cast(strong_dtype(dtype)) for x in xs]


def floats(api_name: str, **arguments: Any) -> list[Tensor]:
    """Return several operands as floats; ints and bools become tinygrad's default float."""
    xs = operands(api_name, **arguments)
    return [x.cast(least_upper_float(x.dtype)) for x in xs]


def ints(x: Any, api_name: str, name: str) -> Tensor:
    """Return an argument as ints; bools become 0 and 1."""
    t = operand(x, api_name, name)
    if t.dtype == dtypes.bool:
        return t.cast(dtypes.int32)
    if not dtypes.is_int(t.dtype):
        raise OperandError(f"{api_name}: {name} is {vec_type(t)}, and not of ints", fix=f"{name}.cast(dtypes.int32)")
    return tree.with_memory_dtype(t, f"{api_name}: {name}")


def number(x: Any, api_name: str, name: str, least: int = 0) -> int:
    """Return a number of entries as a Python int; it becomes part of a shape."""
    n = as_int(x)
    if n is None:
        error: type[BrandedError] = ArgumentError if x is None else OperandError
        wrong = "is not given, and a shape cannot depend on values" if x is None else f"is {tree.describe(x)}"
        raise error(f"{api_name}: {name} {wrong}", fix=f"pass an int for {name}")
    if n < least:
        raise ArgumentError(f"{api_name}: {name} = {n} is below {least}", fix=f"pass {least} or more")
    return n


def one_of(x: Any, api_name: str, name: str, options: Sequence[str]) -> str:
    """Return `x` if it is one of `options`; raise otherwise."""
    if not isinstance(x, str) or x not in options:
        raise ArgumentError(
            f"{api_name}: {name} is {tree.describe(x)}", fix=f"use one of {', '.join(map(repr, options))}"
        )
    return x


def as_dtype(dtype: DTypeLike, api_name: str) -> DType:
    try:
        return to_dtype(dtype)
    except (AttributeError, KeyError, TypeError):
        raise ArgumentError(
            f"{api_name}: {tree.short_repr(dtype)} is not a dtype", fix="use a dtype of tinygrad.dtypes"
        ) from None


def axes_of(axis: Axes, x: Tensor, api_name: str) -> tuple[int, ...]:
    """Return the axes, counted from the front; all of them for None."""
    if axis is None:
        return tuple(range(x.ndim))
    entries = axis if isinstance(axis, tuple | list) else (axis,)
    axes = tuple(normalize_axis(a, x, api_name) for a in entries)
    if len({*axes}) < len(axes):
        raise AxesError(
            f"{api_name}: an axis is named twice", ("axis", tree.short_repr(axis)), fix="name each axis once"
        )
    return axes


def merge_axes(x: Tensor, axes: tuple[int, ...]) -> Tensor:
    """Merge these axes of `x` into one, which is the last."""
    rest = [i for i in range(x.ndim) if i not in axes]
    moved = x.permute((*rest, *axes))
    return moved.reshape((*(x.shape[i] for i in rest), math.prod(x.shape[i] for i in axes)))


def reinsert_axes(y: Tensor, x: Tensor, axes: tuple[int, ...], leading: int = 0) -> Tensor:
    """Reinsert the reduced axes of `x` into `y` with size 1, after the `leading` axes of `y`."""
    shape = (1 if i in axes else n for i, n in enumerate(x.shape))
    return y.reshape((*y.shape[:leading], *shape))


def fit(api_name: str, *arguments: tuple[str, Tensor, Sequence[int]]) -> tuple[int, ...]:
    """Return the shape to which the sizes broadcast; each of `arguments` is (name, argument, sizes to broadcast)."""
    try:
        return broadcast_shape(*(tuple(sizes) for _, _, sizes in arguments))
    except IndexError:
        facts = [(name, vec_type(x)) for name, x, _ in arguments]
        raise ArgumentError(f"{api_name}: the shapes do not broadcast", *facts, fix="use equal sizes, or 1") from None


def as_number(x: object) -> float | None:
    """Return `x` as a float if it is a Python number; None otherwise."""
    if isinstance(x, bool) or not isinstance(x, numbers.Real):
        return None
    try:
        return float(x)
    except OverflowError:  # an int too large for a float
        return math.copysign(math.inf, cast(int, x) > 0 or -1)
