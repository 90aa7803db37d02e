"""`argmax` and `argmin` of entries with NaN are where the first NaN is, as in numpy and in JAX.

tinygrad looks for the entry that is equal to the largest, which none is where that is NaN: `argmax` of three entries
was 3.  Where NaN is not the first entry, the largest may be one of the others, whose place was given.
"""

from __future__ import annotations

from typing import Any

from tinygrad import Tensor, dtypes

from branded.tinygrad_compat import tensor_methods
from branded.tinygrad_compat.tensor_methods import nested


def install() -> None:
    original = nested(Tensor.argmax)

    def argmax(self: Tensor, axis: int | None = None, keepdim: bool = False) -> Tensor:
        if not (dtypes.is_float(self.dtype) and isinstance(axis, int) and -self.ndim <= axis < self.ndim):
            return original(self, axis, keepdim)
        at = axis % self.ndim
        n: Any = self.shape[at]
        # the first of equal ones is the largest
        left = Tensor.arange(n, 0, -1).reshape(n, *(1,) * (self.ndim - at - 1))
        rated = self.isnan().where(left + n, self.eq(self.max(at, keepdim=True)) * left)
        best = rated.max(at, keepdim=keepdim)
        at_first: Tensor = n - (best > n).where(best - n, best)
        return at_first.cast(dtypes.int32)

    tensor_methods.put("argmax", original, argmax)
