"""The batched program as a graph, for drawing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from branded.ir import Program, Var
from branded.ir.terms import Atom


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
