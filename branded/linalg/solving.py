"""Linear systems, Cholesky factors, inverses and determinants."""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, TypeVar

from tinygrad import Tensor

from branded.core.brand import Brand, S, S1, S2
from branded.core.tracing.recorded_calls import operation
from branded.core.values import vec_type
from branded.errors import MatrixError
from branded.linalg import determinants, systems
from branded.linalg.arguments import check_batches, check_square, floats
from branded.linalg.primitive import matrix_transpose
from branded.vec import Vec

Row = TypeVar("Row", bound=Brand)


@operation
def cholesky(a: Vec[S], *, upper: bool = False, symmetrize_input: bool = True) -> Vec[S]:
    """Compute the Cholesky factor: the lower triangular `l` with `l @ l.T == a`.

    Args:
        a: `Vec[S, f32[n, n]]`, symmetric and positive definite; leading axes are a batch.
        upper: Whether to return the upper triangular factor `u` with `u.T @ u == a` instead.
        symmetrize_input: Take the mean of `a` and its transpose; otherwise only the lower half is read.

    Returns:
        `Vec[S, f32[n, n]]`, with zeros in the other half; NaN if `a` is not positive definite.

    Raises:
        MatrixError: `a` is not a square matrix.
        MatrixTypeError: `a` is not a tensor of numbers, or is float16 or bfloat16.

    Example:
        >>> from branded import linalg
        >>> from tinygrad import Tensor
        >>> linalg.cholesky(Tensor([[4.0, 2.0], [2.0, 5.0]])).tolist()
        [[2.0, 0.0], [1.0, 2.0]]

    Source: `jax.numpy.linalg.cholesky`; I. Murray, "Differentiation of the Cholesky decomposition" (2016).
    """
    (x,) = floats("cholesky", ("a", a))
    check_square("cholesky", "a", x)
    low = _factor((x + matrix_transpose(x)) / 2 if symmetrize_input else x)
    return matrix_transpose(low) if upper else low


def _factor(x: Tensor) -> Tensor:
    return x if 0 in x.shape else systems.cholesky(x)


@operation
def solve(a: Vec[S1], b: Vec[S2]) -> Vec[S1 | S2]:
    """Solve `a @ x == b` for `x`.

    If `b` varies over a brand and `a` does not, the matrix is factored once.

    Args:
        a: `Vec[S1, f32[n, n]]`.
        b: `Vec[S2, f32[n]]`, or `f32[n, k]` for k right-hand sides; leading axes of both broadcast.

    Returns:
        `Vec[S1 | S2, f32[n]]`, or `f32[n, k]`; infinite or NaN if `a` is singular.

    Raises:
        MatrixError: `a` is not a square matrix, or the shape of `b` does not match.
        MatrixTypeError: An argument is not a tensor of numbers, or is float16 or bfloat16.

    Example:
        >>> from branded import linalg, vmap
        >>> from tinygrad import Tensor
        >>> a = Tensor([[2.0, 0.0], [1.0, 4.0]])
        >>> vmap(lambda b: linalg.solve(a, b))(Tensor([[2.0, 5.0], [4.0, 6.0]])).tolist()
        [[1.0, 1.0], [2.0, 1.0]]

    Source: `jax.numpy.linalg.solve`.
    """
    x, y = floats("solve", ("a", a), ("b", b))
    check_square("solve", "a", x)
    return _by_columns("solve", x, y, systems.solve)


def _by_columns(api_name: str, a: Tensor, b: Tensor, solve: Any, name: str = "a") -> Tensor:
    """Solve for one right-hand side `[n]` or for columns `[n, k]`; the solution has the shape of `b`."""
    if b.ndim == 0:
        raise MatrixError(f"{api_name}: b is {vec_type(b)}, a number", fix="pass a vector, or a matrix of columns")
    n = a.shape[-1]
    one = b.ndim == 1
    wide = b.unsqueeze(-1) if one else b
    if wide.shape[-2] != n:
        raise MatrixError(
            f"{api_name}: {name} has {n} rows, and b has {wide.shape[-2]}",
            (name, vec_type(a)),
            ("b", vec_type(b)),
            fix="b.unsqueeze(-1), if each row is one right-hand side" if b.shape[-1] == n else f"pass {n} rows",
        )
    batch = check_batches(api_name, (name, a), ("b", wide))
    nothing = 0 in (n, wide.shape[-1], *batch)
    x = wide.expand(*batch, *wide.shape[-2:]) if nothing else solve(a, wide)
    return x.squeeze(-1) if one else x


def _apply_trans(a: Tensor, trans: int | str, lower: bool, api_name: str) -> tuple[Tensor, bool]:
    """Apply `trans` to `a`; return the matrix and whether its lower half is read."""
    if trans in (0, "N"):
        return a, lower
    if trans in (1, "T", 2, "C"):
        return matrix_transpose(a), not lower
    raise MatrixError(f"{api_name}: trans={trans!r} is not a valid choice", fix="pass 0 for a, or 1 for its transpose")


@operation
def solve_triangular(
    a: Vec[S1], b: Vec[S2], trans: int | str = 0, lower: bool = False, unit_diagonal: bool = False
) -> Vec[S1 | S2]:
    """Solve `a @ x == b` for `x`, with a triangular `a`.

    Args:
        a: `Vec[S1, f32[n, n]]`; only one half is read.
        b: `Vec[S2, f32[n]]`, or `f32[n, k]` for k right-hand sides; leading axes of both broadcast.
        trans: 1 or "T" to solve `a.T @ x == b`.
        lower: Whether `a` is lower triangular.
        unit_diagonal: Whether to assume ones on the diagonal of `a`, without reading it.

    Returns:
        `Vec[S1 | S2, f32[n]]`, or `f32[n, k]`; infinite or NaN if `a` is singular.

    Raises:
        MatrixError: `a` is not a square matrix, or the shape of `b` does not match.
        MatrixTypeError: An argument is not a tensor of numbers, or is float16 or bfloat16.

    Example:
        >>> from branded import linalg
        >>> from tinygrad import Tensor
        >>> linalg.solve_triangular(Tensor([[2.0, 0.0], [1.0, 4.0]]), Tensor([2.0, 9.0]), lower=True).tolist()
        [1.0, 2.0]

    Source: `jax.scipy.linalg.solve_triangular`.
    """
    x, y = floats("solve_triangular", ("a", a), ("b", b))
    check_square("solve_triangular", "a", x)
    half, is_lower = _apply_trans(x, trans, lower, "solve_triangular")
    return _by_columns(
        "solve_triangular", half, y, lambda a, b: systems.solve_triangular(a, b, is_lower, unit_diagonal)
    )


def cho_factor(a: Vec[S], lower: bool = False) -> tuple[Vec[S], bool]:
    """Compute the Cholesky factor of `a` in the form that `cho_solve` takes.

    Args:
        a: `Vec[S, f32[n, n]]`, symmetric and positive definite.
        lower: Whether to compute the lower factor instead of the upper one.

    Returns:
        `(c, lower)`, with `c: Vec[S, f32[n, n]]`.  The other half of `c` is zero, unlike in scipy.

    Raises:
        MatrixError: `a` is not a square matrix.
        MatrixTypeError: `a` is not a tensor of numbers, or is float16 or bfloat16.

    Example:
        >>> from branded import linalg
        >>> from tinygrad import Tensor
        >>> factor = linalg.cho_factor(Tensor([[4.0, 2.0], [2.0, 5.0]]))
        >>> linalg.cho_solve(factor, Tensor([8.0, 12.0])).tolist()
        [1.0, 2.0]

    Source: `jax.scipy.linalg.cho_factor`.
    """
    (x,) = floats("cho_factor", ("a", a))
    check_square("cho_factor", "a", x)
    # reads the same half that it returns, like JAX
    low = _factor(x if lower else matrix_transpose(x))
    return (low if lower else matrix_transpose(low)), lower


@operation
def cho_solve(c_and_lower: tuple[Vec[S1], bool], b: Vec[S2]) -> Vec[S1 | S2]:
    """Solve `a @ x == b` for `x`, from the Cholesky factor of `a`.

    Args:
        c_and_lower: The result of `cho_factor`: `Vec[S1, f32[n, n]]`, and whether it is the lower factor.
        b: `Vec[S2, f32[n]]`, or `f32[n, k]` for k right-hand sides.

    Returns:
        `Vec[S1 | S2, f32[n]]`, or `f32[n, k]`.

    Raises:
        MatrixError: The factor is not a square matrix, or the shape of `b` does not match.
        MatrixTypeError: An argument is not a tensor of numbers, or is float16 or bfloat16.

    Example:
        >>> from branded import linalg
        >>> from tinygrad import Tensor
        >>> low = linalg.cholesky(Tensor([[4.0, 2.0], [2.0, 5.0]]))
        >>> linalg.cho_solve((low, True), Tensor([8.0, 12.0])).tolist()
        [1.0, 2.0]

    Source: `jax.scipy.linalg.cho_solve`.
    """
    if not isinstance(c_and_lower, tuple | list) or len(c_and_lower) != 2:
        raise MatrixError("cho_solve: the factor must be a pair", fix="cho_solve(cho_factor(a), b)")
    c, lower = c_and_lower
    x, y = floats("cho_solve", ("the factor", c), ("b", b))
    check_square("cho_solve", "the factor", x)

    def both(c: Tensor, b: Tensor) -> Tensor:
        low, high = (c, matrix_transpose(c)) if lower else (matrix_transpose(c), c)
        return systems.solve_triangular(high, systems.solve_triangular(low, b, True), False)

    return _by_columns("cho_solve", x, y, both, "the factor")


@operation
def inv(a: Vec[S]) -> Vec[S]:
    """Invert a matrix.

    `solve(a, b)` is faster and more accurate than `inv(a) @ b`.

    Args:
        a: `Vec[S, f32[n, n]]`.

    Returns:
        `Vec[S, f32[n, n]]`; infinite or NaN if `a` is singular.

    Raises:
        MatrixError: `a` is not a square matrix.
        MatrixTypeError: `a` is not a tensor of numbers, or is float16 or bfloat16.

    Example:
        >>> from branded import linalg
        >>> from tinygrad import Tensor
        >>> linalg.inv(Tensor([[2.0, 0.0], [0.0, 4.0]])).tolist()
        [[0.5, 0.0], [0.0, 0.25]]

    Source: `jax.numpy.linalg.inv`.
    """
    (x,) = floats("inv", ("a", a))
    check_square("inv", "a", x)
    return x if 0 in x.shape else systems.inv(x)


@operation
def det(a: Vec[S]) -> Vec[S]:
    """Compute the determinant of a matrix.

    Args:
        a: `Vec[S, f32[n, n]]`.

    Returns:
        `Vec[S, f32[]]`.

    Raises:
        MatrixError: `a` is not a square matrix.
        MatrixTypeError: `a` is not a tensor of numbers, or is float16 or bfloat16.

    Example:
        >>> from branded import linalg, vmap
        >>> from tinygrad import Tensor
        >>> vmap(linalg.det)(Tensor([[[0.0, 1.0], [2.0, 0.0]], [[2.0, 0.0], [0.0, 3.0]]])).tolist()
        [-2.0, 6.0]

    Source: `jax.numpy.linalg.det`.
    """
    (x,) = floats("det", ("a", a))
    check_square("det", "a", x)
    if 0 in x.shape:
        return _of_shape(x, 1.0)
    return determinants.det(x)


def _of_shape(x: Tensor, value: float) -> Tensor:
    """Return `value` for each matrix in `x`, which has no entries."""
    return Tensor.full(x.shape[:-2], value, dtype=x.dtype)


class SlogdetResult(NamedTuple, Generic[Row]):
    """The sign of a determinant, and the logarithm of its absolute value.

    Attributes:
        sign: `Vec[S, T[...]]`: -1, 0 or 1.
        logabsdet: `Vec[S, T[...]]`; -inf if the determinant is 0.
    """

    sign: Vec[Row]
    logabsdet: Vec[Row]


@operation
def slogdet(a: Vec[S]) -> SlogdetResult[S]:
    """Compute the sign of the determinant, and the logarithm of its absolute value.

    Args:
        a: `Vec[S, f32[n, n]]`.

    Returns:
        `SlogdetResult(sign, logabsdet)`, each `Vec[S, f32[]]`; 0 and -inf if `a` is singular.

    Raises:
        MatrixError: `a` is not a square matrix.
        MatrixTypeError: `a` is not a tensor of numbers, or is float16 or bfloat16.

    Example:
        >>> from branded import linalg
        >>> from tinygrad import Tensor
        >>> sign, log = linalg.slogdet(Tensor([[0.0, 1.0], [1.0, 0.0]]))
        >>> sign.item(), log.item()
        (-1.0, 0.0)

    Source: `jax.numpy.linalg.slogdet`.
    """
    (x,) = floats("slogdet", ("a", a))
    check_square("slogdet", "a", x)
    if 0 in x.shape:
        return SlogdetResult(_of_shape(x, 1.0), _of_shape(x, 0.0))
    return SlogdetResult(*determinants.slogdet(x))
