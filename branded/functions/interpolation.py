"""Linear interpolation."""

from __future__ import annotations

from typing import Any

from tinygrad import Tensor, dtypes

from branded import tree
from branded.core.brand import S3, S1, S2
from branded.core.tracing.recorded_calls import operation
from branded.core.values import vec_type
from branded.errors import ArgumentError, OperandError
from branded.functions import _host
from branded.functions._order import keys, ranks
from branded.functions._validation import as_number, floats, operand
from branded.vec import Vec

MANY = 256
"""The number of knots above which a binary search is faster than vectorized comparisons with all of them."""


@operation
def interp(
    x: Vec[S1] | float,
    xp: Vec[S2],
    fp: Vec[S3],
    left: Vec[S3] | float | str | None = None,
    right: Vec[S3] | float | str | None = None,
    period: Vec[S3] | float | None = None,
) -> Vec[S1 | S2 | S3]:
    """Interpolate linearly between the points `(xp[i], fp[i])`, at `x`.

    Args:
        x: `Vec[S1, f32[...]]`.
        xp: `Vec[S2, f32[n]]`, in ascending order unless `period` is given.
        fp: `Vec[S3, f32[n]]`.
        left: The value left of the first point: a number, `"extrapolate"`, or None for `fp[0]`.
        right: The value right of the last point: a number, `"extrapolate"`, or None for `fp[-1]`.
        period: The period with which the points repeat; `left` and `right` are then ignored.

    Returns:
        `Vec[S1 | S2 | S3, f32[...]]`, with the shape of `x`.

    Raises:
        OperandError: An argument is not a tensor.
        ArgumentError: `xp` and `fp` are not non-empty vectors of the same length, or an option is invalid.

    Example:
        >>> from branded import interp
        >>> from tinygrad import Tensor
        >>> interp(Tensor([0.5, 1.5, 9.0]), Tensor([0.0, 1.0, 2.0]), Tensor([0.0, 10.0, 30.0])).tolist()
        [5.0, 20.0, 30.0]

    Source: `jax.numpy.interp`.
    """
    query, xs, ys = floats("interp", x=x, xp=xp, fp=fp)
    if xs.ndim != 1 or xs.shape != ys.shape or not xs.shape[0]:
        facts = (("xp", vec_type(xs)), ("fp", vec_type(ys)))
        raise ArgumentError(
            "interp: xp and fp are not two vectors of the same length", *facts, fix="pass xp: f32[n] and fp: f32[n]"
        )
    beyond = [_option(left, "left"), _option(right, "right")]
    if period is not None:
        query, xs, ys = _periodic(query, xs, ys, period)
        beyond = ["extrapolate", "extrapolate"]
    n = xs.shape[0]
    knots, wanted = keys(xs), keys(query)
    if n > MANY and _host.can_search(knots, wanted):
        i = _host.search(knots, wanted, "right")
    else:
        i = (knots <= wanted.unsqueeze(-1)).sum(-1, dtype=dtypes.int32)
    i = i.maximum(1).minimum(max(n - 1, 1))
    x0, x1, y0, y1 = (_take_clipped(v, j) for v in (xs, ys) for j in (i - 1, i))
    same = x1.eq(x0)
    f = same.where(y0, y0 + (query - x0) / same.where(1, x1 - x0) * (y1 - y0))
    for value, outside, edge in ((beyond[0], query < xs[0], ys[0]), (beyond[1], query > xs[-1], ys[-1])):
        if not isinstance(value, str):
            f = outside.where(edge if value is None else value, f)
    return f


def _take_clipped(x: Tensor, i: Tensor) -> Tensor:
    """Return `x[i]`, or the last entry for an index beyond it."""
    return x[i.minimum(x.shape[0] - 1)]


def _option(value: Any, name: str) -> Any:
    if value is None:
        return None
    if isinstance(value, str):
        if value == "extrapolate":
            return value
        raise ArgumentError(f"interp: {name} is {tree.describe(value)}", fix="pass a number, or 'extrapolate'")
    return operand(value, "interp", name)


def _periodic(query: Tensor, xs: Tensor, ys: Tensor, period: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Map all positions into one period, sort the points, and add one point on each side."""
    constant = as_number(period)
    if constant is None and not isinstance(period, Tensor):
        raise OperandError(f"interp: period is {tree.describe(period)}", fix="pass a number")
    if constant == 0:
        raise ArgumentError("interp: the period is 0", fix="use another number")
    size = operand(period, "interp", "period").cast(xs.dtype).abs() if constant is None else abs(constant)
    if isinstance(size, Tensor) and size.ndim:
        raise ArgumentError(
            "interp: period is not a scalar", ("period", vec_type(size)), fix="use vmap for several periods"
        )
    query, xs = (v - (v / size).floor() * size for v in (query, xs))
    rank = ranks(xs)
    place = rank.unsqueeze(0).eq(Tensor.arange(xs.shape[0], dtype=dtypes.int32).unsqueeze(1))
    xs, ys = (place.where(v.unsqueeze(0), 0).sum(1, dtype=v.dtype) for v in (xs, ys))
    xs = (xs[-1:] - size).cat(xs, xs[:1] + size)
    ys = ys[-1:].cat(ys, ys[:1])
    return query, xs, ys
