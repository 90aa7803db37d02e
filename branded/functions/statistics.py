"""Reductions that ignore NaN."""

from __future__ import annotations

from typing import Any

from tinygrad import Tensor, dtypes

from branded.core.brand import S
from branded.core.tracing.recorded_calls import operation
from branded.core.values import vec_type
from branded.errors import ArgumentError
from branded.functions._validation import Axes, axes_of, floats, merge_axes, number, operand, reinsert_axes
from branded.tinygrad_compat.private_api import least_upper_float
from branded.vec import Vec


@operation
def nansum(a: Vec[S], axis: Axes = None, *, keepdims: bool = False) -> Vec[S]:
    """Sum the entries that are not NaN; 0 if all are NaN.

    Args:
        a: `Vec[S, T[...]]`.
        axis: The axis or axes to reduce; None for all.
        keepdims: Keep the reduced axes with size 1.

    Returns:
        `Vec[S, T[...]]`; i32 for small ints and bools, as in `Tensor.sum`.

    Raises:
        OperandError: `a` is not a tensor.
        AxisRangeError: `axis` is out of range.

    Example:
        >>> from branded import nansum
        >>> from tinygrad import Tensor
        >>> nansum(Tensor([1.0, float("nan"), 2.0])).item()
        3.0

    Source: `jax.numpy.nansum`.
    """
    x = operand(a, "nansum", "a")
    axes = axes_of(axis, x, "nansum")
    return _reduce(_without(x, 0), axes, keepdims, "sum")


@operation
def nanmax(a: Vec[S], axis: Axes = None, *, keepdims: bool = False) -> Vec[S]:
    """Find the largest entry that is not NaN; NaN if all are NaN.

    Args:
        a: `Vec[S, T[...]]`, with at least one entry.
        axis: The axis or axes to reduce; None for all.
        keepdims: Keep the reduced axes with size 1.

    Returns:
        `Vec[S, T[...]]`.

    Raises:
        OperandError: `a` is not a tensor.
        ArgumentError: A reduced axis has size 0.
        AxisRangeError: `axis` is out of range.

    Example:
        >>> from branded import nanmax
        >>> from tinygrad import Tensor
        >>> nanmax(Tensor([1.0, float("nan"), 2.0])).item()
        2.0

    Source: `jax.numpy.nanmax`.
    """
    return _extreme(a, axis, keepdims, "nanmax", "max", -float("inf"))


@operation
def nanmin(a: Vec[S], axis: Axes = None, *, keepdims: bool = False) -> Vec[S]:
    """Find the least entry that is not NaN; NaN if all are NaN.

    Args:
        a: `Vec[S, T[...]]`, with at least one entry.
        axis: The axis or axes to reduce; None for all.
        keepdims: Keep the reduced axes with size 1.

    Returns:
        `Vec[S, T[...]]`.

    Raises:
        OperandError: `a` is not a tensor.
        ArgumentError: A reduced axis has size 0.
        AxisRangeError: `axis` is out of range.

    Example:
        >>> from branded import nanmin
        >>> from tinygrad import Tensor
        >>> nanmin(Tensor([1.0, float("nan"), 2.0])).item()
        1.0

    Source: `jax.numpy.nanmin`.
    """
    return _extreme(a, axis, keepdims, "nanmin", "min", float("inf"))


@operation
def nanmean(a: Vec[S], axis: Axes = None, *, keepdims: bool = False) -> Vec[S]:
    """Compute the mean of the entries that are not NaN; NaN if all are NaN.

    Args:
        a: `Vec[S, T[...]]`.
        axis: The axis or axes to reduce; None for all.
        keepdims: Keep the reduced axes with size 1.

    Returns:
        `Vec[S, f32[...]]`.

    Raises:
        OperandError: `a` is not a tensor.
        AxisRangeError: `axis` is out of range.

    Example:
        >>> from branded import nanmean
        >>> from tinygrad import Tensor
        >>> nanmean(Tensor([1.0, float("nan"), 2.0])).item()
        1.5

    Source: `jax.numpy.nanmean`.
    """
    (x,) = floats("nanmean", a=a)
    axes = axes_of(axis, x, "nanmean")
    return _reduce(_without(x, 0), axes, keepdims, "sum") / _count(x, axes, keepdims)


@operation
def nanvar(a: Vec[S], axis: Axes = None, *, ddof: int = 0, keepdims: bool = False) -> Vec[S]:
    """Compute the variance of the entries that are not NaN; NaN if there are at most `ddof` such entries.

    Args:
        a: `Vec[S, f32[...]]`.
        axis: The axis or axes to reduce; None for all.
        ddof: The number to subtract from the count in the divisor.
        keepdims: Keep the reduced axes with size 1.

    Returns:
        `Vec[S, f32[...]]`.

    Raises:
        OperandError: `a` is not a tensor, or `ddof` is not an int.
        AxisRangeError: `axis` is out of range.

    Example:
        >>> from branded import nanvar
        >>> from tinygrad import Tensor
        >>> nanvar(Tensor([1.0, float("nan"), 2.0])).item()
        0.25

    Source: `jax.numpy.nanvar`.
    """
    return _variance(a, axis, ddof, keepdims, "nanvar")


@operation
def nanstd(a: Vec[S], axis: Axes = None, *, ddof: int = 0, keepdims: bool = False) -> Vec[S]:
    """Compute the standard deviation of the entries that are not NaN: the square root of `nanvar`.

    Args:
        a: `Vec[S, f32[...]]`.
        axis: The axis or axes to reduce; None for all.
        ddof: The number to subtract from the count in the divisor.
        keepdims: Keep the reduced axes with size 1.

    Returns:
        `Vec[S, f32[...]]`.

    Raises:
        OperandError: `a` is not a tensor, or `ddof` is not an int.
        AxisRangeError: `axis` is out of range.

    Example:
        >>> from branded import nanstd
        >>> from tinygrad import Tensor
        >>> nanstd(Tensor([1.0, float("nan"), 2.0])).item()
        0.5

    Source: `jax.numpy.nanstd`.
    """
    return _variance(a, axis, ddof, keepdims, "nanstd").sqrt()


def _without(x: Tensor, value: float) -> Tensor:
    """Replace NaN in `x` by `value`."""
    return x.isnan().where(value, x) if dtypes.is_float(x.dtype) else x


def _reduce(x: Tensor, axes: tuple[int, ...], keepdims: bool, reduction: str) -> Tensor:
    y: Tensor = getattr(merge_axes(x, axes), reduction)(-1)
    return reinsert_axes(y, x, axes) if keepdims else y


def _count(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    return _reduce(x.isnan().logical_not(), axes, keepdims, "sum").cast(x.dtype)


def _extreme(a: Any, axis: Axes, keepdims: bool, api_name: str, reduction: str, worst: float) -> Tensor:
    x = operand(a, api_name, "a")
    axes = axes_of(axis, x, api_name)
    if any(x.shape[i] == 0 for i in axes):
        raise ArgumentError(
            f"{api_name}: there are no entries", ("a", vec_type(x)), fix="use an axis with at least one entry"
        )
    y = _reduce(_without(x, worst), axes, keepdims, reduction)
    if not dtypes.is_float(x.dtype):
        return y
    return _count(x, axes, keepdims).eq(0).where(float("nan"), y)


def _variance(a: Any, axis: Axes, ddof: int, keepdims: bool, api_name: str) -> Tensor:
    (x,) = floats(api_name, a=a)
    axes = axes_of(axis, x, api_name)
    count = _count(x, axes, True)
    mean = _reduce(_without(x, 0), axes, True, "sum") / count
    apart = x.isnan().where(0, _without(x, 0) - mean)
    degrees = _count(x, axes, keepdims) - number(ddof, api_name, "ddof")
    squares = _reduce(apart.square(), axes, keepdims, "sum")
    return (degrees > 0).where(squares / (degrees > 0).where(degrees, 1), float("nan")).cast(least_upper_float(x.dtype))
