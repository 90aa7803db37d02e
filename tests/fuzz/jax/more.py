"""Statements that `--more` adds: modules, static and nondifferentiable arguments, and writes into arguments.

They have a separate table, so that the programs of existing seeds do not change.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.fuzz.jax.calls import closed_function, like, listed, ruled, some, tupled
from tests.fuzz.jax.drawing import Draw, Make, Scope, register
from tests.fuzz.jax.form import Function, Let, Type, Var

MORE: dict[str, tuple[float, Make]] = {}


def more(weight: float) -> Callable[[Make], Make]:
    return register(MORE, weight)


def scale(d: Draw, f: Function) -> float:
    """Return a factor for the results, which is passed as a Python number."""
    by = d.rng.choice([1, 2, 0.5])
    for o in f.outs:
        o.size = o.size * max(by, 1) if o.type.is_float else o.size
    return by


@more(2)
def module_call(d: Draw, s: Scope) -> bool | None:
    """Call a module with given weights; the call may write the first weights."""
    weights = some(d, s, d.rng.choice([1, 1, 2, 3]), lambda v: v.type.dtype != "u32" and v.type.numel > 0)
    operands = some(d, s, d.rng.choice([0, 1, 2]), lambda v: True)
    if not weights:
        return None
    written = d.rng.randint(0, len(weights)) if d.chance(0.5) else 0
    ws, xs = [d.param(v) for v in weights], [d.param(v) for v in operands]

    def outs(inner: Scope) -> list[Var]:
        new = []
        for w in ws[:written]:
            v = d.late(inner, lambda v, t=w.type: v.type == t)
            new.append(v if v is not None else w)
        free = [d.late(inner, lambda v: True) or ws[0] for _ in range(d.rng.choice([1, 1, 2]))]
        return [*new, *free]

    f = d.function(s, [*ws, *xs], wanted=outs)
    row = d.free([f]) | frozenset[int]().union(*(v.row for v in [*weights, *operands]))
    given = f"{tupled(len(weights))}, ({listed(len(operands), len(weights))}{',' if operands else ''})"
    shapes = [v.type.shape for v in weights]
    text = f"m.module_call(@0, {shapes}, {[v.type.dtype for v in weights]}, {written}, {given})"
    return d.call(s, text, [*weights, *operands], [f], like(d, f.outs, row))


@more(1.5)
def static_rule(d: Draw, s: Scope) -> bool | None:
    """Call a custom rule with a nondifferentiable argument, first or last."""
    kind = d.rng.choice(["with_jvp_static", "with_vjp_static"])
    before = s.in_reverse
    s.in_reverse = before or kind == "with_vjp_static"
    made = closed_function(d, s, True)
    s.in_reverse = before
    if made is None:
        return None
    operands, f = made
    at = d.rng.choice([0, len(operands)])
    return ruled(d, s, f"m.{kind}(@0, {scale(d, f)}, {at})", operands, [f])


@more(1)
def static_jit(d: Draw, s: Scope) -> bool | None:
    """Call one jitted function twice, with different static arguments."""
    operands = some(d, s, 2, lambda v: True)
    f = d.function(s, [d.param(v) for v in operands])
    by = scale(d, f)
    row = d.free([f]) | frozenset[int]().union(*(v.row for v in operands))
    out = like(d, f.outs, row)
    for v in out:
        v.bits = None if v.type.is_float else v.bits
    at = d.rng.choice([0, len(operands)])
    return d.call(s, f"m.jit_static(@0, {by}, {at})({listed(len(operands))})", operands, [f], out)


@more(2)
def vmap_writing(d: Draw, s: Scope) -> bool | None:
    """Map a function that first writes into its argument, which must not change the caller's tensor."""
    x = d.pick(s, lambda v: len(v.type.shape) > 1 and v.type.dtype != "u32" and v.type.shape[1] > 0)
    if x is None:
        return None
    number, n = next(d.maps), x.type.shape[0]
    p = d.param(x, Type(x.type.shape[1:], x.type.dtype), x.row | {number})
    at = d.rng.randrange(-p.type.shape[0], p.type.shape[0])
    entry = Type(p.type.shape[1:], p.type.dtype)
    v = d.pick(s, lambda v: v.type == entry) or d.constant(s, entry)
    q = d.param(v)
    p.bits = None if p.bits is None or q.bits is None else max(p.bits, q.bits)
    p.size, p.row = p.size + q.size, p.row | q.row
    f = d.function(s, [p, q], most=4)
    if any(o.type.dtype == "u32" or o.type.numel * n > 200 for o in f.outs):
        return None
    how = d.rng.choice(["set", "add", "view"]) if p.type.dtype not in ("bool", "u8") else "set"
    f.body.insert(0, Let([p], "$0", f"m.write($0, {at}, $1, {how!r})", [p, q]))
    row = (d.free([f]) | x.row | v.row) - {number}
    targets = like(d, f.outs, row, [(n, *o.type.shape) for o in f.outs])
    return d.call(s, "m.vmap(@0, in_axes=(0, None))($0, $1)", [x, v], [f], targets)
