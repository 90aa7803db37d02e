"""Smooth elementwise functions: for each, the formula of its value and the formula of its derivative."""

from __future__ import annotations

import math

from tinygrad import Tensor

from branded.autodiff import formulas
from branded.autodiff.elementwise import Elementwise


def _logaddexp_slopes(y: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Return the share of each operand in the sum; two equal infinities have one half each."""
    share = formulas.difference(a, b).sigmoid()
    return share, 1 - share


def _erf_slope(x: Tensor) -> Tensor:
    """Return 2/√π exp(-x²); the derivative of this, -2x times it, is 0 where x² is infinite."""
    square = x * x
    return (-(square > 900).where(900, square)).exp() * (2 / math.sqrt(math.pi))


UNARY = {
    f.name: f
    for f in (
        Elementwise("erf", formulas.erf, lambda y, x: [_erf_slope(x)]),
        Elementwise("asin", formulas.asin, lambda y, x: [(1 - x * x).rsqrt()]),
        Elementwise("acos", formulas.acos, lambda y, x: [-(1 - x * x).rsqrt()]),
        Elementwise("atan", formulas.atan, lambda y, x: [1 / (1 + x * x)]),
        Elementwise("asinh", formulas.asinh, lambda y, x: [(1 + x * x).rsqrt()]),
        Elementwise("acosh", formulas.acosh, lambda y, x: [(x - 1).rsqrt() * (x + 1).rsqrt()]),
        Elementwise("atanh", formulas.atanh, lambda y, x: [1 / ((1 - x) * (1 + x))]),
        Elementwise("sinh", formulas.sinh, lambda y, x: [x.cosh()]),
        Elementwise("cosh", formulas.cosh, lambda y, x: [x.sinh()]),
        Elementwise("sigmoid", formulas.sigmoid, lambda y, x: [y * (1 - y)]),
        Elementwise("tanh", formulas.tanh, lambda y, x: [1 - y * y]),
    )
}
LOGADDEXP = Elementwise("logaddexp", formulas.logaddexp, _logaddexp_slopes)
SOFTPLUS = Elementwise("softplus", lambda x: formulas.logaddexp(x, x.const_like(0)), lambda y, x: [x.sigmoid()])
