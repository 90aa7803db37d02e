"""QR, eigenvalues and singular values as primitives with derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinygrad import Tensor

from branded.callbacks.host import serves
from branded.linalg import lapack, orthogonal
from branded.linalg.primitive import MatrixFunction, apply_operation, matrix_transpose, one
from branded.linalg.systems import solve_triangular


class _QR(MatrixFunction):
    """The factors of `a = q r`, with all columns of `q` if `full`."""

    name = "qr"

    def __init__(self, full: bool) -> None:
        self.full = full

    def options(self) -> dict[str, Any]:
        return {"mode": "complete"} if self.full else {}

    def run(self, a: Tensor, *_: Tensor) -> Sequence[Tensor]:
        m, n = a.shape[-2:]
        k = min(m, n)
        if serves(a):
            columns = m if self.full else k
            return lapack.results("qr", lapack.qr(self.full), [a], (m, columns), (columns, n))
        q, r = orthogonal.qr(a)
        return [q, r] if self.full else [q[..., :k], r[..., :k, :]]

    def tangent(self, a: Tensor, ys: Sequence[Tensor], da: Tensor) -> Sequence[Tensor]:
        """Compute dq and dr from the first min(m, n) columns, as for a tall matrix.

        Source: S. Walter, L. Lehmann (2010); J. Townsend, "Differentiating the QR decomposition" (2018).
        """
        q, r = ys
        k = min(a.shape[-2:])
        q1, r1 = q[..., :k], r[..., :k, :k]
        right = matrix_transpose(solve_triangular(matrix_transpose(r1), matrix_transpose(da[..., :k]), lower=True))
        inside = matrix_transpose(q1) @ right
        below = inside.tril(-1)
        turn = below - matrix_transpose(below)
        dq = q1 @ (turn - inside) + right
        dr = (inside - turn) @ r1
        if a.shape[-1] > k:
            dr = dr.cat(matrix_transpose(dq) @ a[..., k:] + matrix_transpose(q1) @ da[..., k:], dim=-1)
        if self.full and a.shape[-2] > k:
            dq = dq.cat(_complement(q1, dq, q[..., k:]), dim=-1)
            dr = dr.cat(r[..., k:, :] * 0, dim=-2)
        return [dq, dr]


def _complement(q: Tensor, dq: Tensor, rest: Tensor) -> Tensor:
    """Compute the tangent of `rest`, the columns orthogonal to `q`, without rotation among themselves."""
    return -(q @ (matrix_transpose(dq) @ rest))


class _Eigh(MatrixFunction):
    """The eigenvalues and eigenvectors of a symmetric matrix; only its lower half is read."""

    name = "eigh"

    def options(self) -> dict[str, Any]:
        return {"symmetrize_input": False}

    def run(self, a: Tensor, *_: Tensor) -> Sequence[Tensor]:
        if serves(a):
            return lapack.results("eigh", lapack.eigh, [a], a.shape[-1:], a.shape[-2:])
        return orthogonal.eigh(a)

    def tangent(self, a: Tensor, ys: Sequence[Tensor], da: Tensor) -> Sequence[Tensor]:
        """Compute dw = diag(vᵀ da v) and dv = v (f * vᵀ da v), with f[i, j] = 1 / (w[j] - w[i]) for i ≠ j.

        Source: M. Giles, "Collected matrix derivative results" (2008), 3.1; M. Seeger et al., "Auto-differentiating
        linear algebra" (2017).
        """
        w, v = ys
        inside = matrix_transpose(v) @ (da.tril() + matrix_transpose(da.tril(-1))) @ v
        eye = Tensor.eye(w.shape[-1], dtype=w.dtype)
        f = 1 / (eye + w.unsqueeze(-2) - w.unsqueeze(-1)) - eye
        return [diagonal(inside), v @ (f * inside)]


class _Eigenvalues(_Eigh):
    """The eigenvalues alone."""

    name = "eigvalsh"

    def run(self, a: Tensor, *_: Tensor) -> Sequence[Tensor]:
        if serves(a):
            return lapack.results("eigvalsh", lapack.eigvalsh, [a], a.shape[-1:])
        return [orthogonal.eigh(a)[0]]

    def tangent(self, a: Tensor, ys: Sequence[Tensor], da: Tensor) -> Sequence[Tensor]:
        """Compute dw = diag(vᵀ da v)."""
        _, v = eigh(a)
        return [(v * ((da.tril() + matrix_transpose(da.tril(-1))) @ v)).sum(-2)]


class _SVD(MatrixFunction):
    """The factors `u`, `s` and `vᵀ` of `a = u diag(s) vᵀ`, with all columns of `u` and `v` if `full`."""

    name = "svd"

    def __init__(self, full: bool) -> None:
        self.full = full

    def options(self) -> dict[str, Any]:
        return {} if self.full else {"full_matrices": False}

    def run(self, a: Tensor, *_: Tensor) -> Sequence[Tensor]:
        m, n = a.shape[-2:]
        k = min(m, n)
        if serves(a):
            rows, columns = (m, n) if self.full else (k, k)
            return lapack.results("svd", lapack.svd(self.full), [a], (m, rows), (k,), (columns, n))
        u, s, vt = orthogonal.svd(a)
        return [u, s, vt] if self.full else [u[..., :k], s, vt[..., :k, :]]

    def tangent(self, a: Tensor, ys: Sequence[Tensor], da: Tensor) -> Sequence[Tensor]:
        """Compute du, ds and dvᵀ.

        Source: J. Townsend, "Differentiating the singular value decomposition" (2016).
        """
        u, s, vt = ys
        k = s.shape[-1]
        u1, v1, row, column = u[..., :k], matrix_transpose(vt[..., :k, :]), s.unsqueeze(-2), s.unsqueeze(-1)
        inside = matrix_transpose(u1) @ da @ v1
        eye = Tensor.eye(k, dtype=s.dtype)
        f = 1 / ((row + column) * (row - column) + eye) - eye
        by_row, by_column = row * inside, column * inside
        du = u1 @ (f * (by_row + matrix_transpose(by_row)))
        dv = v1 @ (f * (by_column + matrix_transpose(by_column)))
        m, n = da.shape[-2:]
        if m > k:
            du = du + _outside(u1, da @ v1) / row
        if n > k:
            dv = dv + _outside(v1, matrix_transpose(da) @ u1) / row
        if self.full and m > k:
            du = du.cat(_complement(u1, du, u[..., k:]), dim=-1)
        if self.full and n > k:
            dv = dv.cat(_complement(v1, dv, matrix_transpose(vt[..., k:, :])), dim=-1)
        return [du, diagonal(inside), matrix_transpose(dv)]


def _outside(q: Tensor, x: Tensor) -> Tensor:
    """Return the component of `x` that is orthogonal to the columns of `q`."""
    return x - q @ (matrix_transpose(q) @ x)


class _SingularValues(MatrixFunction):
    """The singular values alone."""

    name = "svdvals"

    def as_equation(self) -> tuple[str, dict[str, Any]]:
        return "linalg.svd", {"full_matrices": False, "compute_uv": False}

    def run(self, a: Tensor, *_: Tensor) -> Sequence[Tensor]:
        if serves(a):
            return lapack.results("svdvals", lapack.svdvals, [a], (min(a.shape[-2:]),))
        return [orthogonal.svd(a)[1]]

    def tangent(self, a: Tensor, ys: Sequence[Tensor], da: Tensor) -> Sequence[Tensor]:
        """Compute ds = diag(uᵀ da v)."""
        u, _, vt = svd(a, False)
        return [(u * (da @ matrix_transpose(vt))).sum(-2)]


def diagonal(x: Tensor) -> Tensor:
    return x.diagonal(dim1=-2, dim2=-1)


class _Pinv(MatrixFunction):
    """The Moore-Penrose inverse; singular values of at most `rtol` times the largest count as zero."""

    name = "pinv"

    def __init__(self, rtol: float) -> None:
        self.rtol = rtol

    def options(self) -> dict[str, Any]:
        return {"rtol": self.rtol}

    def run(self, a: Tensor, *_: Tensor) -> Sequence[Tensor]:
        u, s, vt = svd(a, False)
        large = s > self.rtol * s[..., :1]
        parts = large.where(1 / large.where(s, 1), 0)
        # propagate NaN, which a pseudo-inverse of zeros would hide
        return [matrix_transpose(vt) @ (s.isnan().where(s, parts).unsqueeze(-1) * matrix_transpose(u))]

    def tangent(self, a: Tensor, ys: Sequence[Tensor], da: Tensor) -> Sequence[Tensor]:
        """Compute dp; the order of the products keeps every intermediate no larger than `a`.

        Source: G. Golub, V. Pereyra, "The differentiation of pseudo-inverses" (1973).
        """
        (p,) = ys
        if a.shape[-2] < a.shape[-1]:  # the pseudo-inverse of the transpose is the transpose of the pseudo-inverse
            return [matrix_transpose(_of_tall(matrix_transpose(a), matrix_transpose(p), matrix_transpose(da)))]
        return [_of_tall(a, p, da)]


def _of_tall(a: Tensor, p: Tensor, da: Tensor) -> Tensor:
    """Compute the tangent of the pseudo-inverse `p` of a matrix with at least as many rows as columns."""
    pt, dat = matrix_transpose(p), matrix_transpose(da)
    left = (p @ pt) @ dat
    right = (dat @ pt) @ p
    return left - (left @ a) @ p + right - (p @ a) @ right - (p @ da) @ p


def qr(a: Tensor, full: bool) -> tuple[Tensor, Tensor]:
    q, r = apply_operation(one(_QR, full), a)
    return q, r


def eigh(a: Tensor) -> tuple[Tensor, Tensor]:
    w, v = apply_operation(one(_Eigh), a)
    return w, v


def eigenvalues(a: Tensor) -> Tensor:
    return apply_operation(one(_Eigenvalues), a)[0]


def svd(a: Tensor, full: bool) -> tuple[Tensor, Tensor, Tensor]:
    u, s, vt = apply_operation(one(_SVD, full), a)
    return u, s, vt


def singular_values(a: Tensor) -> Tensor:
    return apply_operation(one(_SingularValues), a)[0]


def pinv(a: Tensor, rtol: float) -> Tensor:
    return apply_operation(one(_Pinv, rtol), a)[0]
