"""Indices that wrap around once, as in a roll, by a comparison.

    (i + 1) & 127    i + 1 < 128 ? i + 1 : i + 1 - 128
    (i + 1) % 127    i + 1 < 127 ? i + 1 : i + 1 - 127

Clang may not vectorize a loop over a masked index, see `wrapping_index_vectors`, and a remainder takes several steps.
"""

from __future__ import annotations

from tinygrad import dtypes
from tinygrad.uop.ops import Ops, UOp


def compared(uops: list[UOp]) -> list[UOp]:
    """Return a program in which an index that wraps around at most once is compared with its limit."""
    new: dict[UOp, UOp] = {}
    lines: dict[UOp, None] = {}
    for u in uops:
        now = u.replace(src=src) if (src := tuple(new[s] for s in u.src)) != u.src else u
        if (n := _limit(u)) is not None:
            x = now.src[0]
            less, rest = x.alu(Ops.CMPLT, _number(n, x)), x.alu(Ops.ADD, _number(-n, x))
            now = less.alu(Ops.WHERE, x, rest)
            lines |= dict.fromkeys(v for v in now.toposort(gate=lambda v: v not in lines) if v not in lines)
        new[u] = now
        lines[now] = None
    return list(lines)


def _limit(u: UOp) -> int | None:
    """Return where an index wraps around, or None unless it does so at most once."""
    if u.op not in (Ops.AND, Ops.CMOD) or u.dtype not in dtypes.sints or u.src[1].vmin != u.src[1].vmax:
        return None
    x, n = u.src[0], int(u.src[1].vmax) + (u.op is Ops.AND)
    if n < 2 or (u.op is Ops.AND and n & (n - 1)):
        return None
    return n if x.vmin >= 0 and n <= x.vmax < 2 * n and any(v.op is Ops.RANGE for v in x.toposort()) else None


def _number(n: int, x: UOp) -> UOp:
    """Return a constant in the form that tinygrad renders: one without a size, and a cast."""
    out: UOp = UOp.const(n).cast(x.dtype)
    return out
