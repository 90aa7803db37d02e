"""Sine and cosine of a float32 on the CPU, as a C function that clang vectorizes.

tinygrad computes the remainder of an angle by pi in two ways, one of them in 64-bit integers for large angles.  Then
it selects one.  This takes fifteen times as long as `exp`.  Here one method serves all angles:

    x = s 2^e, where s is less than 2^24, and e is 0 for smaller x
    y = s (2^e mod 2 pi)                   has the sine of x; a table has 2^e mod 2 pi in two parts
    r = y - k pi / 2, k = round(2 y / pi)  in float64, where the products of the first parts are exact
    sin x                                  sin r, cos r, -sin r or -cos r, by k mod 4; polynomials for |r| <= pi / 4

The remainder is exact beyond the last bit of a float32, even next to a zero of the sine.  The error of the sine is
therefore the error of the float32 polynomials: less than 2 units in the last place, for all angles.

tinygrad's cosine is the sine of pi / 2 - x, a difference with the rounding error of a float32: 3e-5 for x = 1000. Here
k is increased by one instead, which is exact.

Source: Payne and Hanek 1983; Cody and Waite 1980.  The coefficients are a fit of this project.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from tinygrad.uop.ops import Ops, UOp

from branded.backends.cpu.renderer import libm_calls

LARGEST = 105
"""The exponent such that every float32 is less than 2^24 times 2 to this power."""
PARTS = 27
"""The bits of a part: its products with k, which has 26 bits, and with s are exact in float64."""
SINE = (-0.1666665461, 0.008332160526, -0.0001951525056)
"""The coefficients of (sin r - r) / r^3 in r^2, up to pi / 4; the relative error of the sine is 4e-9."""
COSINE = (0.04166664568, -0.001388731593, 2.443311972e-05)
"""The coefficients of (cos r - 1 + r^2 / 2) / r^4."""

BITS, PI = 320, 0x3243F6A8885A308D313198A2E03707344A4093822299F31D0082EFA98EC4E6C89452821E638D01377
"""The number of bits after the point of pi, and pi with these bits."""


def parts(x: int, bits: int) -> tuple[float, float, float]:
    """Return x / 2^bits as a sum of three floats, the first two with few bits."""
    floats = []
    for _ in range(2):
        short = max(x.bit_length() - PARTS, 0)
        floats.append(math.ldexp(float(x >> short << short), -bits))
        x -= x >> short << short
    return floats[0], floats[1], math.ldexp(float(x), -bits)


def _polynomial(coefficients: tuple[float, ...]) -> str:
    return functools.reduce(lambda p, c: f"({p} * z + {c!r}f)", coefficients[-2::-1], f"{coefficients[-1]!r}f")


@functools.cache
def function() -> str:
    """Return the C function: the sine of x, or its cosine for `turn` 1."""
    table = [parts((1 << BITS + e) % (2 * PI) if e else 1 << BITS, BITS) for e in range(LARGEST + 1)]
    first, rest = (", ".join(map(float.hex, column)) for column in zip(*((a, b + c) for a, b, c in table), strict=True))
    one, other, last = map(float.hex, parts(PI, BITS + 1))
    n = LARGEST + 1
    return f"""static const double sine_first[{n}] = {{{first}}}, sine_rest[{n}] = {{{rest}}};
static inline __attribute__((always_inline)) float sine(float x, int turn) {{
  unsigned bits;
  __builtin_memcpy(&bits, &x, 4);
  unsigned size = bits & 0x7fffffffu;
  int e = (int)(size >> 23) - 150;
  e = e < 0 ? 0 : e > {LARGEST} ? {LARGEST} : e;
  unsigned scaled = size - ((unsigned)e << 23);
  float s;
  __builtin_memcpy(&s, &scaled, 4);
  double y = s * sine_first[e], l = s * sine_rest[e];
  int k = (int)((y + l) * {(2 / math.pi).hex()} + 0.5);
  float r = (float)(y - k * {one} - k * {other} + (l - k * {last}));
  float z = r * r;
  float of_sine = r + r * z * {_polynomial(SINE)}, of_cosine = 1.0f - (0.5f * z - z * z * {_polynomial(COSINE)});
  k += turn;
  float found = k & 1 ? of_cosine : of_sine;
  unsigned out;
  __builtin_memcpy(&out, &found, 4);
  out ^= ((unsigned)(k & 2) << 30) ^ (turn ? 0u : bits & 0x80000000u);
  __builtin_memcpy(&found, &out, 4);
  return size < 0x7f800000u ? found : __builtin_nanf("");
}}"""


def _of_cosine(x: UOp) -> UOp | None:
    """Return the angle y of pi / 2 - y or y + pi / 2, whose sine is the cosine of y; None for other forms."""
    if x.op not in (Ops.ADD, Ops.SUB):
        return None
    for c, y in (x.src, x.src[::-1]) if x.op is Ops.ADD else (x.src,):
        number = c.src[0] if c.op is Ops.CAST else c
        if number.op is Ops.CONST and math.isclose(number.val, math.pi / 2, rel_tol=1e-7):
            return y
    return None


def _sine_call(x: UOp, text: Callable[[UOp], str]) -> str:
    return f"sine({text(x)}, 0)" if (angle := _of_cosine(x)) is None else f"sine({text(angle)}, 1)"


def install() -> None:
    libm_calls.install(Ops.SIN, function, _sine_call)
