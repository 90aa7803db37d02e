"""Custom rules: custom_jvp, custom_vjp, custom_vmap, sequential_vmap.

Many rules here are incorrect on purpose: the result then shows that the rule was used.
"""

# ruff: noqa: E731  short functions read best as one line
from __future__ import annotations

from typing import Any

from tests.golden.registry import program

# ---- custom_jvp ----


def scaled_sin(m: Any) -> Any:
    """Return sin, with a rule that gives the derivative 3 cos x."""
    f = m.custom_jvp(m.sin)
    f.defjvp(lambda primals, tangents: (f(primals[0]), 3 * m.cos(primals[0]) * tangents[0]))
    return f


@program
def custom_jvp_in_both_modes(m: Any) -> Any:
    f, x = scaled_sin(m), m.array(0.5)
    return f(x), m.grad(f)(x), m.jvp(f, (x,), (m.array(2.0),)), m.jacfwd(f)(m.some(2)), m.jacrev(f)(m.some(2))


@program
def custom_jvp_under_vmap(m: Any) -> Any:
    return m.vmap(scaled_sin(m))(m.some(4)), m.vmap(m.grad(scaled_sin(m)))(m.some(4))


@program
def custom_jvp_outside_vmap(m: Any) -> Any:
    f = m.vmap(scaled_sin(m))
    return m.jvp(f, (m.some(3),), (m.array([1.0, 2.0, 3.0]),)), m.grad(lambda x: (f(x) * m.some(3)).sum())(m.some(3))


@program
def custom_jvp_at_the_second_order(m: Any) -> Any:
    f = scaled_sin(m)
    return m.grad(m.grad(f))(m.array(0.5)), m.vmap(m.hessian(lambda x: f(x).prod()))(m.some(2, 2))


@program
def custom_jvp_whose_rule_calls_itself(m: Any) -> Any:
    f = m.custom_jvp(m.exp)
    f.defjvp(lambda primals, tangents: (f(primals[0]), 2 * f(primals[0]) * tangents[0]))
    return [g(m.array(0.5)) for g in (f, m.grad(f), m.grad(m.grad(f)), m.grad(m.grad(m.grad(f))))]


@program
def custom_jvp_of_two_arguments(m: Any) -> Any:
    f = m.custom_jvp(lambda x, y: x * y)

    def rule(primals: Any, tangents: Any) -> Any:
        (x, y), (dx, dy) = primals, tangents
        return x * y, 10 * y * dx + x * dy

    f.defjvp(rule)
    return m.vmap(m.grad(f, (0, 1)), in_axes=(0, None))(m.some(3), m.array(2.0)), m.grad(f, 1)(
        m.array(3.0), m.array(4.0)
    )


@program
def custom_jvp_by_arguments(m: Any) -> Any:
    f = m.custom_jvp(lambda x, y: m.sin(x) * y)
    f.defjvps(lambda dx, out, x, y: 5 * m.cos(x) * y * dx, lambda dy, out, x, y: m.sin(x) * dy)
    return m.jvp(f, (m.array(0.5), m.array(2.0)), (m.array(1.0), m.array(1.0))), m.vmap(m.grad(f, (0, 1)))(
        m.some(2), m.some(2)
    )


@program
def custom_jvp_by_arguments_of_which_one_has_none(m: Any) -> Any:
    f = m.custom_jvp(lambda x, y: x * y)
    f.defjvps(None, lambda dy, out, x, y: 7 * x * dy)
    return m.vmap(m.grad(f, (0, 1)))(m.some(3), m.some(3) * 2)


@program
def custom_jvp_of_trees(m: Any) -> Any:
    f = m.custom_jvp(lambda p: {"y": p["a"] * p["b"], "z": p["a"]})

    def rule(primals: Any, tangents: Any) -> Any:
        (p,), (d,) = primals, tangents
        return f(p), {"y": d["a"] * p["b"], "z": 4 * d["a"]}

    f.defjvp(rule)
    loss = lambda p: (lambda out: (out["y"] * out["z"]).sum())(f(p))
    return m.vmap(m.grad(loss))({"a": m.some(2, 3), "b": m.some(2, 3) + 1})


@program
def custom_jvp_with_an_argument_that_is_not_differentiated(m: Any) -> Any:
    f = m.custom_jvp(lambda g, x: g(x), nondiff_argnums=(0,))
    f.defjvp(lambda g, primals, tangents: (f(g, primals[0]), -g(primals[0]) * tangents[0]))
    return m.vmap(m.grad(lambda x: f(m.exp, x)))(m.some(3)), m.jvp(
        lambda x: f(m.sin, x), (m.array(0.5),), (m.array(2.0),)
    )


@program
def custom_jvp_with_a_number_that_is_not_differentiated(m: Any) -> Any:
    f = m.custom_jvp(lambda x, n: x**n, nondiff_argnums=(1,))
    f.defjvp(lambda n, primals, tangents: (primals[0] ** n, 100 * n * tangents[0]))
    return m.vmap(m.value_and_grad(lambda x: f(x, 3)))(m.some(3))


@program
def custom_jvp_that_keeps_nan_away(m: Any) -> Any:
    f = m.custom_jvp(lambda x: m.log(1 + m.exp(x)))
    f.defjvp(lambda primals, tangents: (f(primals[0]), m.sigmoid(primals[0]) * tangents[0]))
    return m.vmap(m.grad(f))(m.array([-50.0, 0.0, 2.0, 200.0])), m.vmap(m.grad(m.grad(f)))(m.array([0.0, 2.0]))


@program
def custom_jvp_in_a_scan(m: Any) -> Any:
    f = scaled_sin(m)
    g = lambda x: m.scan(lambda c, _: (f(c) + x, c), x, None, length=3)[0]
    return m.vmap(m.value_and_grad(g))(m.some(3)), m.jvp(g, (m.array(0.5),), (m.array(1.0),))


@program
def custom_jvp_in_a_cond(m: Any) -> Any:
    f = scaled_sin(m)
    return m.vmap(m.grad(lambda x: m.cond(x > 0, f, lambda x: x * x, x)))(m.some(4))


@program
def custom_jvp_of_a_batch_with_grad_over_vmap_over_grad(m: Any) -> Any:
    f = scaled_sin(m)
    return m.grad(lambda w: m.vmap(m.grad(lambda x: f(x * w)))(m.some(3)).sum())(m.array(1.5))


@program
def custom_jvp_of_a_vector_closes_over_a_mapped_value(m: Any) -> Any:
    def g(w: Any, x: Any) -> Any:
        f = m.custom_jvp(lambda x: w * x)
        f.defjvp(lambda primals, tangents: (f(primals[0]), w * w * tangents[0]))
        return m.grad(lambda x: f(x).sum())(x)

    return m.vmap(g)(m.some(3), m.some(3, 2))


@program
def custom_jvp_with_a_constant_tangent(m: Any) -> Any:
    f = m.custom_jvp(lambda x: m.round(x))
    f.defjvp(lambda primals, tangents: (m.round(primals[0]), tangents[0]))
    return m.vmap(m.value_and_grad(lambda x: f(x) ** 2))(m.array([0.4, 1.7, -2.2]))


@program
def custom_jvp_of_nested_rules(m: Any) -> Any:
    f = scaled_sin(m)
    g = m.custom_jvp(lambda x: f(x) * x)
    g.defjvp(lambda primals, tangents: (g(primals[0]), f(primals[0]) * tangents[0]))
    return m.vmap(m.grad(g))(m.some(3)), m.vmap(m.grad(m.grad(g)))(m.some(3))


# ---- custom_vjp ----


def clipped(m: Any) -> Any:
    """Return the identity, with cotangents clipped to ±1."""
    f = m.custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x, None), lambda _, ct: (m.clip(ct, -1, 1),))
    return f


@program
def custom_vjp_clips_gradients(m: Any) -> Any:
    return m.grad(lambda x: (clipped(m)(x) ** 3).sum())(m.array([0.1, 2.0, -3.0]))


@program
def custom_vjp_keeps_the_value(m: Any) -> Any:
    return (
        clipped(m)(m.some(3)),
        m.vmap(clipped(m))(m.some(3)),
        m.value_and_grad(lambda x: clipped(m)(x) * 9)(m.array(2.0)),
    )


@program
def custom_vjp_inside_vmap(m: Any) -> Any:
    return m.vmap(m.grad(lambda x: (clipped(m)(x) ** 2).sum()))(m.array([[0.1, 2.0], [-3.0, 0.4]]))


@program
def custom_vjp_outside_vmap(m: Any) -> Any:
    f = lambda x: (m.vmap(lambda x: clipped(m)(x) ** 2)(x) * m.array([1.0, 0.1, 10.0])).sum()
    return m.grad(f)(m.array([0.4, 2.0, -0.01]))


@program
def custom_vjp_with_residuals(m: Any) -> Any:
    f = m.custom_vjp(lambda x, y: x * m.sin(y))
    f.defvjp(lambda x, y: (f(x, y), (m.sin(y), x, y)), lambda r, ct: (2 * r[0] * ct, r[1] * m.cos(r[2]) * ct))
    return m.vmap(m.grad(f, (0, 1)), in_axes=(0, None))(m.some(3), m.array(0.7)), m.vjp(f, m.array(1.0), m.array(2.0))[
        1
    ](m.array(3.0))


@program
def custom_vjp_of_trees(m: Any) -> Any:
    f = m.custom_vjp(lambda p: [p["a"] * p["b"], {"s": p["a"].sum()}])
    back = lambda r, ct: ({"a": ct[0] * 10 + ct[1]["s"], "b": ct[0] * r["a"]},)
    f.defvjp(lambda p: (f(p), p), back)
    loss = lambda p: (lambda out: (out[0] ** 2).sum() + out[1]["s"])(f(p))
    return m.vmap(m.grad(loss))({"a": m.some(2, 3), "b": m.some(2, 3) + 1})


@program
def custom_vjp_with_a_function_that_is_not_differentiated(m: Any) -> Any:
    f = m.custom_vjp(lambda g, x: g(x), nondiff_argnums=(0,))
    f.defvjp(lambda g, x: (g(x), x), lambda g, x, ct: (g(ct) * x,))
    return m.vmap(m.grad(lambda x: 2 * f(m.exp, x)))(m.some(3))


@program
def custom_vjp_with_a_number_that_is_not_differentiated(m: Any) -> Any:
    f = m.custom_vjp(lambda x, k, y: k * x * y, nondiff_argnums=(1,))
    f.defvjp(lambda x, k, y: (f(x, k, y), (x, y)), lambda k, r, ct: (k * k * r[1] * ct, r[0] * ct))
    return m.vmap(m.grad(lambda x, y: f(x, 3.0, y), (0, 1)))(m.some(3), m.some(3) + 1)


@program
def custom_vjp_with_none_for_a_cotangent(m: Any) -> Any:
    f = m.custom_vjp(lambda x, y: x * y)
    f.defvjp(lambda x, y: (x * y, y), lambda y, ct: (y * ct, None))
    return m.grad(f, (0, 1))(m.array(2.0), m.array(3.0)), m.vmap(m.grad(f, (0, 1)))(m.some(2), m.some(2))


@program
def custom_vjp_beside_an_int(m: Any) -> Any:
    f = m.custom_vjp(lambda x, i: x[i])
    f.defvjp(lambda x, i: (x[i], (x, i)), lambda r, ct: (ct * r[0] * m.to_float(r[1]), None))
    return m.vmap(m.grad(lambda x, i: f(x, i) ** 2))(m.some(3, 4), m.array([1, 3, 0]))


@program
def custom_vjp_of_a_gradient_that_is_reversed(m: Any) -> Any:
    f = m.custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x, None), lambda _, ct: (-0.5 * ct,))
    loss = lambda w, x: m.tanh(f(m.tanh(x * w)) * w).sum()
    return m.vmap(m.grad(loss), in_axes=(None, 0))(m.some(2), m.some(3, 2))


@program
def custom_vjp_in_a_scan(m: Any) -> Any:
    f = clipped(m)
    g = lambda c, xs: m.scan(lambda c, x: (f(c) * x * 3, c), c, xs)[0]
    return m.vmap(m.grad(g, (0, 1)))(m.some(2), m.some(2, 3))


@program
def custom_vjp_in_a_cond(m: Any) -> Any:
    return m.vmap(m.grad(lambda x: m.cond(x > 0, lambda x: clipped(m)(x) * 5, lambda x: x * 7, x)))(m.some(4))


@program
def custom_vjp_at_the_second_order(m: Any) -> Any:
    f = m.custom_vjp(lambda x: x**3)
    f.defvjp(lambda x: (x**3, x), lambda x, ct: (ct * 5 * x**2,))
    return m.grad(f)(m.array(2.0)), m.grad(m.grad(f))(m.array(2.0)), m.vmap(m.jacrev(m.grad(f)))(m.some(3))


@program
def custom_vjp_of_an_implicit_fixed_point(m: Any) -> Any:
    solve = lambda a: m.while_loop(lambda x: m.abs(x - m.cos(a * x)) > 1e-4, lambda x: m.cos(a * x), a)
    f = m.custom_vjp(solve)

    def back(r: Any, ct: Any) -> Any:
        a, x = r
        s = m.sin(a * x)
        return (-ct * x * s / (1 + a * s),)

    f.defvjp(lambda a: (lambda x: (x, (a, x)))(solve(a)), back)
    return m.vmap(m.grad(f))(m.array([0.5, 0.25]))


@program
def custom_vjp_under_two_vmaps(m: Any) -> Any:
    f = m.custom_vjp(lambda x, y: x * y)
    f.defvjp(lambda x, y: (x * y, (x, y)), lambda r, ct: (ct * r[1], 2 * ct * r[0]))
    return m.vmap(lambda x: m.vmap(lambda y: m.grad(f, (0, 1))(x, y))(m.some(3)))(m.some(2))


@program
def custom_vjp_of_a_shared_parameter(m: Any) -> Any:
    f = m.custom_vjp(lambda w, x: w * x)
    f.defvjp(lambda w, x: (w * x, (w, x)), lambda r, ct: (ct * r[1] * 2, ct * r[0]))
    return m.grad(lambda w: m.vmap(f, in_axes=(None, 0))(w, m.some(4)).sum())(m.array(1.5))


# ---- custom_vmap ----


def marked(m: Any) -> Any:
    """Return x + 1, with a batching rule that gives x + 100."""
    f = m.custom_vmap(lambda x: x + 1)
    f.def_vmap(lambda axis_size, in_batched, x: (x + 100, in_batched[0]))
    return f


@program
def custom_vmap_alone_and_under_vmap(m: Any) -> Any:
    return marked(m)(m.some(2)), m.vmap(marked(m))(m.some(3, 2)), m.vmap(marked(m), in_axes=1, out_axes=1)(m.some(2, 3))


@program
def custom_vmap_of_what_is_not_mapped(m: Any) -> Any:
    y = m.some(2)
    return m.vmap(lambda x: x + marked(m)(y))(m.some(3, 2))


@program
def custom_vmap_is_told_its_size(m: Any) -> Any:
    f = m.custom_vmap(lambda x: x * 0)
    f.def_vmap(lambda axis_size, in_batched, x: (x * 0 + axis_size, True))
    return m.vmap(f)(m.some(3)), m.vmap(lambda x: f(x.sum()) + x)(m.some(4, 2))


@program
def custom_vmap_is_told_what_is_mapped(m: Any) -> Any:
    f = m.custom_vmap(lambda x, y: x * y)

    def rule(axis_size: int, in_batched: Any, x: Any, y: Any) -> Any:
        scale = 1.0 + 10 * in_batched[0] + 100 * in_batched[1]
        return x * y * scale, in_batched[0] or in_batched[1]

    f.def_vmap(rule)
    x, y = m.some(3), m.some(3) + 1
    return m.vmap(f)(x, y), m.vmap(f, (0, None))(x, m.array(2.0)), m.vmap(f, (None, 0))(m.array(2.0), y)


@program
def custom_vmap_of_trees(m: Any) -> Any:
    f = m.custom_vmap(lambda p, x: {"y": p["w"] * x, "w": p["w"]})

    def rule(axis_size: int, in_batched: Any, p: Any, x: Any) -> Any:
        flags = in_batched[0]["w"], in_batched[1]
        return {"y": p["w"] * x * 2, "w": p["w"]}, {"y": flags[0] or flags[1], "w": flags[0]}

    f.def_vmap(rule)
    return m.vmap(f, in_axes=(None, 0))({"w": m.array(3.0)}, m.some(3)), m.vmap(f)({"w": m.some(2)}, m.some(2))


@program
def custom_vmap_whose_result_is_not_mapped(m: Any) -> Any:
    f = m.custom_vmap(lambda x: x.sum())
    f.def_vmap(lambda axis_size, in_batched, x: (x.sum(), False))
    return m.vmap(f)(m.some(3, 2)), m.vmap(f, out_axes=None)(m.some(3, 2))


@program
def custom_vmap_by_one_matmul(m: Any) -> Any:
    f = m.custom_vmap(lambda w, x: w @ x)

    def rule(axis_size: int, in_batched: Any, w: Any, x: Any) -> Any:
        return (x @ w.T if not in_batched[0] else m.einsum("bij,bj->bi", w, x)), True

    f.def_vmap(rule)
    return m.vmap(f, in_axes=(None, 0))(m.some(2, 3), m.some(4, 3)), m.vmap(f)(m.some(2, 2, 3), m.some(2, 3))


@program
def custom_vmap_under_two_vmaps(m: Any) -> Any:
    return m.vmap(m.vmap(marked(m)))(m.some(2, 3)), m.vmap(lambda x: m.vmap(lambda y: marked(m)(x) * y)(m.some(2)))(
        m.some(3)
    )


@program
def custom_vmap_whose_rule_calls_it_again(m: Any) -> Any:
    f = m.custom_vmap(lambda x: x * 2)
    f.def_vmap(lambda axis_size, in_batched, x: (f(x) + 1, True))
    return m.vmap(f)(m.some(3)), m.vmap(m.vmap(f))(m.some(2, 3))


@program
def custom_vmap_in_a_scan(m: Any) -> Any:
    f = marked(m)
    return m.vmap(lambda c: m.scan(lambda c, x: (f(c) * x, c), c, m.some(3)))(m.some(2))


@program
def custom_vmap_with_a_closure(m: Any) -> Any:
    w = m.some(2)
    f = m.custom_vmap(lambda x: x * w)
    f.def_vmap(lambda axis_size, in_batched, x: (x * w - 1, True))
    return m.vmap(f)(m.some(3, 2))


@program
def jvp_of_custom_vmap(m: Any) -> Any:
    f = m.custom_vmap(lambda x: x * x)
    f.def_vmap(lambda axis_size, in_batched, x: (x * x * x, True))
    return m.jvp(f, (m.array(2.0),), (m.array(1.0),)), m.jvp(m.vmap(f), (m.some(3),), (m.ones((3,)),))


# ---- sequential_vmap ----


@program
def sequential_vmap_is_vmap(m: Any) -> Any:
    f = m.sequential_vmap(lambda x: m.sin(x) * x.sum())
    return f(m.some(2)), m.vmap(f)(m.some(3, 2))


@program
def sequential_vmap_of_some_arguments(m: Any) -> Any:
    f = m.sequential_vmap(lambda p, x: {"y": p["w"] * x, "z": [x.sum()]})
    return m.vmap(f, in_axes=(None, 0))({"w": m.some(2)}, m.some(3, 2)), m.vmap(f, (0, None))(
        {"w": m.some(3, 2)}, m.some(2)
    )


@program
def sequential_vmap_of_a_while(m: Any) -> Any:
    f = m.sequential_vmap(lambda n: m.while_loop(lambda s: s < 50, lambda s: s * 3, n))
    return m.vmap(f)(m.array([1, 2, 100])), m.vmap(m.vmap(f))(m.array([[1, 4], [5, 60]]))


@program
def sequential_vmap_under_two_vmaps(m: Any) -> Any:
    f = m.sequential_vmap(lambda x, y: x * y.sum())
    return m.vmap(lambda x: m.vmap(lambda y: f(x, y))(m.some(3, 2)))(m.some(2))


@program
def jvp_of_sequential_vmap(m: Any) -> Any:
    f = m.sequential_vmap(lambda x: m.sin(x) * x)
    return m.jvp(m.vmap(f), (m.some(3),), (m.array([1.0, 2.0, 3.0]),))
