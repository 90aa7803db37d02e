"""`cumsum` and `cumprod` of long axes, `cummax` and `cummin` are a call of C on the CPU, where the room for it is on.

tinygrad adds up for each entry all those before it, of a long axis in two steps: a row of a thousand is 130,000
additions, and three kernels.  Of a short one that is left to it: the sums become part of the kernel around them.
The derivative of its products takes n³ steps for a row of n.  Its maxima pass over NaN, so that even the shortest axis
is a call: a NaN stays, as in numpy.
"""

from __future__ import annotations

from tinygrad import Tensor, dtypes

from branded import tinygrad_compat
from branded.hooks.host_sort import suits
from branded.tinygrad_compat.tensor_methods import Method, nested, running, wrap

LONG = 32
"""An axis of so many entries is long."""
LONG_OF_PRODUCTS = 8
"""And of so many where they are multiplied, for the derivative."""
_TYPES = (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64)


def _cumsum(original: Method) -> Method:
    inner, names = nested(original), running()

    def cumsum(self: Tensor, axis: int = 0) -> Tensor:
        if not suits(self, axis) or self.dtype not in _TYPES or self.shape[axis] < LONG:
            found: Tensor = (original if names() is None else inner)(self, axis)
            return found
        from branded.callbacks import running_sums

        return running_sums.cumsum(self, axis)

    return cumsum


def _cumprod(original: Method) -> Method:
    inner, names = nested(original), running()

    def cumprod(self: Tensor, axis: int) -> Tensor:
        is_long = suits(self, axis) and self.shape[axis] >= LONG_OF_PRODUCTS
        if not is_long or not (self.dtype in _TYPES or dtypes.is_float(self.dtype)):
            found: Tensor = (original if names() is None else inner)(self, axis)
            return found
        from branded.callbacks import running_products

        return running_products.cumprod(self, axis)

    return cumprod


def _cummax(original: Method) -> Method:
    inner, names = nested(original), running()

    def cummax(self: Tensor, axis: int = 0) -> tuple[Tensor, Tensor]:
        if not suits(self, axis):
            found: tuple[Tensor, Tensor] = (original if names() is None else inner)(self, axis)
            return found
        from branded.callbacks import running_maxima

        return running_maxima.cummax(self, axis)

    return cummax


def install() -> None:
    """Not where tinygrad is to be left as it is."""
    if tinygrad_compat.installed:
        wrap("cumsum", _cumsum)
        wrap("cumprod", _cumprod)
        wrap("cummax", _cummax)
