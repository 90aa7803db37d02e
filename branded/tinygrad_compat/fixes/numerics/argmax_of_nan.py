"""A fix for `argmax` and `argmin` with NaN: they return the index of the first NaN, as numpy and JAX do.

tinygrad searches for the element that equals the maximum. If the maximum is NaN, no element does: `argmax` of three
elements was 3. If NaN is not the first element, the index could be that of the largest other element.

The kernel of the maximum and the kernel of the comparison both compute the elements. If they round differently, no
element equals the maximum either. Here the elements are materialized first if several rounded operations compute them,
also for the indices of `max_pool2d` and `cummax`.
"""

from __future__ import annotations

from typing import Any

from tinygrad import Tensor, dtypes

from branded.tinygrad_compat import tensor_methods
from branded.tinygrad_compat.tensor_methods import inner_method
from branded.tinygrad_compat.uops import is_inexact


def _materialize(x: Tensor) -> Tensor:
    return x.contiguous() if is_inexact(x.uop) else x


def install() -> None:
    original = inner_method(Tensor.argmax)

    def argmax(self: Tensor, axis: int | None = None, keepdim: bool = False) -> Tensor:
        if not (dtypes.is_float(self.dtype) and isinstance(axis, int) and -self.ndim <= axis < self.ndim):
            return original(self, axis, keepdim)
        self, dim = _materialize(self), axis % self.ndim
        n: Any = self.shape[dim]
        # rank equal elements so that the first is the largest
        ranks = Tensor.arange(n, 0, -1).reshape(n, *(1,) * (self.ndim - dim - 1))
        rated = self.isnan().where(ranks + n, self.eq(self.max(dim, keepdim=True)) * ranks)
        best = rated.max(dim, keepdim=keepdim)
        at_first: Tensor = n - (best > n).where(best - n, best)
        return at_first.cast(dtypes.int32)

    tensor_methods.replace_method("argmax", original, argmax)
    for name in ("cummax", "max_pool2d"):
        _materialize_operand(name)


def _materialize_operand(name: str) -> None:
    original = inner_method(getattr(Tensor, name))

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        has_indices = name == "cummax" or kwargs.get("return_indices") or len(args) == 6
        return original(_materialize(self) if has_indices else self, *args, **kwargs)

    tensor_methods.replace_method(name, original, method)
