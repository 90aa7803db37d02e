"""The leaves of derivative transforms (see `graph.tags`), and the reverse pass down to them."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Sequence, Set
from typing import Any, TypeVar

from tinygrad import Tensor
from tinygrad.uop.ops import Ops, UOp

from branded.autodiff.reverse import gradients, once
from branded.core.analysis.invariance import invariant_slice
from branded.core.boundary import copied, enter, lower, stage
from branded.core.tracing.effect_tokens import derivative_block
from branded.core.tracing.state import is_differentiating
from branded.dispatch import Pass, full
from branded.graph.primitive import Batched, derives_from, primitive_of
from branded.graph.rows import is_place, left_brands, row_of
from branded.graph.scope import ContextEntry, ContextStack, Row, Scope, open_brands, scope_at, undone, union
from branded.graph.tags import Level, Placeholder, is_leaf, is_symbolic_zero, leaf, symbolic_zero, transforms, untag
from branded.graph.uops import replace_ops
from branded.tinygrad_compat.private_api import all_tensors

T = TypeVar("T")


_watched: ContextStack[list[Tensor]] = ContextStack("branded_watched")
_began: ContextStack[int] = ContextStack("branded_began")


def transforming(levels: Sequence[Level] = ()) -> ContextEntry[Sequence[Level]]:
    """Mark a transform with respect to the leaves of these levels as active."""
    return transforms.during(levels)


def track_leaves(leaves: list[Tensor]) -> ContextEntry[list[Tensor]]:
    """Track the leaves of a call while its function runs, so that `hide_leaves` can hide them."""
    return _watched.during(leaves)


def differentiated_from(slot: int) -> ContextEntry[int]:
    """Mark buffers with this slot or a later one as allocated by the function under differentiation."""
    return _began.during(slot)


def is_own(root: UOp) -> bool:
    """Return whether this buffer was allocated by the function that is being differentiated."""
    began = _began.get()
    return bool(began) and root.op is Ops.BUFFER and bool(root.arg.slot >= began[0])


def hide_leaves(run: Callable[[], T]) -> T:
    """Run `run` with tracked leaves hidden: tinygrad does not write into part of a tensor that another one shares."""
    refs = dict.fromkeys(ref for leaves in _watched.get() for t in leaves if (ref := weakref.ref(t)) in all_tensors)

    def without() -> T:
        for ref in refs:
            all_tensors.pop(ref, None)
        return run()

    return undone(without, lambda: all_tensors.update(refs)) if refs else run()


def in_place_of(level: Level, values: Sequence[UOp]) -> Callable[[UOp], UOp | None]:
    """Return a rewrite that replaces each placeholder of this level by the value at its index.

    It matches by tag, so it also works on graphs from before tinygrad renamed the leaves.
    """
    return lambda u: values[u.arg.index] if type(u.arg) is Placeholder and u.arg.level is level else None


def strip_tags(us: Sequence[UOp]) -> list[UOp]:
    """Remove all tags (leaves, storages, symbolic zeros).

    Inside another transform they stay, as the outermost one removes them all.
    """
    if is_differentiating():
        return list(us)
    return replace_ops(us, untag)


# ---- down to them ----


def pull(
    ys: Sequence[UOp], cts: Sequence[UOp], targets: Sequence[UOp], others: Sequence[UOp] = ()
) -> tuple[list[UOp], Sequence[UOp]]:
    """Compute the cotangents of `targets` given those of `ys` (vᵀJ).

    Also return `ys` and `others`, in the form that shares work with the pass.

    If examples exchange values over an open brand (as with `psum`), the loss depends on all examples. Each example then
    has a copy of every shared value, so `pull` closes the brand first, and the result enters it again. Example:
    `vmap(grad(lambda x: psum(x * x, "i")))(xs)`, with `i` still open.

        given       y = sum(STAGE(x * x, i)), and the target x of one example
        closed      xs has a leading axis for `i`; y = sum(xs * xs) over all examples; the gradient is by xs
        entered     INDEX(the gradient, i): each example has its own entry of the gradient
    """
    if not any(meant := [not is_symbolic_zero(ct) for ct in cts]):
        return list(map(symbolic_zero, targets)), [*ys, *others]
    if not all(meant):
        grads, _ = pull(list(itertools.compress(ys, meant)), list(itertools.compress(cts, meant)), targets)
        return grads, [*ys, *others]
    n, left = len(ys), left_brands([*ys, *cts], siblings=True)
    above, crossed = _find_exchanges([*ys, *cts], targets) if left else (set(targets), [])
    if not crossed:
        new = lower([*ys, *cts, *targets, *others], open_brands())
        end = len(new) - len(others)
        return gradients(new[:n], new[n : 2 * n], new[2 * n : end], [*new[:n], *new[end:]])
    # an exchange over a brand without examples contributes nothing
    empty = {b.range for b in crossed if not b.size}
    if nothing := {u: u.const_like(0) for u in above if u.op is Ops.STAGE and u.src[1] in empty}:
        new = replace_ops([*ys, *cts], lambda _: None, at=nothing)
        return pull(new[:n], new[n:], targets)[0], [*ys, *others]
    closing = tuple(b for b in left if b in crossed or not b.is_open)
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
    """Compute the cotangents for all examples of the crossed brands together, then give each example its own."""
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


def in_reverse(ys: Sequence[UOp], targets: Sequence[UOp]) -> list[UOp]:
    """Return the values as reverse mode computes them: by the reverse-mode rule of each function that has one."""
    if not ys:
        return []
    new = lower([*ys, *targets], open_brands())
    above, found = set(new[len(ys) :]), dict[UOp, Sequence[UOp]]()
    for u in UOp(Ops.SINK, src=tuple(new)).toposort(enter_calls=False):
        if above.isdisjoint(derives_from(u)):
            continue
        above.add(u)
        call = u.src[0] if u.op is Ops.GETTUPLE else u
        if u is not call and call not in found and (p := primitive_of(call)) is not None:
            with transforming(), derivative_block(p.is_rule):
                values = p.in_reverse(call, {i for i, x in enumerate(call.src[1:]) if x in above})
            if values is not None:
                found[call] = values
    return once(new[: len(ys)], found) if found else list(ys)


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
    found, p = left_brands([call.src[0].src[u.arg]]), primitive_of(call)
    # a custom rule runs in the scope of the call and handles brands without examples itself
    return tuple(b for b in found if b.size) if p is not None and p.is_rule else found


def stage_all(x: UOp, brands: Sequence[Scope]) -> UOp:
    """Stack the examples of these brands; an unbatched value is copied for each example."""
    for b in reversed(brands):
        x = stage(x if b in row_of(x) else copied(x, (b,)), b)
    return x
