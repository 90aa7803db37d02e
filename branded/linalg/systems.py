"""Cholesky factors, triangular and general systems, and inverses as primitives with derivatives."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any

from tinygrad import Tensor

from branded.callbacks.host import serves
from branded.linalg import elimination, lapack, unrolled
from branded.linalg.primitive import (
    MatrixFunction,
    MatrixOperation,
    apply_operation,
    as_columns,
    matrix_transpose,
    one,
    summed_to,
)


class _Cholesky(MatrixFunction):
    """The lower factor `l` with `a = l lᵀ`; only the lower half of `a` is read."""

    name = "cholesky"

    def options(self) -> dict[str, Any]:
        return {"symmetrize_input": False}

    def run(self, a: Tensor, *_: Tensor) -> Sequence[Tensor]:
        if by_host(a):
            return lapack.results("cholesky", lapack.cholesky, [a], a.shape[-2:])
        return [elimination.cholesky(a)]

    def tangent(self, a: Tensor, ys: Sequence[Tensor], da: Tensor) -> Sequence[Tensor]:
        """Compute dl = l phi(l⁻¹ da l⁻ᵀ); phi takes the lower half, and half of the diagonal.

        Source: I. Murray, "Differentiation of the Cholesky decomposition" (2016).
        """
        (low,) = ys
        symmetric = da.tril() + matrix_transpose(da.tril(-1))
        half_solved = solve_triangular(low, symmetric, lower=True)
        return [low @ tril_half_diagonal(solve_triangular(low, matrix_transpose(half_solved), lower=True))]


def tril_half_diagonal(x: Tensor) -> Tensor:
    """Return the lower half of `x`, with half of the diagonal."""
    return (x.tril() + x.tril(-1)) / 2


class _System(MatrixOperation):
    """The solution `x` of `a x = b`; right sides that share a matrix become its columns."""

    def of_all(self, *xs: Tensor) -> list[Tensor]:
        wide, back = as_columns(*xs)
        return [back(apply_operation(self, xs[0], wide)[0])]

    def half(self, x: Tensor) -> Tensor:
        """Return the part of `x` that is read."""
        return x

    def of_transpose(self) -> _System:
        """Return the operation that solves systems with the transposed matrix."""
        return self

    def tangents(self, xs: Sequence[Tensor], ys: Sequence[Tensor], dxs: Sequence[Tensor | None]) -> Sequence[Tensor]:
        """Compute dx = a⁻¹ (db - da x)."""
        (a, _), (x,), (da, db) = xs, ys, dxs
        return self.of_all(a, _sum(db, None if da is None else -(self.half(da) @ x)))

    def cotangents(
        self, xs: Sequence[Tensor], ys: Sequence[Tensor], cts: Sequence[Tensor | None], needed: Set[int]
    ) -> Sequence[Tensor | None]:
        """Compute the cotangents: a⁻ᵀ g for `b`, and -(a⁻ᵀ g) xᵀ for `a`."""
        (a, b), (x,), (g,) = xs, ys, cts
        assert g is not None
        (back,) = self.of_transpose().of_all(matrix_transpose(a), g)
        of_a = summed_to(-self.half(back @ matrix_transpose(x)), a.shape) if 0 in needed else None
        return [of_a, summed_to(back, b.shape)]


class _Triangular(_System):
    """The solution `x` of `a x = b`, where only one half of `a` is read."""

    name = "solve_triangular"

    def __init__(self, lower: bool, unit: bool) -> None:
        self.lower, self.unit = lower, unit

    def run(self, a: Tensor, *others: Tensor) -> Sequence[Tensor]:
        (b,) = others
        if by_host(a):
            f = lapack.solve_triangular(self.lower, self.unit)
            option = self.lower + 2 * self.unit
            return lapack.results("solve_triangular", f, [a, b], b.shape[-2:], option=option)
        return [elimination.solve_triangular(a, b, self.lower, self.unit)]

    def options(self) -> dict[str, Any]:
        return {"lower": self.lower, "unit_diagonal": self.unit}

    def half(self, x: Tensor) -> Tensor:
        """Return the half of `x` that is read, without the diagonal if it is all ones."""
        return x.tril(-1 if self.unit else 0) if self.lower else x.triu(1 if self.unit else 0)

    def of_transpose(self) -> _System:
        transposed: _System = one(_Triangular, not self.lower, self.unit)
        return transposed


class _Solve(_System):
    """The solution `x` of `a x = b`."""

    name = "solve"

    def run(self, a: Tensor, *others: Tensor) -> Sequence[Tensor]:
        (b,) = others
        if by_host(a):
            return lapack.results("solve", lapack.solve, [a, b], b.shape[-2:])
        return [elimination.solve(a, b)]


class _Inverse(MatrixFunction):
    """The inverse of a matrix."""

    name = "inv"

    def run(self, a: Tensor, *_: Tensor) -> Sequence[Tensor]:
        if by_host(a):
            return lapack.results("inv", lapack.inv, [a], a.shape[-2:])
        return [elimination.solve(a, elimination.identity(a))]

    def tangent(self, a: Tensor, ys: Sequence[Tensor], da: Tensor) -> Sequence[Tensor]:
        """Compute d a⁻¹ = -a⁻¹ da a⁻¹."""
        (y,) = ys
        return [-(y @ da @ y)]


def _sum(a: Tensor | None, b: Tensor | None) -> Tensor:
    """Add two tangents, at most one of them None."""
    if a is None or b is None:
        tangent = b if a is None else a
        assert tangent is not None
        return tangent
    return a + b


def by_host(a: Tensor) -> bool:
    """Return whether LAPACK is used; small matrices are unrolled into one kernel for the whole batch."""
    return a.shape[-1] > unrolled.LARGEST and serves(a)


def cholesky(a: Tensor) -> Tensor:
    return apply_operation(one(_Cholesky), a)[0]


def solve_triangular(a: Tensor, b: Tensor, lower: bool, unit: bool = False) -> Tensor:
    x: Tensor
    (x,) = one(_Triangular, lower, unit).of_all(a, b)
    return x


def solve(a: Tensor, b: Tensor) -> Tensor:
    x: Tensor
    (x,) = one(_Solve).of_all(a, b)
    return x


def inv(a: Tensor) -> Tensor:
    return apply_operation(one(_Inverse), a)[0]
