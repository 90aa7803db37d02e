"""The batched program as a graph, for drawing, and the names of values at the levels below the operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from branded.ir import Eqn, Expr, Program, Type, Var
from branded.ir.terms import Atom, letters


def graph_of(p: Program, names: Mapping[Var, str], steps: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return a batched program as nodes and edges; each node refers to its step."""
    step_of = {j: s["number"] for s in reversed(steps) for j in s["batched"]}
    nodes: list[dict[str, Any]] = []
    edges: list[list[int]] = []
    node_of: dict[Var, int] = {}

    def add(op: str, results: Sequence[Var], step: int | None, operands: Sequence[Atom] = ()) -> None:
        here = len(nodes)
        kind = ", ".join(str(v.type) for v in results)
        edges.extend([i, here] for i in dict.fromkeys(node_of[a] for a in operands if isinstance(a, Var)))
        node_of.update(dict.fromkeys(results, here))
        nodes.append({"id": here, "op": op, "type": kind, "step": step})

    for v in (*p.invars, *p.constvars):
        add(names[v], [v], None)
    for i, e in enumerate(p.eqns):
        add(e.op, e.results, step_of.get(i), e.operands)
    return {"nodes": nodes, "edges": edges}


def names_below(e: Expr, names: Mapping[Var, str]) -> dict[str, dict[Var, str]]:
    """Return the names of the values of the primitives and of the batched graph.

    An argument keeps its name.  A value that is the result of an operation has the name of that result.  Every other
    value gets a letter that no other value has, at any level.
    """
    taken = {*names.values(), *(b.name for b in e.program.brands())}
    fresh = (n for n in letters() if n not in taken)
    found: dict[str, dict[Var, str]] = {}
    above, above_names = e, dict(names)
    while above.has_links:
        below = above.below()
        own = _shared(above, below, above_names)
        for v in below.names():
            own.setdefault(v, "")
        above, above_names = below, {v: name or next(fresh) for v, name in own.items()}
        found[below.level] = above_names
    return found


def _shared(above: Expr, below: Expr, names: Mapping[Var, str]) -> dict[Var, str]:
    """Return the names of the values that both levels have: the arguments, the constants and the results of steps."""
    own = {v: names[x] for v, x in zip(below.program.invars, above.program.invars, strict=True)}
    consts = zip(above.consts, above.program.constvars, strict=True)
    by_graph = {t.uop: names[x] for t, x in consts if x in names}
    for t, v in zip(below.consts, below.program.constvars, strict=True):
        if t.uop in by_graph:
            own[v] = by_graph[t.uop]
    used = {*own.values()}
    for eqn, links in zip(above.program.eqns, above.links(), strict=True):
        for v, x in _results(eqn, [below.program.eqns[i] for i in links]):
            if v not in own and names[x] not in used:
                own[v] = names[x]
                used.add(names[x])
    return own


def _results(eqn: Eqn, parts: Sequence[Eqn]) -> list[tuple[Var, Var]]:
    """Return the results of the last part, each with the result of the operation that it computes."""
    last = parts[-1].results if parts else ()
    types = [_sizes(v.type) for v in eqn.results]
    return [*zip(last, eqn.results, strict=True)] if [_sizes(v.type) for v in last] == types else []


def _sizes(t: Type) -> tuple[object, ...]:
    """Return the shape of all examples, which stays the same when a brand becomes an axis."""
    return (*(b.size for b in t.row), *t.shape, t.dtype)
