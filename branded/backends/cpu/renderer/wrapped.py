"""Indices in forms that clang handles well.

An index that wraps around once, as in a roll, is computed by a comparison:

    (i + 1) & 127    i + 1 < 128 ? i + 1 : i + 1 - 128
    (i + 1) % 127    i + 1 < 127 ? i + 1 : i + 1 - 127

Clang may not vectorize a loop over a masked index, see `wrapping_index_vectors`, and a remainder takes several steps.

The counter of a random number is an index too. Clang sees a sum with the index in each of the hundred steps of the
hash, looks for a way to share these sums, and takes up to 1.5 s for a loop. Here the counter is `i ^ 0`, with a zero
that clang does not know, so the sums are data to clang.
"""

from __future__ import annotations

from collections.abc import Container

from tinygrad import dtypes
from tinygrad.uop.ops import Ops, UOp

HASH = 16
"""The minimum number of `^` in a kernel whose counters are data."""
NAME = "unknown_zero"
DEFINITION = f'  unsigned int {NAME}; __asm__("" : "=r"({NAME}) : "0"(0));'
"""C for the start of a kernel that has the name."""


def for_clang(uops: list[UOp]) -> list[UOp]:
    """Return a program whose indices have these forms."""
    new: dict[UOp, UOp] = {}
    data: dict[UOp, UOp] = {}  # the counters of a hash, for operations that clang should not see as sums with an index
    lines: dict[UOp, None] = {}
    is_hash = sum(u.op is Ops.XOR for u in uops) >= HASH
    for u in uops:
        is_counter = is_hash and _is_counter(u, data)
        src = tuple(new[s] if is_counter else data.get(s, new[s]) for s in u.src)
        now = u.replace(src=src) if src != u.src else u
        if (n := _limit(u)) is not None:
            x = now.src[0]
            less, rest = x.alu(Ops.CMPLT, _number(n, x)), x.alu(Ops.ADD, _number(-n, x))
            now = less.alu(Ops.WHERE, x, rest)
            lines |= dict.fromkeys(v for v in now.toposort(gate=lambda v: v not in lines) if v not in lines)
        new[u] = now
        lines[now] = None
        if is_counter:
            data[u] = UOp(Ops.CUSTOMI, now.dtype, (now,), f"({{}}^{NAME})")
            lines[data[u]] = None
    return list(lines)


def _is_counter(u: UOp, counters: Container[UOp]) -> bool:
    """Return whether this is an index as an unsigned number, or the sum of one and a constant."""
    if u.op is Ops.ADD and u.src[0] in counters:
        added = u.src[1].src[0] if u.src[1].op is Ops.CAST else u.src[1]
        return added.op is Ops.CONST
    is_cast = u.op is Ops.CAST and u.dtype is dtypes.uint32 and u.src[0].dtype in dtypes.sints
    return is_cast and any(v.op is Ops.RANGE for v in u.src[0].toposort(gate=lambda v: v.op is not Ops.LOAD))


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
