"""Reverse mode: tinygrad's gradient pass over a graph, which asks each primitive for its rule."""

from __future__ import annotations

from collections.abc import Sequence

from tinygrad import dtypes
from tinygrad.uop.ops import Ops, UOp

from branded.graph.scope import ContextStack
from branded.graph.tags import is_symbolic_zero, symbolic_zero
from branded.graph.uops import replace_ops
from branded.tinygrad_compat.private_api import compute_gradient

_ran_again: ContextStack[dict[UOp, Sequence[UOp]]] = ContextStack("branded_ran_again")
"""For each active pass, the loops and functions that run in another form, with the results of that form."""


def ran_again(u: UOp, results: Sequence[UOp]) -> None:
    """Record that reverse mode runs the call `u` in another form, which also computes `results`."""
    if passes := _ran_again.get():
        passes[-1][u] = results


is_pulling = _ran_again.any_open
"""Whether a reverse pass of this package is active, rather than tinygrad's own `gradient`."""


def gradients(
    ys: Sequence[UOp], cts: Sequence[UOp], targets: Sequence[UOp], values: Sequence[UOp] = ()
) -> tuple[list[UOp], list[UOp]]:
    """Return the cotangents of `targets` given those of `ys`, and `values` in the form that shares work with them."""
    pairs = [(y, ct) for y, ct in zip(ys, cts, strict=True) if dtypes.is_float(y.dtype) and not is_symbolic_zero(ct)]
    if not pairs:
        return list(map(symbolic_zero, targets)), list(values)
    with _ran_again.during({}) as found:
        root, seed = UOp.maketuple(*(y for y, _ in pairs)), UOp.maketuple(*(ct for _, ct in pairs))
        grads = compute_gradient(root, seed, set(targets))
    given = {t: g for t in targets if (g := grads.get(t)) is not None and g.op is not Ops.NOOP}
    out = [given[t].cast(t.dtype) if t in given else symbolic_zero(t) for t in targets]
    both = once([*out, *values], found)
    return both[: len(out)], both[len(out) :]


def once(roots: list[UOp], found: dict[UOp, Sequence[UOp]]) -> list[UOp]:
    """Deduplicate work: calls that run in another form for reverse mode also provide their results."""
    again = {u.gettuple(i): x for u, results in found.items() for i, x in enumerate(results)}
    for _ in found:  # a replaced call may be an argument of the next one
        new = replace_ops(roots, lambda _: None, at=again)
        if all(a is b for a, b in zip(new, roots, strict=True)):
            break
        roots = new
    return roots
