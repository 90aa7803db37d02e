"""The batched program as a graph for drawing, and names for the values of the primitives and of the batched program."""

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
        index = len(nodes)
        kind = ", ".join(str(v.type) for v in results)
        edges.extend([i, index] for i in dict.fromkeys(node_of[a] for a in operands if isinstance(a, Var)))
        node_of.update(dict.fromkeys(results, index))
        nodes.append({"id": index, "op": op, "type": kind, "step": step})

    for v in (*p.invars, *p.constvars):
        add(names[v], [v], None)
    for i, e in enumerate(p.eqns):
        add(e.op, e.results, step_of.get(i), e.operands)
    return {"nodes": nodes, "edges": edges}


def names_below(e: Expr, names: Mapping[Var, str]) -> dict[str, dict[Var, str]]:
    """Name the values of the two levels below the operations: the primitives and the batched program.

    An argument and the result of an operation keep their names.  Every other value gets a letter that is unique across
    all levels.
    """
    used = {*names.values(), *(b.name for b in e.program.brands())}
    unused_letters = (n for n in letters() if n not in used)
    names_by_level: dict[str, dict[Var, str]] = {}
    above, above_names = e, dict(names)
    while above.has_links:
        below = above.below()
        names_here = _shared(above, below, above_names)
        for v in below.names():
            names_here.setdefault(v, "")
        above, above_names = below, {v: name or next(unused_letters) for v, name in names_here.items()}
        names_by_level[below.level] = above_names
    return names_by_level


def _shared(above: Expr, below: Expr, names: Mapping[Var, str]) -> dict[Var, str]:
    """Return the names of the values that exist on both levels: arguments, constants, and results of steps."""
    names_here = {v: names[x] for v, x in zip(below.program.invars, above.program.invars, strict=True)}
    consts = zip(above.consts, above.program.constvars, strict=True)
    by_graph = {t.uop: names[x] for t, x in consts if x in names}
    for t, v in zip(below.consts, below.program.constvars, strict=True):
        if t.uop in by_graph:
            names_here[v] = by_graph[t.uop]
    used = {*names_here.values()}
    for eqn, links in zip(above.program.eqns, above.links(), strict=True):
        for v, x in _results(eqn, [below.program.eqns[i] for i in links]):
            if v not in names_here and names[x] not in used:
                names_here[v] = names[x]
                used.add(names[x])
    return names_here


def _results(eqn: Eqn, parts: Sequence[Eqn]) -> list[tuple[Var, Var]]:
    """Pair each result of the last part of an operation with the operation's result that it computes."""
    last = parts[-1].results if parts else ()
    types = [_sizes(v.type) for v in eqn.results]
    return [*zip(last, eqn.results, strict=True)] if [_sizes(v.type) for v in last] == types else []


def _sizes(t: Type) -> tuple[object, ...]:
    """Return the sizes of the brands and axes, and the dtype; batching changes none of them."""
    return (*(b.size for b in t.row), *t.shape, t.dtype)
