"""Determinants as primitives, with derivatives that also hold for singular matrices."""

from __future__ import annotations

from collections.abc import Sequence

from tinygrad import Tensor, dtypes

from branded.callbacks.host import serves
from branded.core.tracing.recorded_calls import operation
from branded.linalg import elimination, lapack, unrolled
from branded.linalg.primitive import MatrixOperation, call, matrix_transpose, one
from branded.linalg.spectra import svd
from branded.linalg.systems import by_host, inv


class _Det(MatrixOperation):
    """The determinant."""

    name = "det"

    def run(self, *xs: Tensor) -> Sequence[Tensor]:
        if by_host(xs[0]):
            return lapack.results("det", lapack.det, xs, ())
        found, sign = elimination.pivots(xs[0])
        return [sign * found.prod(-1)]

    def tangents(self, xs: Sequence[Tensor], ys: Sequence[Tensor], dxs: Sequence[Tensor | None]) -> Sequence[Tensor]:
        """Compute d det a = tr(cofactors(a)ᵀ da)."""
        (a,), (da,) = xs, dxs
        assert da is not None
        return [(cofactors(a) * da).sum((-2, -1))]


class _Cofactors(MatrixOperation):
    """The derivative of the determinant with respect to each entry: det(a) a⁻ᵀ, extended to singular matrices."""

    name = "cofactors"

    def run(self, *xs: Tensor) -> Sequence[Tensor]:
        (a,) = xs
        if serves(a):
            return lapack.results("cofactors", lapack.cofactors, xs, a.shape[-2:])
        size = det(a).reshape(*a.shape[:-2], 1, 1)
        none = size.eq(0)
        inverse = inv(none.where(elimination.identity(a), a))
        # u diag(products of the other singular values) vᵀ, up to the sign
        u, s, vt = svd(a, False)
        others = Tensor.eye(a.shape[-1], dtype=dtypes.bool).where(1, s.unsqueeze(-2)).prod(-1)
        singular = (u * others.unsqueeze(-2)) @ vt * (det(u) * det(vt)).sign().reshape(*size.shape)
        return [none.where(singular, matrix_transpose(inverse) * size)]

    def tangents(self, xs: Sequence[Tensor], ys: Sequence[Tensor], dxs: Sequence[Tensor | None]) -> Sequence[Tensor]:
        """Compute dc = tr(a⁻¹ da) c - a⁻ᵀ daᵀ c, for invertible matrices only."""
        (a,), (c,), (da,) = xs, ys, dxs
        assert da is not None
        turned = matrix_transpose(inv(a))
        return [(turned * da).sum((-2, -1), keepdim=True) * c - turned @ matrix_transpose(da) @ c]


class _Slogdet(MatrixOperation):
    """The sign of the determinant, and the logarithm of its absolute value."""

    name = "slogdet"

    def run(self, *xs: Tensor) -> Sequence[Tensor]:
        if by_host(xs[0]):
            return lapack.results("slogdet", lapack.slogdet, xs, (), ())
        found, sign = elimination.pivots(xs[0])
        return [sign * found.sign().prod(-1), found.abs().log().sum(-1)]

    def tangents(self, xs: Sequence[Tensor], ys: Sequence[Tensor], dxs: Sequence[Tensor | None]) -> Sequence[Tensor]:
        """Compute d log |det a| = tr(a⁻¹ da)."""
        (a,), (sign, _), (da,) = xs, ys, dxs
        assert da is not None
        return [sign.const_like(0), (matrix_transpose(inv(a)) * da).sum((-2, -1))]


def det(a: Tensor) -> Tensor:
    return call(one(_Det), a)[0]


def slogdet(a: Tensor) -> tuple[Tensor, Tensor]:
    sign, log = call(one(_Slogdet), a)
    return sign, log


@operation
def cofactors(a: Tensor) -> Tensor:
    """Compute the cofactor of each entry; up to 3 rows, it is a polynomial that is differentiable everywhere."""
    return unrolled.cofactors(a) if a.shape[-1] <= 3 else call(one(_Cofactors), a)[0]
