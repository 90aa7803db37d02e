"""Slices at offsets that depend on values, and updates of entries as new tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import EllipsisType
from typing import Any, Literal, Union, cast

from tinygrad import Tensor, dtypes
from tinygrad.dtype import strong_dtype

from branded import tree
from branded.core.brand import S3, S, S1, S2
from branded.core.numpy_masks import masks_to_positions
from branded.core.tracing.recorded_calls import operation
from branded.core.values import vec_type
from branded.errors import ArgumentError, OperandError
from branded.functions._validation import ints, number, operand
from branded.tinygrad_compat.private_api import broadcast_shape, least_upper_dtype
from branded.vec import Vec

Index = Union["Vec[S]", int, slice, EllipsisType, None, "Sequence[Index[S]]"]
"""The index in `x[...]`: an int, a slice, a tensor of ints, or a tuple of these."""


@operation
def dynamic_slice(
    operand: Vec[S1], start_indices: Vec[S2] | Sequence[Vec[S2] | int], slice_sizes: Sequence[int]
) -> Vec[S1 | S2]:
    """Read a slice of a fixed size at an offset that may depend on values: `x[start:start + size]` along each axis.

    A negative start counts from the end of its axis.  A start is moved so that the slice lies within the axis.

    Args:
        operand: `Vec[S1, T[n, ...]]`.
        start_indices: The start for each axis: scalar ints, or one `Vec[S2, i32[axes]]`.
        slice_sizes: The size for each axis.

    Returns:
        `Vec[S1 | S2, T[*slice_sizes]]`.

    Raises:
        OperandError: `operand` is not a tensor, or a start is not an int.
        ArgumentError: There is not one start and one size for each axis, or a size exceeds its axis.

    Example:
        >>> from branded import dynamic_slice
        >>> from tinygrad import Tensor
        >>> x = Tensor.arange(12).reshape(3, 4)
        >>> dynamic_slice(x, (Tensor(1), 2), (2, 2)).tolist()
        [[6, 7], [10, 11]]
        >>> dynamic_slice(x, (0, Tensor(9)), (1, 3)).tolist()
        [[1, 2, 3]]

    Source: `jax.lax.dynamic_slice`.
    """
    api_name = "dynamic_slice"
    x = _strong_operand(operand, api_name, "operand")
    sizes = _check_sizes(slice_sizes, x, api_name)
    starts = _starts(start_indices, x, sizes, api_name)
    return _take(x, {k: start + _range(sizes[k]) for k, start in starts.items()})


@operation
def dynamic_update_slice(
    operand: Vec[S1], update: Vec[S2], start_indices: Vec[S3] | Sequence[Vec[S3] | int]
) -> Vec[S1 | S2 | S3]:
    """Return a tensor with a slice replaced, at an offset that may depend on values.

    Args:
        operand: `Vec[S1, T[n, ...]]`.
        update: `Vec[S2, T[k, ...]]`, the new slice, with as many axes as `operand`.
        start_indices: The start for each axis, as in `dynamic_slice`.

    Returns:
        `Vec[S1 | S2 | S3, T[n, ...]]`.

    Raises:
        OperandError: An argument is not a tensor, or `update` does not fit the dtype of `operand`.
        ArgumentError: `update` has another number of axes or exceeds an axis, or the starts are not one for each axis.

    Example:
        >>> from branded import dynamic_update_slice
        >>> from tinygrad import Tensor
        >>> dynamic_update_slice(Tensor([1, 2, 3, 4]), Tensor([8, 9]), (Tensor(1),)).tolist()
        [1, 8, 9, 4]

    Source: `jax.lax.dynamic_update_slice`.
    """
    api_name = "dynamic_update_slice"
    x = _strong_operand(operand, api_name, "operand")
    new = _new_entries(update, x, api_name, "update")
    sizes = _check_sizes(new.shape, x, api_name)
    starts = _starts(start_indices, x, sizes, api_name)
    if 0 in sizes:
        return x
    places = {k: _range(int(x.shape[k])) - start for k, start in starts.items()}
    inside = Tensor(True)
    for k, place in places.items():
        one = _range(int(x.shape[k])).eq(starts[k])  # `in_place` finds the entry in this form
        is_here = one if sizes[k] == 1 else (place >= 0) & (place < sizes[k])
        inside = inside & is_here.reshape(-1, *(1,) * (x.ndim - k - 1))
    return inside.where(_take(new, {k: _between(place, sizes[k] - 1) for k, place in places.items()}), x)


@operation
def index_update(x: Vec[S1], idx: Index[S2], y: Vec[S3] | float) -> Vec[S1 | S2 | S3]:
    """Return `x` with the entries at an index replaced by `y`: `x[idx] = y` as a new tensor.

    Entries out of range are ignored, and negative indices count from the end, as in `x[idx]`. If an
    index is repeated, the last entry is written.

    Args:
        x: `Vec[S1, T[...]]`.
        idx: The index of `x[idx]`: an int, a slice, ints `Vec[S2, i32[...]]`, a numpy mask, or a tuple of these.
        y: `Vec[S3, T[...]]`, which broadcasts to `x[idx]`.

    Returns:
        `Vec[S1 | S2 | S3, T[...]]`, of the shape and dtype of `x`.

    Raises:
        OperandError: `x` or `y` is not a tensor, or `y` does not fit the dtype of `x`, such as floats for ints.
        ArgumentError: `y` does not broadcast to `x[idx]`, or `idx` is a mask that is a tensor.

    Example:
        >>> from branded import index_update
        >>> from tinygrad import Tensor
        >>> index_update(Tensor([1, 2, 3, 4]), Tensor([3, 0]), Tensor([8, 9])).tolist()
        [9, 2, 3, 8]

    Source: `jax.numpy.ndarray.at`.
    """
    return _update(x, idx, y, "index_update", None)


@operation
def index_add(x: Vec[S1], idx: Index[S2], y: Vec[S3] | float) -> Vec[S1 | S2 | S3]:
    """Return `x` with `y` added to the entries at an index; for repeated indices, all entries of `y` are added.

    Args:
        x: `Vec[S1, T[...]]`.
        idx: The index of `x[idx]`: an int, a slice, ints `Vec[S2, i32[...]]`, a numpy mask, or a tuple of these.
        y: `Vec[S3, T[...]]`, which broadcasts to `x[idx]`.

    Returns:
        `Vec[S1 | S2 | S3, T[...]]`, of the shape and dtype of `x`.

    Raises:
        OperandError: `x` or `y` is not a tensor, or `y` does not fit the dtype of `x`, such as floats for ints.
        ArgumentError: `y` does not broadcast to `x[idx]`, or `idx` is a mask that is a tensor.

    Example:
        >>> from branded import index_add
        >>> from tinygrad import Tensor
        >>> index_add(Tensor([1, 2, 3, 4]), Tensor([3, 0, 3]), 10).tolist()
        [11, 2, 3, 24]

    Source: `jax.numpy.ndarray.at`.
    """
    return _update(x, idx, y, "index_add", "sum")


@operation
def index_mul(x: Vec[S1], idx: Index[S2], y: Vec[S3] | float) -> Vec[S1 | S2 | S3]:
    """Return `x` with the entries at an index multiplied by `y`; for repeated indices, by each entry of `y`.

    Args:
        x: `Vec[S1, T[...]]`.
        idx: The index of `x[idx]`: an int, a slice, ints `Vec[S2, i32[...]]`, a numpy mask, or a tuple of these.
        y: `Vec[S3, T[...]]`, which broadcasts to `x[idx]`.

    Returns:
        `Vec[S1 | S2 | S3, T[...]]`, of the shape and dtype of `x`.

    Raises:
        OperandError: `x` or `y` is not a tensor, or `y` does not fit the dtype of `x`, such as floats for ints.
        ArgumentError: `y` does not broadcast to `x[idx]`, or `idx` is a mask that is a tensor.

    Example:
        >>> from branded import index_mul
        >>> from tinygrad import Tensor
        >>> index_mul(Tensor([1, 2, 3, 4]), Tensor([3, 0, 3]), 10).tolist()
        [10, 2, 3, 400]

    Source: `jax.numpy.ndarray.at`.
    """
    return _update(x, idx, y, "index_mul", "prod")


@operation
def index_min(x: Vec[S1], idx: Index[S2], y: Vec[S3] | float) -> Vec[S1 | S2 | S3]:
    """Return `x` with the entries at an index replaced by `y` where it is smaller.

    Args:
        x: `Vec[S1, T[...]]`.
        idx: The index of `x[idx]`: an int, a slice, ints `Vec[S2, i32[...]]`, a numpy mask, or a tuple of these.
        y: `Vec[S3, T[...]]`, which broadcasts to `x[idx]`.

    Returns:
        `Vec[S1 | S2 | S3, T[...]]`, of the shape and dtype of `x`.

    Raises:
        OperandError: `x` or `y` is not a tensor, or `y` does not fit the dtype of `x`, such as floats for ints.
        ArgumentError: `y` does not broadcast to `x[idx]`, or `idx` is a mask that is a tensor.

    Example:
        >>> from branded import index_min
        >>> from tinygrad import Tensor
        >>> index_min(Tensor([1, 2, 3, 4]), slice(2, None), 3).tolist()
        [1, 2, 3, 3]

    Source: `jax.numpy.ndarray.at`.
    """
    return _update(x, idx, y, "index_min", "amin")


@operation
def index_max(x: Vec[S1], idx: Index[S2], y: Vec[S3] | float) -> Vec[S1 | S2 | S3]:
    """Return `x` with the entries at an index replaced by `y` where it is larger.

    Args:
        x: `Vec[S1, T[...]]`.
        idx: The index of `x[idx]`: an int, a slice, ints `Vec[S2, i32[...]]`, a numpy mask, or a tuple of these.
        y: `Vec[S3, T[...]]`, which broadcasts to `x[idx]`.

    Returns:
        `Vec[S1 | S2 | S3, T[...]]`, of the shape and dtype of `x`.

    Raises:
        OperandError: `x` or `y` is not a tensor, or `y` does not fit the dtype of `x`, such as floats for ints.
        ArgumentError: `y` does not broadcast to `x[idx]`, or `idx` is a mask that is a tensor.

    Example:
        >>> from branded import index_max
        >>> from tinygrad import Tensor
        >>> index_max(Tensor([1, 2, 3, 4]), slice(None, 2), 2).tolist()
        [2, 2, 3, 4]

    Source: `jax.numpy.ndarray.at`.
    """
    return _update(x, idx, y, "index_max", "amax")


_Method = Literal["sum", "prod", "amin", "amax"]
_COMBINED = {
    "index_update": "y",
    "index_add": "x + y",
    "index_mul": "x * y",
    "index_min": "x.minimum(y)",
    "index_max": "x.maximum(y)",
}
"""The new entries in terms of the old ones."""


def _update(x: Any, index: Any, y: Any, api_name: str, method: _Method | None) -> Tensor:
    """Return `x` with the entries at an index combined with `y`."""
    t = _strong_operand(x, api_name, "x")
    new = _new_entries(y, t, api_name, "y")
    positions = masks_to_positions(t, index)
    entries = [_as_index(i) for i in (positions if isinstance(positions, tuple) else (positions,))]
    if any(isinstance(i, Tensor) and i.dtype == dtypes.bool for i in entries):
        raise ArgumentError(
            f"{api_name}: idx is a mask, and the number of entries that it selects depends on its values",
            ("x", vec_type(t)),
            ("idx", tree.outline(index)),
            fix=f"idx.where({_COMBINED[api_name]}, x)",
        )
    while entries and isinstance(entries[-1], slice) and entries[-1] == slice(None):
        entries.pop()
    # axes after the last index are axes of each entry
    indexed = t.ndim if any(i is Ellipsis for i in entries) else sum(i is not None for i in entries)
    front, rest = t.shape[:indexed], t.shape[indexed:]
    n = math.prod(front)
    try:
        # the index is applied to the positions of the entries; 0, for an index out of range, becomes -1
        places = (_range(n).reshape(front) + 1)[tuple(entries)] - 1
    except IndexError as error:
        facts = (("x", vec_type(t)), ("idx", tree.outline(index)))
        says = f"{api_name}: idx is not an index of x: {error}"
        raise ArgumentError(says, *facts, fix="use ints, slices and int tensors, at most one per axis") from None
    shape = (*places.shape, *rest)
    try:
        values = new.expand(shape) if broadcast_shape(new.shape, shape) == shape else None
    except IndexError:
        values = None
    if values is None:
        raise ArgumentError(
            f"{api_name}: y does not broadcast to the entries at idx",
            ("x", vec_type(t)),
            ("y", vec_type(new)),
            ("the entries", f"of shape {shape}"),
            fix="use y of that shape, or with sizes of 1",
        )
    if 0 in (n, *shape):
        return t
    values = values.reshape(-1, *rest)
    at = places.reshape(-1, *(1,) * len(rest)).expand(values.shape)
    flat = t.reshape(n, *rest)
    out = flat.scatter(0, at, values) if method is None else flat.scatter_reduce(0, at, values, method)
    return cast("Tensor", out.reshape(t.shape).cast(t.dtype))  # a sum of small ints is wider


def _as_index(i: Any) -> Any:
    return i if (t := tree.as_tensor(i)) is None or isinstance(i, int) else t


def _check_sizes(sizes: Any, x: Tensor, api_name: str) -> list[int]:
    """Return the size of a slice along each axis of `x`."""
    fix = f"give {x.ndim} sizes, each at most the size of its axis"
    if not isinstance(sizes, tuple | list) or len(sizes) != x.ndim:
        raise ArgumentError(
            f"{api_name}: slice_sizes does not have one entry per axis",
            ("operand", vec_type(x)),
            ("sizes", tree.short_repr(sizes)),
            fix=fix,
        )
    found = [number(n, api_name, f"slice_sizes[{k}]") for k, n in enumerate(sizes)]
    if any(n > m for n, m in zip(found, x.shape, strict=True)):
        facts = (("operand", vec_type(x)), ("sizes", tree.short_repr(tuple(found))))
        raise ArgumentError(f"{api_name}: the slice is larger than the tensor", *facts, fix=fix)
    return found


def _starts(starts: Any, x: Tensor, sizes: Sequence[int], api_name: str) -> dict[int, Tensor]:
    """Return the start of a slice along each axis that it does not cover, so that the slice lies within the axis."""
    if not isinstance(starts, tuple | list):
        t = ints(starts, api_name, "start_indices")
        starts = [t[k] for k in range(t.shape[0])] if t.ndim == 1 else None
    if not isinstance(starts, tuple | list) or len(starts) != x.ndim:
        raise ArgumentError(
            f"{api_name}: start_indices does not have one int per axis",
            ("operand", vec_type(x)),
            fix="pass a tuple of scalars such as (i, 0), or a vector",
        )
    found = dict[int, Tensor]()
    for k, (start, size, n) in enumerate(zip(starts, sizes, x.shape, strict=True)):
        t = ints(start, api_name, f"start_indices[{k}]")
        if t.ndim:
            says = f"{api_name}: start_indices[{k}] is not a scalar"
            raise ArgumentError(says, ("start", vec_type(t)), fix="pass an int, or a 0-d tensor")
        if size < n:
            t = t.cast(least_upper_dtype(t.dtype, dtypes.int32))  # wide enough for the size of an axis
            found[k] = _between((t < 0).where(t + n, t), n - size)
    return found


def _range(n: int) -> Tensor:
    return Tensor.arange(n, dtype=dtypes.int32)


def _between(x: Tensor, most: int) -> Tensor:
    """Return `x.clamp(0, most)` in operations whose bounds tinygrad knows, so that it adds no check of the index."""
    return x.maximum(0).minimum(most)


def _take(x: Tensor, places: dict[int, Tensor]) -> Tensor:
    """Return the entries at all combinations of these indices, given for some axes."""
    if not places:
        return x
    order = [*places, *(k for k in range(x.ndim) if k not in places)]
    index = tuple(place.reshape(-1, *(1,) * (len(places) - i - 1)) for i, place in enumerate(places.values()))
    found = x.permute(order)[index]
    return found.permute([order.index(k) for k in range(x.ndim)])


def _new_entries(y: Any, x: Tensor, api_name: str, name: str) -> Tensor:
    """Return new entries of `x`, in its dtype."""
    t = operand(y, api_name, name)
    if least_upper_dtype(x.dtype, t.dtype) != x.dtype:
        facts = (("the tensor", vec_type(x)), (name, vec_type(t)))
        raise OperandError(
            f"{api_name}: {name} does not fit the dtype of the tensor", *facts, fix=f"{name}.cast(x.dtype)"
        )
    tree.check_fits(t, x.dtype, f"{api_name}: {name}")
    return t.cast(x.dtype)


def _strong_operand(x: Any, api_name: str, name: str) -> Tensor:
    t = operand(x, api_name, name)
    return t.cast(strong_dtype(t.dtype))
