"""`cumsum` and `cumprod` of long axes, and `cummax` and `cummin`, in C on the CPU if CPU codegen is enabled.

tinygrad sums all preceding elements for each element, in two steps for a long axis: a row of a thousand elements takes
130,000 additions and three kernels. A short axis is left to tinygrad, because its sums and its maxima of ints fuse with
the surrounding kernel. The derivative of tinygrad's products takes n³ steps for a row of n. Its maxima of floats skip
NaN, so even the shortest axis uses C: NaN is propagated, as in numpy.
"""

from __future__ import annotations

from tinygrad import Tensor, dtypes

from branded import tinygrad_compat
from branded.hooks.host_sort import suits
from branded.tinygrad_compat.tensor_methods import Method, override_if, wrap

LONG = 32
"""The length from which an axis is long."""
LONG_OF_PRODUCTS = 8
"""The length from which an axis is long for products, because of their derivative."""
_TYPES = (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64)


def _sums_in_c(x: Tensor, axis: int = 0) -> bool:
    return suits(x, axis) and x.dtype in _TYPES and bool(x.shape[axis] >= LONG)


def _multiplies_in_c(x: Tensor, axis: int) -> bool:
    is_number = x.dtype in _TYPES or dtypes.is_float(x.dtype)
    return is_number and suits(x, axis) and bool(x.shape[axis] >= LONG_OF_PRODUCTS)


def _maximizes_in_c(x: Tensor, axis: int = 0) -> bool:
    return suits(x, axis) and (dtypes.is_float(x.dtype) or bool(x.shape[axis] >= LONG))


@override_if(_sums_in_c)
def _cumsum(original: Method, self: Tensor, axis: int = 0) -> Tensor:
    from branded.callbacks import running_sums

    return running_sums.cumsum(self, axis)


@override_if(_multiplies_in_c)
def _cumprod(original: Method, self: Tensor, axis: int) -> Tensor:
    from branded.callbacks import running_products

    return running_products.cumprod(self, axis)


@override_if(_maximizes_in_c)
def _cummax(original: Method, self: Tensor, axis: int = 0) -> tuple[Tensor, Tensor]:
    from branded.callbacks import running_maxima

    return running_maxima.cummax(self, axis)


def install() -> None:
    """Install the methods unless the patches of tinygrad are disabled."""
    if tinygrad_compat.installed:
        wrap("cumsum", _cumsum)
        wrap("cumprod", _cumprod)
        wrap("cummax", _cummax)
