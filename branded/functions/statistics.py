"""Medians and quantiles, and the reductions that leave NaN out."""

from __future__ import annotations

from typing import Any, TypeVar

from tinygrad import Tensor, dtypes

from branded.brand import Brand
from branded.errors import ArgumentError
from branded.functions._given import Axes, axes_of, floats, kept, number, one_of, operand, together
from branded.functions._order import standing
from branded.patches.tg import least_upper_float
from branded.random.draws import as_number
from branded.recording.calls import operation
from branded.values import vec_type
from branded.vec import Vec

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)

# ---- quantiles ----

_METHODS = ("linear", "lower", "higher", "midpoint", "nearest")


@operation
def quantile(
    a: Vec[S1], q: Vec[S2] | float, axis: Axes = None, *, method: str = "linear", keepdims: bool = False
) -> Vec[S1 | S2]:
    """The number below which the part `q` of the entries lies; NaN where one of them is.

    Args:
        a: `Vec[S1, f32[...]]`, of one entry or more.
        q: A number from 0 to 1, or `Vec[S2, f32[k]]`; a tensor beyond that counts as 0 or 1.
        axis: The axis, or several; None for all.
        method: Between two entries: `"linear"`, `"lower"`, `"higher"`, `"midpoint"`, or `"nearest"`.
        keepdims: Keep the axes that are gone, with size 1.

    Returns:
        `Vec[S1 | S2, f32[...]]`, behind an axis for those of `q`.  It is differentiable in both.

    Raises:
        OperandError: An argument is not a tensor.
        ArgumentError: There are no entries, `q` is out of range or has two axes, or an option means nothing.
        AxisRangeError: `axis` is out of range.

    Example:
        >>> from branded import quantile
        >>> from tinygrad import Tensor
        >>> quantile(Tensor([1.0, 2.0, 4.0]), 0.25).item()
        1.5

    Source: `jax.numpy.quantile`.
    """
    return _quantile(a, q, axis, method, keepdims, what="quantile")


@operation
def percentile(
    a: Vec[S1], q: Vec[S2] | float, axis: Axes = None, *, method: str = "linear", keepdims: bool = False
) -> Vec[S1 | S2]:
    """The number below which `q` percent of the entries lie: `quantile(a, q / 100)`.

    Args:
        a: `Vec[S1, f32[...]]`, of one entry or more.
        q: A number from 0 to 100, or `Vec[S2, f32[k]]`.
        axis: The axis, or several; None for all.
        method: Between two entries: `"linear"`, `"lower"`, `"higher"`, `"midpoint"`, or `"nearest"`.
        keepdims: Keep the axes that are gone, with size 1.

    Returns:
        `Vec[S1 | S2, f32[...]]`, behind an axis for those of `q`.

    Raises:
        OperandError: An argument is not a tensor.
        ArgumentError: There are no entries, `q` is out of range or has two axes, or an option means nothing.
        AxisRangeError: `axis` is out of range.

    Example:
        >>> from branded import percentile
        >>> from tinygrad import Tensor
        >>> percentile(Tensor([1.0, 2.0, 4.0]), 25, method="nearest").item()
        1.0

    Source: `jax.numpy.percentile`.
    """
    return _quantile(a, q, axis, method, keepdims, what="percentile", whole=100.0)


@operation
def nanquantile(
    a: Vec[S1], q: Vec[S2] | float, axis: Axes = None, *, method: str = "linear", keepdims: bool = False
) -> Vec[S1 | S2]:
    """`quantile` of the entries that are not NaN; NaN where there are none.

    Args:
        a: `Vec[S1, f32[...]]`, of one entry or more.
        q: A number from 0 to 1, or `Vec[S2, f32[k]]`.
        axis: The axis, or several; None for all.
        method: Between two entries: `"linear"`, `"lower"`, `"higher"`, `"midpoint"`, or `"nearest"`.
        keepdims: Keep the axes that are gone, with size 1.

    Returns:
        `Vec[S1 | S2, f32[...]]`, behind an axis for those of `q`.

    Raises:
        OperandError: An argument is not a tensor.
        ArgumentError: There are no entries, `q` is out of range or has two axes, or an option means nothing.
        AxisRangeError: `axis` is out of range.

    Example:
        >>> from branded import nanquantile
        >>> from tinygrad import Tensor
        >>> nanquantile(Tensor([1.0, float("nan"), 2.0]), 0.5).item()
        1.5

    Source: `jax.numpy.nanquantile`.
    """
    return _quantile(a, q, axis, method, keepdims, what="nanquantile", skip=True)


@operation
def median(a: Vec[S], axis: Axes = None, *, keepdims: bool = False) -> Vec[S]:
    """The middle of the sorted entries, or the mean of the two there; NaN where one of them is.

    Args:
        a: `Vec[S, f32[...]]`, of one entry or more.
        axis: The axis, or several; None for all.
        keepdims: Keep the axes that are gone, with size 1.

    Returns:
        `Vec[S, f32[...]]`.

    Raises:
        OperandError: `a` is not a tensor.
        ArgumentError: There are no entries.
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
    return _quantile(a, 0.5, axis, "midpoint", keepdims, what="median")


@operation
def nanmedian(a: Vec[S], axis: Axes = None, *, keepdims: bool = False) -> Vec[S]:
    """`median` of the entries that are not NaN; NaN where there are none.

    Args:
        a: `Vec[S, f32[...]]`, of one entry or more.
        axis: The axis, or several; None for all.
        keepdims: Keep the axes that are gone, with size 1.

    Returns:
        `Vec[S, f32[...]]`.

    Raises:
        OperandError: `a` is not a tensor.
        ArgumentError: There are no entries.
        AxisRangeError: `axis` is out of range.

    Example:
        >>> from branded import nanmedian
        >>> from tinygrad import Tensor
        >>> nanmedian(Tensor([3.0, float("nan"), 2.0])).item()
        2.5

    Source: `jax.numpy.nanmedian`.
    """
    return _quantile(a, 0.5, axis, "midpoint", keepdims, what="nanmedian", skip=True)


def _quantile(
    a: Any, q: Any, axis: Axes, method: str, keepdims: bool, what: str, whole: float = 1.0, skip: bool = False
) -> Tensor:
    x, part = floats(what, a=a, q=q)
    if (n := as_number(q)) is not None and not 0 <= n <= whole:
        raise ArgumentError(f"{what}: q = {q} is out of range", fix=f"a number from 0 to {whole:g}")
    one_of(method, what, "method", _METHODS)
    if part.ndim > 1:
        raise ArgumentError(f"{what}: q has more than one axis", ("q", vec_type(part)), fix="q.flatten()")
    axes = axes_of(axis, x, what)
    flat = together(x, axes)
    if not flat.shape[-1]:
        raise ArgumentError(f"{what}: there are no entries", ("a", vec_type(x)), fix="an axis with entries")
    found = _between(flat, part.reshape(-1) / whole if whole != 1 else part.reshape(-1), method, skip)
    if not skip:
        found = flat.isnan().any(-1, keepdim=True).where(float("nan"), found)
    found = found.permute((found.ndim - 1, *range(found.ndim - 1)))
    if keepdims:
        found = kept(found, x, axes, 1)
    return found if part.ndim else found.squeeze(0)


def _between(x: Tensor, q: Tensor, method: str, skip: bool) -> Tensor:
    """The quantiles `[..., k]` of the last axis."""
    last = Tensor(x.shape[-1] - 1, dtype=q.dtype)
    if skip:
        last = x.isnan().logical_not().sum(-1, keepdim=True).cast(q.dtype) - 1
    at = q * last
    low, high = (i.detach().minimum(last).maximum(0).cast(dtypes.int32) for i in (at.floor(), at.ceil()))
    if method in ("lower", "higher"):
        return x.gather(-1, standing(x, low if method == "lower" else high))
    bottom, top = (x.gather(-1, standing(x, places)) for places in (low, high))
    share = at - at.floor()
    if method == "midpoint":
        return (bottom + top) * 0.5
    if method == "nearest":
        return (share <= 0.5).where(bottom, top)
    return bottom * (1 - share) + top * share


# ---- reductions without NaN ----


@operation
def nansum(a: Vec[S], axis: Axes = None, *, keepdims: bool = False) -> Vec[S]:
    """The sum of the entries that are not NaN; 0 where there are none.

    Args:
        a: `Vec[S, T[...]]`.
        axis: The axis, or several; None for all.
        keepdims: Keep the axes that are gone, with size 1.

    Returns:
        `Vec[S, T[...]]`; of small ints and bools an i32, as of `Tensor.sum`.

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
    return _reduced(_without(x, 0), axes, keepdims, "sum")


@operation
def nanmax(a: Vec[S], axis: Axes = None, *, keepdims: bool = False) -> Vec[S]:
    """The largest of the entries that are not NaN; NaN where there are none.

    Args:
        a: `Vec[S, T[...]]`, of one entry or more.
        axis: The axis, or several; None for all.
        keepdims: Keep the axes that are gone, with size 1.

    Returns:
        `Vec[S, T[...]]`.

    Raises:
        OperandError: `a` is not a tensor.
        ArgumentError: There are no entries.
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
    """The least of the entries that are not NaN; NaN where there are none.

    Args:
        a: `Vec[S, T[...]]`, of one entry or more.
        axis: The axis, or several; None for all.
        keepdims: Keep the axes that are gone, with size 1.

    Returns:
        `Vec[S, T[...]]`.

    Raises:
        OperandError: `a` is not a tensor.
        ArgumentError: There are no entries.
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
    """The mean of the entries that are not NaN; NaN where there are none.

    Args:
        a: `Vec[S, f32[...]]`.
        axis: The axis, or several; None for all.
        keepdims: Keep the axes that are gone, with size 1.

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
    return _reduced(_without(x, 0), axes, keepdims, "sum") / _count(x, axes, keepdims)


@operation
def nanvar(a: Vec[S], axis: Axes = None, *, ddof: int = 0, keepdims: bool = False) -> Vec[S]:
    """The variance of the entries that are not NaN; NaN where there are at most `ddof`.

    Args:
        a: `Vec[S, f32[...]]`.
        axis: The axis, or several; None for all.
        ddof: What is taken from their number in the divisor.
        keepdims: Keep the axes that are gone, with size 1.

    Returns:
        `Vec[S, f32[...]]`.

    Raises:
        OperandError: `a` is not a tensor, or `ddof` not an int.
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
    """The standard deviation of the entries that are not NaN: the square root of `nanvar`.

    Args:
        a: `Vec[S, f32[...]]`.
        axis: The axis, or several; None for all.
        ddof: What is taken from their number in the divisor.
        keepdims: Keep the axes that are gone, with size 1.

    Returns:
        `Vec[S, f32[...]]`.

    Raises:
        OperandError: `a` is not a tensor, or `ddof` not an int.
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
    """`x` with this in place of NaN."""
    return x.isnan().where(value, x) if dtypes.is_float(x.dtype) else x


def _reduced(x: Tensor, axes: tuple[int, ...], keepdims: bool, how: str) -> Tensor:
    y: Tensor = getattr(together(x, axes), how)(-1)
    return kept(y, x, axes) if keepdims else y


def _count(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    return _reduced(x.isnan().logical_not(), axes, keepdims, "sum").cast(x.dtype)


def _extreme(a: Any, axis: Axes, keepdims: bool, what: str, how: str, worst: float) -> Tensor:
    x = operand(a, what, "a")
    axes = axes_of(axis, x, what)
    if any(x.shape[i] == 0 for i in axes):
        raise ArgumentError(f"{what}: there are no entries", ("a", vec_type(x)), fix="an axis with entries")
    y = _reduced(_without(x, worst), axes, keepdims, how)
    if not dtypes.is_float(x.dtype):
        return y
    return _count(x, axes, keepdims).eq(0).where(float("nan"), y)


def _variance(a: Any, axis: Axes, ddof: int, keepdims: bool, what: str) -> Tensor:
    (x,) = floats(what, a=a)
    axes = axes_of(axis, x, what)
    count = _count(x, axes, True)
    mean = _reduced(_without(x, 0), axes, True, "sum") / count
    apart = x.isnan().where(0, _without(x, 0) - mean)
    left = _count(x, axes, keepdims) - number(ddof, what, "ddof")
    squares = _reduced(apart.square(), axes, keepdims, "sum")
    return (left > 0).where(squares / (left > 0).where(left, 1), float("nan")).cast(least_upper_float(x.dtype))
