"""Arrays from nested lists, indexing along an axis, and products of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Union

from tinygrad import Tensor, dtypes
from tinygrad.dtype import DType, DTypeLike, strong_dtype

from branded import tree
from branded.core.brand import S, S1, S2
from branded.core.tracing.recorded_calls import operation
from branded.core.validation.arguments import as_int, normalize_axis
from branded.core.values import vec_type
from branded.errors import ArgumentError, OperandError
from branded.functions._validation import as_dtype, fit, ints, one_of, operand, operands
from branded.graph.uops import moveaxis
from branded.tinygrad_compat.private_api import least_upper_dtype
from branded.vec import Vec

Nested = Union["Vec[S]", float, "Sequence[Nested[S]]"]
"""A tensor, a number, or a list of these to any depth."""


@operation
def array(object: Nested[S], dtype: DTypeLike | None = None) -> Vec[S]:
    """Stack nested lists of numbers and tensors into a tensor: `array([a, b])[i]` is entry `i`.

    Args:
        object: A number, a tensor, or nested lists and tuples of them.  All entries of a list have the same shape.
        dtype: The dtype of the result; None for the dtype of the sum of all entries.

    Returns:
        `Vec[S, T[n, ..., *shape]]`, with an axis for each level of lists, then the axes of the tensors.

    Raises:
        OperandError: An entry is not a tensor or a number.
        ArgumentError: The entries of a list have different shapes, or `dtype` is not a dtype.

    Example:
        >>> from branded import array, vmap
        >>> from tinygrad import Tensor
        >>> turn = vmap(lambda t: array([[t.cos(), -t.sin(), 0], [t.sin(), t.cos(), 0], [0, 0, 1]]))
        >>> turn(Tensor([0.0, 3.1415927])).round().int().tolist()[1]
        [[-1, 0, 0], [0, -1, 0], [0, 0, 1]]

    Source: `jax.numpy.array`.
    """
    out_dtype = None if dtype is None else as_dtype(dtype, "array")
    tree.leaves(object)  # raises if a list contains itself
    x = _stack_nested(object, "the array", out_dtype)
    tree.check_fits(x, out_dtype or x.dtype, "array")
    return x.cast(out_dtype or strong_dtype(x.dtype))


def _stack_nested(x: Any, where: str, dtype: DType | None) -> Tensor:
    if not isinstance(x, list | tuple):
        return operand(x, "array", where)
    if not x:
        return Tensor([], dtype=dtypes.default_float)
    names = [f"{where}[{i}]" if where != "the array" else f"entry [{i}]" for i in range(len(x))]
    parts = [_stack_nested(v, name, dtype) for v, name in zip(x, names, strict=True)]
    odd = next((i for i, p in enumerate(parts) if p.shape != parts[0].shape), None)
    if odd is not None:
        inside = "" if where == "the array" else f" of {where}"
        raise ArgumentError(
            f"array: the entries{inside} have different shapes",
            ("[0]", vec_type(parts[0])),
            (f"[{odd}]", vec_type(parts[odd])),
            fix="use lists of equal lengths, and tensors of equal shapes",
        )
    to = dtype or least_upper_dtype(*(p.dtype for p in parts))
    for p, name in zip(parts, names, strict=True) if to not in dtypes.weaks else ():
        tree.check_fits(p, to, f"array: {name}")
    return Tensor.stack(*(p.cast(to) for p in parts))


_OUTSIDE = ("fill", "clip", "promise_in_bounds")


@operation
def take_along_axis(
    arr: Vec[S1], indices: Vec[S2], axis: int | None = -1, mode: str | None = None, fill_value: float | None = None
) -> Vec[S1 | S2]:
    """Take entries along an axis by index: `out[i, j] = arr[i, indices[i, j]]` for the last axis.

    Args:
        arr: `Vec[S1, T[..., n, ...]]`.
        indices: `Vec[S2, i32[..., m, ...]]`, with as many axes as `arr`; the other axes broadcast.  Negative indices
            count from the end.
        axis: The axis along which entries are taken; None flattens `arr`.
        mode: The result for an index out of range: `"fill"` or None for `fill_value`, `"clip"` for the nearest entry.
        fill_value: By default NaN for floats, the least int, the largest unsigned int, True for bools.

    Returns:
        `Vec[S1 | S2, T[..., m, ...]]`.

    Raises:
        OperandError: `arr` is not a tensor, or `indices` are not ints.
        ArgumentError: The numbers of axes differ, the other axes do not broadcast, or `mode` is unknown.
        AxisRangeError: `axis` is out of range.

    Example:
        >>> from branded import take_along_axis
        >>> from tinygrad import Tensor
        >>> x = Tensor([[3, 1, 2], [9, 8, 7]])
        >>> take_along_axis(x, x.argmin(1, keepdim=True), axis=1).tolist()
        [[1], [7]]

    Source: `jax.numpy.take_along_axis`.
    """
    api_name = "take_along_axis"
    x, index = operand(arr, api_name, "arr"), ints(indices, api_name, "indices")
    mode = one_of("fill" if mode is None else mode, api_name, "mode", _OUTSIDE)
    if axis is None:
        x, axis = x.flatten(), 0
    if x.ndim != index.ndim:
        raise ArgumentError(
            f"{api_name}: arr and indices have different ranks",
            ("arr", vec_type(x)),
            ("indices", vec_type(index)),
            fix="indices.unsqueeze(axis), or expand_dims(arr, axis)",
        )
    dim = normalize_axis(axis, x, api_name)
    n, m = x.shape[dim], index.shape[dim]
    sizes = fit(api_name, ("arr", x, _without(x, dim)), ("indices", index, _without(index, dim)))
    sizes = (*sizes[:dim], 1, *sizes[dim:])
    x = x.expand(*(n if i == dim else k for i, k in enumerate(sizes)))
    index = index.expand(*(m if i == dim else k for i, k in enumerate(sizes)))
    index = index.cast(least_upper_dtype(index.dtype, dtypes.int32))  # wide enough for the size of an axis
    place = (index < 0).where(index + n, index)
    if mode == "clip":
        return _entries(x, dim, place.clamp(0, n - 1))
    inside = (place >= 0) & (place < n)
    return inside.where(_entries(x, dim, place), _filler(x, fill_value, api_name))


def _without(x: Tensor, dim: int) -> list[int]:
    return [n for i, n in enumerate(x.shape) if i != dim]


def _entries(x: Tensor, dim: int, index: Tensor) -> Tensor:
    if x.shape[dim] == 0:
        return Tensor.zeros(index.shape, dtype=x.dtype)
    return x.gather(dim, index)


def _filler(x: Tensor, value: float | None, api_name: str) -> float | bool:
    if value is not None:
        if not isinstance(value, bool | int | float):
            raise OperandError(f"{api_name}: fill_value is {tree.describe(value)}", fix="pass a number")
        return value
    if dtypes.is_float(x.dtype):
        return float("nan")
    if x.dtype == dtypes.bool:
        return True
    edge: int = x.dtype.max if dtypes.is_unsigned(x.dtype) else x.dtype.min
    return edge


@operation
def outer(a: Vec[S1] | float, b: Vec[S2] | float) -> Vec[S1 | S2]:
    """Compute the outer product of the flattened arguments: `out[i, j] = a[i] * b[j]`.

    Args:
        a: `Vec[S1, T[n]]`.
        b: `Vec[S2, T[m]]`.

    Returns:
        `Vec[S1 | S2, T[n, m]]`.

    Raises:
        OperandError: An argument is not a tensor or a number.

    Example:
        >>> from branded import outer
        >>> from tinygrad import Tensor
        >>> outer(Tensor([1, 2]), Tensor([3, 4, 5])).tolist()
        [[3, 4, 5], [6, 8, 10]]

    Source: `jax.numpy.outer`.
    """
    x, y = operands("outer", a=a, b=b)
    return x.flatten().unsqueeze(1) * y.flatten().unsqueeze(0)


@operation
def kron(a: Vec[S1] | float, b: Vec[S2] | float) -> Vec[S1 | S2]:
    """Compute the Kronecker product: each entry of `a` times all of `b`.

    Args:
        a: `Vec[S1, T[n, m]]`, or any other number of axes.
        b: `Vec[S2, T[k, l]]`, or any other number of axes; missing axes are added in front.

    Returns:
        `Vec[S1 | S2, T[n * k, m * l]]`.

    Raises:
        OperandError: An argument is not a tensor or a number.

    Example:
        >>> from branded import kron
        >>> from tinygrad import Tensor
        >>> kron(Tensor([1, 10]), Tensor([[1, 2], [3, 4]])).tolist()
        [[1, 2, 10, 20], [3, 4, 30, 40]]

    Source: `jax.numpy.kron`.
    """
    x, y = operands("kron", a=a, b=b)
    rank = max(x.ndim, y.ndim)
    m, n = ((1,) * (rank - t.ndim) + t.shape for t in (x, y))
    left = x.reshape(tuple(k for size in m for k in (size, 1)))
    right = y.reshape(tuple(k for size in n for k in (1, size)))
    return (left * right).reshape(tuple(i * j for i, j in zip(m, n, strict=True)))


@operation
def cross(
    a: Vec[S1], b: Vec[S2], axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Vec[S1 | S2]:
    """Compute the cross product of 3D vectors; for 2D vectors, only its third component.

    Args:
        a: `Vec[S1, T[..., 3]]`, or 2.
        b: `Vec[S2, T[..., 3]]`, or 2; the other axes broadcast.
        axisa: The axis of the components of `a`.
        axisb: The axis of the components of `b`.
        axisc: The axis of the components of the result, if it has one.
        axis: Sets all three.

    Returns:
        `Vec[S1 | S2, T[..., 3]]`; `Vec[S1 | S2, T[...]]` if both have two components.

    Raises:
        OperandError: An argument is not a tensor.
        ArgumentError: A vector does not have two or three components, or the other axes do not broadcast.
        AxisRangeError: An axis is out of range.

    Example:
        >>> from branded import cross
        >>> from tinygrad import Tensor
        >>> cross(Tensor([1, 0, 0]), Tensor([0, 1, 0])).tolist()
        [0, 0, 1]

    Source: `jax.numpy.cross`.
    """
    x, y = operands("cross", a=a, b=b)
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = (moveaxis(t, normalize_axis(i, t, "cross"), -1) for t, i in ((x, axisa), (y, axisb)))
    if x.shape[-1] not in (2, 3) or y.shape[-1] not in (2, 3):
        raise ArgumentError(
            "cross: a vector must have two or three components",
            ("a", vec_type(x)),
            ("b", vec_type(y)),
            fix="pass the axis of the vectors as axis=",
        )
    fit("cross", ("a", x, x.shape[:-1]), ("b", y, y.shape[:-1]))
    if x.shape[-1] == y.shape[-1] == 2:
        return x[..., 0] * y[..., 1] - x[..., 1] * y[..., 0]
    u, v = ([*(t[..., i] for i in range(t.shape[-1])), t[..., 0] * 0][:3] for t in (x, y))
    parts = [u[i] * v[j] - u[j] * v[i] for i, j in ((1, 2), (2, 0), (0, 1))]
    out = Tensor.stack(*parts, dim=-1)
    return moveaxis(out, -1, normalize_axis(axisc, out, "cross"))


@operation
def trace(a: Vec[S], offset: int = 0, axis1: int = 0, axis2: int = 1) -> Vec[S]:
    """Sum a diagonal: `out = Σᵢ a[i, i + offset]`.

    Args:
        a: `Vec[S, T[n, m, ...]]`.
        offset: The diagonal to sum; positive offsets are above the main diagonal.
        axis1: The axis of the rows.
        axis2: The axis of the columns.

    Returns:
        `Vec[S, T[...]]`, without these two axes; i32 for small ints and bools, as in `Tensor.sum`.

    Raises:
        OperandError: `a` is not a tensor, or `offset` is not an int.
        AxisRangeError: An axis is out of range.
        ArgumentError: The axes are the same.

    Example:
        >>> from branded import trace
        >>> from tinygrad import Tensor
        >>> trace(Tensor([[1, 2], [3, 4]])).item(), trace(Tensor([[1, 2], [3, 4]]), 1).item()
        (5, 2)

    Source: `jax.numpy.trace`.
    """
    x = operand(a, "trace", "a")
    k = as_int(offset)
    if k is None:
        raise OperandError(f"trace: offset is {tree.describe(offset)}", fix="pass an int")
    i, j = normalize_axis(axis1, x, "trace"), normalize_axis(axis2, x, "trace")
    if i == j:
        raise ArgumentError(f"trace: axis1 and axis2 are both {i}", ("a", vec_type(x)), fix="use two different axes")
    k = max(-x.shape[i], min(k, x.shape[j]))
    return x.diagonal(k, i, j).sum(-1)


@operation
def convolve(a: Vec[S1], v: Vec[S2], mode: str = "full") -> Vec[S1 | S2]:
    """Convolve two sequences: `out[k] = Σⱼ a[k - j] * v[j]`.

    Args:
        a: `Vec[S1, T[n]]`.
        v: `Vec[S2, T[m]]`.
        mode: `"full"` for all n + m - 1 positions where the sequences overlap, `"same"` for the middle max(n, m)
            positions, `"valid"` for the positions where they overlap completely.

    Returns:
        `Vec[S1 | S2, T[k]]`.

    Raises:
        OperandError: An argument is not a tensor.
        ArgumentError: An argument is empty or is not one-dimensional, or `mode` is unknown.

    Example:
        >>> from branded import convolve
        >>> from tinygrad import Tensor
        >>> convolve(Tensor([1, 2, 3]), Tensor([1, 1])).tolist()
        [1, 3, 5, 3]

    Source: `jax.numpy.convolve`.
    """
    x, y = operands("convolve", a=a, v=v)
    one_of(mode, "convolve", "mode", ("full", "same", "valid"))
    if x.ndim != 1 or y.ndim != 1 or not x.shape[0] or not y.shape[0]:
        facts = (("a", vec_type(x)), ("v", vec_type(y)))
        raise ArgumentError(
            "convolve: both arguments must be non-empty vectors", *facts, fix="use vmap over the other axes"
        )
    if x.shape[0] < y.shape[0]:
        x, y = y, x
    n, m = x.shape[0], y.shape[0]
    start, size = {"full": (0, n + m - 1), "same": ((m - 1) // 2, n), "valid": (m - 1, n - m + 1)}[mode]
    padded = x.pad(((m - 1, m - 1),)).shrink(((start, start + size + m - 1),))
    return (padded.unfold(0, m, 1) * y.flip(0)).sum(1, dtype=x.dtype)
