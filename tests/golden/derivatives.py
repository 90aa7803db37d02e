"""The transforms of derivatives: arguments, pytrees, higher orders and nesting."""

# ruff: noqa: E731  short functions read best as one line
from __future__ import annotations

from typing import Any

from tests.golden.registry import program

# ---- grad and value_and_grad ----


@program
def grad_of_a_sum_of_squares(m: Any) -> Any:
    return m.grad(lambda x: (x * x).sum())(m.some(4))


@program
def grad_of_a_scalar(m: Any) -> Any:
    return m.grad(lambda x: m.sin(x) * x)(m.array(0.7))


@program
def grad_of_the_second_argument(m: Any) -> Any:
    return m.grad(lambda x, y: (x * y * y).sum(), argnums=1)(m.some(3), m.some(2, 3)[1])


@program
def grad_of_the_last_argument(m: Any) -> Any:
    return m.grad(lambda x, y, z: (x * y * m.exp(z)).sum(), argnums=-1)(
        m.some(3), m.array(2.0), m.array([0.1, 0.2, 0.3])
    )


@program
def grad_of_two_arguments(m: Any) -> Any:
    return m.grad(lambda w, x: m.tanh(w @ x).sum(), argnums=(0, 1))(m.some(2, 3), m.some(3))


@program
def grad_of_arguments_in_another_order(m: Any) -> Any:
    f = lambda x, y, z: (x - 2 * y + z * z * x).sum()
    return m.grad(f, argnums=(2, 0))(m.array([1.0, 2.0]), m.array([3.0, 4.0]), m.array([0.5, -0.5]))


@program
def grad_of_a_list_of_arguments(m: Any) -> Any:
    return m.grad(lambda x, y: x * x * y, argnums=[1, 0])(m.array(2.0), m.array(3.0))


@program
def grad_of_one_argument_as_a_tuple(m: Any) -> Any:
    return m.grad(lambda x: (x**3).sum(), argnums=(0,))(m.some(3))


@program
def grad_of_a_tree(m: Any) -> Any:
    p = {"w": m.some(2, 3), "b": [m.array([0.5, -0.5]), m.array(0.25)]}
    return m.grad(lambda p: (m.tanh(p["w"] @ m.some(3) + p["b"][0]) * p["b"][1]).sum())(p)


@program
def grad_of_trees_in_two_arguments(m: Any) -> Any:
    f = lambda a, b: (a["x"] * b[0]).sum() + (a["y"] - b[1]) ** 2
    a, b = {"x": m.some(3), "y": m.array(1.5)}, (m.some(2, 3)[1], m.array(-1.0))
    return m.grad(f, argnums=(1, 0))(a, b)


@program
def grad_of_a_tree_with_none(m: Any) -> Any:
    return m.grad(lambda p: (p["w"] ** 2).sum())({"w": m.some(2), "bias": None})["w"]


@program
def grad_with_a_keyword(m: Any) -> Any:
    return m.grad(lambda x, *, scale, shift: (scale * x + shift) ** 2)(m.array(1.5), scale=3.0, shift=m.array(1.0))


@program
def grad_beside_an_int_argument(m: Any) -> Any:
    return m.grad(lambda x, i: x[i] * x[0])(m.some(4), m.array(2))


@program
def grad_with_aux(m: Any) -> Any:
    return m.grad(lambda x: ((x**2).sum(), {"double": 2 * x, "count": m.array(3)}), has_aux=True)(m.some(3))


@program
def grad_with_aux_of_two_arguments(m: Any) -> Any:
    return m.grad(lambda x, y: ((x * y).sum(), (x + y, y)), (0, 1), has_aux=True)(m.some(3), m.array([1.0, 2.0, 3.0]))


@program
def grad_where_an_argument_is_not_used(m: Any) -> Any:
    return m.grad(lambda x, y: (x * x).sum(), argnums=(0, 1))(m.some(3), m.some(2, 2))


@program
def grad_of_a_constant(m: Any) -> Any:
    return m.grad(lambda x: m.array(3.0))(m.some(2, 2))


@program
def grad_of_the_identity(m: Any) -> Any:
    return m.grad(lambda x: x)(m.array(4.0))


@program
def grad_of_one_value_given_twice(m: Any) -> Any:
    x = m.some(3)
    return m.grad(lambda a, b: (a * a * b).sum(), argnums=(0, 1))(x, x)


@program
def grad_does_not_see_the_same_value_from_outside(m: Any) -> Any:
    x = m.some(3)
    return m.grad(lambda a: (a * x * x).sum())(x)


@program
def grad_of_a_value_used_many_times(m: Any) -> Any:
    def f(x: Any) -> Any:
        y = m.sin(x)
        for _ in range(4):
            y = y * y + x
        return y.sum()

    return m.grad(f)(m.some(3) * 0.5)


@program
def value_and_grad_of_a_scalar(m: Any) -> Any:
    return m.value_and_grad(lambda x: m.exp(x) * x)(m.array(0.3))


@program
def value_and_grad_with_aux(m: Any) -> Any:
    f = lambda x, y: ((x * m.cos(y)).sum(), [x.sum(), y])
    return m.value_and_grad(f, argnums=1, has_aux=True)(m.some(3), m.array([0.1, 0.2, 0.3]))


@program
def value_and_grad_of_a_tree(m: Any) -> Any:
    return m.value_and_grad(lambda p: m.logsumexp(p["a"] * p["b"], 0))({"a": m.some(3), "b": m.array([1.0, 2.0, 3.0])})


@program
def grad_of_one_value_twice_in_a_tree(m: Any) -> Any:
    x = m.array(2.0)
    return m.grad(lambda p: p["a"] ** 2 * p["b"][0])({"a": x, "b": [x]})


@program
def grad_of_a_python_float(m: Any) -> Any:
    return m.grad(lambda x: x * m.sin(m.array(0.5)) * x)(3.0), m.value_and_grad(lambda x: x**3, argnums=0)(2.0)


# ---- vjp and jvp ----


@program
def vjp_of_two_arguments(m: Any) -> Any:
    y, back = m.vjp(lambda w, x: m.sin(w @ x), m.some(2, 3), m.some(3))
    return y, back(m.array([1.0, -2.0]))


@program
def vjp_of_a_tree_of_results(m: Any) -> Any:
    y, back = m.vjp(lambda x: {"s": m.sin(x), "p": [x.prod(), x * x]}, m.some(3) + 2)
    return y, back({"s": m.array([1.0, 0.0, 2.0]), "p": [m.array(3.0), m.array([0.5, 0.5, 0.5])]})


@program
def vjp_pulls_more_than_once(m: Any) -> Any:
    _, back = m.vjp(lambda x: m.exp(x) * x, m.some(3))
    return back(m.array([1.0, 0.0, 0.0])), back(m.array([0.0, 2.0, 0.0])), back(m.ones((3,)))


@program
def vjp_with_aux(m: Any) -> Any:
    y, back, aux = m.vjp(lambda x: (x**3, {"sum": x.sum()}), m.some(3), has_aux=True)
    return y, back(m.array([1.0, 2.0, 3.0])), aux


@program
def vjp_of_what_passes_through(m: Any) -> Any:
    y, back = m.vjp(lambda x, y: (y, x, x), m.some(2), m.array(5.0))
    return y, back((m.array(2.0), m.array([1.0, 2.0]), m.array([10.0, 20.0])))


@program
def vjp_by_rows_is_the_jacobian(m: Any) -> Any:
    _, back = m.vjp(lambda x: m.tanh(m.some(2, 3) @ x), m.some(3))
    return m.vmap(back)(m.eye(2))


@program
def jvp_of_one_argument(m: Any) -> Any:
    return m.jvp(lambda x: m.sin(x) * x, (m.some(3),), (m.array([1.0, 0.0, -2.0]),))


@program
def jvp_of_two_arguments(m: Any) -> Any:
    return m.jvp(lambda w, x: m.tanh(w @ x), (m.some(2, 3), m.some(3)), (m.some(6).reshape(2, 3), m.ones((3,))))


@program
def jvp_of_a_tree(m: Any) -> Any:
    f = lambda p, x: {"y": p["w"] * x, "z": (p["b"] - x).sum()}
    p = {"w": m.array(2.0), "b": m.some(3)}
    return m.jvp(f, (p, m.array([1.0, 2.0, 3.0])), ({"w": m.array(0.5), "b": m.ones((3,))}, m.array([0.0, 1.0, 0.0])))


@program
def jvp_with_aux(m: Any) -> Any:
    return m.jvp(lambda x: (x**2, x + 1), (m.some(3),), (m.ones((3,)),), has_aux=True)


@program
def jvp_of_a_constant(m: Any) -> Any:
    return m.jvp(lambda x: (m.array([1.0, 2.0]), x), (m.array(3.0),), (m.array(4.0),))


@program
def jvp_by_columns_is_the_jacobian(m: Any) -> Any:
    push = lambda v: m.jvp(lambda x: m.some(2, 3) @ (x * x), (m.some(3),), (v,))[1]
    return m.vmap(push, out_axes=1)(m.eye(3))


@program
def jvp_and_vjp_are_transposes(m: Any) -> Any:
    f, x, u, v = lambda x: m.sin(m.some(2, 3) @ x), m.some(3), m.array([1.0, 2.0, 3.0]), m.array([0.5, -1.0])
    return (m.jvp(f, (x,), (u,))[1] * v).sum(), (m.vjp(f, x)[1](v)[0] * u).sum()


@program
def jvp_of_an_integer_result(m: Any) -> Any:
    return m.jvp(lambda x: (m.to_float(m.argmax(x, 0)) * x, m.to_float(m.to_int(x))), (m.some(3) * 4,), (m.ones((3,)),))


@program
def both_modes_of_one_value_given_twice(m: Any) -> Any:
    f, x = lambda a, b: a * a * b, m.array(2.0)
    return (
        m.jvp(f, (x, x), (m.array(1.0), m.array(0.0))),
        m.jvp(f, (x, x), (m.array(0.0), m.array(1.0))),
        m.vjp(f, x, x)[1](x),
    )


@program
def one_value_given_twice_under_vmap(m: Any) -> Any:
    g = m.grad(lambda a, b: a * a * b, argnums=(0, 1))
    return m.vmap(lambda x: g(x, x))(m.some(3)), m.vmap(lambda x: m.hessian(lambda a, b: a * a * b, (0, 1))(x, x))(
        m.some(2)
    )


# ---- Jacobians and Hessians ----


@program
def jacfwd_of_a_vector(m: Any) -> Any:
    return m.jacfwd(lambda x: m.stack([x[0] * x[1], m.sin(x[2])]))(m.some(3))


@program
def jacrev_of_a_vector(m: Any) -> Any:
    return m.jacrev(lambda x: m.stack([x[0] * x[1], m.sin(x[2]), x.sum(), x[1] ** 3]))(m.some(3))


@program
def jacobians_of_a_matrix(m: Any) -> Any:
    f = lambda x: (x @ x)[0]
    return m.jacfwd(f)(m.some(2, 2)), m.jacrev(f)(m.some(2, 2))


@program
def jacfwd_of_two_arguments(m: Any) -> Any:
    return m.jacfwd(lambda x, y: m.outer(x, y * y), argnums=(0, 1))(m.some(2), m.array([1.0, 2.0, 3.0]))


@program
def jacrev_of_two_arguments(m: Any) -> Any:
    return m.jacrev(lambda x, y: m.outer(x, y * y), argnums=(1, 0))(m.some(2), m.array([1.0, 2.0, 3.0]))


@program
def jacfwd_of_trees(m: Any) -> Any:
    f = lambda p: {"s": p["a"].sum() * p["b"], "v": m.exp(p["a"])}
    return m.jacfwd(f)({"a": m.some(2), "b": m.array(3.0)})


@program
def jacrev_of_trees(m: Any) -> Any:
    f = lambda p: [p["a"].sum() * p["b"], (m.exp(p["a"]),)]
    return m.jacrev(f)({"a": m.some(2), "b": m.array(3.0)})


@program
def jacfwd_with_aux(m: Any) -> Any:
    return m.jacfwd(lambda x: (x * x[0], {"kept": x + 1}), has_aux=True)(m.some(3))


@program
def jacrev_with_aux(m: Any) -> Any:
    return m.jacrev(lambda x: (x * x[0], {"kept": x + 1}), has_aux=True)(m.some(3))


@program
def jacobian_of_a_linear_map_is_its_matrix(m: Any) -> Any:
    return m.jacfwd(lambda x: m.some(3, 2) @ x)(m.zeros((2,))), m.jacrev(lambda x: m.cumsum(x, 0))(m.zeros((3,)))


@program
def hessian_of_a_vector(m: Any) -> Any:
    return m.hessian(lambda x: m.sin(x[0] * x[1]) + x[2] ** 3 * x[0])(m.some(3))


@program
def hessian_of_a_matrix(m: Any) -> Any:
    return m.hessian(lambda x: (m.some(2) @ x) @ (x @ m.some(2)))(m.some(2, 2))


@program
def hessian_of_two_arguments(m: Any) -> Any:
    return m.hessian(lambda x, y: (x * x).sum() * y + m.exp(y), argnums=(0, 1))(m.some(2), m.array(0.5))


@program
def hessian_of_a_tree(m: Any) -> Any:
    return m.hessian(lambda p: (p["a"] ** 2).sum() * p["b"] ** 2)({"a": m.some(2), "b": m.array(3.0)})


@program
def hessian_with_aux(m: Any) -> Any:
    return m.hessian(lambda x: ((x**3).sum(), x * 2), has_aux=True)(m.some(2))


@program
def hessian_of_a_vector_of_results(m: Any) -> Any:
    return m.hessian(lambda x: m.stack([x[0] * x[1], x[0] ** 3]))(m.some(2))


@program
def hessian_in_every_order_of_modes(m: Any) -> Any:
    f = lambda x: m.logsumexp(x * x, 0)
    orders = [(m.jacfwd, m.jacfwd), (m.jacfwd, m.jacrev), (m.jacrev, m.jacfwd), (m.jacrev, m.jacrev)]
    return [outer(inner(f))(m.some(3)) for outer, inner in orders]


@program
def hessian_of_a_linear_function_is_zero(m: Any) -> Any:
    return m.hessian(lambda x: (x * m.some(3)).sum())(m.some(3))


@program
def third_derivatives_as_a_cube(m: Any) -> Any:
    return m.jacfwd(m.hessian(lambda x: x[0] ** 2 * x[1] + m.sin(x[1])))(m.some(2))


@program
def jacobians_and_hessian_of_a_scalar(m: Any) -> Any:
    f, x = lambda x: m.sin(x) * x, m.array(0.5)
    return m.jacfwd(f)(x), m.jacrev(f)(x), m.hessian(f)(x)


# ---- higher orders ----


@program
def derivatives_of_sin_up_to_the_fourth(m: Any) -> Any:
    f, out = m.sin, []
    for _ in range(4):
        f = m.grad(f)
        out.append(f(m.array(0.4)))
    return out


@program
def forward_derivatives_up_to_the_third(m: Any) -> Any:
    def d(f: Any) -> Any:
        return lambda x: m.jvp(f, (x,), (m.array(1.0),))[1]

    f = lambda x: m.exp(m.sin(x))
    return [f(m.array(0.4)), d(f)(m.array(0.4)), d(d(f))(m.array(0.4)), d(d(d(f)))(m.array(0.4))]


@program
def mixed_second_derivative(m: Any) -> Any:
    f = lambda x, y: m.sin(x * y) * y
    return m.grad(lambda y: m.grad(f, 0)(m.array(0.5), y))(m.array(2.0)), m.grad(m.grad(f, 1), 0)(
        m.array(0.5), m.array(2.0)
    )


@program
def hessian_vector_product_forward_over_reverse(m: Any) -> Any:
    f = lambda x: (m.tanh(m.some(3, 3) @ x) ** 2).sum()
    return m.jvp(m.grad(f), (m.some(3),), (m.array([1.0, -1.0, 0.5]),))


@program
def hessian_vector_product_reverse_over_forward(m: Any) -> Any:
    f = lambda x: (m.tanh(m.some(3, 3) @ x) ** 2).sum()
    return m.grad(lambda x: m.jvp(f, (x,), (m.array([1.0, -1.0, 0.5]),))[1])(m.some(3))


@program
def hessian_vector_product_reverse_over_reverse(m: Any) -> Any:
    f = lambda x: (m.tanh(m.some(3, 3) @ x) ** 2).sum()
    return m.grad(lambda x: (m.grad(f)(x) * m.array([1.0, -1.0, 0.5])).sum())(m.some(3))


@program
def hessian_vector_product_of_a_tree(m: Any) -> Any:
    f = lambda p: m.softplus((p["w"] * m.some(3)).sum() + p["b"])
    p, v = {"w": m.some(3), "b": m.array(0.5)}, {"w": m.array([1.0, 2.0, 3.0]), "b": m.array(-1.0)}
    return m.jvp(m.grad(f), (p,), (v,))[1]


@program
def hessian_vector_products_of_a_batch_of_vectors(m: Any) -> Any:
    f = lambda x: (x**4).sum() + x[0] * x[1]
    return m.vmap(lambda v: m.jvp(m.grad(f), (m.some(3),), (v,))[1])(m.eye(3))


@program
def hessian_diagonal_by_vmap(m: Any) -> Any:
    f = lambda x: m.exp(x[0] * x[1]) + x[2] ** 3
    return m.vmap(lambda v: (m.jvp(m.grad(f), (m.some(3),), (v,))[1] * v).sum())(m.eye(3))


@program
def laplacian_of_a_batch(m: Any) -> Any:
    def laplacian(x: Any) -> Any:
        return (m.hessian(lambda x: m.exp(-(x * x).sum()))(x) * m.eye(2)).sum()

    return m.vmap(laplacian)(m.some(3, 2))


@program
def divergence_of_a_field(m: Any) -> Any:
    field = lambda x: m.stack([x[0] * x[1], m.sin(x[1]), x[2] ** 2 * x[0]])
    part = lambda v: (m.jvp(field, (m.some(3),), (v,))[1] * v).sum()
    return m.vmap(part)(m.eye(3)).sum()


@program
def gauss_newton_product(m: Any) -> Any:
    f = lambda w: m.tanh(m.some(4, 3) @ w)
    _, push = m.jvp(f, (m.some(3),), (m.array([1.0, 0.0, -1.0]),))
    return m.vjp(f, m.some(3))[1](push)[0]


@program
def gradient_penalty(m: Any) -> Any:
    critic = lambda w, x: m.tanh(w @ x).sum()

    def penalty(w: Any) -> Any:
        g = m.vmap(lambda x: m.grad(critic, 1)(w, x))(m.some(4, 3))
        return ((m.norm(g, 1) - 1) ** 2).mean()

    return m.value_and_grad(penalty)(m.some(2, 3))


@program
def double_backward_through_a_pullback(m: Any) -> Any:
    def f(x: Any) -> Any:
        y, back = m.vjp(lambda x: x**3, x)
        return (y * back(x)[0]).sum()

    return m.grad(f)(m.some(3))


@program
def grad_with_respect_to_a_cotangent(m: Any) -> Any:
    def f(ct: Any) -> Any:
        _, back = m.vjp(lambda x: m.sin(x) * x, m.some(3))
        return (back(ct * ct)[0]).sum()

    return m.grad(f)(m.array([1.0, 2.0, 3.0]))


@program
def grad_with_respect_to_a_tangent(m: Any) -> Any:
    f = lambda v: (m.jvp(m.exp, (m.some(3),), (v * v,))[1]).sum()
    return m.grad(f)(m.array([1.0, 2.0, 3.0]))


# ---- perturbation confusion ----


@program
def inner_derivative_of_a_constant_of_the_outer(m: Any) -> Any:
    return m.grad(lambda x: x * m.grad(lambda y: x + y)(m.array(2.0)))(m.array(3.0))


@program
def inner_derivative_of_a_product_with_the_outer(m: Any) -> Any:
    return m.grad(lambda x: x * m.grad(lambda y: x * y * y)(x))(m.array(3.0))


@program
def confusion_in_forward_mode(m: Any) -> Any:
    d = lambda f, x: m.jvp(f, (x,), (m.array(1.0),))[1]
    return d(lambda x: x * d(lambda y: x + y, m.array(1.0)), m.array(1.0)), d(
        lambda x: d(lambda y: x * y, x), m.array(2.0)
    )


@program
def confusion_of_forward_in_reverse(m: Any) -> Any:
    d = lambda f, x: m.jvp(f, (x,), (m.array(1.0),))[1]
    return m.grad(lambda x: x * d(lambda y: x * y * y, m.array(3.0)))(m.array(2.0))


@program
def confusion_of_reverse_in_forward(m: Any) -> Any:
    f = lambda x: x * m.grad(lambda y: x * x * y * y)(x)
    return m.jvp(f, (m.array(2.0),), (m.array(1.0),))


@program
def confusion_of_the_same_value_at_two_levels(m: Any) -> Any:
    x = m.array(2.0)
    return m.grad(lambda a: m.grad(lambda b: a * b * x)(x) * a * x)(x)


@program
def a_function_that_returns_its_derivative(m: Any) -> Any:
    # Manzyuk et al., "Perturbation confusion in forward automatic differentiation of higher-order functions"
    d = lambda f: lambda x: m.jvp(f, (x,), (m.array(1.0),))[1]
    shift = lambda u: lambda f: lambda x: f(x + u)
    both = lambda u: d(shift(u)(m.exp))(m.array(1.0))
    return d(both)(m.array(0.0))


@program
def three_levels_deep(m: Any) -> Any:
    f = lambda x: m.grad(lambda y: y * m.grad(lambda z: x * y * z**2)(y) + x * y)(x)
    return m.grad(f)(m.array(1.5))


@program
def grad_of_a_closure_over_the_outer_gradient(m: Any) -> Any:
    def outer(x: Any) -> Any:
        g = m.grad(lambda y: (y**3).sum())(x)
        return m.grad(lambda z: (z * g * z).sum())(x).sum()

    return m.grad(outer)(m.some(3))


# ---- stop_gradient ----


@program
def stop_gradient_of_a_factor(m: Any) -> Any:
    return m.grad(lambda x: (m.stop_gradient(x) * x * x).sum())(m.some(3))


@program
def stop_gradient_keeps_the_value(m: Any) -> Any:
    return m.value_and_grad(lambda x: (m.stop_gradient(m.exp(x)) + 0 * x).sum())(m.some(3))


@program
def stop_gradient_in_forward_mode(m: Any) -> Any:
    return m.jvp(lambda x: x * m.stop_gradient(m.sin(x)), (m.some(3),), (m.ones((3,)),))


@program
def stop_gradient_of_a_tree(m: Any) -> Any:
    def f(p: Any) -> Any:
        q = m.stop_gradient(p)
        return (p["a"] * q["b"] + q["a"] * 3).sum()

    return m.grad(f)({"a": m.some(2), "b": m.array([4.0, 5.0])})


@program
def stop_gradient_at_the_second_order(m: Any) -> Any:
    f = lambda x: m.stop_gradient(x) * x**2
    return m.grad(m.grad(f))(m.array(3.0)), m.grad(lambda x: m.stop_gradient(m.grad(lambda y: y**3)(x)) * x)(
        m.array(2.0)
    )


@program
def stop_gradient_inside_vmap(m: Any) -> Any:
    return m.vmap(m.grad(lambda x: x * m.stop_gradient(x) ** 2))(m.some(4))


@program
def straight_through_rounding(m: Any) -> Any:
    f = lambda x: ((x + m.stop_gradient(m.round(x) - x)) ** 2).sum()
    return m.value_and_grad(f)(m.array([0.3, 1.7, -2.2]))


@program
def stop_gradient_of_a_target(m: Any) -> Any:
    def loss(w: Any) -> Any:
        target = m.stop_gradient(1.0 + 0.9 * m.max(w @ m.some(2), 0))
        return (target - w[0] @ m.some(2)) ** 2

    return m.grad(loss)(m.some(3, 2))


# ---- with vmap ----


@program
def vmap_of_grad(m: Any) -> Any:
    return m.vmap(m.grad(lambda x: m.sin(x).prod()))(m.some(4, 3))


@program
def grad_of_vmap(m: Any) -> Any:
    return m.grad(lambda x: (m.vmap(lambda r: m.sin(r).prod())(x) * m.array([1.0, 2.0, 3.0, 4.0])).sum())(m.some(4, 3))


@program
def vmap_of_value_and_grad_with_aux(m: Any) -> Any:
    f = m.value_and_grad(lambda x, s: ((x**2 * s).sum(), {"s": s, "first": x[0]}), has_aux=True)
    return m.vmap(f, in_axes=(0, None), out_axes=((0, {"s": None, "first": 0}), 0))(m.some(3, 2), m.array(2.0))


@program
def per_example_gradients_of_shared_parameters(m: Any) -> Any:
    loss = lambda p, x, y: (m.tanh(p["w"] @ x).sum() + p["b"] - y) ** 2
    p = {"w": m.some(2, 3), "b": m.array(0.1)}
    return m.vmap(m.grad(loss), in_axes=(None, 0, 0))(p, m.some(4, 3), m.some(4))


@program
def sum_of_per_example_gradients_is_the_gradient_of_the_sum(m: Any) -> Any:
    loss = lambda w, x: (w @ x) ** 2
    one = m.vmap(m.grad(loss), in_axes=(None, 0))(m.some(3), m.some(4, 3)).sum(0)
    return one, m.grad(lambda w: m.vmap(loss, in_axes=(None, 0))(w, m.some(4, 3)).sum())(m.some(3))


@program
def per_example_gradients_clipped_by_norm(m: Any) -> Any:
    def clipped(w: Any, x: Any) -> Any:
        g = m.grad(lambda w: m.softplus(w @ x))(w)
        return g * m.minimum(m.array(0.3) / m.norm(g), m.array(1.0))

    return m.vmap(clipped, in_axes=(None, 0))(m.some(3), m.some(4, 3)).mean(0)


@program
def grad_of_a_mapped_closure(m: Any) -> Any:
    return m.vmap(lambda x: m.grad(lambda w: (w * x).sum() ** 2)(m.some(2)))(m.some(3, 2))


@program
def grad_of_an_unmapped_value_inside_vmap(m: Any) -> Any:
    w = m.some(2)
    return m.vmap(lambda x: (m.grad(lambda w: (w**3).sum())(w), x))(m.some(3))


@program
def vmap_of_jvp(m: Any) -> Any:
    f = lambda x, v: m.jvp(lambda x: m.softmax(x, 0), (x,), (v,))
    return m.vmap(f)(m.some(2, 3), m.some(3, 2).reshape(2, 3))


@program
def vmap_of_jvp_over_the_tangent_alone(m: Any) -> Any:
    return m.vmap(lambda v: m.jvp(lambda x: m.sin(x) * x, (m.some(2),), (v,))[1])(m.eye(2))


@program
def vmap_of_jvp_over_the_primal_alone(m: Any) -> Any:
    return m.vmap(lambda x: m.jvp(lambda x: m.sin(x).sum(), (x,), (m.array([1.0, 2.0]),)))(m.some(3, 2))


@program
def jvp_of_vmap(m: Any) -> Any:
    f = lambda w, x: m.vmap(lambda r: m.tanh(r @ w))(x)
    return m.jvp(f, (m.some(2), m.some(3, 2)), (m.ones((2,)), m.zeros((3, 2))))


@program
def vmap_of_vjp(m: Any) -> Any:
    def f(x: Any, ct: Any) -> Any:
        y, back = m.vjp(lambda x: x * x.sum(), x)
        return y, back(ct)[0]

    return m.vmap(f)(m.some(2, 3), m.some(2, 3) * 2)


@program
def vjp_of_vmap_with_axes(m: Any) -> Any:
    f = m.vmap(lambda x, y: m.outer(x, y), in_axes=(1, 0), out_axes=2)
    z, back = m.vjp(f, m.some(2, 3), m.some(3, 2))
    return z, back(z)


@program
def vmap_of_a_pullback_inside_vmap(m: Any) -> Any:
    def f(x: Any) -> Any:
        _, back = m.vjp(lambda x: m.stack([x.sum(), (x * x).sum()]), x)
        return m.vmap(back)(m.eye(2))[0]

    return m.vmap(f)(m.some(3, 2))


@program
def vmap_of_jacobians(m: Any) -> Any:
    f = lambda x: m.stack([x[0] * x[1], m.exp(x[0])])
    return m.vmap(m.jacfwd(f))(m.some(3, 2)), m.vmap(m.jacrev(f))(m.some(3, 2))


@program
def jacobian_of_vmap(m: Any) -> Any:
    f = lambda x: m.vmap(lambda r: (r**2).sum())(x)
    return m.jacfwd(f)(m.some(2, 3)), m.jacrev(f)(m.some(2, 3))


@program
def vmap_of_hessian(m: Any) -> Any:
    return m.vmap(m.hessian(lambda x: x[0] * x[1] ** 2 + m.sin(x[0])))(m.some(3, 2))


@program
def vmap_of_hessian_over_a_parameter(m: Any) -> Any:
    f = lambda x, a: a * x[0] ** 2 * x[1]
    return m.vmap(m.hessian(f), in_axes=(None, 0), out_axes=1)(m.some(2), m.array([1.0, 2.0, 3.0]))


@program
def grad_of_vmap_of_grad(m: Any) -> Any:
    f = lambda w, x: (w * x) ** 3
    return m.grad(lambda w: (m.vmap(m.grad(f), in_axes=(None, 0))(w, m.some(4)) ** 2).sum())(m.array(1.5))


@program
def vmap_of_grad_of_vmap_of_grad(m: Any) -> Any:
    inner = lambda w: m.vmap(m.grad(lambda x: m.sin(x * w)))(m.some(3)).sum()
    return m.vmap(m.grad(inner))(m.array([0.5, 1.0]))


@program
def grad_under_two_vmaps(m: Any) -> Any:
    f = m.grad(lambda x, y: (m.tanh(x * y)).sum(), argnums=(0, 1))
    return m.vmap(m.vmap(f, in_axes=(None, 0)), in_axes=(0, None))(m.some(2, 3), m.some(4, 3))


@program
def grad_of_an_outer_product_of_vmaps(m: Any) -> Any:
    f = lambda x, y: m.vmap(lambda a: m.vmap(lambda b: m.sin(a * b))(y))(x).sum()
    return m.grad(f, argnums=(0, 1))(m.some(2), m.array([1.0, 2.0, 3.0]))


@program
def grad_with_respect_to_the_outer_batch_inside_the_inner(m: Any) -> Any:
    f = lambda a: m.vmap(lambda b: m.grad(lambda a: (a * b).sum() ** 2)(a))(m.some(3, 2))
    return m.vmap(f)(m.some(2, 2))


@program
def jvp_across_a_vmap_of_the_tangent_of_the_outer(m: Any) -> Any:
    f = lambda x: m.vmap(lambda y: m.jvp(lambda z: z * x * y, (x,), (y,))[1])(m.some(3))
    return m.jvp(f, (m.array(2.0),), (m.array(1.0),))


@program
def kernel_matrix_of_gradients(m: Any) -> Any:
    # the neural tangent kernel of a tiny network
    net = lambda p, x: p["v"] @ m.tanh(p["w"] @ x)
    p = {"w": m.some(2, 3), "v": m.array([1.0, -0.5])}
    g = m.vmap(m.grad(net), in_axes=(None, 0))(p, m.some(4, 3))
    dot = lambda a, b: sum((a[k] * b[k]).sum() for k in a)
    return m.vmap(lambda a: m.vmap(lambda b: dot(a, b))(g))(g)


# ---- bilevel ----


@program
def maml_step(m: Any) -> Any:
    loss = lambda w, x, y: ((m.tanh(x @ w) - y) ** 2).mean()

    def task(w: Any, x: Any, y: Any) -> Any:
        adapted = w - 0.5 * m.grad(loss)(w, x, y)
        return loss(adapted, x + 0.1, y)

    meta = lambda w: m.vmap(task, in_axes=(None, 0, 0))(w, m.some(3, 4, 2), m.some(3, 4)).mean()
    return m.value_and_grad(meta)(m.some(2))


@program
def maml_of_two_steps_on_trees(m: Any) -> Any:
    loss = lambda p, x: ((p["w"] * x + p["b"] - m.sin(x)) ** 2).mean()

    def adapted(p: Any, x: Any) -> Any:
        for _ in range(2):
            g = m.grad(loss)(p, x)
            p = {k: p[k] - 0.3 * g[k] for k in p}
        return loss(p, x * 2)

    meta = lambda p: m.vmap(lambda x: adapted(p, x))(m.some(3, 4)).sum()
    return m.grad(meta)({"w": m.array(0.5), "b": m.array(0.1)})


@program
def first_order_maml(m: Any) -> Any:
    loss = lambda w, x: ((x @ w) ** 2).mean()
    task = lambda w, x: loss(w - 0.5 * m.stop_gradient(m.grad(loss)(w, x)), x)
    return m.vmap(m.grad(task), in_axes=(None, 0))(m.some(2), m.some(3, 4, 2))


@program
def hypergradient_of_the_learning_rate(m: Any) -> Any:
    def after(rate: Any) -> Any:
        w = m.some(3)
        for _ in range(3):
            w = w - rate * m.grad(lambda w: ((w - 1) ** 4).sum())(w)
        return ((w - 1) ** 2).sum()

    return m.vmap(m.value_and_grad(after))(m.array([0.01, 0.02, 0.05]))


@program
def newton_step_of_each_example(m: Any) -> Any:
    f = lambda x: x**4 - 3 * x**2 + x
    return m.vmap(lambda x: x - m.grad(f)(x) / m.grad(m.grad(f))(x))(m.array([1.5, -2.0, 2.5]))


@program
def grad_of_an_implicit_solution(m: Any) -> Any:
    # d/da of the x with x² = a, from one Newton step at the solution
    def solution(a: Any) -> Any:
        x = m.stop_gradient(m.sqrt(a))
        return x - (x * x - a) / (2 * x)

    return m.vmap(m.grad(solution))(m.array([1.0, 4.0, 9.0]))


@program
def fisher_information_by_scores(m: Any) -> Any:
    log_p = lambda t, x: m.log_softmax(t, 0)[x]
    score = m.vmap(m.grad(log_p), in_axes=(None, 0))(m.some(3), m.array([0, 1, 2]))
    return m.einsum("k,ki,kj->ij", m.softmax(m.some(3), 0), score, score)
