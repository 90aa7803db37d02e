"""Reductions: tinygrad reduces over leading axes, so the rule moves the reduced axes in front of the brand axes."""

from tinygrad.uop.ops import Ops, UOp

from branded.dispatch import Resolution, rule
from branded.graph.primitive import Batched
from branded.graph.uops import again, lead


@rule(Ops.REDUCE)
def reduce(u: UOp, resolution: Resolution, x: Batched, *ranges: Batched) -> UOp:
    """vmap(sum)(xs) = sum over the same per-example axes."""
    brands, reduced = len(resolution.row), u.arg[1]
    whole = lead(x.uop, (*range(brands, brands + reduced), *range(brands)))
    return again(u, whole, *(r.uop for r in ranges))
