"""The inverse error function, accurate to the last bits of its dtype, and the next larger or smaller float."""

from __future__ import annotations

from tinygrad import dtypes
from tinygrad.dtype import DType
from tinygrad.helpers import polyN

from branded.core.brand import S
from branded.vec import Vec

_ERFINV32 = (
    *(2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087),
    *(-0.00125372503, -0.00417768164, 0.246640727, 1.50140941),
)
_ERFINV32_TAIL = (
    *(-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773),
    *(-0.0076224613, 0.00943887047, 1.00167406, 2.83297682),
)
_ERFINV64 = (
    *(-3.64441206401782e-21, -1.6850591381820166e-19, 1.28584807152564e-18, 1.1157877678025181e-17),
    *(-1.3331716628546209e-16, 2.0972767875968562e-17, 6.6376381343583238e-15, -4.0545662729752069e-14),
    *(-8.1519341976054722e-14, 2.6335093153082323e-12, -1.2975133253453532e-11, -5.4154120542946279e-11),
    *(1.0512122733215323e-09, -4.1126339803469837e-09, -2.9070369957882005e-08, 4.2347877827932404e-07),
    *(-1.3654692000834679e-06, -1.3882523362786469e-05, 0.00018673420803405714, -0.000740702534166267),
    *(-0.0060336708714301491, 0.24015818242558962, 1.6536545626831027),
)
_ERFINV64_TAIL = (
    *(2.2137376921775787e-09, 9.0756561938885391e-08, -2.7517406297064545e-07, 1.8239629214389228e-08),
    *(1.5027403968909828e-06, -4.013867526981546e-06, 2.9234449089955446e-06, 1.2475304481671779e-05),
    *(-4.7318229009055734e-05, 6.8284851459573175e-05, 2.4031110387097894e-05, -0.00035503752036284748),
    *(0.0009532893797373805, -0.0016882755560235047, 0.0024914420961078508, -0.0037512085075692412),
    *(0.0053709145535900636, 1.0052589676941592, 3.0838856104922208),
)
_ERFINV64_FAR = (
    *(-2.7109920616438573e-11, -2.5556418169965252e-10, 1.5076572693500548e-09, -3.789465440126737e-09),
    *(7.61570120080734e-09, -1.496002662714924e-08, 2.9147953450901081e-08, -6.7711997758452339e-08),
    *(2.2900482228026655e-07, -9.9298272942317e-07, 4.5260625972231537e-06, -1.9681778105531671e-05),
    *(7.5995277030017761e-05, -0.00021503011930044477, -0.00013871931833623122, 1.0103004648645344),
    4.8499064014085844,
)


def erfinv(x: Vec[S]) -> Vec[S]:
    """Compute the inverse of `erf` between -1 and 1.

    Source: M. Giles, "Approximating the erfinv function" (2010), with the coefficients of XLA.
    """
    if x.dtype.itemsize < 4:
        return erfinv(x.cast(dtypes.float32)).cast(x.dtype)
    square = (x * x).minimum(1)  # blocks a fused multiply-add, which would give other bits
    w = -(1 - square).log()
    if x.dtype != dtypes.float64:
        root = w.maximum(5).sqrt()  # clamped to the range of this branch: the gradient of the other one stays finite
        return x * (w < 5).where(polyN(w - 2.5, list(_ERFINV32)), polyN(root - 3, list(_ERFINV32_TAIL)))
    root = w.maximum(6.25).sqrt()
    tail = (w < 16).where(polyN(root - 3.25, list(_ERFINV64_TAIL)), polyN(root - 5, list(_ERFINV64_FAR)))
    return x * (w < 6.25).where(polyN(w - 3.125, list(_ERFINV64)), tail)


_INTS = {2: dtypes.int16, 4: dtypes.int32, 8: dtypes.int64}


def next_above(x: Vec[S]) -> Vec[S]:
    """Return the smallest float above `x`; infinity for infinity."""
    bits = x.detach().bitcast(_INTS[x.dtype.itemsize])
    above = x.eq(0).where(bits.const_like(1), (x > 0).where(bits + 1, bits - 1)).bitcast(x.dtype)
    return x.eq(float("inf")).where(x.detach(), above)


def below_one(dtype: DType) -> float:
    """Return the largest float of `dtype` below 1."""
    return 1 - 2.0 ** -(dtypes.finfo(dtype)[1] + 1)
