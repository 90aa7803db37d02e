"""Two loops of a kernel that were merged are not merged again.

tinygrad tries to merge each pair of the loops of a reduction, and goes on through the list of pairs that it made before
the first merge.  A pair with a loop that is gone makes the other one longer: `x.cat(x).sum()` counts each entry of a
(2, 2) four times.
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
