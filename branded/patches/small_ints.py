"""Arithmetic of ints of less than 32 bits goes round in C as it does in memory.

C works such operands out as ints of 32 bits, and tinygrad takes the result for one of the small dtype only where it is
stored: of the u8 200 and 100, `(a + b).cast("int32")` is 300 if it is one kernel, and 44 if `a + b` is computed first.
"""

from __future__ import annotations

from typing import Any

from tinygrad import dtypes
from tinygrad.uop.ops import Ops, PatternMatcher, UOp, UPat

from branded.patches import tg

_SMALL = tuple(d for d in dtypes.ints if d.bitsize < 32)


def _render(ctx: Any, x: UOp) -> str | None:
    if x.shape:  # C does not widen vectors
        return None
    operands = [ctx[s] for s in x.src]
    return f"(({ctx.render_dtype(x.dtype)}){ctx.code_for_op[x.op](*operands, x.dtype)})"


def install() -> None:
    goes_round = UPat((Ops.ADD, Ops.SUB, Ops.MUL, Ops.SHL, Ops.NEG), dtype=_SMALL, name="x")
    renderers: list[Any] = [x for x in vars(tg.cstyle).values() if isinstance(x, type)]
    for x in renderers:
        if issubclass(x, tg.CStyleLanguage) and "string_rewrite" in vars(x):
            x.string_rewrite = PatternMatcher([(goes_round, _render)]) + x.string_rewrite
