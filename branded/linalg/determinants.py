"""Determinants as primitives, with derivatives that also hold for singular matrices."""

from __future__ import annotations

from collections.abc import Sequence

from tinygrad import Tensor, dtypes

from branded.callbacks.host import serves
from branded.core.tracing.recorded_calls import operation
from branded.linalg import elimination, lapack, unrolled
from branded.linalg.primitive import MatrixFunction, apply_operation, matrix_transpose, one
from branded.linalg.spectra import svd
from branded.linalg.systems import by_host, inv


class _Det(MatrixFunction):
    """The determinant."""

    name = "det"

    def run(self, a: Tensor, *_: Tensor) -> Sequence[Tensor]:
        if by_host(a):
            return lapack.results("det", lapack.det, [a], ())
        pivots, sign = elimination.pivots(a)
        return [sign * pivots.prod(-1)]

    def tangent(self, a: Tensor, ys: Sequence[Tensor], da: Tensor) -> Sequence[Tensor]:
        """Compute d det a = tr(cofactors(a)ᵀ da)."""
        return [(cofactors(a) * da).sum((-2, -1))]


class _Cofactors(MatrixFunction):
    """The derivative of the determinant with respect to each entry: det(a) a⁻ᵀ, extended to singular matrices."""

    name = "cofactors"

    def run(self, a: Tensor, *_: Tensor) -> Sequence[Tensor]:
        if serves(a):
            return lapack.results("cofactors", lapack.cofactors, [a], a.shape[-2:])
        size = det(a).reshape(*a.shape[:-2], 1, 1)
        none = size.eq(0)
        inverse = inv(none.where(elimination.identity(a), a))
        # u diag(products of the other singular values) vᵀ, up to the sign
        u, s, vt = svd(a, False)
        others = Tensor.eye(a.shape[-1], dtype=dtypes.bool).where(1, s.unsqueeze(-2)).prod(-1)
        singular = (u * others.unsqueeze(-2)) @ vt * (det(u) * det(vt)).sign().reshape(*size.shape)
        return [none.where(singular, matrix_transpose(inverse) * size)]

    def tangent(self, a: Tensor, ys: Sequence[Tensor], da: Tensor) -> Sequence[Tensor]:
        """Compute dc = tr(a⁻¹ da) c - a⁻ᵀ daᵀ c, for invertible matrices only."""
        (c,) = ys
        turned = matrix_transpose(inv(a))
        return [(turned * da).sum((-2, -1), keepdim=True) * c - turned @ matrix_transpose(da) @ c]


class _Slogdet(MatrixFunction):
    """The sign of the determinant, and the logarithm of its absolute value."""

    name = "slogdet"

    def run(self, a: Tensor, *_: Tensor) -> Sequence[Tensor]:
        if by_host(a):
            return lapack.results("slogdet", lapack.slogdet, [a], (), ())
        pivots, sign = elimination.pivots(a)
        return [sign * pivots.sign().prod(-1), pivots.abs().log().sum(-1)]

    def tangent(self, a: Tensor, ys: Sequence[Tensor], da: Tensor) -> Sequence[Tensor]:
        """Compute d log |det a| = tr(a⁻¹ da)."""
        sign, _ = ys
        return [sign.const_like(0), (matrix_transpose(inv(a)) * da).sum((-2, -1))]


def det(a: Tensor) -> Tensor:
    return apply_operation(one(_Det), a)[0]


def slogdet(a: Tensor) -> tuple[Tensor, Tensor]:
    sign, log = apply_operation(one(_Slogdet), a)
    return sign, log


@operation
def cofactors(a: Tensor) -> Tensor:
    """Compute the cofactor of each entry; up to 3 rows, it is a polynomial that is differentiable everywhere."""
    return unrolled.cofactors(a) if a.shape[-1] <= 3 else apply_operation(one(_Cofactors), a)[0]
