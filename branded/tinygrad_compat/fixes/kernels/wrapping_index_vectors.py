"""A workaround for clang: loops over which an index wraps around are not vectorized.

clang 22 vectorizes them incorrectly: an index of 32 bits does not overflow, and clang concludes that its last four bits
do not overflow either, as in `i & 15`. In `x.roll((-1, -1), (0, 1))` for 8-bit integers of shape (16, 64), the loads
that should wrap around at the end of a row continue into the next row. tinygrad's own vectors are not affected.

A sum of unsigned integers may overflow, and clang does not narrow values of which it needs all bits. So an index from
random bits is computed in vectors.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from typing import Any

from tinygrad import dtypes
from tinygrad.uop.ops import Ops, UOp

from branded.tinygrad_compat import private_api

_PRAGMA = "#pragma clang loop vectorize(disable)"
_LOOP = re.compile(r"\s*for \((?:\w+ )+(\w+) = ")
_NONE: frozenset[UOp] = frozenset()


def install() -> None:
    cls: Any = private_api.cstyle.ClangRenderer
    original, letters = cls.render_kernel, private_api.axis_letters

    @functools.wraps(original)
    def render_kernel(self: Any, name: str, kernel: list[str], bufs: Any, uops: list[UOp], *rest: Any) -> str:
        names = {f"{letters[u.arg[-1]]}idx{private_api.range_str(u)}" for u in _wrapped_loops(uops)}
        kernel = [line for text in kernel for line in text.split("\n")] if names else kernel
        kernel = [f"{_PRAGMA}\n{line}" if (loop := _LOOP.match(line)) and loop[1] in names else line for line in kernel]
        out: str = original(self, name, kernel, bufs, uops, *rest)
        return out

    cls.render_kernel = render_kernel


def _wrapped_loops(uops: Iterable[UOp]) -> frozenset[UOp]:
    """Return the loops over which the index of a load or store wraps around, as `i & 15` or as an integer of 8 bits."""
    loops: dict[UOp, frozenset[UOp]] = {}
    wrapped: dict[UOp, frozenset[UOp]] = {}
    out = _NONE
    for u in uops:
        if u.op is Ops.LOAD or (u.op is not Ops.INDEX and not dtypes.is_int(u.dtype)):
            continue
        own = _NONE.union(*(loops.get(v, _NONE) for v in u.src), (u,) if u.op is Ops.RANGE else ())
        if not own:
            continue
        loops[u], wrapped[u] = own, _NONE.union(*(wrapped.get(v, _NONE) for v in u.src))
        if (u.op is Ops.AND or (u.op is Ops.CAST and u.dtype.itemsize < 4)) and _is_narrowed(u):
            wrapped[u] = own
        elif u.op is Ops.INDEX:
            out |= wrapped[u]
    return out


def _is_narrowed(u: UOp) -> bool:
    """Return whether clang may compute signed integers with the few bits that a mask or a cast keeps."""
    whole = 64
    masks = [int(v.vmax).bit_length() for v in u.src if u.op is Ops.AND and 0 <= v.vmin == v.vmax]
    kept = min([8 * u.dtype.itemsize, *masks])
    bits = dict.fromkeys(u.src, kept)
    for v in reversed(UOp.sink(*bits).toposort(gate=lambda v: v.op is not Ops.LOAD)):
        kept = bits.get(v, 0)
        if not kept or v.op in (Ops.CONST, Ops.LOAD):
            continue
        if v.dtype in dtypes.sints and kept < 8 * v.dtype.itemsize and v.op in (Ops.RANGE, Ops.ADD, Ops.MUL, Ops.SHL):
            return True
        by_bit = v.op in _LOW_BITS
        if v.op is Ops.SHR and v.src[1].vmin == v.src[1].vmax:
            by_bit, kept = True, kept + int(v.src[1].vmax)
        for s in v.src:
            bits[s] = max(bits.get(s, 0), min(kept, whole) if by_bit else whole)
    return False


_LOW_BITS = {Ops.ADD, Ops.MUL, Ops.SHL, Ops.XOR, Ops.OR, Ops.AND, Ops.CAST, Ops.WHERE}
"""The operations whose last bits depend on the last bits of their operands alone."""
