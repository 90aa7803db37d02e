"""Sums by a number that each entry has: of segments, of bins, of values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from tinygrad import Tensor, dtypes

from branded import tree
from branded.brand import Brand
from branded.errors import ArgumentError, OperandError
from branded.functions._given import floats, ints, number, operand
from branded.functions._order import keys
from branded.patches.tg import least_upper_float
from branded.recording.calls import operation
from branded.values import vec_type
from branded.vec import Vec

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)

Reduce = Callable[[Tensor, Tensor], Tensor]
"""The reduction of `[num, n, ...]` values over n, of which a mask `[num, n, ...]` says which are there."""


def _segments(data: Any, segment_ids: Any, num_segments: Any, what: str, reduce: Reduce) -> Tensor:
    x, ids = operand(data, what, "data"), ints(segment_ids, what, "segment_ids")
    num = number(num_segments, what, "num_segments")
    if ids.ndim != 1 or not x.ndim or x.shape[0] != ids.shape[0]:
        raise ArgumentError(
            f"{what}: segment_ids does not have one int for each entry of data",
            ("data", vec_type(x)),
            ("segment_ids", vec_type(ids)),
            fix="data[n, ...] and segment_ids[n]",
        )
    return reduce(x.unsqueeze(0), _members(ids, num).reshape((num, ids.shape[0], *[1] * (x.ndim - 1))))


def _members(ids: Tensor, num: int) -> Tensor:
    """Which entries have each number, `[num, n]`."""
    return ids.unsqueeze(0).eq(Tensor.arange(num, dtype=dtypes.int32).cast(ids.dtype).unsqueeze(1))


def _sum(x: Tensor, mask: Tensor) -> Tensor:
    return mask.where(x, 0).sum(1, dtype=x.dtype)


def _least(x: Tensor) -> Any:
    return False if x.dtype == dtypes.bool else x.dtype.min


def _most(x: Tensor) -> Any:
    return True if x.dtype == dtypes.bool else x.dtype.max


def _extreme(x: Tensor, mask: Tensor, worst: Any, how: str) -> Tensor:
    """NaN where one of them is, which a kernel may pass over."""
    y: Tensor = getattr(mask.where(x, worst), how)(1)
    return (mask & x.isnan()).any(1).where(float("nan"), y) if dtypes.is_float(x.dtype) else y


@operation
def segment_sum(
    data: Vec[S1],
    segment_ids: Vec[S2],
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
) -> Vec[S1 | S2]:
    """The sums of the entries of `data` with the same number: `out[k] = Σ data[i] where segment_ids[i] == k`.

    Args:
        data: `Vec[S1, T[n, ...]]`.
        segment_ids: `Vec[S2, i32[n]]`, in any order.  Entries with a number out of range are in no segment.
        num_segments: How many segments there are, which is a shape, so it must be given.
        indices_are_sorted: As in JAX, where it is a promise that makes it faster; here it changes nothing.
        unique_indices: The same.

    Returns:
        `Vec[S1 | S2, T[num_segments, ...]]`; 0 where there is no entry.

    Raises:
        OperandError: `data` is not a tensor, or `segment_ids` are no ints.
        ArgumentError: They do not fit each other, or `num_segments` is not given or below 0.

    Example:
        >>> from branded import segment_sum
        >>> from tinygrad import Tensor
        >>> segment_sum(Tensor([1, 2, 3, 4]), Tensor([0, 1, 0, 2]), num_segments=3).tolist()
        [4, 2, 4]

    Source: `jax.ops.segment_sum`.
    """
    return _segments(data, segment_ids, num_segments, "segment_sum", _sum)


@operation
def segment_prod(
    data: Vec[S1],
    segment_ids: Vec[S2],
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
) -> Vec[S1 | S2]:
    """The products of the entries of `data` with the same number; 1 where there is none.

    Args:
        data: `Vec[S1, T[n, ...]]`.
        segment_ids: `Vec[S2, i32[n]]`, in any order.  Entries with a number out of range are in no segment.
        num_segments: How many segments there are, which is a shape, so it must be given.
        indices_are_sorted: As in JAX, where it is a promise that makes it faster; here it changes nothing.
        unique_indices: The same.

    Returns:
        `Vec[S1 | S2, T[num_segments, ...]]`.

    Raises:
        OperandError: `data` is not a tensor, or `segment_ids` are no ints.
        ArgumentError: They do not fit each other, or `num_segments` is not given or below 0.

    Example:
        >>> from branded import segment_prod
        >>> from tinygrad import Tensor
        >>> segment_prod(Tensor([1, 2, 3, 4]), Tensor([0, 1, 0, 2]), num_segments=4).tolist()
        [3, 2, 4, 1]

    Source: `jax.ops.segment_prod`.
    """
    return _segments(data, segment_ids, num_segments, "segment_prod", lambda x, mask: mask.where(x, 1).prod(1))


@operation
def segment_max(
    data: Vec[S1],
    segment_ids: Vec[S2],
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
) -> Vec[S1 | S2]:
    """The largest of the entries of `data` with the same number; -inf, of ints the least, where there is none.

    Args:
        data: `Vec[S1, T[n, ...]]`.
        segment_ids: `Vec[S2, i32[n]]`, in any order.  Entries with a number out of range are in no segment.
        num_segments: How many segments there are, which is a shape, so it must be given.
        indices_are_sorted: As in JAX, where it is a promise that makes it faster; here it changes nothing.
        unique_indices: The same.

    Returns:
        `Vec[S1 | S2, T[num_segments, ...]]`.

    Raises:
        OperandError: `data` is not a tensor, or `segment_ids` are no ints.
        ArgumentError: They do not fit each other, or `num_segments` is not given or below 0.

    Example:
        >>> from branded import segment_max
        >>> from tinygrad import Tensor
        >>> segment_max(Tensor([1.0, 2.0, 3.0]), Tensor([0, 1, 0]), num_segments=3).tolist()
        [3.0, 2.0, -inf]

    Source: `jax.ops.segment_max`.
    """
    return _segments(data, segment_ids, num_segments, "segment_max", lambda x, m: _extreme(x, m, _least(x), "max"))


@operation
def segment_min(
    data: Vec[S1],
    segment_ids: Vec[S2],
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
) -> Vec[S1 | S2]:
    """The least of the entries of `data` with the same number; inf, of ints the largest, where there is none.

    Args:
        data: `Vec[S1, T[n, ...]]`.
        segment_ids: `Vec[S2, i32[n]]`, in any order.  Entries with a number out of range are in no segment.
        num_segments: How many segments there are, which is a shape, so it must be given.
        indices_are_sorted: As in JAX, where it is a promise that makes it faster; here it changes nothing.
        unique_indices: The same.

    Returns:
        `Vec[S1 | S2, T[num_segments, ...]]`.

    Raises:
        OperandError: `data` is not a tensor, or `segment_ids` are no ints.
        ArgumentError: They do not fit each other, or `num_segments` is not given or below 0.

    Example:
        >>> from branded import segment_min
        >>> from tinygrad import Tensor
        >>> segment_min(Tensor([1.0, 2.0, 3.0]), Tensor([0, 1, 0]), num_segments=2).tolist()
        [1.0, 2.0]

    Source: `jax.ops.segment_min`.
    """
    return _segments(data, segment_ids, num_segments, "segment_min", lambda x, m: _extreme(x, m, _most(x), "min"))


@operation
def bincount(
    x: Vec[S1], weights: Vec[S2] | None = None, minlength: int = 0, *, length: int | None = None
) -> Vec[S1 | S2]:
    """How often each int stands in `x`, or the sum of its weights: `out[k] = Σ weights[i] where x[i] == k`.

    Args:
        x: `Vec[S1, i32[n]]`.  Ints below 0 count as 0, those from `length` on not at all.
        weights: `Vec[S2, T[n]]`; by default 1 each.
        minlength: As in numpy, where it is the least length: here that is `length`.
        length: How many there are in the result, which is a shape, so it must be given.

    Returns:
        `Vec[S1 | S2, i32[length]]`, or of the dtype of `weights`.

    Raises:
        OperandError: `x` are no ints, or `weights` is not a tensor.
        ArgumentError: They do not fit each other, or `length` is not given or below 0.

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
        raise ArgumentError("bincount: x and weights are not two sequences of one length", *facts, fix="x.flatten()")
    return _sum(w.unsqueeze(0), _members(at.maximum(0), size))


@operation
def histogram(
    a: Vec[S1],
    bins: int | Vec[S2] = 10,
    range: tuple[float, float] | None = None,
    weights: Vec[S2] | None = None,
    density: bool = False,
) -> tuple[Vec[S1 | S2], Vec[S1 | S2]]:
    """How many entries are in each of some ranges, and the edges of these.

    Args:
        a: `Vec[S1, T[...]]`, which is flattened.
        bins: How many ranges of equal size there are; or their edges, `Vec[S2, f32[k + 1]]`, in ascending order.
        range: The least and the largest edge, where `bins` is an int; by default those of the entries.
        weights: `Vec[S2, T[...]]`: what each entry counts, in place of 1.
        density: Divide by the number of entries and the sizes of the ranges, so that the integral is 1.

    Returns:
        The counts `Vec[S1 | S2, f32[k]]` and the edges `Vec[S1 | S2, f32[k + 1]]`.  A range has its lower edge, and the
        last one also its upper one.

    Raises:
        OperandError: An argument is not a tensor.
        ArgumentError: There is no range, or `weights` does not have the shape of `a`.

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
        raise ArgumentError("histogram: weights does not have the shape of a", *facts, fix="one for each entry")
    x = given.flatten().cast(least_upper_float(given.dtype))
    edges = _edges(x, bins, range)
    size = edges.shape[0] - 1
    mine = keys(x).unsqueeze(0)
    own = keys(edges.cast(x.dtype))
    upper = own[1:].unsqueeze(1)
    last = Tensor.arange(size, dtype=dtypes.int32).eq(size - 1).unsqueeze(1)
    known = x.isnan().logical_not().unsqueeze(0)
    inside = known & (own[:-1].unsqueeze(1) <= mine) & ((mine < upper) | (last & mine.eq(upper)))
    one: Any = 1.0 if w is None else w.flatten().unsqueeze(0)
    to = x.dtype if w is None else w.dtype
    counts = inside.where(one, 0).cast(to).sum(1, dtype=to)
    if density:
        counts = counts / (edges[1:] - edges[:-1]) / counts.sum()
    return counts, edges


def _edges(x: Tensor, bins: Any, range: Sequence[float] | None) -> Tensor:
    if tree.as_int(bins) is None:
        edges = operand(bins, "histogram", "bins")
        if edges.ndim != 1 or edges.shape[0] < 2:
            raise ArgumentError("histogram: bins are not edges", ("bins", vec_type(edges)), fix="an int, or f32[k + 1]")
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
            raise OperandError(f"histogram: range is {tree.describe(range)}", fix="a pair of numbers")
        low, high = (operand(v, "histogram", "range").cast(x.dtype) for v in range)
    flat = low.eq(high)
    low, high = flat.where(low - 0.5, low), flat.where(high + 0.5, high)
    at = Tensor.arange(size + 1, dtype=dtypes.int32)
    part = at.cast(x.dtype) / size
    return at.eq(size).where(high, low * (1 - part) + high * part)
