"""Invalid statements that both libraries must reject: some programs end with one."""

from __future__ import annotations

from collections.abc import Callable

from tests.fuzz.jax.drawing import Draw, Scope
from tests.fuzz.jax.form import Type, Var

Ok = Callable[[Var], bool]


def _vector(v: Var) -> bool:
    return v.type.is_float and len(v.type.shape) > 0 and v.type.shape[0] > 1


def _ints(v: Var) -> bool:
    return v.type.dtype == "i32"


def _floats(v: Var) -> bool:
    return v.type.is_float


def _any(v: Var) -> bool:
    return v.type.dtype != "u32"


WRONG: dict[str, tuple[Ok, str]] = {
    "a name that is not open": (_any, "m.vmap(lambda x: m.psum(x, 'z'), axis_name='y')(m.stack([$0, $0], 0))"),
    "sizes that differ": (_any, "m.vmap(lambda x, y: x)(m.stack([$0, $0], 0), m.stack([$0, $0, $0], 0))"),
    "a result that varies leaves with None": (_any, "m.vmap(lambda x: x, out_axes=None)(m.stack([$0, $0], 0))"),
    "an axis that is not there": (_vector, "m.vmap(lambda x: x, in_axes=7)($0)"),
    "an out axis that is not there": (_vector, "m.vmap(lambda x: x, out_axes=7)($0)"),
    "a number is mapped": (_any, "m.vmap(lambda x, y: x)(m.stack([$0, $0], 0), 2.0)"),
    "nothing is mapped": (_any, "m.vmap(lambda x: x, in_axes=(None,))($0)"),
    "more axes than arguments": (_vector, "m.vmap(lambda x: x, in_axes=(0, 0))($0)"),
    "axis_size is another": (_vector, "m.vmap(lambda x: x, axis_size=9)($0)"),
    "axes of another tree": (_vector, "m.vmap(lambda x: x['a'], in_axes=({'b': 0},))({'a': $0})"),
    "a value of one example is read": (_vector, "m.vmap(lambda x: float(m.sum(x)))($0)"),
    "an if on a value of one example": (_vector, "m.vmap(lambda x: x if m.sum(x) > 0 else -x)($0)"),
    "a carry that changes its shape": (_any, "m.scan(lambda c, x: (m.stack([c, c], 0), None), $0, None, length=2)"),
    "a carry that changes its dtype": (_floats, "m.scan(lambda c, x: (m.cast(c, 'bool'), None), $0, None, length=2)"),
    "a carry of another tree": (_any, "m.fori_loop(0, 2, lambda i, c: (c, c), $0)"),
    "a state that changes its shape": (_any, "m.while_loop(lambda c: True, lambda c: m.stack([c, c], 0), $0)"),
    "a condition that is not one bool": (_vector, "m.while_loop(lambda c: c > 0, lambda c: c, $0)"),
    "steps that differ": (_any, "m.scan(lambda c, x: (c, None), 0, (m.stack([$0, $0], 0), m.stack([$0], 0)))"),
    "no number of steps": (_any, "m.scan(lambda c, x: (c, None), $0, None)"),
    "a body that gives no pair": (_any, "m.scan(lambda c, x: c, $0, None, length=2)"),
    "branches of two shapes": (
        _vector,
        "m.vmap(lambda x: m.cond(m.sum(x) > 0, lambda: x, lambda: m.stack([x, x], 0)))($0)",
    ),
    "branches of two trees": (_vector, "m.vmap(lambda x: m.cond(m.sum(x) > 0, lambda: x, lambda: (x, x)))($0)"),
    "a predicate that is not one bool": (_vector, "m.cond($0 > 0, lambda: 1.0, lambda: 2.0)"),
    "no branches": (_any, "m.switch(m.full((), 'i32', 0), [], $0)"),
    "the gradient of what is no number": (_vector, "m.grad(lambda x: x * 2)($0)"),
    "the gradient with respect to ints": (_ints, "m.grad(lambda x: m.cast(m.sum(x), 'f32'))($0)"),
    "an argument that is not there": (_floats, "m.grad(lambda x: m.sum(x), argnums=3)($0)"),
    "a tangent of another shape": (_floats, "m.jvp(lambda x: x, ($0,), (m.stack([$0, $0], 0),))"),
    "a tangent too few": (_floats, "m.jvp(lambda x, y: x + y, ($0, $0), ($0,))"),
    "a cotangent of another shape": (_floats, "m.vjp(lambda x: x, $0)[1](m.stack([$0, $0], 0))"),
    "has_aux without a pair": (_floats, "m.grad(lambda x: m.sum(x), has_aux=True)($0)"),
    "an axis of another size is taken apart": (
        _any,
        "m.vmap(lambda x: m.all_to_all(m.stack([x, x, x], 0), 'y', 0, 0), axis_name='y')(m.stack([$0, $0], 0))",
    ),
    "no rule": (_floats, "m.grad(lambda x: m.sum(m.custom_jvp(lambda y: y * 2)(x)))($0)"),
    "the reverse of a while loop": (
        _floats,
        "m.grad(lambda x: m.sum(m.while_loop(lambda c: m.sum(c) < 9, lambda c: m.abs(c) + m.abs(x) + 1, x)))($0)",
    ),
    "the forward mode of custom_vjp": (
        _floats,
        "m.jvp(m.with_vjp(lambda x: (x,), 1, ()), ($0,), ($0,))",
    ),
}  # fmt: skip


def put_wrong(d: Draw, s: Scope) -> str:
    """End a program with an invalid statement, sometimes under a map; return its name, or "" if none is applicable."""
    name, (ok, text) = d.rng.choice(list(WRONG.items()))
    v = d.pick(s, ok)
    if v is None:
        return ""
    if d.chance(0.4) and len(v.type.shape) < 3:
        text = f"m.vmap(lambda w: {text.replace('$0', 'w')})(m.stack([$0, $0], 0))"
    out = d.put(s, text, [v], Type((), "f32"))
    s.vars[:] = [out]
    return name
