"""A fix for int division of unsigned ints by negative numbers, and of negative numbers by unsigned ints.

The number wraps around to the unsigned dtype, as in JAX and in products: for uint8, -2 is 254, and `n // -2` is 0 for
each `n` below 254. tinygrad divides by 254 too, but corrects the quotient as if the signs differed: `3 // -2` is 255.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinygrad import Tensor, dtypes
from tinygrad.dtype import DType
from tinygrad.uop.ops import Ops

from branded.tinygrad_compat.tensor_methods import inner_method, replace_method


def _wrap_around(x: Any, dtype: DType) -> Any:
    """Return a negative number as the unsigned int that it is in memory, and any other operand unchanged."""
    if type(x) is int:
        return x % 2**dtype.bitsize if -(2**dtype.bitsize) <= x < 0 else x
    if isinstance(x, Tensor) and x.uop.base.op is Ops.CONST and type(number := x.uop.base.arg) is int and number < 0:
        return x.const_like(_wrap_around(number, dtype)) if x.dtype in (dtypes.weakint, dtype) else x
    return x


def _divide(original: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def divide(self: Tensor, x: Any, *args: Any, **kwargs: Any) -> Tensor:
        if self.dtype in dtypes.uints:
            x = _wrap_around(x, self.dtype)
        elif isinstance(x, Tensor) and x.dtype in dtypes.uints:
            self = _wrap_around(self, x.dtype)
        return original(self, x, *args, **kwargs)

    return divide


def _divide_and_round(original: Callable[..., Tensor]) -> Callable[..., Tensor]:
    wrapping = _divide(original)

    def div(self: Tensor, x: Any, reverse: bool = False, rounding_mode: str | None = None) -> Tensor:
        return (original if rounding_mode is None else wrapping)(self, x, reverse, rounding_mode)

    return div


def install() -> None:
    for name, change in (("div", _divide_and_round), ("mod", _divide), ("fmod", _divide)):
        method = inner_method(getattr(Tensor, name))
        replace_method(name, method, change(method))
