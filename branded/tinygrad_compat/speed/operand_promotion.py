"""Operands of elementwise operations that need no promotion: tensors of one dtype, and a number next to a tensor.

tinygrad makes three tensors for the number in `x + 1`, and looks up the common dtype twice, which takes most of the
time of the operation. The result here is the same: the number is a constant of the weak dtype of the tensor's kind.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tinygrad import Tensor, dtypes
from tinygrad.dtype import DType, weak_dtype
from tinygrad.uop.ops import UOp

from branded.tinygrad_compat import gates, private_api
from branded.tinygrad_compat.uops import tensor


@functools.cache
def _number_types(dtype: DType) -> tuple[type, ...]:
    """Return the types of the numbers that do not change the dtype of a tensor."""
    if dtype in dtypes.weaks:
        return ()
    return (float, int) if dtypes.is_float(dtype) else (int,) if dtypes.is_int(dtype) else ()


def install() -> None:
    original: Callable[..., tuple[Tensor, Tensor]] = getattr(Tensor, private_api.PROMOTES)
    inner = getattr(original, "__wrapped__", original)

    @functools.wraps(inner)
    def broadcasted(self: Tensor, y: Any, reverse: bool = False) -> tuple[Tensor, Tensor]:
        kind, dtype = type(y), self.uop.dtype
        if kind is Tensor:
            if y.uop.dtype is not dtype or dtype in dtypes.weaks:
                return original(self, y, reverse)
        elif kind in _number_types(dtype) and -(2**31) <= y < 2**31:
            y = tensor(UOp.const(y, weak_dtype(dtype)))
        else:
            return original(self, y, reverse)
        return (y, self) if reverse else (self, y)

    gates.replace_plain(Tensor, private_api.PROMOTES, broadcasted)
