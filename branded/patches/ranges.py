"""Two loops of a kernel that were merged are not merged again.

tinygrad tries to merge each pair of the loops of a reduction, and goes on through the list of pairs that it made before
the first merge.  A pair with a loop that is gone makes the other one longer: `x.cat(x).sum()` counts each entry of a
(2, 2) four times.
"""

from __future__ import annotations

import functools
from typing import Any

import tinygrad.codegen.simplify as tg_simplify
from tinygrad import dtypes
from tinygrad.helpers import prod
from tinygrad.uop.ops import AxisType, Ops, UOp


def is_there() -> bool:
    """Does tinygrad have the fault?"""
    loops = [UOp.range(2, i, AxisType.REDUCE) for i in range(3)]
    array = UOp.param(0, dtypes.float, (4,), "CPU")
    total = array.index(loops[1] * 2 + loops[2]).reduce(*loops, arg=Ops.ADD)
    merged = tg_simplify.simplify_merge_adjacent(total)
    return merged is not None and prod(int(r.vmax) + 1 for r in merged.ended_ranges) != 8


def install() -> None:
    original = tg_simplify.graph_rewrite

    @functools.wraps(original)
    def graph_rewrite(sink: UOp, pm: Any, ctx: Any = None, **options: Any) -> UOp:
        if options.get("name", "").startswith("check_merge_") and not set(sink.ended_ranges).issuperset(ctx):
            return sink
        out: UOp = original(sink, pm, ctx, **options)
        return out

    tg_simplify.graph_rewrite = graph_rewrite
