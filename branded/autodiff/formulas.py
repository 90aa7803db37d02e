"""Formulas of elementwise functions, accurate to the precision of float32 or float64.

The derivatives of these formulas are not accurate; `smooth_functions` has separate ones.
"""

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
_ASINH = {
    4: ((2.0122003309e-2, -4.2699340972e-2, 7.4847586088e-2, -1.6666288134e-1), (1.0,)),
    8: (
        (
            *(-4.33231683752342103572e-3, -5.91750212056387121207e-1, -4.37390226194356683570),
            *(-9.09030533308377316566, -5.56682227230859640450),
        ),
        (
            *(1.0, 1.28757002067426453537e1, 4.86042483805291788324e1),
            *(6.95722521337257608734e1, 3.34009336338516356383e1),
        ),
    ),
}
"""The fit of (asinh x - x) / x³ in x², up to 1/4. Source: S. Moshier, Cephes."""
_ATANH = {
    4: ((1.81740078349e-1, 8.24370301058e-2, 1.46691431730e-1, 1.99782164500e-1, 3.33337300303e-1), (1.0,)),
    8: (
        (
            *(-8.54074331929669305196e-1, 1.20426861384072379242e1, -4.61252884198732692637e1),
            *(6.54566728676544377376e1, -3.09092539379866942570e1),
        ),
        (
            *(1.0, -1.95638849376911654834e1, 1.08938092147140262656e2),
            *(-2.49839401325893582852e2, 2.52006675691344555838e2, -9.27277618139600130017e1),
        ),
    ),
}
"""The fit of (atanh x - x) / x³ in x², up to 1/4. Source: S. Moshier, Cephes."""
_ACOSH = {
    4: ((1.7596881071e-3, -7.5272886713e-3, 2.6454905019e-2, -1.1784741703e-1, 1.4142135263), (1.0,)),
    8: (
        (
            *(1.18801130533544501356e2, 3.94726656571334401102e3, 3.43989375926195455866e4),
            *(1.08102874834699867335e5, 1.10855947270161294369e5),
        ),
        (
            *(1.0, 1.86145380837903397292e2, 4.15352677227719831579e3),
            *(2.97683430363289370382e4, 8.29725251988426222434e4, 7.83869920495893927727e4),
        ),
    ),
}
"""The fit of acosh x / √(x - 1) in x - 1, up to 1/2. Source: S. Moshier, Cephes."""
_TURNS = {4: math.tan(math.pi / 8), 8: 0.66}
_HUGE = 2.0**28
"""From this x on, 1 is negligible compared with x²."""
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


_Fit = Mapping[int, tuple[Sequence[float], Sequence[float]]]


def _rational(z: Tensor, fit: _Fit) -> Tensor:
    top, bottom = fit[z.dtype.itemsize]
    value = polyN(z, list(top))
    return value if len(bottom) == 1 else value / polyN(z, list(bottom))


def _cubic(x: Tensor, fit: _Fit) -> Tensor:
    """Compute x + x³ R(x²), which keeps the sign of x even for zero."""
    z = x * x
    return x + x * z * _rational(z, fit)


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
    """Compute atan x as π/4 or π/2 plus the atan of a smaller argument if x is large."""
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
        is_near = x.abs() < 3.7439211627767994  # for larger x, erf rounds to 1
        near = is_near.where(x, 0)
        fit = near * polyN(near * near, list(_ERF32_P)) / polyN(near * near, list(_ERF32_Q))
        return is_near.where(fit, x.clamp(-1, 1))
    inner, outer = x.clamp(-1, 1), x.abs().clamp(1, 6)  # clamped: no NaN from the unused branch or its gradient
    near = inner * polyN(inner * inner, list(_ERF64_P)) / polyN(inner * inner, list(_ERF64_Q))
    tail = (-outer * outer).exp() * polyN(outer, list(_ERFC64_P)) / polyN(outer, list(_ERFC64_Q))
    return (x.abs() < 1).where(near, (x < 0).where(tail - 1, 1 - tail))


def log1p(w: Tensor) -> Tensor:
    """Compute log(1 + w) for w from 0 to 1, accurate for small w."""
    s = w / (w + 2)
    terms = 18 if s.dtype.itemsize == 8 else 9
    return 2 * s * polyN(s * s, [1 / (2 * k + 1) for k in range(terms)][::-1])


def _log_of_sum(x: Tensor, root: Tensor) -> Tensor:
    """Compute log(x + root) without overflow, where the root is x if x is huge, and its square may overflow."""
    return (0.5 * x + 0.5 * (x > _HUGE).where(x, root)).log() + math.log(2)


def asinh(x: Tensor) -> Tensor:
    size = x.maximum(-x)
    is_small = size < 0.5
    far = _log_of_sum(size, (1 + size * size).sqrt())
    return is_small.where(_cubic(is_small.where(x, 0), _ASINH), _odd(x, far))


def acosh(x: Tensor) -> Tensor:
    above = x - 1
    is_small = above < 0.5
    near = is_small.where(above, 0)
    return is_small.where(near.sqrt() * _rational(near, _ACOSH), _log_of_sum(x, (above * (x + 1)).sqrt()))


def atanh(x: Tensor) -> Tensor:
    is_small = x * x < 0.25
    return is_small.where(_cubic(is_small.where(x, 0), _ATANH), ((1 + x) / (1 - x)).log() / 2)


def sinh(x: Tensor) -> Tensor:
    is_small = x.abs() < 1
    near = is_small.where(x, 0)
    terms = 9 if x.dtype.itemsize == 8 else 6
    series = near * polyN(near * near, [1 / math.factorial(2 * k + 1) for k in range(terms)][::-1])
    half = _half_exp(x.abs())
    return is_small.where(series, _odd(x, half - 0.25 / half))


def cosh(x: Tensor) -> Tensor:
    half = _half_exp(x.abs())
    return half + 0.25 / half


def _half_exp(x: Tensor) -> Tensor:
    """Compute eˣ / 2 without overflow when only eˣ is infinite."""
    return (x - math.log(2)).exp()


def sigmoid(x: Tensor) -> Tensor:
    return (1 + (x * (-1 / math.log(2))).exp2()).reciprocal()


def tanh(x: Tensor) -> Tensor:
    return 2 * sigmoid(2 * x) - 1


def logaddexp(x: Tensor, y: Tensor) -> Tensor:
    return x.maximum(y) + log1p((-difference(x, y).abs()).exp())


def difference(x: Tensor, y: Tensor) -> Tensor:
    """Compute x - y, with 0 for equal infinities."""
    both = x.isinf() & x.eq(y)
    return both.where(0, x) - both.where(0, y)
