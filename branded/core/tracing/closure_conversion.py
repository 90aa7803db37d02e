"""Closure conversion: turn a body's captured values into numbered parameters."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set

from tinygrad import dtypes
from tinygrad.dtype import strong_dtype
from tinygrad.uop.ops import GroupOp, Ops, UOp

from branded.backends.cpu.renderer.bufferize_policy import selects
from branded.core.tracing.step import like
from branded.graph.primitive import at_slot, params
from branded.graph.rows import is_differentiated, row_of
from branded.graph.tags import untag
from branded.graph.uops import is_of_a_tensor, on_device, replace_ops
from branded.tinygrad_compat.private_api import has_shape


def constants(outs: Sequence[UOp], moving: Set[UOp]) -> list[UOp]:
    """Return the values that a step uses but does not change, to be computed before the loop."""
    graph = UOp(Ops.SINK, src=tuple(outs)).toposort(enter_calls=False)
    varies = _varying(graph, moving)
    if memory := _repeated_writes(graph, varies):
        varies = _varying(graph, memory.union(moving))
    captured: dict[UOp, None] = {}
    in_step = varies | _not_given(graph, varies)
    for u in graph:
        if not in_step[u] and u.op is not Ops.SINK:
            continue
        for i, s in enumerate(u.src):
            if _is_into(u, i) or in_step.get(s, True) or s.op is Ops.RANGE:
                continue
            s = _memory_of(s)
            if has_shape(s) and (s.device is not None or row_of(s) or is_differentiated(s)):
                captured[s] = None
    return list(captured)


def _not_given(graph: Iterable[UOp], varies: Mapping[UOp, bool]) -> dict[UOp, bool]:
    """Return the values that each step recomputes although they do not change.

    These are targets of kernel writes, values of symbolic size, and the masks of gathers. The mask of `x[i]` has an
    element for each pair of an index and an entry. If the kernel computes the mask, tinygrad loads `x[i]` directly.
    """
    recomputed: dict[UOp, bool] = {}
    for u in reversed([*graph]):
        if varies[u] or u in recomputed or u.op is Ops.SINK:
            target_slots = _written_by_kernel(u)
            operands = [
                (i, s) for i, s in enumerate(u.src) if not _is_into(u, i) and not varies.get(s, True) and has_shape(s)
            ]
            recomputed |= {s: True for i, s in operands if _is_symbolic(s) or i in target_slots or _is_selection(s)}
    return recomputed


def _written_by_kernel(u: UOp) -> set[int]:
    """Return the sources that a handwritten kernel writes to."""
    if u.op is not Ops.CALL:
        return set()
    if u.src[0].op is not Ops.SINK:
        return set(range(1, len(u.src)))
    into = (v.src[0] for v in u.src[0].toposort() if v.op is Ops.STORE)
    buffers = (x.src[0] if x.op is Ops.INDEX else x for x in into)
    return {p.arg.slot + 1 for x in buffers for p in x.toposort() if p.op is Ops.PARAM}


def _is_symbolic(u: UOp) -> bool:
    return any(type(n) is not int for n in u.shape)


def _is_selection(u: UOp) -> bool:
    """Return whether a mask selects entries by their index."""
    return u.dtype == dtypes.bool and selects(u)


def _memory_of(s: UOp) -> UOp:
    """Return the value that `s` is a view of, or the user's tensor before it: a view in a step costs nothing."""
    while s.op in GroupOp.Movement and not s.has_buffer_identity() and not is_of_a_tensor(s):  # type: ignore[no-untyped-call]
        if _is_symbolic(s.src[0]):
            break
        s = s.src[0]
    return s


def _is_into(u: UOp, i: int) -> bool:
    """Return whether this source is the target of a write, or a body."""
    return i == 0 and u.op in {Ops.STORE, Ops.AFTER, Ops.FUNCTION}


def _varying(graph: Iterable[UOp], moving: Set[UOp]) -> dict[UOp, bool]:
    varies: dict[UOp, bool] = {}
    for u in graph:
        varies[u] = u in moving or any(varies.get(s, False) for s in u.src)
    return varies


def _repeated_writes(graph: Iterable[UOp], varies: Mapping[UOp, bool]) -> set[UOp]:
    """Return earlier writes into memory that a step writes to, which each step repeats.

    For `y = w.clone(); y[0].assign(x)` with an `x` that varies: the write of `w`, and all views of `y`.
    """
    due = [u.src[0] for u in graph if varies[u] and u.op in {Ops.STORE, Ops.AFTER}]
    writes = set[UOp]()
    while due:
        u = due.pop()
        if u in writes or varies.get(u, False) or u.op not in _MEMORY:
            continue
        writes.add(u)
        due.extend(u.src if u.op is Ops.AFTER else u.src[:1])
    return writes


_MEMORY = GroupOp.Movement | {Ops.BITCAST, Ops.DETACH, Ops.AFTER, Ops.STORE}


def closure_converted(
    outs: Sequence[UOp], own_params: Sequence[UOp], device: str | None = None, but: Collection[UOp] = ()
) -> tuple[UOp, list[UOp]]:
    """Return a body over numbered parameters, `own_params` before one for each captured value, and these values.

    Values in `but` stay in the body.
    """
    captured = [x for x in constants(outs, set(own_params)) if x not in but]
    empty = {x for x in captured if 0 in x.shape}  # they have no elements, and no kernel computes them
    captured = [x for x in captured if x not in empty]
    fixed = [on_device(x.cast(strong_dtype(x.dtype)), device) for x in captured]
    all_params = [*own_params, *map(like, fixed)]
    numbered = [at_slot(p, i) for i, p in enumerate(all_params)]
    stand_ins = {x: p.cast(x.dtype) for x, p in zip([*own_params, *captured], numbered, strict=True)}
    stand_ins |= {x: x.const_like(0) for x in empty}
    # a leaf here belongs to a derivative inside the body, which has been computed
    return UOp.maketuple(*replace_ops(outs, untag, at=stand_ins)), fixed


def with_arguments(src: tuple[UOp, ...], old: UOp) -> tuple[UOp, ...]:
    """Return a body and its arguments, with an additional argument for each value that it captures and `old` does not.

    `old` is the body of a function, and `src` starts with the body of its derivative.  A user's rule that ran for a
    call in `old` may have captured such a value.  For `f(x) = x * w` with the tangent `dx * w`:

        the body                    PARAM 0 * PARAM 1, of x and w
        its derivative              PARAM 2 * w, of x, w and dx: `w` is the buffer itself, invisible to transforms
        with its arguments          PARAM 2 * PARAM 3, of x, w, dx and w
    """
    body, *args = src
    body_params = params(body)
    new, fixed = closure_converted(body.src, body_params, but=old.toposort(enter_calls=False).keys())
    return (new, *(args[p.arg.slot] for p in body_params), *fixed) if fixed else src
