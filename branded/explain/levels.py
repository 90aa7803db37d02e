"""The names of values at the levels below the operations: one name has one meaning at all levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from branded.ir import Eqn, Expr, Type, Var
from branded.ir.terms import letters


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
