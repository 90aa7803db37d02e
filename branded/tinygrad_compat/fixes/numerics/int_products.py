"""A fix for products and means of ints: they are computed in dtypes that can hold the results.

tinygrad multiplies in the dtype of the operands, and converts the products to the dtype of the sum. A product of two
int8 is an int8 and wraps around, but `X.matmul(M, dtype="int32")` is exact in numpy. (In tinygrad it is exact only in
kernels whose C computes int8 products in 32 bits: see `small_ints`.) tinygrad also sums the ints of a mean in 32 bits,
so the mean of two numbers 2**31 - 1 is -1. It sums the squares of a variance as ints, so the variance of 1 and 2 is 0.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from tinygrad import Tensor, dtypes
from tinygrad.dtype import to_dtype

from branded.tinygrad_compat import tensor_methods
from branded.tinygrad_compat.private_api import least_upper_dtype, sum_acc_dtype
from branded.tinygrad_compat.tensor_methods import inner_method


def _cast_to_sum_dtype(xs: Sequence[Any], dtype: Any) -> list[Any]:
    """Cast the operands to the dtype of the sum, if they are ints."""
    if not all(isinstance(x, Tensor) for x in xs):
        return list(xs)
    common_dtype = least_upper_dtype(*(x.dtype for x in xs))
    if common_dtype not in dtypes.ints:
        return list(xs)
    return [x.cast(sum_acc_dtype(common_dtype) if dtype is None else to_dtype(dtype)) for x in xs]


def install() -> None:
    dot: Callable[..., Tensor] = inner_method(Tensor.dot)
    conv2d: Callable[..., Tensor] = inner_method(Tensor.conv2d)
    mean: Callable[..., Tensor] = inner_method(Tensor.mean)
    var: Callable[..., Tensor] = inner_method(Tensor.var)
    einsum: Any = Tensor.einsum
    einsum = einsum.__func__

    def wide_dot(self: Tensor, w: Tensor, dtype: Any = None) -> Tensor:
        return dot(self, w) if dtype is None else dot(*_cast_to_sum_dtype((self, w), dtype), dtype=dtype)

    def wide_conv2d(
        self: Tensor, weight: Tensor, bias: Any = None, groups: int = 1, stride: Any = 1, dilation: Any = 1,
        padding: Any = 0, dtype: Any = None,
    ) -> Tensor:  # fmt: skip
        return conv2d(*_cast_to_sum_dtype((self, weight), dtype), bias, groups, stride, dilation, padding, dtype)

    def wide_einsum(cls: type[Tensor], formula: str, *operands: Any, dtype: Any = None) -> Tensor:
        xs = operands[0] if len(operands) == 1 and isinstance(operands[0], tuple | list) else operands
        out: Tensor = einsum(cls, formula, *_cast_to_sum_dtype(xs, dtype), dtype=dtype)
        return out

    def wide_mean(self: Tensor, axis: Any = None, keepdim: bool = False) -> Tensor:
        wide = dtypes.uint64 if self.dtype in dtypes.uints else dtypes.int64
        return mean(self.cast(wide) if self.dtype in dtypes.ints else self, axis, keepdim)

    def wide_var(self: Tensor, axis: Any = None, keepdim: bool = False, correction: int = 1) -> Tensor:
        return var(self if dtypes.is_float(self.dtype) else self.cast(dtypes.float32), axis, keepdim, correction)

    tensor_methods.replace_method("mean", mean, wide_mean)
    tensor_methods.replace_method("var", var, wide_var)
    tensor_methods.replace_method("dot", dot, wide_dot)
    tensor_methods.replace_method("conv2d", conv2d, wide_conv2d)
    setattr(Tensor, "einsum", classmethod(functools.wraps(einsum)(wide_einsum)))  # noqa: B010  mypy: a method
