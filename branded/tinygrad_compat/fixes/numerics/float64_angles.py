"""The sine of a float64 of 30 or more has the digits that a float64 leaves it.

tinygrad finds the remainder of such an angle by π/2 with 32 bits of the angle, which are enough for a float32: the
sine of 40000 was wrong in the fifth digit. The way that it has for small angles is wrong by 3e-17 of the angle at most.
"""

from __future__ import annotations

import functools

from tinygrad import dtypes
from tinygrad.uop.ops import UOp

from branded.tinygrad_compat import private_api

LARGE = 1e14
"""From here on neither way has a digit that is right."""


def install() -> None:
    original = private_api.transcendental.xsin

    @functools.wraps(original)
    def xsin(d: UOp, fast: bool = False, switch_over: float = 30.0) -> UOp:
        found: UOp = original(d, fast, LARGE if d.dtype == dtypes.float64 else switch_over)
        return found

    private_api.transcendental.xsin = xsin
