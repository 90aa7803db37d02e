"""QR, eigenvalue and singular value decompositions, least squares, pseudo-inverses, ranks."""

from __future__ import annotations

from typing import Generic, Literal, NamedTuple, TypeVar, overload

from tinygrad import Tensor, dtypes

from branded.core.brand import Brand, S, S1, S2
from branded.core.tracing.recorded_calls import operation
from branded.core.values import vec_type
from branded.errors import MatrixError
from branded.linalg import spectra
from branded.linalg.arguments import check_matrix, check_square, floats
from branded.linalg.orthogonal import epsilon
from branded.linalg.primitive import matrix_transpose
from branded.vec import Vec

Row = TypeVar("Row", bound=Brand)


class QRResult(NamedTuple, Generic[Row]):
    """The factors of `a = Q @ R`.

    Attributes:
        Q: `Vec[S, T[..., m, k]]` with orthonormal columns.
        R: `Vec[S, T[..., k, n]]`, upper triangular.
    """

    Q: Vec[Row]
    R: Vec[Row]


class EighResult(NamedTuple, Generic[Row]):
    """The eigenpairs: `a @ eigenvectors = eigenvectors * eigenvalues`.

    Attributes:
        eigenvalues: `Vec[S, T[..., n]]`, in ascending order.
        eigenvectors: `Vec[S, T[..., n, n]]`, one per column.
    """

    eigenvalues: Vec[Row]
    eigenvectors: Vec[Row]


class SVDResult(NamedTuple, Generic[Row]):
    """The factors of `a = U * S @ Vh`.

    Attributes:
        U: `Vec[S, T[..., m, k]]` with orthonormal columns.
        S: The singular values, `Vec[S, T[..., k]]`, in descending order.
        Vh: `Vec[S, T[..., k, n]]` with orthonormal rows.
    """

    U: Vec[Row]
    S: Vec[Row]
    Vh: Vec[Row]


class LstsqResult(NamedTuple, Generic[Row]):
    """The solution, the squared residual of each column, the rank, and the singular values.

    Attributes:
        x: The solution of least norm, `Vec[S, T[n, ...]]`.
        residuals: The sum of squared residuals of each column of `b`.
        rank: The rank of `a`, `Vec[S, i32[]]`.
        s: The singular values of `a`, in descending order.
    """

    x: Vec[Row]
    residuals: Vec[Row]
    rank: Vec[Row]
    s: Vec[Row]


def _eye(x: Tensor, rows: int, columns: int) -> Tensor:
    """Return identity matrices for empty matrices or an empty batch `x`."""
    return Tensor.eye(rows, columns, dtype=x.dtype).expand(*x.shape[:-2], rows, columns)


@overload
def qr(a: Vec[S], mode: Literal["reduced", "complete"] = "reduced") -> QRResult[S]: ...
@overload
def qr(a: Vec[S], mode: Literal["r"]) -> Vec[S]: ...
@operation
def qr(a: Vec[S], mode: str = "reduced") -> QRResult[S] | Vec[S]:
    """Compute the orthonormal `Q` and the upper triangular `R` with `Q @ R == a`.

    Args:
        a: `Vec[S, f32[m, n]]`.
        mode: "reduced" for k = min(m, n) columns of `Q`, "complete" for all m, "r" for `R` alone.

    Returns:
        `QRResult(Q, R)`: `Vec[S, f32[m, k]]` and `Vec[S, f32[k, n]]`, with the signs of LAPACK.  Derivatives are NaN or
        infinite if the first k columns are linearly dependent.

    Raises:
        MatrixError: `a` is not a matrix, or `mode` is unknown.
        MatrixTypeError: `a` is not a tensor of numbers, or is float16 or bfloat16.

    Example:
        >>> from branded import linalg
        >>> from tinygrad import Tensor
        >>> linalg.qr(Tensor([[0.0, 2.0], [3.0, 4.0]])).R.tolist()
        [[-3.0, -4.0], [0.0, -2.0]]

    Source: `jax.numpy.linalg.qr`; J. Townsend, "Differentiating the QR decomposition" (2018).
    """
    (x,) = floats("qr", ("a", a))
    check_matrix("qr", "a", x)
    if mode not in ("reduced", "complete", "r"):
        raise MatrixError(f"qr: mode={mode!r} is not a valid choice", fix='pass "reduced", "complete" or "r"')
    m, n = x.shape[-2:]
    k = m if mode == "complete" else min(m, n)
    pair = (_eye(x, m, k), x[..., :k, :]) if 0 in x.shape else spectra.qr(x, mode == "complete")
    return pair[1] if mode == "r" else QRResult(*pair)


def _matrix(api_name: str, name: str, a: object, hermitian: bool) -> Tensor:
    """Return `a` as a tensor of one or more matrices, which become symmetric if `hermitian` is true."""
    (x,) = floats(api_name, (name, a))
    (check_square if hermitian else check_matrix)(api_name, name, x)
    return (x + matrix_transpose(x)) / 2 if hermitian else x


def _symmetric(api_name: str, a: object, UPLO: str | None, symmetrize: bool) -> Tensor:  # noqa: N803  as in JAX
    """Return `a` so that its lower half is the half to read."""
    (x,) = floats(api_name, ("a", a))
    check_square(api_name, "a", x)
    if UPLO not in (None, "L", "U"):
        raise MatrixError(
            f"{api_name}: UPLO={UPLO!r} is not a valid choice",
            fix='pass "L" for the lower triangle or "U" for the upper',
        )
    x = matrix_transpose(x) if UPLO == "U" else x
    return (x + matrix_transpose(x)) / 2 if symmetrize else x


@operation
def eigh(a: Vec[S], UPLO: str | None = None, symmetrize_input: bool = True) -> EighResult[S]:  # noqa: N803  as in JAX
    """Compute the eigenvalues of a symmetric matrix in ascending order, and its unit eigenvectors.

    Args:
        a: `Vec[S, f32[n, n]]`, symmetric.
        UPLO: "L" or "U", the half that is read if `symmetrize_input` is False.
        symmetrize_input: Take the mean of `a` and its transpose.

    Returns:
        `EighResult(eigenvalues, eigenvectors)`: `Vec[S, f32[n]]` and `Vec[S, f32[n, n]]`, a vector in each
        column, with arbitrary sign.  Derivatives of the vectors are NaN or infinite if eigenvalues are equal.

    Raises:
        MatrixError: `a` is not a square matrix, or `UPLO` is unknown.
        MatrixTypeError: `a` is not a tensor of numbers, or is float16 or bfloat16.

    Example:
        >>> from branded import linalg
        >>> from tinygrad import Tensor
        >>> linalg.eigh(Tensor([[3.0, 0.0], [0.0, 2.0]])).eigenvalues.tolist()
        [2.0, 3.0]

    Source: `jax.numpy.linalg.eigh`; M. Seeger et al., "Auto-differentiating linear algebra" (2017).
    """
    x = _symmetric("eigh", a, UPLO, symmetrize_input)
    return EighResult(*((x[..., 0], x) if 0 in x.shape[:-2] else (x.sum(-1), x) if 0 in x.shape else spectra.eigh(x)))


@operation
def eigvalsh(a: Vec[S], UPLO: str | None = "L", *, symmetrize_input: bool = True) -> Vec[S]:  # noqa: N803  as in JAX
    """Compute the eigenvalues of a symmetric matrix in ascending order.

    Unlike for the vectors of `eigh`, derivatives are finite if eigenvalues are equal.

    Args:
        a: `Vec[S, f32[n, n]]`, symmetric.
        UPLO: "L" or "U", the half that is read if `symmetrize_input` is False.
        symmetrize_input: Take the mean of `a` and its transpose.

    Returns:
        `Vec[S, f32[n]]`.

    Raises:
        MatrixError: `a` is not a square matrix, or `UPLO` is unknown.
        MatrixTypeError: `a` is not a tensor of numbers, or is float16 or bfloat16.

    Example:
        >>> from branded import linalg
        >>> from tinygrad import Tensor
        >>> linalg.eigvalsh(Tensor([[3.0, 0.0], [0.0, 2.0]])).tolist()
        [2.0, 3.0]

    Source: `jax.numpy.linalg.eigvalsh`.
    """
    x = _symmetric("eigvalsh", a, UPLO, symmetrize_input)
    return x.sum(-1) if 0 in x.shape else spectra.eigenvalues(x)


@overload
def svd(
    a: Vec[S], full_matrices: bool = True, compute_uv: Literal[True] = True, hermitian: bool = False
) -> SVDResult[S]: ...
@overload
def svd(a: Vec[S], full_matrices: bool = True, *, compute_uv: Literal[False], hermitian: bool = False) -> Vec[S]: ...
@overload
def svd(a: Vec[S], full_matrices: bool, compute_uv: Literal[False], hermitian: bool = False) -> Vec[S]: ...
@operation
def svd(
    a: Vec[S], full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> SVDResult[S] | Vec[S]:
    """Compute the singular values of a matrix in descending order, and its singular vectors: `U * S @ Vh == a`.

    Args:
        a: `Vec[S, f32[m, n]]`.
        full_matrices: Whether to compute all m columns of `U` and n rows of `Vh`, instead of k = min(m, n).
        compute_uv: Whether to compute the vectors; if False, only `S` is returned.
        hermitian: Take the mean of `a` and its transpose.

    Returns:
        `SVDResult(U, S, Vh)`: `Vec[S, f32[m, k]]`, `Vec[S, f32[k]]` and `Vec[S, f32[k, n]]`.  The sign of a
        pair of vectors is arbitrary.  Derivatives of vectors are NaN or infinite if singular values are equal or zero.

    Raises:
        MatrixError: `a` is not a matrix, or not square although `hermitian` is true.
        MatrixTypeError: `a` is not a tensor of numbers, or is float16 or bfloat16.

    Example:
        >>> from branded import linalg
        >>> from tinygrad import Tensor
        >>> linalg.svd(Tensor([[0.0, 2.0], [-3.0, 0.0]]), compute_uv=False).tolist()
        [3.0, 2.0]

    Source: `jax.numpy.linalg.svd`; J. Townsend, "Differentiating the singular value decomposition" (2016).
    """
    x = _matrix("svd", "a", a, hermitian)
    m, n = x.shape[-2:]
    k = min(m, n)
    if 0 in x.shape:
        s = Tensor.zeros(*x.shape[:-2], k, dtype=x.dtype)
        rows, columns = (m, n) if full_matrices else (k, k)
        return SVDResult(_eye(x, m, rows), s, _eye(x, columns, n)) if compute_uv else s
    return SVDResult(*spectra.svd(x, full_matrices)) if compute_uv else spectra.singular_values(x)


@operation
def pinv(a: Vec[S], rtol: float | None = None, hermitian: bool = False, *, rcond: float | None = None) -> Vec[S]:
    """Compute the Moore-Penrose inverse of a matrix of any shape and rank.

    Args:
        a: `Vec[S, f32[m, n]]`.
        rtol: Singular values of at most `rtol` times the largest count as zero; None for 10 * max(m, n) * epsilon.
        hermitian: Take the mean of `a` and its transpose.
        rcond: NumPy's name for `rtol`.

    Returns:
        `Vec[S, f32[n, m]]`.

    Raises:
        MatrixError: `a` is not a matrix, or not square although `hermitian` is true; `rtol` is not a number.
        MatrixTypeError: `a` is not a tensor of numbers, or is float16 or bfloat16.

    Example:
        >>> from branded import linalg
        >>> from tinygrad import Tensor
        >>> linalg.pinv(Tensor([[2.0, 0.0], [0.0, 0.0]])).tolist()
        [[0.5, 0.0], [0.0, 0.0]]

    Source: `jax.numpy.linalg.pinv`; G. Golub, V. Pereyra, "The differentiation of pseudo-inverses" (1973).
    """
    x = _matrix("pinv", "a", a, hermitian)
    name, given = ("rcond", rcond) if rtol is None else ("rtol", rtol)
    part = 10 * max(x.shape[-2:]) * epsilon(x) if given is None else _check_number("pinv", name, given)
    return matrix_transpose(x) if 0 in x.shape else spectra.pinv(x, part)


def _check_number(api_name: str, name: str, x: object) -> float:
    if isinstance(x, bool) or not isinstance(x, int | float):
        raise MatrixError(f"{api_name}: {name} is not a Python number", fix=f"{name}=1e-6")
    return float(x)


@operation
def lstsq(a: Vec[S1], b: Vec[S2], rcond: float | None = None) -> LstsqResult[S1 | S2]:
    """Solve a least-squares problem: find the shortest `x` that minimizes the distance from `a @ x` to `b`.

    Args:
        a: `Vec[S1, f32[m, n]]`.
        b: `Vec[S2, f32[m]]`, or `f32[m, k]` for k right-hand sides.
        rcond: Singular values below `rcond` times the largest count as zero; None for max(m, n) * epsilon.

    Returns:
        `LstsqResult(x, residuals, rank, s)`: `Vec[S1 | S2, f32[n]]` or `f32[n, k]`; for each right-hand side the
        squared distance; the rank of `a` as an i32[]; the singular values of `a`.

    Raises:
        MatrixError: `a` is not one matrix per example, or the shape of `b` does not match.
        MatrixTypeError: An argument is not a tensor of numbers, or is float16 or bfloat16.

    Example:
        >>> from branded import linalg
        >>> from tinygrad import Tensor
        >>> line = linalg.lstsq(Tensor([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]), Tensor([1.0, 3.0, 5.0]))
        >>> [round(x, 3) for x in line.x.tolist()]
        [1.0, 2.0]

    Source: `jax.numpy.linalg.lstsq`.
    """
    x, y = floats("lstsq", ("a", a), ("b", b))
    if x.ndim != 2 or y.ndim not in (1, 2):
        raise MatrixError(
            "lstsq: one matrix, and one or more right sides",
            ("a", vec_type(x)),
            ("b", vec_type(y)),
            fix="use vmap for a batch",
        )
    if x.shape[0] != y.shape[0]:
        raise MatrixError(
            f"lstsq: a has {x.shape[0]} rows, and b has {y.shape[0]}",
            ("a", vec_type(x)),
            ("b", vec_type(y)),
            fix="pass one row of b for each row of a",
        )
    part = max(x.shape) * epsilon(x) if rcond is None else _check_number("lstsq", "rcond", rcond)
    part = epsilon(x) if part < 0 else part
    if 0 in x.shape:
        nothing = Tensor.zeros(x.shape[1], *y.shape[1:], dtype=x.dtype)
        none = Tensor.zeros(0, dtype=x.dtype)
        return LstsqResult(nothing, y.square().sum(0, keepdim=y.ndim == 1), Tensor(0, dtype=dtypes.int32), none)
    s = spectra.singular_values(x)
    solution = spectra.pinv(x, part) @ y
    distance = (y - x @ solution).square().sum(0, keepdim=y.ndim == 1)
    return LstsqResult(solution, distance, _rank(s, part), s)


def _rank(s: Tensor, part: float) -> Tensor:
    return (s > part * s[..., :1]).sum(-1).cast(dtypes.int32)


@operation
def matrix_rank(M: Vec[S], rtol: float | None = None, *, hermitian: bool = False) -> Vec[S]:  # noqa: N803  as in JAX
    """Count the singular values that are not zero.

    Args:
        M: `Vec[S, f32[m, n]]`.
        rtol: Singular values of at most `rtol` times the largest count as zero; None for max(m, n) * epsilon.
        hermitian: Take the mean of `M` and its transpose.

    Returns:
        `Vec[S, i32[]]`; for a vector 1, or 0 if all its entries are zero.

    Raises:
        MatrixError: `rtol` is not a number.
        MatrixTypeError: `M` is not a tensor of numbers, or is float16 or bfloat16.

    Example:
        >>> from branded import linalg
        >>> from tinygrad import Tensor
        >>> linalg.matrix_rank(Tensor([[1.0, 2.0], [2.0, 4.0]])).item()
        1

    Source: `jax.numpy.linalg.matrix_rank`.
    """
    (x,) = floats("matrix_rank", ("M", M))
    if x.ndim < 2:
        return x.ne(0).max().cast(dtypes.int32)
    x = _matrix("matrix_rank", "M", x, hermitian)
    if 0 in x.shape:
        return Tensor.zeros(x.shape[:-2], dtype=dtypes.int32)
    part = max(x.shape[-2:]) * epsilon(x) if rtol is None else _check_number("matrix_rank", "rtol", rtol)
    return _rank(spectra.singular_values(x), part)
