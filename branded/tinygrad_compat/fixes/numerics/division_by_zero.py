"""A fix for int division by 0 on the CPU: the quotient and the remainder are 0, as in numpy.

It is undefined in C, and x86 ends the process, even if the quotient is not used, as in `(y != 0).where(x // y, 0)`.
The lowest int divided by -1, which wraps around to itself, has the same effect.
"""

from __future__ import annotations

from typing import Any

from tinygrad import dtypes
from tinygrad.uop.ops import Ops, PatternMatcher, UOp, UPat

from branded.tinygrad_compat import private_api


def _render(ctx: Any, x: UOp) -> str | None:
    y = x.src[1]
    may_be_zero, may_be_minus = y.vmin <= 0 <= y.vmax, y.vmin <= -1 <= y.vmax
    if x.shape or not (may_be_zero or may_be_minus):
        return None
    a, b = (ctx[s] for s in x.src)
    plain = ctx.code_for_op[x.op](a, b, x.dtype)
    if not may_be_minus:
        return f"({b}?{plain}:0)"
    opposite = (
        f"({ctx.render_dtype(x.dtype)})(-({ctx.render_dtype(_UNSIGNED[x.dtype])}){a})" if x.op is Ops.CDIV else "0"
    )
    return f"({b}==-1?{opposite}:{b}?{plain}:0)"


_UNSIGNED = dict(zip(dtypes.sints, dtypes.uints, strict=True))


def install() -> None:
    divides = UPat((Ops.CDIV, Ops.CMOD), dtype=dtypes.ints, name="x")
    private_api.render_first(PatternMatcher([(divides, _render)]))
