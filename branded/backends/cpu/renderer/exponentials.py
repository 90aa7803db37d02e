"""Powers of e and of 2 of a float32 on the CPU, as branch-free C functions.

    k = round(y / ln 2), f = y - k ln 2    ln 2 in two parts: k times the first is exact
    e^y = 2 e^f 2^(k - 1)                  a polynomial for |f| <= ln 2 / 2, and a float32, also for the largest power

On Intel processors, a product that underflows takes many times as long as another product.  A small power is therefore
computed as a multiple of the smallest float32, 2^-149.  The factor, rounded to an integer, has the bits of the power.
The powers up to the second smallest exponent have this property.

The error is below one unit in the last place for all inputs, and below 1.2 without fused multiply-add.  tinygrad
computes e^y as 2^x with x = y / ln 2, a rounded quotient: for y = 80 the error reaches 60 units.  Here a power of 2 of
such a product is turned back into a power of e.

Source: Cody and Waite 1980.  The coefficients are a fit of this project.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from tinygrad.uop.ops import Ops, UOp

from branded.backends.cpu.renderer import libm_calls

COEFFICIENTS = (0.49999994, 0.1666652, 0.041668393, 0.008368781, 0.0013814467)
"""The coefficients of (e^f - 1 - f) / f^2 up to ln 2 / 2; the relative error of e^f is 3e-9."""
ROUNDS = 1.5 * 2**23 + 126
"""Adding this rounds a number to an integer k; the last bits of the sum are the exponent of 2^(k - 1)."""
LEAST, MOST = -151, 129
"""The exponents for which 2^x is 0 and infinite."""
SMALL, SMALLEST = -125.4, 149
"""The exponent below which 2^x is computed as a multiple of the smallest float32, and its negated exponent."""
FIRST_BITS = 15
"""The number of bits in the first part of ln 2; k has 8, and a float32 has 24."""


@functools.cache
def power_source() -> str:
    """Return the C source of both functions; powers of 2 need no remainder."""
    first = math.floor(math.log(2) * 2**FIRST_BITS) / 2**FIRST_BITS
    rest, inverse = math.log(2) - first, 1 / math.log(2)
    doubled = [2 * c for c in (1.0, 1.0, *COEFFICIENTS)]
    polynomial = functools.reduce(lambda p, c: f"({p} * f + {c!r}f)", doubled[-2::-1], _hex(doubled[-1]))
    limits, inline = (LEAST * math.log(2), MOST * math.log(2)), "static inline __attribute__((always_inline))"
    return f"""{inline} float scaled_power(float f, float k, int is_small) {{
  unsigned bits;
  __builtin_memcpy(&bits, &k, 4);
  bits = (bits + (is_small ? {SMALLEST}u : 0u)) << 23;
  float scale, rounded;
  __builtin_memcpy(&scale, &bits, 4);
  float power = {polynomial} * scale;
  int factor = (int)__builtin_rintf(power);
  __builtin_memcpy(&rounded, &factor, 4);
  return is_small ? rounded : power;
}}
{inline} float power_of_e(float y) {{
  float x = y < {_hex(limits[0])} ? {_hex(limits[0])} : y;
  x = x > {_hex(limits[1])} ? {_hex(limits[1])} : x;
  float k = x * {_hex(inverse)} + {ROUNDS}f, whole = k - {ROUNDS}f;
  float f = x - whole * {_hex(first)};
  return scaled_power(f - whole * {_hex(rest)}, k, y < {_hex(SMALL * math.log(2))});
}}
{inline} float power_of_2(float y) {{
  float x = y < {LEAST}.0f ? {LEAST}.0f : y;
  x = x > {MOST}.0f ? {MOST}.0f : x;
  float k = x + {ROUNDS}f;
  return scaled_power((x - (k - {ROUNDS}f)) * {_hex(math.log(2))}, k, y < {SMALL}f);
}}"""


def _hex(x: float) -> str:
    return f"{x.hex()}f"


def _of_e(x: UOp) -> tuple[UOp, float] | None:
    """Return y and a factor, multiplied without rounding, such that 2^x is e^(factor y); None if x has another form."""
    if x.op is not Ops.MUL:
        return None
    for c, y in (x.src, x.src[::-1]):
        number = c.src[0] if c.op is Ops.CAST else c
        if number.op is Ops.CONST and number.val:
            size, exponent = math.frexp(abs(number.val) * math.log(2))
            if (near := 0.5 if size < 0.75 else 1.0) and math.isclose(size, near, rel_tol=1e-7):
                return y, math.copysign(math.ldexp(near, exponent), number.val)
    return None


def _power_call(x: UOp, text: Callable[[UOp], str]) -> str:
    if (power := _of_e(x)) is None:
        return f"power_of_2({text(x)})"
    y, by = power
    return f"power_of_e({text(y)})" if by == 1 else f"power_of_e({by}f*({text(y)}))"


def install() -> None:
    libm_calls.install(Ops.EXP2, power_source, _power_call)
