"""A fix for the bounds of ints that may wrap around: they are the bounds of the dtype.

tinygrad tracks the minimum and maximum of each value, and decides comparisons by them. For an int that wraps around,
these are outside the dtype, or clipped: an int32 between 200 and 300 is then never below 0 as an int8. After thirty
squarings the bounds have a billion digits, and computing them never ends.
"""

from __future__ import annotations

import functools
from typing import Any

from tinygrad import dtypes
from tinygrad.uop.ops import GroupOp, Ops, UOp

from branded.tinygrad_compat import private_api

_WIDTHS = {d: (d.min, d.max) for d in dtypes.ints}
_WRAP = GroupOp.Binary - GroupOp.Comparison | {Ops.CAST}


def install() -> None:
    original = UOp.__dict__[private_api.MIN_MAX].func

    def min_max(self: UOp) -> Any:
        bounds = original(self)
        if self.op not in _WRAP or (width := _WIDTHS.get(self.dtype)) is None:
            return bounds
        x = self.src[0]
        low, high = (x.vmin, x.vmax) if self.op is Ops.CAST and x.dtype in _WIDTHS else bounds
        return bounds if width[0] <= low and high <= width[1] else width

    prop = functools.cached_property(min_max)
    prop.__set_name__(UOp, private_api.MIN_MAX)
    setattr(UOp, private_api.MIN_MAX, prop)
