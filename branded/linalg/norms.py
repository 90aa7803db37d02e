"""Norms, traces, matrix powers, chained products and the matrix exponential."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tinygrad import Tensor, dtypes

from branded import tree
from branded.control_flow.loops import scan
from branded.core.boundary import live_tensor
from branded.core.brand import S
from branded.core.tracing.recorded_calls import operation
from branded.core.validation.arguments import as_int
from branded.core.values import vec_type
from branded.errors import MatrixError, MatrixTypeError
from branded.linalg import spectra, systems
from branded.linalg.arguments import FLOATS, check_matrix, check_square, floats, numbers
from branded.vec import Vec

Order = float | str | None


@operation
def norm(x: Vec[S], ord: Order = None, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Vec[S]:
    """Compute the norm of a vector or a matrix.

    Args:
        x: `Vec[S, f32[...]]`.
        ord: None for the square root of the sum of squares.  For vectors: a number p for the p-norm, `inf` or `-inf`
            for the largest or smallest absolute value, 0 for the number of nonzero entries.  For matrices: "fro" as
            None, "nuc" for the sum of the singular values, 2 or -2 for the largest or smallest singular value, 1 or -1
            for the largest or smallest absolute column sum, inf or -inf for the row sums.
        axis: The axis of the vectors, or both axes of the matrices; None for all axes.
        keepdims: Keep the reduced axes with size 1.

    Returns:
        `Vec[S, f32[...]]`, without these axes; NaN if an entry is NaN.

    Raises:
        MatrixError: `ord` is unknown, or `axis` is not one or two axes of `x`.
        MatrixTypeError: `x` is not a tensor of numbers.

    Example:
        >>> from branded import linalg, vmap
        >>> from tinygrad import Tensor
        >>> vmap(linalg.norm)(Tensor([[3.0, 4.0], [5.0, 12.0]])).tolist()
        [5.0, 13.0]

    Source: `jax.numpy.linalg.norm`.
    """
    (v,) = numbers("norm", ("x", x))
    is_half = dtypes.is_float(v.dtype) and v.dtype not in FLOATS
    wide = v if v.dtype in FLOATS else v.cast(dtypes.float32)  # squares overflow float16 easily
    if ord is None and axis is None:
        out = wide.square().sum(tuple(range(v.ndim)), keepdim=keepdims).sqrt() if v.ndim else wide.abs()
    else:
        axes = _axes(wide, axis)
        out = _of_vectors(wide, ord, axes[0], keepdims) if len(axes) == 1 else _of_matrices(wide, ord, axes, keepdims)
    return out.cast(v.dtype) if is_half else out


def _axes(x: Tensor, axis: Any) -> tuple[int, ...]:
    entries = range(x.ndim) if axis is None else axis if isinstance(axis, tuple | list) else (axis,)
    indices = [as_int(i) for i in entries]
    if len(indices) not in (1, 2) or any(i is None or not -x.ndim <= i < x.ndim for i in indices):
        raise MatrixError(
            f"norm: axis={axis!r} are not one or two axes", ("x", vec_type(x)), fix="axis=-1 or axis=(-2, -1)"
        )
    axes = tuple(i % x.ndim for i in indices if i is not None)
    if len({*axes}) != len(axes):
        raise MatrixError(f"norm: axis={axis!r} names an axis twice", fix="use two different axes")
    return axes


def _unknown(ord: Any, api_name: str, fix: str) -> MatrixError:
    return MatrixError(f"norm: there is no norm of {api_name} of order {ord!r}", fix=fix)


def _of_vectors(x: Tensor, ord: Any, axis: int, keep: bool) -> Tensor:
    if isinstance(ord, str) or (ord is not None and not isinstance(ord, int | float)):
        raise _unknown(ord, "vectors", "use a number, inf or -inf")
    size = x.abs()
    if ord in (None, 2):
        return x.square().sum(axis, keepdim=keep).sqrt()
    if ord in (math.inf, -math.inf):
        return _extreme(size, axis, keep, largest=ord > 0)
    if ord == 0:
        return x.ne(0).sum(axis, keepdim=keep).cast(x.dtype)
    if ord == 1:
        return size.sum(axis, keepdim=keep)
    return size.pow(ord).sum(axis, keepdim=keep).pow(1 / ord)


def _extreme(sizes: Tensor, axis: int, keep: bool, largest: bool) -> Tensor:
    """Reduce by max or min, and propagate NaN, which tinygrad's reductions may skip."""
    if sizes.shape[axis] == 0:
        return sizes.sum(axis, keepdim=keep) if largest else sizes.min(axis, keepdim=keep)
    extreme = sizes.max(axis, keepdim=keep) if largest else sizes.min(axis, keepdim=keep)
    return sizes.isnan().any(axis, keepdim=keep).where(math.nan, extreme)


def _of_matrices(x: Tensor, ord: Any, axes: tuple[int, ...], keep: bool) -> Tensor:
    row, column = axes
    if ord in (None, "fro", "f"):
        return x.square().sum(axes, keepdim=keep).sqrt()
    if ord in (1, -1, math.inf, -math.inf):
        along, over = (row, column) if abs(ord) == 1 else (column, row)
        sums = x.abs().sum(along, keepdim=True)
        extreme = _extreme(sums, over, True, largest=ord > 0)
        return extreme if keep else extreme.squeeze(max(axes)).squeeze(min(axes))
    if ord not in ("nuc", 2, -2):
        raise _unknown(ord, "matrices", '"fro", "nuc", 1, -1, 2, -2, inf or -inf')
    rest = [i for i in range(x.ndim) if i not in axes]
    s = spectra.singular_values(x.permute(*rest, row, column))
    out = s.sum(-1) if ord == "nuc" else _extreme(s, -1, False, largest=ord == 2)
    return out.reshape(tuple(1 if i in axes else n for i, n in enumerate(x.shape))) if keep else out


@operation
def cond(x: Vec[S], p: Order = None) -> Vec[S]:
    """Compute the condition number of a matrix: the norm of `x` times the norm of its inverse.

    Args:
        x: `Vec[S, f32[m, n]]`.
        p: The order of the norm, as for matrices in `norm`.  None and 2 return the largest singular value divided by
            the smallest, -2 the smallest divided by the largest.  Other orders need a square matrix.

    Returns:
        `Vec[S, f32[]]`; infinite for a singular matrix, or 0 for -2; NaN if an entry is NaN.

    Raises:
        MatrixError: `p` is unknown, or `x` is empty, not a matrix, or not square where `p` needs it.
        MatrixTypeError: `x` is not a tensor of numbers, or is float16 or bfloat16.

    Example:
        >>> from branded import linalg, vmap
        >>> from tinygrad import Tensor
        >>> vmap(linalg.cond)(Tensor([[[1.0, 0.0], [0.0, 4.0]], [[1.0, 2.0], [2.0, 4.0]]]))[0].item()
        4.0

    Source: `jax.numpy.linalg.cond`.
    """
    (a,) = floats("cond", ("x", x))
    check_matrix("cond", "x", a)
    if 0 in a.shape[-2:]:
        raise MatrixError(f"cond: x is {vec_type(a)}, without entries", fix="pass a matrix with rows and columns")
    if p in (None, 2, -2):
        s = spectra.singular_values(a)
        ratio = s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    else:
        check_square("cond", "x", a)
        size, of_inverse = (_of_matrices(m, p, (a.ndim - 2, a.ndim - 1), False) for m in (a, systems.inv(a)))
        ratio = size * of_inverse
    is_singular = ratio.isnan() & a.isnan().any((-2, -1)).logical_not()
    return is_singular.where(math.inf, ratio)


@operation
def trace(x: Vec[S], offset: int = 0) -> Vec[S]:
    """Sum the diagonal of a matrix.

    Args:
        x: `Vec[S, f32[m, n]]`, or of ints.
        offset: The diagonal to sum: above the main diagonal if positive, below it if negative.

    Returns:
        `Vec[S, f32[]]`.

    Raises:
        MatrixError: `x` is not a matrix.
        MatrixTypeError: `x` is not a tensor of numbers.

    Example:
        >>> from branded import linalg
        >>> from tinygrad import Tensor
        >>> linalg.trace(Tensor([[1, 2], [3, 4]])).item()
        5

    Source: `jax.numpy.linalg.trace`.
    """
    v = live_tensor(x, "trace: x", MatrixTypeError, "a tensor of numbers")
    check_matrix("trace", "x", v)
    m, n = v.shape[-2:]
    on = (Tensor.arange(m).unsqueeze(1) + offset).eq(Tensor.arange(n).unsqueeze(0))
    return on.where(v, 0).sum((-2, -1))


@operation
def matrix_power(a: Vec[S], n: int) -> Vec[S]:
    """Multiply a matrix by itself n times: `a @ a @ ... @ a`; for negative n, use the inverse.

    Args:
        a: `Vec[S, f32[m, m]]`, or of ints.
        n: A Python int.

    Returns:
        `Vec[S, f32[m, m]]`, in the dtype of `a`; floats for negative n.

    Raises:
        MatrixError: `a` is not a square matrix.
        MatrixTypeError: `a` is not a tensor of numbers, `n` is not an int, or `n` is negative for float16 or bfloat16.

    Example:
        >>> from branded import linalg
        >>> from tinygrad import Tensor
        >>> linalg.matrix_power(Tensor([[1.0, 1.0], [1.0, 0.0]]), 10).tolist()
        [[89.0, 55.0], [55.0, 34.0]]

    Source: `jax.numpy.linalg.matrix_power`.
    """
    if (count := as_int(n)) is None:
        raise MatrixTypeError(f"matrix_power: n is {tree.describe(n)}", fix="pass a Python int")
    (x,) = (floats if count < 0 else numbers)("matrix_power", ("a", a))
    check_square("matrix_power", "a", x)
    if 0 in x.shape:
        return x
    if count == 0:
        return Tensor.eye(x.shape[-1], dtype=x.dtype).expand(*x.shape)
    x = systems.inv(x) if count < 0 else x
    count, out = abs(count), None
    while count:
        if count % 2:
            out = x if out is None else out @ x
        count //= 2
        x = x @ x if count else x
    assert out is not None
    return out


@operation
def multi_dot(arrays: Sequence[Vec[S]]) -> Vec[S]:
    """Multiply two or more matrices, in the order that takes the fewest multiplications.

    Args:
        arrays: `Vec[S, f32[m, n]]` each, or of ints; the first and the last may be vectors.

    Returns:
        `Vec[S, f32[m, n]]`; without the first axis if the first is a vector, without the last axis if the last is.

    Raises:
        MatrixError: There are fewer than two arrays, or their shapes do not match.
        MatrixTypeError: An array is not a tensor of numbers.

    Example:
        >>> from branded import linalg
        >>> from tinygrad import Tensor
        >>> linalg.multi_dot([Tensor.ones(2, 3), Tensor.ones(3, 4), Tensor.ones(4)]).tolist()
        [12.0, 12.0]

    Source: `jax.numpy.linalg.multi_dot`; T. Cormen et al., "Introduction to algorithms", 15.2.
    """
    if not isinstance(arrays, tuple | list) or len(arrays) < 2:
        raise MatrixError("multi_dot: a chain needs two or more matrices", fix="multi_dot([a, b, c])")
    xs = numbers("multi_dot", *((f"array {i + 1}", x) for i, x in enumerate(arrays)))
    first, last = xs[0].ndim == 1, xs[-1].ndim == 1
    xs[0] = xs[0].unsqueeze(0) if first else xs[0]
    xs[-1] = xs[-1].unsqueeze(1) if last else xs[-1]
    for i, x in enumerate(xs):
        if x.ndim != 2:
            raise MatrixError(f"multi_dot: array {i + 1} is {vec_type(x)}, not a matrix", fix="use vmap for batches")
        if i and xs[i - 1].shape[1] != x.shape[0]:
            raise MatrixError(
                f"multi_dot: array {i} has {xs[i - 1].shape[1]} columns, and array {i + 1} has {x.shape[0]} rows",
                (f"array {i}", vec_type(xs[i - 1])),
                (f"array {i + 1}", vec_type(x)),
                fix="transpose one of them, or change their order",
            )
    out = _product(xs, _splits([*(x.shape[0] for x in xs), xs[-1].shape[1]]), 0, len(xs) - 1)
    out = out.squeeze(0) if first else out
    return out.squeeze(-1) if last else out


def _splits(sizes: list[int]) -> dict[tuple[int, int], int]:
    """Find the best position to split each part of a chain."""
    n = len(sizes) - 1
    cost: dict[tuple[int, int], int] = {(i, i): 0 for i in range(n)}
    best: dict[tuple[int, int], int] = {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            ways = {k: cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j)}
            best[i, j] = min(ways, key=lambda k: ways[k])
            cost[i, j] = ways[best[i, j]]
    return best


def _product(xs: list[Tensor], best: dict[tuple[int, int], int], i: int, j: int) -> Tensor:
    if i == j:
        return xs[i]
    return _product(xs, best, i, best[i, j]) @ _product(xs, best, best[i, j] + 1, j)


_PADE = {
    3: (120.0, 60.0, 12.0, 1.0),
    5: (30240.0, 15120.0, 3360.0, 420.0, 30.0, 1.0),
    7: (17297280.0, 8648640.0, 1995840.0, 277200.0, 25200.0, 1512.0, 56.0, 1.0),
    13: (
        *(64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0),
        *(10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0),
    ),
}
"""The coefficients of the Padé numerators by order, constant term first."""


@operation
def expm(A: Vec[S], *, max_squarings: int = 16) -> Vec[S]:  # noqa: N803  as in JAX
    """Compute the matrix exponential I + A + A² / 2 + A³ / 6 + ...

    Args:
        A: `Vec[S, f32[n, n]]`.
        max_squarings: The maximum number of squarings; a matrix that needs more gives NaN.

    Returns:
        `Vec[S, f32[n, n]]`.

    Raises:
        MatrixError: `A` is not a square matrix, or `max_squarings` is not a non-negative int.
        MatrixTypeError: `A` is not a tensor of numbers, or is float16 or bfloat16.

    Example:
        >>> from branded import linalg
        >>> from tinygrad import Tensor
        >>> linalg.expm(Tensor([[0.0, 1.0], [0.0, 0.0]])).tolist()
        [[1.0, 1.0], [0.0, 1.0]]

    Source: `jax.scipy.linalg.expm`; N. Higham, "The scaling and squaring method for the matrix exponential
    revisited" (2005).
    """
    (x,) = floats("expm", ("A", A))
    check_square("expm", "A", x)
    most = as_int(max_squarings)
    if most is None or most < 0:
        raise MatrixError(
            f"expm: max_squarings={max_squarings!r} is not a number of squarings", fix="pass an int of 0 or more"
        )
    if 0 in x.shape:
        return x
    order, limit = (13, 5.371920351148152) if x.dtype == dtypes.float64 else (7, 3.925724783138660)
    size = x.abs().sum(-2).max(-1).detach()
    times = (size / limit).maximum(2.0**-60).log2().ceil().maximum(0).reshape(*x.shape[:-2], 1, 1)
    start = _pade_exponential(x / times.exp2(), order)
    steps = Tensor.arange(most).cast(x.dtype)
    done = scan(lambda r, i: ((i < times).where(r @ r, r), None), start, steps)[0] if most else start
    return (times <= most).where(done, math.nan)


def _pade_exponential(x: Tensor, order: int) -> Tensor:
    """Compute the exponential of a matrix of small norm by a Padé approximant."""
    c, eye = _PADE[order], Tensor.eye(x.shape[-1], dtype=x.dtype)
    square = x @ x
    even, odd, power = eye * c[0], eye * c[1], eye
    for k in range(2, order, 2):
        power = square if k == 2 else power @ square
        even, odd = even + power * c[k], odd + power * c[k + 1]
    odd = x @ odd
    return systems.solve(even - odd, even + odd)
