"""A fix for sums of products of one-hot matrices.

tinygrad replaces a sum over `k` with one read where a condition `x + y != c` determines `k`. To find it, it moves terms
without `k` to the other side: `k + i != j` becomes `k != j - i`. It also does so if `x` has no `k` either. Such a
condition has two forms, `i != j - m` and `j != i + m`, and each one becomes the other without end. The sum over the
product of two identity matrices then raises "infinite loop in graph_rewrite", as do second derivatives of products.
"""

from __future__ import annotations

from typing import Any

from tinygrad.uop.ops import Ops, PatternMatcher, UOp

from branded.tinygrad_compat import private_api

_rules = private_api.simplify.pm_reduce_load_collapse.patterns
_shared = {f for _, f in private_api.simplify.pm_reduce_collapse.patterns}
_original: Any = next(f for p, f in _rules if p.op == (Ops.CMPNE,) and f not in _shared)


def _move_term(x: UOp, y: UOp, c: UOp) -> UOp | None:
    """Apply the rule for `x + y != c` only if `x` contains a loop."""
    out: UOp | None = _original(x, y, c) if x.ranges else None
    return out


def install() -> None:
    private_api.simplify.pm_reduce_load_collapse = PatternMatcher(
        [(p, _move_term if f is _original else f) for p, f in _rules]
    )
