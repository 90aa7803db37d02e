"""A fix for quotients of floats that round to 0, and for remainders by 0 or infinity, as in numpy and JAX.

tinygrad computes `x % y` as `x - floor(x / y) * y`, where 0 times infinity is NaN: `1.0 % inf` is NaN, and not 1.0. The
floor of a negative quotient that rounds to 0 is 0, and not -1: `1.0 // -inf` is 0. A product with the number 0 is 0, so
`x % 0.0` is `x`, and not NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tinygrad import Tensor, dtypes
from tinygrad.uop.ops import Ops

from branded.tinygrad_compat.tensor_methods import inner_method, replace_method


def install() -> None:
    divide: Callable[..., Tensor] = inner_method(Tensor.div)
    remainder: Callable[..., Tensor] = inner_method(Tensor.mod)
    truncated: Callable[..., Tensor] = inner_method(Tensor.fmod)

    def div(self: Tensor, x: Any, reverse: bool = False, rounding_mode: str | None = None) -> Tensor:
        out = divide(self, x, reverse, rounding_mode)
        if rounding_mode is None or not dtypes.is_float(out.dtype):
            return out
        other = self.ufix(x)
        a, b = (other, self) if reverse else (self, other)
        if (number := _constant(b)) is not None and math.isinf(number):
            out = a.isfinite().where(out, math.nan)  # a product with the number 0 is 0
        elif number is not None:
            return out
        return (out.eq(0) & a.ne(0) & (a < 0).ne(b < 0)).where(-1, out) if rounding_mode == "floor" else out

    def rest(self: Tensor, x: Any, reverse: bool, rounding_mode: str, original: Callable[..., Tensor]) -> Tensor:
        other = self.ufix(x)
        a, b = (other, self) if reverse else (self, other)
        number = _constant(b)
        if (number is not None and math.isfinite(number) and number) or not (
            dtypes.is_float(a.dtype) or dtypes.is_float(b.dtype)
        ):
            return original(a, b)
        if number == 0:
            return a + math.nan
        quotient = div(a, b, rounding_mode=rounding_mode)
        return a - quotient.eq(0).where(0, quotient * b)

    def mod(self: Tensor, x: Any, reverse: bool = False) -> Tensor:
        return rest(self, x, reverse, "floor", remainder)

    def fmod(self: Tensor, x: Any) -> Tensor:
        return rest(self, x, False, "trunc", truncated)

    replace_method("div", divide, div)
    replace_method("mod", remainder, mod)
    replace_method("fmod", truncated, fmod)


def _constant(x: Tensor) -> float | None:
    """Return the value of a constant, or None."""
    u = x.uop.base
    return float(u.arg) if u.op is Ops.CONST and isinstance(u.arg, int | float) else None
