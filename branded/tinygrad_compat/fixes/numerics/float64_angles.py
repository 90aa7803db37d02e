"""A fix for the sine of large float64 angles, which gets the precision that float64 allows.

From 30 on, tinygrad reduces the angle modulo π/2 with 32 bits of it, which suffice for float32: the sine of 40000 was
wrong in the fifth digit. The reduction for small angles has an error of at most 3e-17 times the angle.
"""

from __future__ import annotations

from typing import Any

from tinygrad import dtypes
from tinygrad.uop.ops import UOp

from branded.tinygrad_compat import private_api

LARGE = 1e14
"""The angle from which on neither reduction returns a correct digit."""


_original: Any = private_api.transcendental.xsin


def _xsin(d: UOp, fast: bool = False, switch_over: float = 30.0) -> UOp:
    sine: UOp = _original(d, fast, LARGE if d.dtype == dtypes.float64 else switch_over)
    return sine


def install() -> None:
    private_api.transcendental.xsin = _xsin
