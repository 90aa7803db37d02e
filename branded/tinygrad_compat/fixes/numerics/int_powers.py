"""A fix for powers of ints: exact, by repeated squaring, and wrapping around like products; and for infinite exponents.

tinygrad computes them in float32 with `exp2` and `log2`: `Tensor([3]) ** Tensor([5])` is 242, and `Tensor([10, 3]) **
Tensor([2, 5])` does not compile. A negative exponent returns the integer part, 0 for all bases except 1 and -1.

`x ** inf` raised an OverflowError when it was computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tinygrad import Tensor, dtypes
from tinygrad.dtype import strong_dtype
from tinygrad.uop.ops import Ops

from branded.tinygrad_compat import tensor_methods
from branded.tinygrad_compat.private_api import least_upper_dtype
from branded.tinygrad_compat.tensor_methods import inner_method


def _power(base: Tensor, exponent: Tensor, bits: int) -> Tensor:
    exponent = exponent.int() if exponent.dtype == dtypes.bool else exponent
    out, square = base.const_like(1), base
    for i in range(bits):
        out = ((exponent >> i) & 1).ne(0).where(out * square, out)
        square = square * square
    return out if exponent.uop.vmin >= 0 else ((exponent < 0) & (base * base).ne(1)).where(0, out)


def install() -> None:
    original: Callable[..., Tensor] = inner_method(Tensor.pow)

    def power(self: Tensor, x: Any, reverse: bool = False) -> Tensor:
        other = self.ufix(x)
        base, exponent = (other, self) if reverse else (self, other)
        n = exponent.uop.base
        if n.op is Ops.CONST and not math.isfinite(n.arg):
            is_one = (base if math.isnan(n.arg) else base.abs()).eq(1)
            out: Tensor = is_one.where(1, (base.abs().log2() * n.arg).exp2())
            return out
        dtype = strong_dtype(least_upper_dtype(base.dtype, exponent.dtype))
        if not dtypes.is_int(dtype) or n.op is Ops.CONST:
            return original(self, x, reverse)
        bits = strong_dtype(exponent.dtype).bitsize
        most = max(exponent.uop.vmax, -exponent.uop.vmin)
        return _power(base.cast(dtype), exponent, min(bits, int(most).bit_length()))

    tensor_methods.replace_method("pow", original, power)
