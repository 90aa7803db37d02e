"""A fix for merged loops of a kernel, which are not merged again.

tinygrad tries to merge each pair of the loops of a reduction, from a list of pairs made before the first merge. A pair
with a loop that no longer exists makes the other loop longer: `x.cat(x).sum()` counts each element of a (2, 2) tensor
four times.
"""

from __future__ import annotations

import functools
from typing import Any

from tinygrad.uop.ops import UOp

from branded.tinygrad_compat import private_api


def install() -> None:
    original = private_api.simplify.graph_rewrite

    @functools.wraps(original)
    def graph_rewrite(sink: UOp, pm: Any, ctx: Any = None, **options: Any) -> UOp:
        if options.get("name", "").startswith("check_merge_") and not set(sink.ended_ranges).issuperset(ctx):
            return sink
        out: UOp = original(sink, pm, ctx, **options)
        return out

    private_api.simplify.graph_rewrite = graph_rewrite
