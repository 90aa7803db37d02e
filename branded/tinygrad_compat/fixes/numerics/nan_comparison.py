"""A fix for comparisons of constants: NaN is not equal to itself.

tinygrad stores constants as floats for which NaN equals NaN, so that equal constants are shared. It also compares them
this way: `c.where(nan, x).isnan()` was False everywhere.
"""

from __future__ import annotations

import functools
import math
from typing import Any

from tinygrad.uop.ops import Ops, UOp

from branded.tinygrad_compat import private_api


def install() -> None:
    alu, bounds = private_api.python_alu[Ops.CMPNE], UOp.__dict__[private_api.MIN_MAX]

    def differ(a: Any, b: Any) -> Any:
        return True if _is_nan(a) or _is_nan(b) else alu(a, b)

    def min_max(self: UOp) -> Any:
        if self.op is Ops.CMPNE and any(_is_nan(v) for s in self.src for v in (s.vmin, s.vmax)):
            return False, True
        return bounds.func(self)

    private_api.python_alu[Ops.CMPNE] = differ
    prop = functools.cached_property(min_max)
    prop.__set_name__(UOp, private_api.MIN_MAX)
    setattr(UOp, private_api.MIN_MAX, prop)


def _is_nan(x: Any) -> bool:
    return isinstance(x, float) and math.isnan(x)
