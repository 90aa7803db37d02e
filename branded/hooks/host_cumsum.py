"""`cumsum` and `cumprod` of long axes, and `cummax` and `cummin`, in C on the CPU if CPU codegen is enabled.

tinygrad sums all preceding elements for each element, in two steps for a long axis: a row of a thousand elements takes
130,000 additions and three kernels. A short axis is left to tinygrad, because its sums fuse with the surrounding
kernel. The derivative of tinygrad's products takes n³ steps for a row of n. Its maxima skip NaN, so even the shortest
axis uses C: NaN is propagated, as in numpy.
"""

from __future__ import annotations

from tinygrad import Tensor, dtypes

from branded import tinygrad_compat
from branded.hooks.host_sort import suits
from branded.tinygrad_compat.tensor_methods import Method, inner_method, running, wrap

LONG = 32
"""The length from which an axis is long."""
LONG_OF_PRODUCTS = 8
"""The length from which an axis is long for products, because of their derivative."""
_TYPES = (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64)


def _cumsum(original: Method) -> Method:
    inner, names = inner_method(original), running()

    def cumsum(self: Tensor, axis: int = 0) -> Tensor:
        if not suits(self, axis) or self.dtype not in _TYPES or self.shape[axis] < LONG:
            found: Tensor = (original if names() is None else inner)(self, axis)
            return found
        from branded.callbacks import running_sums

        return running_sums.cumsum(self, axis)

    return cumsum


def _cumprod(original: Method) -> Method:
    inner, names = inner_method(original), running()

    def cumprod(self: Tensor, axis: int) -> Tensor:
        is_long = suits(self, axis) and self.shape[axis] >= LONG_OF_PRODUCTS
        if not is_long or not (self.dtype in _TYPES or dtypes.is_float(self.dtype)):
            found: Tensor = (original if names() is None else inner)(self, axis)
            return found
        from branded.callbacks import running_products

        return running_products.cumprod(self, axis)

    return cumprod


def _cummax(original: Method) -> Method:
    inner, names = inner_method(original), running()

    def cummax(self: Tensor, axis: int = 0) -> tuple[Tensor, Tensor]:
        if not suits(self, axis):
            found: tuple[Tensor, Tensor] = (original if names() is None else inner)(self, axis)
            return found
        from branded.callbacks import running_maxima

        return running_maxima.cummax(self, axis)

    return cummax


def install() -> None:
    """Install the methods unless the patches of tinygrad are disabled."""
    if tinygrad_compat.installed:
        wrap("cumsum", _cumsum)
        wrap("cumprod", _cumprod)
        wrap("cummax", _cummax)
