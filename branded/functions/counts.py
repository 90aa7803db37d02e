"""Segment reductions, counts of values, and histograms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinygrad import Tensor, dtypes

from branded import tree
from branded.core.brand import S1, S2
from branded.core.tracing.recorded_calls import operation
from branded.core.validation.arguments import as_int
from branded.core.values import vec_type
from branded.errors import ArgumentError, OperandError
from branded.functions import _host
from branded.functions._order import keys
from branded.functions._validation import floats, ints, number, operand
from branded.tinygrad_compat.private_api import least_upper_float
from branded.vec import Vec


def _segments(data: Any, segment_ids: Any, num_segments: Any, reduction: str) -> Tensor:
    api_name = f"segment_{reduction}"
    x, ids = operand(data, api_name, "data"), ints(segment_ids, api_name, "segment_ids")
    num = number(num_segments, api_name, "num_segments")
    if ids.ndim != 1 or not x.ndim or x.shape[0] != ids.shape[0]:
        raise ArgumentError(
            f"{api_name}: segment_ids does not have one int per entry of data",
            ("data", vec_type(x)),
            ("segment_ids", vec_type(ids)),
            fix="pass data[n, ...] and segment_ids[n]",
        )
    return _by_number(x, ids, num, reduction)


def _by_number(x: Tensor, ids: Tensor, num: int, reduction: str) -> Tensor:
    """Reduce the entries of `x: [n, *rest]` with the same id, to `[num, *rest]`."""
    if ids.dtype not in (dtypes.int32, dtypes.int64):
        ids = ids.cast(dtypes.int64 if ids.dtype.itemsize >= 4 else dtypes.int32)
    mask = ids.eq(Tensor.arange(num, dtype=dtypes.int32).cast(ids.dtype).unsqueeze(1))
    return _REDUCTIONS[reduction](x, mask.reshape((*mask.shape, *[1] * (x.ndim - 1))))


def _extreme(x: Tensor, mask: Tensor, worst: Any, method: str) -> Tensor:
    """Reduce by max or min, and propagate NaN, which a kernel may skip."""
    y: Tensor = getattr(mask.where(x, worst), method)(1)
    return (mask & x.isnan()).any(1).where(float("nan"), y) if dtypes.is_float(x.dtype) else y


_REDUCTIONS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "sum": lambda x, mask: mask.where(x, 0).sum(1, dtype=x.dtype),
    "prod": lambda x, mask: mask.where(x, 1).prod(1),
    "max": lambda x, mask: _extreme(x, mask, x.dtype.min, "max"),
    "min": lambda x, mask: _extreme(x, mask, x.dtype.max, "min"),
}
"""The reductions of `x: [n, *rest]` under a mask `[num, n, *rest]`; the backend finds a scatter by the mask."""


@operation
def segment_sum(
    data: Vec[S1],
    segment_ids: Vec[S2],
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
) -> Vec[S1 | S2]:
    """Sum the entries of `data` by segment: `out[k] = Σ data[i] where segment_ids[i] == k`.

    Args:
        data: `Vec[S1, T[n, ...]]`.
        segment_ids: `Vec[S2, i32[n]]`, in any order.  Entries with an id out of range are ignored.
        num_segments: The number of segments.  It is required, because it determines a shape.
        indices_are_sorted: Accepted for compatibility with JAX; has no effect.
        unique_indices: Accepted for compatibility with JAX; has no effect.

    Returns:
        `Vec[S1 | S2, T[num_segments, ...]]`; 0 for an empty segment.

    Raises:
        OperandError: `data` is not a tensor, or `segment_ids` is not a tensor of ints.
        ArgumentError: The shapes do not match, or `num_segments` is missing or negative.

    Example:
        >>> from branded import segment_sum
        >>> from tinygrad import Tensor
        >>> segment_sum(Tensor([1, 2, 3, 4]), Tensor([0, 1, 0, 2]), num_segments=3).tolist()
        [4, 2, 4]

    Source: `jax.ops.segment_sum`.
    """
    return _segments(data, segment_ids, num_segments, "sum")


@operation
def segment_prod(
    data: Vec[S1],
    segment_ids: Vec[S2],
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
) -> Vec[S1 | S2]:
    """Multiply the entries of `data` by segment; an empty segment gives 1.

    Args:
        data: `Vec[S1, T[n, ...]]`.
        segment_ids: `Vec[S2, i32[n]]`, in any order.  Entries with an id out of range are ignored.
        num_segments: The number of segments.  It is required, because it determines a shape.
        indices_are_sorted: Accepted for compatibility with JAX; has no effect.
        unique_indices: Accepted for compatibility with JAX; has no effect.

    Returns:
        `Vec[S1 | S2, T[num_segments, ...]]`.

    Raises:
        OperandError: `data` is not a tensor, or `segment_ids` is not a tensor of ints.
        ArgumentError: The shapes do not match, or `num_segments` is missing or negative.

    Example:
        >>> from branded import segment_prod
        >>> from tinygrad import Tensor
        >>> segment_prod(Tensor([1, 2, 3, 4]), Tensor([0, 1, 0, 2]), num_segments=4).tolist()
        [3, 2, 4, 1]

    Source: `jax.ops.segment_prod`.
    """
    return _segments(data, segment_ids, num_segments, "prod")


@operation
def segment_max(
    data: Vec[S1],
    segment_ids: Vec[S2],
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
) -> Vec[S1 | S2]:
    """Find the largest entry of each segment; an empty segment gives -inf, or the least int.

    Args:
        data: `Vec[S1, T[n, ...]]`.
        segment_ids: `Vec[S2, i32[n]]`, in any order.  Entries with an id out of range are ignored.
        num_segments: The number of segments.  It is required, because it determines a shape.
        indices_are_sorted: Accepted for compatibility with JAX; has no effect.
        unique_indices: Accepted for compatibility with JAX; has no effect.

    Returns:
        `Vec[S1 | S2, T[num_segments, ...]]`.

    Raises:
        OperandError: `data` is not a tensor, or `segment_ids` is not a tensor of ints.
        ArgumentError: The shapes do not match, or `num_segments` is missing or negative.

    Example:
        >>> from branded import segment_max
        >>> from tinygrad import Tensor
        >>> segment_max(Tensor([1.0, 2.0, 3.0]), Tensor([0, 1, 0]), num_segments=3).tolist()
        [3.0, 2.0, -inf]

    Source: `jax.ops.segment_max`.
    """
    return _segments(data, segment_ids, num_segments, "max")


@operation
def segment_min(
    data: Vec[S1],
    segment_ids: Vec[S2],
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
) -> Vec[S1 | S2]:
    """Find the least entry of each segment; an empty segment gives inf, or the largest int.

    Args:
        data: `Vec[S1, T[n, ...]]`.
        segment_ids: `Vec[S2, i32[n]]`, in any order.  Entries with an id out of range are ignored.
        num_segments: The number of segments.  It is required, because it determines a shape.
        indices_are_sorted: Accepted for compatibility with JAX; has no effect.
        unique_indices: Accepted for compatibility with JAX; has no effect.

    Returns:
        `Vec[S1 | S2, T[num_segments, ...]]`.

    Raises:
        OperandError: `data` is not a tensor, or `segment_ids` is not a tensor of ints.
        ArgumentError: The shapes do not match, or `num_segments` is missing or negative.

    Example:
        >>> from branded import segment_min
        >>> from tinygrad import Tensor
        >>> segment_min(Tensor([1.0, 2.0, 3.0]), Tensor([0, 1, 0]), num_segments=2).tolist()
        [1.0, 2.0]

    Source: `jax.ops.segment_min`.
    """
    return _segments(data, segment_ids, num_segments, "min")


@operation
def bincount(
    x: Vec[S1], weights: Vec[S2] | None = None, minlength: int = 0, *, length: int | None = None
) -> Vec[S1 | S2]:
    """Count each int of `x`, or sum its weights: `out[k] = Σ weights[i] where x[i] == k`.

    Args:
        x: `Vec[S1, i32[n]]`.  Negative ints count as 0; ints from `length` on are ignored.
        weights: `Vec[S2, T[n]]`; by default 1 each.
        minlength: Accepted for compatibility with numpy; the length is always `length`.
        length: The length of the result.  It is required, because it determines a shape.

    Returns:
        `Vec[S1 | S2, i32[length]]`, or the dtype of `weights`.

    Raises:
        OperandError: `x` is not a tensor of ints, or `weights` is not a tensor.
        ArgumentError: The shapes do not match, or `length` is missing or negative.

    Example:
        >>> from branded import bincount
        >>> from tinygrad import Tensor
        >>> bincount(Tensor([0, 1, 1, 5]), length=4).tolist()
        [1, 2, 0, 0]

    Source: `jax.numpy.bincount`.
    """
    at, size = ints(x, "bincount", "x"), number(length, "bincount", "length")
    number(minlength, "bincount", "minlength")
    w = Tensor(1, dtype=dtypes.int32).expand(at.shape) if weights is None else operand(weights, "bincount", "weights")
    if at.ndim != 1 or w.shape != at.shape:
        facts = (("x", vec_type(at)), ("weights", vec_type(w)))
        raise ArgumentError("bincount: x and weights are not two vectors of the same length", *facts, fix="x.flatten()")
    return _by_number(w, at.maximum(0), size, "sum")


@operation
def histogram(
    a: Vec[S1],
    bins: int | Vec[S2] = 10,
    range: tuple[float, float] | None = None,
    weights: Vec[S2] | None = None,
    density: bool = False,
) -> tuple[Vec[S1 | S2], Vec[S1 | S2]]:
    """Count the entries in each bin, and return the counts and the edges of the bins.

    Args:
        a: `Vec[S1, T[...]]`, which is flattened.
        bins: The number of bins of equal width, or their edges `Vec[S2, f32[k + 1]]` in ascending order.
        range: The first and the last edge, if `bins` is an int; by default the least and the largest entry.
        weights: `Vec[S2, T[...]]`, the weight of each entry; 1 by default.
        density: Divide by the total count and the widths of the bins, so that the integral is 1.

    Returns:
        The counts `Vec[S1 | S2, f32[k]]` and the edges `Vec[S1 | S2, f32[k + 1]]`.  A bin includes its lower
        edge; the last bin also includes its upper edge.

    Raises:
        OperandError: An argument is not a tensor.
        ArgumentError: `bins` does not define a bin, or `weights` does not have the shape of `a`.

    Example:
        >>> from branded import histogram
        >>> from tinygrad import Tensor
        >>> counts, edges = histogram(Tensor([1.0, 2.0, 2.5, 4.0]), bins=3, range=(1.0, 4.0))
        >>> counts.tolist(), edges.tolist()
        ([1.0, 2.0, 1.0], [1.0, 2.0, 3.0, 4.0])

    Source: `jax.numpy.histogram`.
    """
    given = operand(a, "histogram", "a")
    w = None if weights is None else floats("histogram", weights=weights)[0]
    if w is not None and w.shape != given.shape:
        facts = (("a", vec_type(given)), ("weights", vec_type(w)))
        raise ArgumentError("histogram: weights does not have the shape of a", *facts, fix="give one weight per entry")
    x = given.flatten().cast(least_upper_float(given.dtype))
    edges = _edges(x, bins, range)
    size = edges.shape[0] - 1
    mine, own, known = keys(x), keys(edges.cast(x.dtype)), x.isnan().logical_not()
    each = Tensor(1.0, dtype=x.dtype).expand(x.shape) if w is None else w.flatten()
    if _host.can_search(own, mine):
        # the last bin includes its upper edge; an entry outside all bins gets an id out of range
        at = mine.eq(own[-1]).where(size - 1, _host.search(own, mine, "right") - 1)
        counts = _by_number(each, known.where(at, -1), size, "sum")
    else:
        inside = known.unsqueeze(0) & _inside(mine.unsqueeze(0), own, size)
        counts = inside.where(each.unsqueeze(0), 0).sum(1, dtype=each.dtype)
    if density:
        counts = counts / (edges[1:] - edges[:-1]) / counts.sum()
    return counts, edges


def _inside(mine: Tensor, own: Tensor, size: int) -> Tensor:
    """Return a mask `[size, n]` of the entries in each bin."""
    upper = own[1:].unsqueeze(1)
    last = Tensor.arange(size, dtype=dtypes.int32).eq(size - 1).unsqueeze(1)
    return (own[:-1].unsqueeze(1) <= mine) & ((mine < upper) | (last & mine.eq(upper)))


def _edges(x: Tensor, bins: Any, range: Sequence[float] | None) -> Tensor:
    if as_int(bins) is None:
        edges = operand(bins, "histogram", "bins")
        if edges.ndim != 1 or edges.shape[0] < 2:
            raise ArgumentError(
                "histogram: bins is not a vector of edges",
                ("bins", vec_type(edges)),
                fix="pass an int, or edges f32[k + 1]",
            )
        return edges.cast(least_upper_float(edges.dtype))
    size = number(bins, "histogram", "bins", 1)
    if range is None:
        if not x.shape[0]:
            low, high = Tensor(0.0, dtype=x.dtype), Tensor(1.0, dtype=x.dtype)
        else:
            lost = x.isnan().any()
            low, high = (lost.where(float("nan"), v) for v in (x.min(), x.max()))
    else:
        if not isinstance(range, tuple | list) or len(range) != 2:
            raise OperandError(f"histogram: range is {tree.describe(range)}", fix="pass a pair of numbers")
        low, high = (operand(v, "histogram", "range").cast(x.dtype) for v in range)
    flat = low.eq(high)
    low, high = flat.where(low - 0.5, low), flat.where(high + 0.5, high)
    at = Tensor.arange(size + 1, dtype=dtypes.int32)
    part = at.cast(x.dtype) / size
    return at.eq(size).where(high, low * (1 - part) + high * part)
