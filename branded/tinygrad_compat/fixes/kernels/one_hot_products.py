"""A fix for sums of products of one-hot matrices.

tinygrad replaces a sum over `k` with one read where a condition `x + y != c` determines `k`. To find it, it moves terms
without `k` to the other side: `k + i != j` becomes `k != j - i`. It also does so if `x` has no `k` either. Such a
condition has two forms, `i != j - m` and `j != i + m`, and each one becomes the other without end. The sum over the
product of two identity matrices then raises "infinite loop in graph_rewrite", as do second derivatives of products.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tinygrad.uop.ops import Ops, PatternMatcher, UOp

from branded.tinygrad_compat import private_api


def install() -> None:
    rules = private_api.simplify.pm_reduce_load_collapse.patterns
    shared = {f for _, f in private_api.simplify.pm_reduce_collapse.patterns}
    private_api.simplify.pm_reduce_load_collapse = PatternMatcher(
        [(p, _if_loop_remains(f) if p.op == (Ops.CMPNE,) and f not in shared else f) for p, f in rules]
    )


def _if_loop_remains(move: Callable[..., Any]) -> Callable[..., Any]:
    """Return the rule for `x + y != c` that applies only if `x` contains a loop."""

    @functools.wraps(move)
    def moved(x: UOp, y: UOp, c: UOp) -> Any:
        return move(x, y, c) if x.ranges else None

    return moved
