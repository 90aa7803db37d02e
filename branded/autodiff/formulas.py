"""Formulas of elementwise functions, accurate to their dtype (float32 or float64); their own derivatives are not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tinygrad import Tensor, dtypes
from tinygrad.helpers import polyN

_ASIN = {
    4: ((-8.6563630030e-03, -4.2743422091e-02, 1.6666586697e-01), (-7.0662963390e-01, 1.0)),
    8: (
        (
            *(3.47933107596021167570e-05, 7.91534994289814532176e-04, -4.00555345006794114027e-02),
            *(2.01212532134862925881e-01, -3.25565818622400915405e-01, 1.66666666666666657415e-01),
        ),
        (
            *(7.70381505559019352791e-02, -6.88283971605453293030e-01, 2.02094576023350569471),
            *(-2.40339491173441421878, 1.0),
        ),
    ),
}
"""The fit of (asin x - x) / x³ in x², up to 1/4, for each float size. Source: fdlibm."""
_ATAN = {
    4: ((8.05374449538e-2, -1.38776856032e-1, 1.99777106478e-1, -3.33329491539e-1), (1.0,)),
    8: (
        (
            *(-8.750608600031904122785e-1, -1.615753718733365076637e1, -7.500855792314704667340e1),
            *(-1.228866684490136173410e2, -6.485021904942025371773e1),
        ),
        (
            *(1.0, 2.485846490142306297962e1, 1.650270098316988542046e2, 4.328810604912902668951e2),
            *(4.853903996359136964868e2, 1.945506571482613964425e2),
        ),
    ),
}
"""The fit of (atan x - x) / x³ in x², up to the first of `_TURNS`. Source: S. Moshier, Cephes."""
_TURNS = {4: math.tan(math.pi / 8), 8: 0.66}
_HUGE = 2.0**28
"""From here on, 1 is negligible compared with the square."""
_ERF32_P = (0.00022905065861350646, 0.0034082910107109506, 0.050955695062380861, 0.18520832239976145, 1.128379143519084)
_ERF32_Q = (
    *(-1.1791602954361697e-7, 0.000023547966471313185, 0.0010179625278914885),
    *(0.014070470171167667, 0.11098505178285362, 0.49746925110067538, 1.0),
)
_ERF64_P = (
    *(9.60497373987051638749, 90.0260197203842689217, 2232.00534594684319226),
    *(7003.32514112805075473, 55592.3013010394962768),
)
_ERF64_Q = (
    *(1.0, 33.5617141647503099647, 521.357949780152679795, 4594.32382970980127987),
    *(22629.0000613890934246, 49267.3942608635921086),
)
_ERFC64_P = (
    *(2.46196981473530512524e-10, 0.564189564831068821977, 7.46321056442269912687),
    *(48.6371970985681366614, 196.520832956077098242, 526.445194995477358631),
    *(934.528527171957607540, 1027.55188689515710272, 557.535335369399327526),
)
_ERFC64_Q = (
    *(1.0, 13.2281951154744992508, 86.7072140885989742329, 354.937778887819891062, 975.708501743205489753),
    *(1823.90916687909736289, 2246.33760818710981792, 1656.66309194161350182, 557.535340817727675546),
)


def _cubic(x: Tensor, fit: Mapping[int, tuple[Sequence[float], Sequence[float]]]) -> Tensor:
    """Compute x + x³ R(x²), which keeps the sign of x even for zero."""
    top, bottom = fit[x.dtype.itemsize]
    z = x * x
    r = polyN(z, list(top))
    return x + x * z * (r if len(bottom) == 1 else r / polyN(z, list(bottom)))


def _odd(x: Tensor, size: Tensor) -> Tensor:
    return (x < 0).where(-size, size)


def asin(x: Tensor) -> Tensor:
    is_small = x.abs() < 0.5
    far = math.pi / 2 - 2 * _cubic(((1 - x.abs()) / 2).sqrt(), _ASIN)
    return is_small.where(_cubic(is_small.where(x, 0), _ASIN), _odd(x, far))


def acos(x: Tensor) -> Tensor:
    is_small = x.abs() < 0.5
    far = 2 * _cubic(((1 - x.abs()) / 2).sqrt(), _ASIN)
    near = math.pi / 2 - _cubic(is_small.where(x, 0), _ASIN)
    return is_small.where(near, (x < 0).where(math.pi - far, far))


def atan(x: Tensor) -> Tensor:
    """Rotate by π/4 or π/2 for large x, so that one quotient is the argument of the fit."""
    size, first = x.abs(), _TURNS[x.dtype.itemsize]
    is_near, is_far = size <= first, size > math.tan(3 * math.pi / 8)
    rest = is_far.where(-1, size - 1) / is_far.where(size, size + 1)
    turned = is_far.where(math.pi / 2, math.pi / 4) + _cubic(is_near.where(0, rest), _ATAN)
    return is_near.where(_cubic(is_near.where(x, 0), _ATAN), _odd(x, turned))


def erf(x: Tensor) -> Tensor:
    """Compute 2/√π ∫₀ˣ exp(-t²) dt.

    Source: XLA's rational approximation for float32; S. Moshier, Cephes, for float64.
    """
    if x.dtype != dtypes.float64:
        is_near = x.abs() < 3.7439211627767994  # from here on, erf rounds to 1
        near = is_near.where(x, 0)
        fit = near * polyN(near * near, list(_ERF32_P)) / polyN(near * near, list(_ERF32_Q))
        return is_near.where(fit, x.clamp(-1, 1))
    inner, outer = x.clamp(-1, 1), x.abs().clamp(1, 6)  # clamped: no NaN from the unused branch or its gradient
    near = inner * polyN(inner * inner, list(_ERF64_P)) / polyN(inner * inner, list(_ERF64_Q))
    tail = (-outer * outer).exp() * polyN(outer, list(_ERFC64_P)) / polyN(outer, list(_ERFC64_Q))
    return (x.abs() < 1).where(near, (x < 0).where(tail - 1, 1 - tail))


def log1p(w: Tensor) -> Tensor:
    """Compute log(1 + w) for w from 0 to 1, accurate for small w."""
    return 2 * _artanh(w / (w + 2))


def _artanh(s: Tensor) -> Tensor:
    """Sum the series, for |s| up to 1/3."""
    terms = 18 if s.dtype.itemsize == 8 else 9
    return s * polyN(s * s, [1 / (2 * k + 1) for k in range(terms)][::-1])


def _log1p(w: Tensor, is_huge: Tensor, x: Tensor) -> Tensor:
    """Compute log(1 + w) for w >= 0, and log 2x for huge x, where w is at least 1."""
    is_small = w < 1
    far = is_huge.where(x, 1 + w).log() + is_huge.where(math.log(2), 0)
    return is_small.where(log1p(is_small.where(w, 0)), far)


def asinh(x: Tensor) -> Tensor:
    size, is_huge = x.abs(), x.abs() > _HUGE
    near = is_huge.where(1, size)
    square = near * near
    return _odd(x, _log1p(near + square / (1 + (1 + square).sqrt()), is_huge, size))


def acosh(x: Tensor) -> Tensor:
    is_huge = x > _HUGE
    above = is_huge.where(1, x - 1)
    return (x < 1).where(math.nan, _log1p(above + (above * (above + 2)).sqrt(), is_huge, x))


def atanh(x: Tensor) -> Tensor:
    is_small = x.abs() < 1 / 3
    return is_small.where(_artanh(is_small.where(x, 0)), ((1 + x) / (1 - x)).log() / 2)


def sinh(x: Tensor) -> Tensor:
    is_small = x.abs() < 1
    near = is_small.where(x, 0)
    series = near * polyN(near * near, [1 / math.factorial(2 * k + 1) for k in range(9)][::-1])
    half = _half_exp(x.abs())
    return is_small.where(series, _odd(x, half - 0.25 / half))


def cosh(x: Tensor) -> Tensor:
    half = _half_exp(x.abs())
    return half + 0.25 / half


def _half_exp(x: Tensor) -> Tensor:
    """Compute eˣ / 2 without overflow when only eˣ is infinite."""
    return (x - math.log(2)).exp()


def logaddexp(x: Tensor, y: Tensor) -> Tensor:
    return x.maximum(y) + log1p((-difference(x, y).abs()).exp())


def difference(x: Tensor, y: Tensor) -> Tensor:
    """Compute x - y, with 0 for equal infinities."""
    both = x.isinf() & x.eq(y)
    return both.where(0, x) - both.where(0, y)
