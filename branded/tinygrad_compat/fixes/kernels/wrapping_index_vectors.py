"""A workaround for clang: loops over which an index wraps around are not vectorized.

clang 22 vectorizes them incorrectly: an index of 32 bits does not overflow, and clang concludes that its last four bits
do not overflow either, as in `i & 15`. In `x.roll((-1, -1), (0, 1))` for 8-bit integers of shape (16, 64), the loads
that should wrap around at the end of a row continue into the next row. tinygrad's own vectors are not affected.
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
        if u.op is Ops.AND or (u.op is Ops.CAST and u.dtype.itemsize < 4):
            wrapped[u] = own
        elif u.op is Ops.INDEX:
            out |= wrapped[u]
    return out
