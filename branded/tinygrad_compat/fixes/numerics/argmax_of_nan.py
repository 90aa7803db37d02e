"""A fix for `argmax` and `argmin` with NaN: they return the index of the first NaN, as numpy and JAX do.

tinygrad searches for the element that equals the maximum. If the maximum is NaN, no element does: `argmax` of three
elements was 3. If NaN is not the first element, the index could be that of the largest other element.
"""

from __future__ import annotations

from typing import Any

from tinygrad import Tensor, dtypes

from branded.tinygrad_compat import tensor_methods
from branded.tinygrad_compat.tensor_methods import inner_method


def install() -> None:
    original = inner_method(Tensor.argmax)

    def argmax(self: Tensor, axis: int | None = None, keepdim: bool = False) -> Tensor:
        if not (dtypes.is_float(self.dtype) and isinstance(axis, int) and -self.ndim <= axis < self.ndim):
            return original(self, axis, keepdim)
        dim = axis % self.ndim
        n: Any = self.shape[dim]
        # rank equal elements so that the first is the largest
        ranks = Tensor.arange(n, 0, -1).reshape(n, *(1,) * (self.ndim - dim - 1))
        rated = self.isnan().where(ranks + n, self.eq(self.max(dim, keepdim=True)) * ranks)
        best = rated.max(dim, keepdim=keepdim)
        at_first: Tensor = n - (best > n).where(best - n, best)
        return at_first.cast(dtypes.int32)

    tensor_methods.replace_method("argmax", original, argmax)
