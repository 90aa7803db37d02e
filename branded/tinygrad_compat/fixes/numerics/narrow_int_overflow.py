"""A fix for int overflow in C: ints wrap around as they do in memory.

C computes ints below 32 bits as 32-bit ints, and tinygrad truncates the result only when it is stored. For the uint8
values 200 and 100, `(a + b).cast("int32")` is 300 in one kernel, but 44 if `a + b` is computed first. C compilers also
assume that signed ints do not overflow: for an int32 whose square wraps around, `(x * x).cast("int64")` is never
negative. Indices do not overflow, so they are not changed.
"""

from __future__ import annotations

from typing import Any

from tinygrad import dtypes
from tinygrad.uop.ops import Ops, PatternMatcher, UOp, UPat

from branded.tinygrad_compat import private_api

_SMALL = tuple(d for d in dtypes.ints if d.bitsize < 32)


def _render(ctx: Any, x: UOp) -> str | None:
    if x.shape:  # C does not widen vectors
        return None
    operands = [ctx[s] for s in x.src]
    return f"(({ctx.render_dtype(x.dtype)}){ctx.code_for_op[x.op](*operands, x.dtype)})"


def _may_go_round(x: UOp) -> bool:
    bounds = [(int(s.vmin), int(s.vmax)) for s in x.src]
    if x.op is Ops.NEG:
        return bounds[0][0] <= int(x.dtype.min)
    compute = {Ops.ADD: int.__add__, Ops.SUB: int.__sub__, Ops.MUL: int.__mul__}[x.op]
    return not all(x.dtype.min <= compute(a, b) <= x.dtype.max for a in bounds[0] for b in bounds[1])


def _render_signed(ctx: Any, x: UOp) -> str | None:
    if x.shape or not _may_go_round(x):
        return None
    unsigned = ctx.render_dtype(_UNSIGNED[x.dtype])
    operands = [f"(({unsigned})({ctx[s]}))" for s in x.src]
    return f"(({ctx.render_dtype(x.dtype)}){ctx.code_for_op[x.op](*operands, x.dtype)})"


def _least(c: UOp) -> str | None:
    return f"({c.val + 1}l-1)" if c.val == dtypes.int64.min else None


_UNSIGNED = {dtypes.int32: dtypes.uint32, dtypes.int64: dtypes.uint64}


def install() -> None:
    stays_signed = UPat((Ops.ADD, Ops.SUB, Ops.MUL, Ops.NEG), dtype=tuple(_UNSIGNED), name="x")
    goes_round = UPat((Ops.ADD, Ops.SUB, Ops.MUL, Ops.SHL, Ops.NEG), dtype=_SMALL, name="x")
    least = UPat.cvar("c").cast(dtypes.int64)  # its digits without the sign do not fit an int of C
    mine = PatternMatcher([(goes_round, _render), (stays_signed, _render_signed), (least, _least)])
    private_api.render_first(mine)
