"""Reverse mode: tinygrad's gradient pass over a graph, in which each primitive has a rule `vjp`."""

from __future__ import annotations

import itertools
from collections.abc import Sequence, Set
from typing import Any

from tinygrad import dtypes
from tinygrad.uop.ops import Ops, UOp

from branded.autodiff.leaves import transforming
from branded.core.analysis.invariance import invariant_slice
from branded.core.boundary import copy_for_examples, enter, lower, stage
from branded.core.tracing.effect_tokens import derivative_block
from branded.dispatch import Pass, full
from branded.graph.primitive import Batched, derives_from, primitive_of
from branded.graph.rows import is_place, left_brands, row_of
from branded.graph.scope import Row, Scope, open_brands, scope_at, union
from branded.graph.tags import is_leaf, is_symbolic_zero, leaf, symbolic_zero
from branded.graph.uops import replace_ops
from branded.tinygrad_compat.context_stack import ContextStack
from branded.tinygrad_compat.private_api import compute_gradient

_ran_again: ContextStack[dict[UOp, Sequence[UOp]]] = ContextStack("branded_ran_again")
"""For each active pass, the calls that reverse mode replaced, with the results of their replacements.

A replacement also computes what the pass needs: a scan stacks its carries, and a custom rule returns residuals.
"""


def ran_again(u: UOp, results: Sequence[UOp]) -> None:
    """Record that reverse mode replaces the call `u` by another one, which also computes `results`."""
    if passes := _ran_again.get():
        passes[-1][u] = results


is_pulling = _ran_again.any_open
"""Whether a reverse pass of this package is active, rather than tinygrad's own `gradient`."""


def pull_back(
    ys: Sequence[UOp], cts: Sequence[UOp], targets: Sequence[UOp], others: Sequence[UOp] = ()
) -> tuple[list[UOp], Sequence[UOp]]:
    """Compute the cotangents of `targets` from the cotangents of `ys` (vᵀJ).

    Also return `ys` and `others`, computed by the calls that the pass runs anyway.

    If examples exchange values over an open brand (as with `psum`), the loss depends on all examples. Each example then
    has a copy of every shared value, so `pull_back` closes the brand first, and the result enters it again. Example:
    `vmap(grad(lambda x: psum(x * x, "i")))(xs)`, with `i` still open.

        given       y = sum(STAGE(x * x, i)), and the target x of one example
        closed      xs has a leading axis for `i`; y = sum(xs * xs) over all examples; the gradient is for xs
        entered     INDEX(the gradient, i): each example has its own entry of the gradient
    """
    if not any(meant := [not is_symbolic_zero(ct) for ct in cts]):
        return list(map(symbolic_zero, targets)), [*ys, *others]
    if not all(meant):
        grads, _ = pull_back(list(itertools.compress(ys, meant)), list(itertools.compress(cts, meant)), targets)
        return grads, [*ys, *others]
    n, pending = len(ys), left_brands([*ys, *cts], siblings=True)
    above, crossed = _find_exchanges([*ys, *cts], targets) if pending else (set(targets), [])
    if not crossed:
        new = lower([*ys, *cts, *targets, *others], open_brands())
        end = len(new) - len(others)
        return gradients(new[:n], new[n : 2 * n], new[2 * n : end], [*new[:n], *new[end:]])
    # an exchange over a brand without examples contributes nothing
    empty = {b.range for b in crossed if not b.size}
    if nothing := {u: u.const_like(0) for u in above if u.op is Ops.STAGE and u.src[1] in empty}:
        new = replace_ops([*ys, *cts], lambda _: None, at=nothing)
        return pull_back(new[:n], new[n:], targets)[0], [*ys, *others]
    closing = tuple(b for b in pending if b in crossed or not b.is_open)
    return _pulled_together(ys, cts, targets, above, crossed, closing), [*ys, *others]


def _find_exchanges(roots: Sequence[UOp], targets: Sequence[UOp]) -> tuple[set[UOp], list[Scope]]:
    """Return the values that depend on the targets, and the open brands over which examples exchange such values."""
    above, exchanged = set(targets), dict[Scope, None]()
    for u in UOp(Ops.SINK, src=tuple(roots)).toposort(enter_calls=False):
        if not above.isdisjoint(derives_from(u)):
            above.add(u)
            exchanged |= dict.fromkeys(_leaves(u))
    return above, [b for b in open_brands() if b in exchanged]


def _pulled_together(
    ys: Sequence[UOp],
    cts: Sequence[UOp],
    targets: Sequence[UOp],
    above: Set[UOp],
    crossed: Sequence[Scope],
    closing: Row,
) -> list[UOp]:
    """Compute the cotangents for all examples of the brands `crossed`, then index them for each example."""
    run, env = Pass(closing), dict[UOp, Any]()
    # other transforms identify their leaves and loop arguments by UOp: keep these, staged below
    for u in UOp(Ops.SINK, src=(*ys, *cts)).toposort(enter_calls=False):
        if u not in above and (is_leaf(u) or is_place(u)):
            row = union(tuple(crossed), tuple(b for b in row_of(u) if b in closing))
            env[u] = Batched(stage_all(u, row), row)
    new_targets = [leaf(stage_all(t, crossed)) for t in targets]
    env.update((t, Batched(x, tuple(crossed))) for t, x in zip(targets, new_targets, strict=True))
    inner = lambda u: u not in env  # noqa: E731
    new_ys = [full(x, crossed) for x in run.run(ys, dict(env), inner)]
    new_cts = [full(x, crossed) for x in run.run(cts, dict(env), inner)]
    grads, _ = gradients(new_ys, new_cts, new_targets)
    for b in crossed:
        grads = [_own(g, b, new_targets) for g in grads]
    return grads


def gradients(
    ys: Sequence[UOp], cts: Sequence[UOp], targets: Sequence[UOp], values: Sequence[UOp] = ()
) -> tuple[list[UOp], list[UOp]]:
    """Return the cotangents of `targets`, and `values` computed by the calls that reverse mode runs anyway."""
    pairs = [(y, ct) for y, ct in zip(ys, cts, strict=True) if dtypes.is_float(y.dtype) and not is_symbolic_zero(ct)]
    if not pairs:
        return list(map(symbolic_zero, targets)), list(values)
    with _ran_again.during({}) as results_of:
        root, seed = UOp.maketuple(*(y for y, _ in pairs)), UOp.maketuple(*(ct for _, ct in pairs))
        grads = compute_gradient(root, seed, set(targets))
    grad_of = {t: g for t in targets if (g := grads.get(t)) is not None and g.op is not Ops.NOOP}
    out = [grad_of[t].cast(t.dtype) if t in grad_of else symbolic_zero(t) for t in targets]
    both = once([*out, *values], results_of)
    return both[: len(out)], both[len(out) :]


def once(roots: list[UOp], results_of: dict[UOp, Sequence[UOp]]) -> list[UOp]:
    """Take the results of each call that reverse mode replaced from its replacement, so that it runs once."""
    again = {u.gettuple(i): x for u, results in results_of.items() for i, x in enumerate(results)}
    for _ in results_of:  # a replaced call may be an argument of the next one
        new = replace_ops(roots, lambda _: None, at=again)
        if all(a is b for a, b in zip(new, roots, strict=True)):
            break
        roots = new
    return roots


def in_reverse(ys: Sequence[UOp], targets: Sequence[UOp]) -> list[UOp]:
    """Return the values as reverse mode computes them: by the reverse-mode rule of each function that has one."""
    if not ys:
        return []
    new = lower([*ys, *targets], open_brands())
    above, results_of = set(new[len(ys) :]), dict[UOp, Sequence[UOp]]()
    for u in UOp(Ops.SINK, src=tuple(new)).toposort(enter_calls=False):
        if above.isdisjoint(derives_from(u)):
            continue
        above.add(u)
        call = u.src[0] if u.op is Ops.GETTUPLE else u
        if u is not call and call not in results_of and (p := primitive_of(call)) is not None:
            with transforming(), derivative_block(p.is_rule):
                values = p.in_reverse(call, {i for i, x in enumerate(call.src[1:]) if x in above})
            if values is not None:
                results_of[call] = values
    return once(new[: len(ys)], results_of) if results_of else list(ys)


def _own(g: UOp, b: Scope, targets: Sequence[UOp]) -> UOp:
    """Return each example's entry of the cotangents; cotangents that are equal for all examples are not indexed."""
    if (one := invariant_slice(g, 0, targets)) is not None:
        return one
    if b.size:
        return enter(g, b)
    return enter(g, b) * 0  # a brand without examples: its cotangent adds nothing


def _leaves(u: UOp) -> Row:
    """Return the brands that this operation leaves, or that the body of a called function leaves for this result."""
    if u.op is Ops.STAGE:
        return (scope_at(u),)
    if u.op is not Ops.GETTUPLE or u.src[0].op is not Ops.FUNCTION:
        return ()
    call = u.src[0]
    brands, p = left_brands([call.src[0].src[u.arg]]), primitive_of(call)
    # a custom rule runs in the scope of the call and handles brands without examples itself
    return tuple(b for b in brands if b.size) if p is not None and p.is_rule else brands


def stage_all(x: UOp, brands: Sequence[Scope]) -> UOp:
    """Stack the examples of these brands; an unbatched value is copied for each example."""
    for b in reversed(brands):
        x = stage(x if b in row_of(x) else copy_for_examples(x, (b,)), b)
    return x
