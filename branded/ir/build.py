"""Build the typed programs of a function at three levels, and the links between their equations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from tinygrad.dtype import DType
from tinygrad.uop.ops import Ops, UOp

from branded.core.tracing.recording import BodyRecord, Call, Frame
from branded.dispatch import Pass
from branded.graph.primitive import Batched
from branded.graph.rows import dtype_text, has_brand, left_brands
from branded.graph.scope import Scope
from branded.graph.tags import is_leaf, is_tagged, untag
from branded.graph.uops import replace_ops
from branded.ir.draft import Consts, Draft, Written
from branded.ir.terms import BrandName, DerivedTerm, Dtype, Var

LEVELS = ("operations", "primitives", "batched")


class Levels(NamedTuple):
    """The programs of a function at three levels, the links from equations to the next level, and the outer brands."""

    written: dict[str, Written]
    links: dict[str, list[list[int]]]
    outer: dict[BrandName, Scope]


class Since(NamedTuple):
    """The numbers of the first brand and the first leaf of a derivative that the traced function created."""

    brand: int
    leaf: int


def levels(frame: Frame, places: Sequence[UOp], results: Sequence[UOp], since: Since) -> Levels:
    """Return the programs of the recorded calls, with `places` as arguments.

    Of `vmap(lambda x: x.sum())`:

    operations      b = enter a;  c = sum b;  d = leave c             the recorded calls
    primitives      b = enter a;  c = REDUCE b;  d = leave c          the graph of the results
    batched         d = REDUCE a                                      the graph after the brands are closed
    """
    results = _remove_own_leaves(frame, results, since.leaf)
    frames = _frames(frame)
    # A call may return its own argument, such as `x.float()` of a float tensor: the call did not compute it. Neither
    # did it compute a value in memory.
    values = (u for f in frames for c in f.calls for u in c.results if u not in c.operands and u.op is not Ops.BUFFER)
    consts = Consts(places, values, since.brand)
    outs, became = _batched(results, since.brand)
    upper = _record_program(Draft(consts, places, None), frame, results)
    middle = Draft(consts, places, None).finish(results)
    lower = Draft(consts, places, None).finish(outs)
    return Levels(
        dict(zip(LEVELS, (upper, middle, lower), strict=True)),
        {LEVELS[0]: _links(upper, middle, lambda u: u), LEVELS[1]: _links(middle, lower, became)},
        consts.outer(),
    )


def _record_program(scope: Draft, frame: Frame, results: Sequence[UOp]) -> Written:
    # a call that no result depends on was replaced by its derivative
    used = set(UOp.sink(*results, *(u for b in _bodies(frame) for u in b.results)).toposort(enter_calls=False))
    calls = []
    for call in reversed(frame.calls):
        if not used.isdisjoint(call.results):
            calls.append(call)
            operands = [u for u in call.operands if isinstance(u, UOp)]
            used |= UOp.sink(*operands).toposort(lambda u: u not in used, enter_calls=False).keys()
    for call in reversed(calls):
        if any(u not in scope.env for u in call.results):
            _call(scope, call)
    program = scope.finish(results)
    _mark_derivative_steps(frame, program)
    return program


def _mark_derivative_steps(frame: Frame, program: Written) -> None:
    """Mark the equations that are steps of a derivative: no call recorded them, and its results depend on them."""
    for d in frame.derived:
        below = UOp.sink(*d.results).toposort(enter_calls=False)
        for line in program.lines:
            if line.eqn.where is None and line.eqn.derived is None and not below.keys().isdisjoint(line.results):
                line.eqn.derived = DerivedTerm(d.api_name, d.where)


def _call(scope: Draft, call: Call) -> None:
    params = {k: _param(scope.consts, v) for k, v in call.params.items()}
    if not call.bodies:
        scope.define(call.op, call.operands, params, call.results, call.where, call.names)
        return
    drafts: dict[str, list[tuple[Draft, Written]]] = {}
    for k, bodies in call.bodies.items():
        for b in _each(bodies):
            ranges = [c.results[0].src[-1] for c in b.frame.calls if c.op == "enter" and c.results[0].op is Ops.INDEX]
            inner = Draft(scope.consts, b.params, scope, ranges)
            drafts.setdefault(k, []).append((inner, _record_program(inner, b.frame, b.results)))
    # a value that any of the bodies captures is an operand, and a constant of each body
    outside = list(dict.fromkeys(u for parts in drafts.values() for inner, _ in parts for u in inner.captured))
    if outside:
        params = {"consts": len(outside), **params}
    for k, parts in drafts.items():
        for inner, w in parts:
            w.program.constvars[:] = [inner.captured.get(u) or Var(scope.consts.type(u)) for u in outside]
        programs = tuple(w.program for _, w in parts)
        params[k] = programs if isinstance(call.bodies[k], list) else programs[0]
    scope.define(call.op, (*outside, *call.operands), params, call.results, call.where, call.names.behind(len(outside)))


def _param(consts: Consts, v: Any) -> Any:
    """Return a parameter in the form that is printed."""
    if isinstance(v, Scope):
        return consts.brand(v)
    if isinstance(v, DType):
        return Dtype(dtype_text(v))
    if type(v) in (tuple, list):
        return type(v)(_param(consts, x) for x in v)
    return v


def _without_leaves(us: Sequence[UOp], since: int) -> list[UOp]:
    """Remove leaves of derivatives numbered `since` or higher; lower numbers belong to outer derivatives."""

    def own(u: UOp) -> UOp | None:
        return None if is_leaf(u) and u.arg.number < since else untag(u)

    return replace_ops(us, own)


def _batched(results: Sequence[UOp], since: int) -> tuple[list[UOp], Callable[[UOp], UOp]]:
    """Return the batched results, and a function from values of the graph to batched values."""
    env: dict[UOp, Any] = {}
    brands = tuple(b for b in left_brands(results) if b.number >= since)
    outs = Pass(brands).run(results, env, has_brand)

    def became(u: UOp) -> UOp:
        x = env.get(u)
        return x.uop if isinstance(x, Batched) else u

    return [x.uop for x in outs], became


def _links(upper: Written, lower: Written, became: Callable[[UOp], UOp]) -> list[list[int]]:
    """Return, for each equation of a program, the indices of the equations that it becomes one level below."""
    index_of = {u: i for i, line in enumerate(lower.lines) for u in line.results}
    seen: set[UOp] = set()
    out: list[list[int]] = []
    for line in upper.lines:
        indices: set[int] = set()
        for r in line.results:
            for u in became(r).toposort(lambda u: u not in seen, enter_calls=False):
                if u not in seen:
                    seen.add(u)
                    if u in index_of:
                        indices.add(index_of[u])
        out.append(sorted(indices))
    return out


def _each(bodies: BodyRecord | list[BodyRecord]) -> list[BodyRecord]:
    return bodies if isinstance(bodies, list) else [bodies]


def _bodies(frame: Frame) -> Iterable[BodyRecord]:
    for call in frame.calls:
        for v in call.bodies.values():
            for b in _each(v):
                yield b
                yield from _bodies(b.frame)


def _frames(frame: Frame) -> list[Frame]:
    """Return a record and the records of the bodies inside."""
    return list(dict.fromkeys([frame, *(b.frame for b in _bodies(frame))]))


def _remove_own_leaves(frame: Frame, results: Sequence[UOp], since: int) -> list[UOp]:
    """Remove the leaves of the program's own derivatives from all recorded values, and return the results."""
    frames = _frames(frame)
    recorded = [u for f in frames for c in f.calls for u in c.results]
    recorded += [u for f in frames for d in f.derived for u in d.results]
    if not any(map(is_tagged, UOp(Ops.SINK, src=(*recorded, *results)).toposort())):
        return list(results)
    every = {u for f in frames for c in f.calls for u in (*c.operands, *c.results) if isinstance(u, UOp)}
    every |= {u for b in _bodies(frame) for u in (*b.params, *b.results)}
    every |= {u for f in frames for d in f.derived for u in d.results}
    order = [*every, *results]
    new = dict(zip(order, _without_leaves(order, since), strict=True))

    def body(b: BodyRecord) -> BodyRecord:
        return BodyRecord(b.frame, tuple(new[u] for u in b.params), tuple(new[u] for u in b.results))

    for f in frames:
        f.derived[:] = [d._replace(results=tuple(new[u] for u in d.results)) for d in f.derived]
        f.calls[:] = [
            c._replace(
                operands=tuple(new[u] if isinstance(u, UOp) else u for u in c.operands),
                results=tuple(new[u] for u in c.results),
                bodies={k: list(map(body, v)) if isinstance(v, list) else body(v) for k, v in c.bodies.items()},
            )
            for c in f.calls
        ]
    return [new[u] for u in results]
