"""Search: insertion points, the k largest entries, nonzero entries, and unique entries."""

from __future__ import annotations

import math
from typing import Any, Literal, overload

from tinygrad import Tensor, dtypes

from branded import tree
from branded.callbacks import sorting
from branded.core.brand import S, S1, S2
from branded.core.tracing.recorded_calls import operation
from branded.core.validation.arguments import as_int, normalize_axis
from branded.core.values import vec_type
from branded.errors import ArgumentError, OperandError
from branded.functions import _host, _validation
from branded.functions._order import at_rank, keys, standing
from branded.functions._validation import fit, ints, number, one_of, operand, operands
from branded.vec import Vec


@operation
def searchsorted(
    a: Vec[S1], v: Vec[S2] | float, side: str = "left", sorter: Vec[S1] | None = None, *, method: str = "scan"
) -> Vec[S1 | S2]:
    """Find insertion points in a sorted sequence: the number of entries of `a` before each entry of `v`.

    Args:
        a: `Vec[S1, T[n]]`, in ascending order, NaN last.
        v: `Vec[S2, T[...]]`, the values to insert.
        side: `"left"` counts smaller entries, `"right"` smaller or equal entries.
        sorter: `Vec[S1, i32[n]]`, the indices that sort `a`, if `a` is not sorted.
        method: Accepted for compatibility with JAX; has no effect.

    Returns:
        `Vec[S1 | S2, i32[...]]`, from 0 to n.

    Raises:
        OperandError: An argument is not a tensor.
        ArgumentError: `a` is not one-dimensional, `sorter` does not have its shape, or an option is unknown.

    Example:
        >>> from branded import searchsorted
        >>> from tinygrad import Tensor
        >>> searchsorted(Tensor([1, 2, 2, 3]), Tensor([2, 5])).tolist()
        [1, 4]
        >>> searchsorted(Tensor([1, 2, 2, 3]), 2, side="right").item()
        3

    Source: `jax.numpy.searchsorted`.
    """
    x, y = operands("searchsorted", a=a, v=v)
    one_of(side, "searchsorted", "side", ("left", "right"))
    one_of(method, "searchsorted", "method", ("scan", "scan_unrolled", "sort", "compare_all"))
    if x.ndim != 1:
        raise ArgumentError("searchsorted: a is not a vector", ("a", vec_type(x)), fix="use vmap over the other axes")
    if sorter is not None:
        order = ints(sorter, "searchsorted", "sorter")
        if order.shape != x.shape:
            facts = (("a", vec_type(x)), ("sorter", vec_type(order)))
            raise ArgumentError(
                "searchsorted: sorter does not have one int per entry of a", *facts, fix="pass sorter: i32[n]"
            )
        x = x[order] if x.shape[0] else x
    sorted_keys, wanted = keys(x), keys(y)
    if _host.can_search(sorted_keys, wanted):
        return _host.search(sorted_keys, wanted, side)
    wanted = wanted.unsqueeze(-1)
    return (sorted_keys < wanted if side == "left" else sorted_keys <= wanted).sum(-1, dtype=dtypes.int32)


@operation
def top_k(operand: Vec[S], k: int, *, axis: int = -1) -> tuple[Vec[S], Vec[S]]:
    """Find the k largest entries along an axis and their indices, in descending order.

    Args:
        operand: `Vec[S, T[..., n]]`.  NaN counts as the largest; equal entries keep their order.
        k: The number of entries, from 0 to n.
        axis: The axis to search.

    Returns:
        The values `Vec[S, T[..., k]]`, which are differentiable, and the indices `Vec[S, i32[..., k]]`.

    Raises:
        OperandError: `operand` is not a tensor, or `k` is not an int.
        ArgumentError: `k` is negative or greater than n.
        AxisRangeError: `axis` is out of range.

    Example:
        >>> from branded import grad, top_k
        >>> from tinygrad import Tensor
        >>> values, at = top_k(Tensor([3.0, 9.0, 5.0]), 2)
        >>> values.tolist(), at.tolist()
        ([9.0, 5.0], [1, 2])
        >>> grad(lambda x: top_k(x, 2)[0].sum())(Tensor([3.0, 9.0, 5.0])).tolist()
        [0.0, 1.0, 1.0]

    Source: `jax.lax.top_k`.
    """
    x = _validation.operand(operand, "top_k", "operand")
    dim = normalize_axis(axis, x, "top_k")
    n, m = x.shape[dim], number(k, "top_k", "k")
    if m > n:
        raise ArgumentError(f"top_k: k = {m} of {n} entries", ("operand", vec_type(x)), fix=f"use at most {n}")
    moved = x.transpose(dim, -1)
    places = Tensor.arange(m, dtype=dtypes.int32)
    if _host.can_stand(moved, places):
        values, indices = sorting.sort(moved, -1, True, m)
    else:
        indices = standing(moved, places, descending=True)
        values = moved.gather(-1, indices)
    return values.transpose(dim, -1), indices.transpose(dim, -1)


@operation
def nonzero(
    a: Vec[S], *, size: int | None = None, fill_value: Vec[S] | float | tuple[Vec[S] | float, ...] | None = None
) -> tuple[Vec[S], ...]:
    """Find the indices of the nonzero entries along each axis, in row-major order.

    Args:
        a: `Vec[S, T[...]]`, with at least one axis.
        size: The size of the result, which is truncated or filled: a shape cannot depend on values.
        fill_value: The fill index: an int or a tensor `Vec[S, i32[]]`, or one for each axis; 0 by default.

    Returns:
        A tuple of `Vec[S, i32[size]]`, one for each axis.

    Raises:
        OperandError: `a` is not a tensor, or `fill_value` is not an int.
        ArgumentError: `size` is missing or negative, `a` has no axis, or `fill_value` does not match its axes.

    Example:
        >>> from branded import nonzero
        >>> from tinygrad import Tensor
        >>> [i.tolist() for i in nonzero(Tensor([[0, 5], [7, 0]]), size=3, fill_value=-1)]
        [[0, 1, -1], [1, 0, -1]]

    Source: `jax.numpy.nonzero`.
    """
    return tuple(_nonzero(a, size, fill_value, "nonzero"))


@operation
def argwhere(
    a: Vec[S], *, size: int | None = None, fill_value: Vec[S] | float | tuple[Vec[S] | float, ...] | None = None
) -> Vec[S]:
    """Find the indices of the nonzero entries, one row for each entry, in row-major order.

    Args:
        a: `Vec[S, T[...]]`, with at least one axis.
        size: The number of rows, which are truncated or filled: a shape cannot depend on values.
        fill_value: The fill index: an int or a tensor `Vec[S, i32[]]`, or one for each axis; 0 by default.

    Returns:
        `Vec[S, i32[size, a.ndim]]`.

    Raises:
        OperandError: `a` is not a tensor, or `fill_value` is not an int.
        ArgumentError: `size` is missing or negative, or `a` has no axis.

    Example:
        >>> from branded import argwhere
        >>> from tinygrad import Tensor
        >>> argwhere(Tensor([[0, 5], [7, 0]]), size=2).tolist()
        [[0, 1], [1, 0]]

    Source: `jax.numpy.argwhere`.
    """
    return Tensor.stack(*_nonzero(a, size, fill_value, "argwhere"), dim=-1)


def _nonzero(a: Any, size: int | None, fill_value: Any, api_name: str) -> list[Tensor]:
    x, size = operand(a, api_name, "a"), number(size, api_name, "size")
    if not x.ndim:
        raise ArgumentError(f"{api_name}: a scalar has no indices", ("a", vec_type(x)), fix="x.reshape(1)")
    fill_values = fill_value if isinstance(fill_value, tuple) else (0 if fill_value is None else fill_value,) * x.ndim
    fills = [_index(v, fill_value, api_name) for v in fill_values]
    if len(fills) != x.ndim:
        raise ArgumentError(
            f"{api_name}: {len(fills)} numbers in fill_value for {x.ndim} axes",
            ("a", vec_type(x)),
            fix="give one number per axis",
        )
    is_nonzero = x.ne(0).flatten().contiguous()
    total = x.numel()
    if not total:
        return [v.expand(size) for v in fills]
    count = is_nonzero.cast(dtypes.int32).cumsum()
    rank = is_nonzero.where(count - 1, -1)
    places = Tensor.arange(size, dtype=dtypes.int32)
    index = at_rank(Tensor.arange(total, dtype=dtypes.int32), rank, places)
    out = []
    for i, fill in enumerate(fills):
        step = math.prod(x.shape[i + 1 :])
        out.append((places < count[-1]).where(index // step % x.shape[i], fill))
    return out


def _index(x: Any, whole: Any, api_name: str) -> Tensor:
    """Return the fill index of one axis as a tensor."""
    if isinstance(x, Tensor):
        index = ints(x, api_name, "fill_value")
        if index.ndim:
            raise OperandError(f"{api_name}: fill_value is {vec_type(index)}", fix="pass an int, or one per axis")
        return index.cast(dtypes.int32)
    n = as_int(x)
    if n is None:
        raise OperandError(f"{api_name}: fill_value is {tree.describe(whole)}", fix="pass an int")
    return Tensor(n, dtype=dtypes.int32)


@overload
def unique(
    ar: Vec[S],
    return_index: Literal[False] = False,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: Vec[S] | float | None = None,
) -> Vec[S]: ...
@overload
def unique(
    ar: Vec[S],
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: Vec[S] | float | None = None,
) -> tuple[Vec[S], ...]: ...
@operation
def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """Find the unique entries of `ar` in ascending order, as many as `size`.

    Args:
        ar: `Vec[S, T[...]]`, which is flattened unless `axis` is given.
        return_index: Also return the index of the first occurrence of each entry, `Vec[S, i32[size]]`.
        return_inverse: Also return the indices that rebuild `ar`, in its shape: `out[inverse]` is `ar`.
        return_counts: Also return how often each entry occurs, `Vec[S, i32[size]]`.
        axis: Compare the slices along this axis, in lexicographic order; None compares single entries.
        equal_nan: Whether all NaNs count as one entry.
        size: The size of the result, which is truncated or filled: a shape cannot depend on values.
        fill_value: The fill: a number, or a tensor that broadcasts to the result; the least entry by default.

    Returns:
        `Vec[S, T[size]]`, with the other axes of `ar` if `axis` is given; a tuple if more outputs are requested.

    Raises:
        OperandError: `ar` is not a tensor.
        ArgumentError: `size` is missing or negative, or `ar` is empty and there is no `fill_value`.
        AxisRangeError: `axis` is out of range.

    Example:
        >>> from branded import unique
        >>> from tinygrad import Tensor
        >>> values, counts = unique(Tensor([3, 1, 3, 3]), return_counts=True, size=3)
        >>> values.tolist(), counts.tolist()
        ([1, 3, 1], [1, 3, 0])

    Source: `jax.numpy.unique`.
    """
    array, n = operand(ar, "unique", "ar"), number(size, "unique", "size")
    dim = None if axis is None else normalize_axis(axis, array, "unique")
    x = array.flatten() if dim is None else array.transpose(0, dim)
    if not x.shape[0] and n and fill_value is None:
        raise ArgumentError(
            "unique: the tensor is empty, so nothing can fill the result",
            ("ar", vec_type(array)),
            fix="pass fill_value",
        )
    rest = x.shape[1:]
    rows = x.reshape(x.shape[0], math.prod(rest))
    group, first = _groups(rows, equal_nan)
    indices, places = Tensor.arange(x.shape[0], dtype=dtypes.int32), Tensor.arange(n, dtype=dtypes.int32)
    rank, there = first.where(group, -1), places < first.sum(dtype=dtypes.int32)
    zero = Tensor.arange(1, dtype=dtypes.int32)
    columns = rows.transpose(0, 1)
    values = at_rank(columns, rank, places).transpose(0, 1).reshape(n, *rest)
    if fill_value is None:
        fill = at_rank(columns, rank, zero).transpose(0, 1).reshape(1, *rest)
    else:
        fill = operand(fill_value, "unique", "fill_value")
        if fit("unique", ("the result", values, values.shape), ("fill_value", fill, fill.shape)) != values.shape:
            raise ArgumentError(
                "unique: fill_value is not a scalar", ("fill_value", vec_type(fill)), fix="pass a number"
            )
    values = there.reshape(n, *(1,) * len(rest)).where(values, fill).cast(x.dtype)
    values = values if dim is None else values.transpose(0, dim)
    if not (return_index or return_inverse or return_counts):
        return values
    out = [values]
    if return_index:
        out.append(there.where(at_rank(indices, rank, places), at_rank(indices, rank, zero)))
    if return_inverse:
        out.append(group if dim is not None else group.reshape(array.shape))
    if return_counts:
        out.append(group.unsqueeze(0).eq(places.unsqueeze(1)).sum(1, dtype=dtypes.int32))
    return tuple(out)


def _groups(rows: Tensor, equal_nan: bool) -> tuple[Tensor, Tensor]:
    """Return the group of each row of `[n, k]`, numbered in ascending order, and whether the row is its first."""
    n, k = rows.shape
    code = (keys(rows) if k else Tensor.zeros(n, 1, dtype=dtypes.int32)).contiguous()
    row, other = code.unsqueeze(1), code.unsqueeze(0)
    differs = other.ne(row)
    if k <= 1:
        equal, below = differs.logical_not().squeeze(-1), (other < row).squeeze(-1)
    else:
        decides = differs & differs.cast(dtypes.int32).cumsum(-1).eq(1)
        equal, below = differs.any(-1).logical_not(), (decides & (other < row)).any(-1)
    index = Tensor.arange(n, dtype=dtypes.int32)
    earlier = index < index.unsqueeze(1)
    if not equal_nan and k:
        alone = rows.isnan().any(-1)
        same = equal & (alone.logical_not() | index.eq(index.unsqueeze(1)))
        below, equal = below | (equal & same.logical_not() & earlier), same
    first = (equal & earlier).any(1).logical_not().contiguous()
    return (below & first).sum(1, dtype=dtypes.int32).contiguous(), first
