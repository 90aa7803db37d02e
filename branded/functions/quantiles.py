"""Medians and quantiles."""

from __future__ import annotations

from typing import Any

from tinygrad import Tensor, dtypes

from branded.core.brand import S, S1, S2
from branded.core.tracing.recorded_calls import operation
from branded.core.values import vec_type
from branded.errors import ArgumentError
from branded.functions._order import standing
from branded.functions._validation import Axes, as_number, axes_of, floats, merge_axes, one_of, reinsert_axes
from branded.graph.uops import moveaxis
from branded.vec import Vec

_METHODS = ("linear", "lower", "higher", "midpoint", "nearest")


@operation
def quantile(
    a: Vec[S1], q: Vec[S2] | float, axis: Axes = None, *, method: str = "linear", keepdims: bool = False
) -> Vec[S1 | S2]:
    """Compute the `q`-th quantile of the entries; NaN if an entry is NaN.

    Args:
        a: `Vec[S1, f32[...]]`, with at least one entry.
        q: A number from 0 to 1, or `Vec[S2, f32[k]]`; tensors are clipped to 0 and 1.
        axis: The axis or axes to reduce; None for all.
        method: Interpolation: `"linear"`, `"lower"`, `"higher"`, `"midpoint"`, or `"nearest"`.
        keepdims: Keep the reduced axes with size 1.

    Returns:
        `Vec[S1 | S2, f32[...]]`, after the axis of `q`, if it has one.  Differentiable in both arguments.

    Raises:
        OperandError: An argument is not a tensor.
        ArgumentError: `a` is empty, `q` is out of range or has two axes, or `method` is unknown.
        AxisRangeError: `axis` is out of range.

    Example:
        >>> from branded import quantile
        >>> from tinygrad import Tensor
        >>> quantile(Tensor([1.0, 2.0, 4.0]), 0.25).item()
        1.5

    Source: `jax.numpy.quantile`.
    """
    return _quantile(a, q, axis, method, keepdims, api_name="quantile")


@operation
def percentile(
    a: Vec[S1], q: Vec[S2] | float, axis: Axes = None, *, method: str = "linear", keepdims: bool = False
) -> Vec[S1 | S2]:
    """Compute the `q`-th percentile of the entries: `quantile(a, q / 100)`.

    Args:
        a: `Vec[S1, f32[...]]`, with at least one entry.
        q: A number from 0 to 100, or `Vec[S2, f32[k]]`; tensors are clipped to 0 and 100.
        axis: The axis or axes to reduce; None for all.
        method: Interpolation: `"linear"`, `"lower"`, `"higher"`, `"midpoint"`, or `"nearest"`.
        keepdims: Keep the reduced axes with size 1.

    Returns:
        `Vec[S1 | S2, f32[...]]`, after the axis of `q`, if it has one.

    Raises:
        OperandError: An argument is not a tensor.
        ArgumentError: `a` is empty, `q` is out of range or has two axes, or `method` is unknown.
        AxisRangeError: `axis` is out of range.

    Example:
        >>> from branded import percentile
        >>> from tinygrad import Tensor
        >>> percentile(Tensor([1.0, 2.0, 4.0]), 25, method="nearest").item()
        1.0

    Source: `jax.numpy.percentile`.
    """
    return _quantile(a, q, axis, method, keepdims, api_name="percentile", whole=100.0)


@operation
def nanquantile(
    a: Vec[S1], q: Vec[S2] | float, axis: Axes = None, *, method: str = "linear", keepdims: bool = False
) -> Vec[S1 | S2]:
    """Compute the `quantile` of the entries that are not NaN; NaN if all are NaN.

    Args:
        a: `Vec[S1, f32[...]]`, with at least one entry.
        q: A number from 0 to 1, or `Vec[S2, f32[k]]`; tensors are clipped to 0 and 1.
        axis: The axis or axes to reduce; None for all.
        method: Interpolation: `"linear"`, `"lower"`, `"higher"`, `"midpoint"`, or `"nearest"`.
        keepdims: Keep the reduced axes with size 1.

    Returns:
        `Vec[S1 | S2, f32[...]]`, after the axis of `q`, if it has one.

    Raises:
        OperandError: An argument is not a tensor.
        ArgumentError: `a` is empty, `q` is out of range or has two axes, or `method` is unknown.
        AxisRangeError: `axis` is out of range.

    Example:
        >>> from branded import nanquantile
        >>> from tinygrad import Tensor
        >>> nanquantile(Tensor([1.0, float("nan"), 2.0]), 0.5).item()
        1.5

    Source: `jax.numpy.nanquantile`.
    """
    return _quantile(a, q, axis, method, keepdims, api_name="nanquantile", skip=True)


@operation
def median(a: Vec[S], axis: Axes = None, *, keepdims: bool = False) -> Vec[S]:
    """Compute the median: the middle entry, or the mean of the two middle entries; NaN if an entry is NaN.

    Args:
        a: `Vec[S, f32[...]]`, with at least one entry.
        axis: The axis or axes to reduce; None for all.
        keepdims: Keep the reduced axes with size 1.

    Returns:
        `Vec[S, f32[...]]`.

    Raises:
        OperandError: `a` is not a tensor.
        ArgumentError: `a` is empty.
        AxisRangeError: `axis` is out of range.

    Example:
        >>> from branded import grad, median
        >>> from tinygrad import Tensor
        >>> median(Tensor([3.0, 1.0, 2.0, 10.0])).item()
        2.5
        >>> grad(median)(Tensor([3.0, 1.0, 2.0, 10.0])).tolist()
        [0.5, 0.0, 0.5, 0.0]

    Source: `jax.numpy.median`.
    """
    return _quantile(a, 0.5, axis, "midpoint", keepdims, api_name="median")


@operation
def nanmedian(a: Vec[S], axis: Axes = None, *, keepdims: bool = False) -> Vec[S]:
    """Compute the `median` of the entries that are not NaN; NaN if all are NaN.

    Args:
        a: `Vec[S, f32[...]]`, with at least one entry.
        axis: The axis or axes to reduce; None for all.
        keepdims: Keep the reduced axes with size 1.

    Returns:
        `Vec[S, f32[...]]`.

    Raises:
        OperandError: `a` is not a tensor.
        ArgumentError: `a` is empty.
        AxisRangeError: `axis` is out of range.

    Example:
        >>> from branded import nanmedian
        >>> from tinygrad import Tensor
        >>> nanmedian(Tensor([3.0, float("nan"), 2.0])).item()
        2.5

    Source: `jax.numpy.nanmedian`.
    """
    return _quantile(a, 0.5, axis, "midpoint", keepdims, api_name="nanmedian", skip=True)


def _quantile(
    a: Any, q: Any, axis: Axes, method: str, keepdims: bool, api_name: str, whole: float = 1.0, skip: bool = False
) -> Tensor:
    x, part = floats(api_name, a=a, q=q)
    if (n := as_number(q)) is not None and not 0 <= n <= whole:
        raise ArgumentError(f"{api_name}: q = {q} is out of range", fix=f"use a number from 0 to {whole:g}")
    one_of(method, api_name, "method", _METHODS)
    if part.ndim > 1:
        raise ArgumentError(f"{api_name}: q has more than one axis", ("q", vec_type(part)), fix="q.flatten()")
    axes = axes_of(axis, x, api_name)
    flat = merge_axes(x, axes)
    if not flat.shape[-1]:
        raise ArgumentError(
            f"{api_name}: there are no entries", ("a", vec_type(x)), fix="use an axis with at least one entry"
        )
    values = _between(flat, part.reshape(-1) / whole if whole != 1 else part.reshape(-1), method, skip)
    if not skip:
        values = flat.isnan().any(-1, keepdim=True).where(float("nan"), values)
    values = moveaxis(values, -1, 0)
    if keepdims:
        values = reinsert_axes(values, x, axes, 1)
    return values if part.ndim else values.squeeze(0)


def _between(x: Tensor, q: Tensor, method: str, skip: bool) -> Tensor:
    """Compute the quantiles `[..., k]` along the last axis."""
    last = Tensor(x.shape[-1] - 1, dtype=q.dtype)
    if skip:
        last = x.isnan().logical_not().sum(-1, keepdim=True).cast(q.dtype) - 1
    position = q * last
    low, high = (i.detach().minimum(last).maximum(0).cast(dtypes.int32) for i in (position.floor(), position.ceil()))
    if method in ("lower", "higher"):
        return x.gather(-1, standing(x, low if method == "lower" else high))
    bottom, top = (x.gather(-1, standing(x, places)) for places in (low, high))
    share = position - position.floor()
    if method == "midpoint":
        return (bottom + top) * 0.5
    if method == "nearest":
        return (share <= 0.5).where(bottom, top)
    return bottom * (1 - share) + top * share
