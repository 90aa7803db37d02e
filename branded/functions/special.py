"""Special functions.  Where the derivative of the formula would be inaccurate, another formula computes it."""

from __future__ import annotations

import math
from typing import cast

from tinygrad import Tensor
from tinygrad.helpers import polyN

from branded.autodiff.elementwise import Elementwise
from branded.autodiff.formulas import log1p
from branded.autodiff.smooth_functions import LOGADDEXP
from branded.core.brand import S, S1, S2
from branded.core.tracing.recorded_calls import operation
from branded.functions._erf import erfinv as erfinv_between
from branded.functions._validation import fit, floats
from branded.graph.uops import widen
from branded.vec import Vec

_FAR = {4: 7, 8: 11}
"""The least argument for which Stirling's series is accurate to the last bits, by float size in bytes."""
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400)
_DIGAMMA = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12, -3617 / 8160)


def _shift_small(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return `(True, x, x + n)` where `x` is too small for Stirling's series, and `(False, 1, x)` elsewhere."""
    n = _FAR[x.dtype.itemsize]
    small = x < n
    return small, small.where(x, 1), small.where(x + n, x)


def _series(y: Tensor, coefficients: tuple[float, ...]) -> Tensor:
    """Compute Σ c[k] / y²ᵏ, with as many terms as the dtype needs."""
    terms = coefficients if y.dtype.itemsize == 8 else coefficients[:4]
    return polyN(1 / (y * y), list(terms[::-1]))


def stirling(y: Tensor) -> Tensor:
    """Compute the correction to log Γ(y) ≈ (y - 1/2) log y - y + log √2π for large y."""
    return _series(y, _STIRLING) / y


_ZETA = (
    *(0.6449340668482264, 0.2020569031595943, 0.08232323371113819, 0.03692775514336993, 0.01734306198444914),
    *(0.008349277381922827, 0.00407735619794434, 0.0020083928260822143, 0.0009945751278180853, 0.0004941886041194645),
    *(0.0002460865533080483, 0.00012271334757848915, 6.124813505870483e-05, 3.058823630702049e-05),
    *(1.528225940865187e-05, 7.637197637899763e-06, 3.81729326499984e-06, 1.908212716553939e-06),
    *(9.539620338727962e-07, 4.769329867878064e-07, 2.38450502727733e-07, 1.1921992596531106e-07),
    *(5.960818905125948e-08, 2.980350351465228e-08, 1.4901554828365043e-08, 7.45071178983543e-09),
    *(3.725334024788457e-09, 1.862659723513049e-09),
)
"""ζ(k) - 1 for k = 2, 3, ..."""
_ABOUT_2 = (1 - 0.5772156649015329, *((-1) ** k * z / k for k, z in enumerate(_ZETA, 2)))
"""The coefficients of the power series of log Γ(2 + z) / z."""


def _lgamma_above(x: Tensor) -> Tensor:
    """Compute log Γ(x) for x > 0; small x use the series about 2, which is accurate near the zeros at 1 and 2."""
    small = x < _FAR[x.dtype.itemsize]
    y = small.where(16, x)
    far = (y - 0.5) * y.log() - y + (0.5 * math.log(2 * math.pi)) + stirling(y)
    t = small.where(x, 2)
    low = t < 1.5
    u, product = low.where(2, t), 1 / low.where(t, 1)
    for _ in range(_FAR[x.dtype.itemsize] - 2):
        more = u >= 2.5
        u = more.where(u - 1, u)
        product = product * more.where(u, 1)
    z = low.where(t - 1, u - 2)
    terms = _ABOUT_2 if x.dtype.itemsize == 8 else _ABOUT_2[:13]
    return small.where(z * polyN(z, list(terms[::-1])) + product.log(), far)


def _digamma_above(x: Tensor) -> Tensor:
    """Compute the derivative of `_lgamma_above`."""
    small, near, y = _shift_small(x)
    steps = 1 / near
    for k in range(1, _FAR[x.dtype.itemsize]):
        steps = steps + 1 / (near + k)
    far = y.log() - 0.5 / y - _series(y, _DIGAMMA) / (y * y)
    return small.where(far - steps, far)


def _lgamma_value(t: Tensor) -> Tensor:
    below = t < 0.5
    pole = (t <= 0) & t.eq(t.floor())
    rest = pole.where(0.25, t - t.round())
    sine = below.where((rest * math.pi).sin().abs(), 1)
    above = _lgamma_above(_finite(below.where(1 - t, t)))
    y = below.where(math.log(math.pi) - sine.log() - above, above)
    return (pole | t.isinf()).where(float("inf"), t.isnan().where(float("nan"), y))


_lgamma = Elementwise("functions.lgamma", _lgamma_value, lambda y, x: [cast(Tensor, digamma(x))])


@operation
def lgamma(x: Vec[S] | float) -> Vec[S]:
    """Compute the logarithm of the absolute value of the gamma function.

    Args:
        x: `Vec[S, f32[...]]`.

    Returns:
        `Vec[S, f32[...]]`; inf at 0 and at negative ints.

    Raises:
        OperandError: `x` is not a tensor.

    Example:
        >>> from branded import lgamma
        >>> round(lgamma(5.0).exp().item(), 3)
        24.0

    Source: `jax.lax.lgamma`, `jax.scipy.special.gammaln`; computed by Stirling's series and the reflection formula.
    """
    (t,) = floats("lgamma", x=x)
    return _lgamma(t)


def _finite(t: Tensor) -> Tensor:
    """Replace NaN and infinities by 1; their results are set separately and must not affect the derivative."""
    return t.isfinite().where(t, 1)


@operation
def digamma(x: Vec[S] | float) -> Vec[S]:
    """Compute the derivative of `lgamma`.

    Args:
        x: `Vec[S, f32[...]]`.

    Returns:
        `Vec[S, f32[...]]`; NaN at 0 and at negative ints.

    Raises:
        OperandError: `x` is not a tensor.

    Example:
        >>> from branded import digamma
        >>> round(digamma(1.0).item(), 4)  # Euler's constant, below 0
        -0.5772

    Source: `jax.scipy.special.digamma`; computed by the asymptotic series and the reflection formula.
    """
    (operand,) = floats("digamma", x=x)
    t = widen(operand)
    below = t < 0.5
    pole = (t <= 0) & t.eq(t.floor())
    rest = (below & pole.logical_not() & t.isfinite()).where(t - t.round(), 0.25)
    above = _digamma_above(_finite(below.where(1 - t, t)))
    angle = rest * math.pi
    y = below.where(above - math.pi * angle.cos() / angle.sin(), above)
    y = t.eq(float("inf")).where(float("inf"), (pole | t.isnan() | t.eq(-float("inf"))).where(float("nan"), y))
    return y.cast(operand.dtype)


@operation
def betaln(a: Vec[S1] | float, b: Vec[S2] | float) -> Vec[S1 | S2]:
    """Compute the log of the beta function, `lgamma(a) + lgamma(b) - lgamma(a + b)`, without cancellation.

    Args:
        a: `Vec[S1, f32[...]]`, above 0.
        b: `Vec[S2, f32[...]]`, above 0.

    Returns:
        `Vec[S1 | S2, f32[...]]`.

    Raises:
        OperandError: An argument is not a tensor.
        ArgumentError: The shapes do not broadcast.

    Example:
        >>> from branded import betaln
        >>> round(betaln(2.0, 3.0).exp().item(), 6)  # 1 / 12
        0.083333

    Source: `jax.scipy.special.betaln`.
    """
    x, y = floats("betaln", a=a, b=b)
    fit("betaln", ("a", x, x.shape), ("b", y, y.shape))
    low, high = widen(x.minimum(y)), widen(x.maximum(y))
    far = high >= _FAR[high.dtype.itemsize]
    big = far.where(high, 8.0)
    both = big + low
    apart = low - (both - 0.5) * log1p(low / big) - low * big.log() + stirling(big) - stirling(both)
    near = far.where(1.0, high)
    direct = lgamma(near) - lgamma(near + low)
    return (lgamma(low) + far.where(apart, direct)).cast(x.dtype)


@operation
def logaddexp(a: Vec[S1] | float, b: Vec[S2] | float) -> Vec[S1 | S2]:
    """Compute `log(exp(a) + exp(b))` without overflow.

    Args:
        a: `Vec[S1, f32[...]]`.
        b: `Vec[S2, f32[...]]`.

    Returns:
        `Vec[S1 | S2, f32[...]]`.

    Raises:
        OperandError: An argument is not a tensor.
        ArgumentError: The shapes do not broadcast.

    Example:
        >>> from branded import logaddexp
        >>> round(logaddexp(1000.0, 1000.0).item(), 2)
        1000.69

    Source: `jax.numpy.logaddexp`.
    """
    x, y = floats("logaddexp", a=a, b=b)
    shape = fit("logaddexp", ("a", x, x.shape), ("b", y, y.shape))
    return LOGADDEXP(x.expand(shape), y.expand(shape))


def _erfinv_value(x: Tensor) -> Tensor:
    inside = x.abs() < 1
    y = erfinv_between(inside.where(x, 0))
    return inside.where(y, x.abs().eq(1).where(x * float("inf"), float("nan")))


_erfinv = Elementwise("functions.erfinv", _erfinv_value, lambda y, x: [(y * y).exp() * (math.sqrt(math.pi) / 2)])


@operation
def erfinv(x: Vec[S] | float) -> Vec[S]:
    """Compute the inverse of the error function.

    Args:
        x: `Vec[S, f32[...]]`, from -1 to 1.

    Returns:
        `Vec[S, f32[...]]`; infinite at -1 and 1, NaN outside [-1, 1].

    Raises:
        OperandError: `x` is not a tensor.

    Example:
        >>> from branded import erfinv
        >>> round(erfinv(0.5).item(), 4)
        0.4769

    Source: `jax.scipy.special.erfinv`; M. Giles, "Approximating the erfinv function" (2010).
    """
    (t,) = floats("erfinv", x=x)
    return _erfinv(t)
