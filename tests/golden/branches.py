"""cond and switch: mapped and unmapped predicates, pytrees, nesting and derivatives."""

# ruff: noqa: E731  short functions read best as one line
from __future__ import annotations

from typing import Any

from tests.golden.registry import program

# ---- cond ----


@program
def cond_of_a_constant(m: Any) -> Any:
    f = lambda p: m.cond(m.array(p), m.sin, m.cos, m.some(3))
    return f(True), f(False)


@program
def cond_of_a_python_bool(m: Any) -> Any:
    return m.cond(True, lambda x: x + 1, lambda x: x - 1, m.some(2)), m.cond(
        False, lambda: m.some(2), lambda: m.zeros((2,))
    )


@program
def cond_of_a_number(m: Any) -> Any:
    return m.vmap(lambda i: m.cond(i, lambda x: x + 1, lambda x: -x, i))(m.array([0, 1, 2, -3]))


@program
def cond_mapped(m: Any) -> Any:
    return m.vmap(lambda x: m.cond(x.sum() > 0, lambda x: x * 2, lambda x: m.exp(x), x))(m.some(4, 2))


@program
def cond_of_an_unmapped_predicate(m: Any) -> Any:
    f = lambda p, x: m.cond(p, m.sin, m.cos, x)
    return m.vmap(f, in_axes=(None, 0))(m.array(True), m.some(3)), m.vmap(f, in_axes=(None, 0))(
        m.array(False), m.some(3)
    )


@program
def cond_of_unmapped_operands(m: Any) -> Any:
    f = lambda p, x: m.cond(p, m.sin, m.cos, x)
    return m.vmap(f, in_axes=(0, None))(m.array([True, False, True]), m.some(2))


@program
def cond_closes_over_mapped_values(m: Any) -> Any:
    f = lambda p, x, w: m.cond(p, lambda y: y * x, lambda y: y + x * w, w)
    return m.vmap(f, in_axes=(0, 0, None))(m.array([True, False]), m.some(2, 3), m.some(3))


@program
def cond_of_one_mapped_branch(m: Any) -> Any:
    f = lambda x: m.cond(m.array(False), lambda: x, lambda: m.ones((2,)))
    return m.vmap(f)(m.some(3, 2)), m.vmap(lambda x: m.cond(m.array(True), lambda: x, lambda: m.ones((2,))))(
        m.some(3, 2)
    )


@program
def cond_of_trees(m: Any) -> Any:
    yes = lambda t: {"a": t["x"] * 2, "b": (t["n"] + 1, t["x"].sum())}
    no = lambda t: {"a": -t["x"], "b": (t["n"] * 10, m.array(0.5))}
    return m.vmap(lambda p, t: m.cond(p, yes, no, t))(
        m.array([True, False, True]), {"x": m.some(3, 2), "n": m.arange(3)}
    )


@program
def cond_of_several_operands(m: Any) -> Any:
    f = lambda x, y, z: m.cond(x < y, lambda a, b, c: a + b * c, lambda a, b, c: a * b - c, x, y, z)
    return m.vmap(f, in_axes=(0, 0, None))(m.some(4), m.some(4) ** 2, m.array(3.0))


@program
def cond_in_cond(m: Any) -> Any:
    inner = lambda x: m.cond(x > 1, lambda x: x * 100, lambda x: x * 10, x)
    return m.vmap(lambda x: m.cond(x > 0, inner, lambda x: -x, x))(m.array([-1.0, 0.5, 2.0]))


@program
def cond_of_two_mapped_axes(m: Any) -> Any:
    f = lambda x, y: m.cond(x > y, lambda: x - y, lambda: x * y)
    return m.vmap(lambda x: m.vmap(lambda y: f(x, y))(m.some(4)))(m.some(3) * 0.5)


@program
def cond_of_the_outer_axis_in_the_inner(m: Any) -> Any:
    f = lambda x: m.vmap(lambda y: m.cond(x > 0, lambda: y * x, lambda: y - x))(m.some(4))
    return m.vmap(f)(m.some(3))


@program
def cond_around_a_vmap(m: Any) -> Any:
    f = lambda x: m.cond(x[0] > 0, m.vmap(m.sin), m.vmap(lambda y: y * x[0]), x)
    return m.vmap(f)(m.some(3, 4))


@program
def cond_of_integers(m: Any) -> Any:
    f = lambda n: m.cond(n % 2 == 0, lambda n: n // 2, lambda n: 3 * n + 1, n)
    return m.vmap(f)(m.arange(8))


@program
def cond_with_axes(m: Any) -> Any:
    f = lambda p, x: m.cond(p, lambda x: x[::-1], lambda x: x, x)
    return m.vmap(f, in_axes=(0, 1), out_axes=1)(m.array([True, False, True, False]), m.some(3, 4))


@program
def grad_of_cond(m: Any) -> Any:
    f = lambda x: m.cond(x > 0, lambda x: x**3, lambda x: m.exp(x), x)
    return m.grad(f)(m.array(2.0)), m.grad(f)(m.array(-1.0))


@program
def grad_of_cond_of_a_vector_that_decides(m: Any) -> Any:
    f = lambda x: m.cond(x.sum() > 0, lambda x: (x**3).sum(), lambda x: m.exp(x).sum(), x)
    g = lambda x: m.cond(x[0] > 0, lambda: x * 5, lambda: x * x)
    return [
        m.grad(f)(m.some(3)),
        m.grad(f)(-m.some(3)),
        m.jvp(f, (m.some(3),), (m.ones((3,)),)),
        m.jacrev(g)(m.some(3)),
    ]


@program
def grad_of_cond_of_a_vector_beside_its_predicate(m: Any) -> Any:
    f = lambda x, y: m.cond(y.sum() > 0, lambda x: (x * 5).sum(), lambda x: (x * y).sum(), x)
    return m.grad(f, (0, 1))(m.some(2), m.some(3, 2)[1]), m.grad(f, (0, 1))(m.some(2), -m.some(3, 2)[1])


@program
def vmap_of_grad_of_cond(m: Any) -> Any:
    return m.vmap(m.value_and_grad(lambda x: m.cond(x.sum() > 0, lambda x: (x**3).sum(), lambda x: m.exp(x).sum(), x)))(
        m.some(4, 2)
    )


@program
def grad_of_vmap_of_cond(m: Any) -> Any:
    f = lambda w, x: m.cond(x > 0, lambda: w * x, lambda: w**2 * x)
    return m.grad(lambda w: m.vmap(lambda x: f(w, x))(m.some(5)).sum())(m.array(1.5))


@program
def grad_of_what_a_cond_closes_over(m: Any) -> Any:
    f = lambda x, w: m.cond(x > 0, lambda: (w * x).sum(), lambda: (w * w).sum() - x)
    return m.vmap(m.grad(f, argnums=(0, 1)), in_axes=(0, None))(m.array([1.0, -2.0]), m.some(2))


@program
def jvp_of_cond(m: Any) -> Any:
    f = lambda x: m.cond(x[0] > 0, lambda x: x * x, lambda x: x.sum() * x, x)
    return m.vmap(lambda x: m.jvp(f, (x,), (m.array([1.0, 2.0]),)))(m.some(4, 2))


@program
def vjp_of_cond_of_trees(m: Any) -> Any:
    f = lambda x, y: m.cond(x > y, lambda: {"a": x * y, "b": x}, lambda: {"a": y, "b": x - y})

    def pulled(x: Any, y: Any) -> Any:
        _, back = m.vjp(f, x, y)
        return back({"a": m.array(1.0), "b": m.array(10.0)})

    return m.vmap(pulled)(m.array([1.0, 2.0]), m.array([2.0, 1.0]))


@program
def hessian_of_cond(m: Any) -> Any:
    f = lambda x: m.cond(x[0] > 0, lambda x: x[0] ** 2 * x[1], lambda x: x[0] * x[1] ** 3, x)
    return m.vmap(m.hessian(f))(m.array([[1.0, 2.0], [-1.0, 2.0]]))


@program
def derivative_of_a_branch_that_is_constant(m: Any) -> Any:
    f = lambda x: m.cond(x > 0, lambda x: x * x, lambda x: m.array(7.0), x)
    return m.vmap(lambda x: (m.grad(f)(x), m.jvp(f, (x,), (m.array(1.0),))))(m.array([3.0, -3.0]))


@program
def grad_in_a_branch(m: Any) -> Any:
    f = lambda x: m.cond(x > 0, m.grad(lambda x: x**3), lambda x: m.jvp(m.sin, (x,), (m.array(2.0),))[1], x)
    return m.vmap(f)(m.some(4)), m.vmap(m.grad(f))(m.some(4))


@program
def unmapped_cond_keeps_nan_out(m: Any) -> Any:
    f = lambda x: m.cond(x > 0, m.sqrt, lambda x: x * 2, x)
    return m.value_and_grad(f)(m.array(-1.0)), m.jvp(f, (m.array(-4.0),), (m.array(1.0),))


# ---- switch ----


def three(m: Any) -> Any:
    return [lambda x: x + 1, lambda x: x * x, lambda x: m.sin(x)]


@program
def switch_of_a_constant(m: Any) -> Any:
    return [m.switch(m.array(i), three(m), m.some(3)) for i in range(3)]


@program
def switch_of_a_python_int(m: Any) -> Any:
    return m.switch(1, three(m), m.some(3)), m.switch(2, [lambda: m.array(i * 1.0) for i in range(1)])


@program
def switch_clamps_a_constant(m: Any) -> Any:
    return m.switch(m.array(-5), three(m), m.some(3)), m.switch(m.array(99), three(m), m.some(3))


@program
def switch_mapped_and_clamped(m: Any) -> Any:
    return m.vmap(lambda i, x: m.switch(i, three(m), x), in_axes=(0, None))(m.array([-1, 0, 1, 2, 3]), m.some(2))


@program
def switch_of_mapped_operands_alone(m: Any) -> Any:
    return m.vmap(lambda x: m.switch(m.array(1), three(m), x))(m.some(4))


@program
def switch_of_one_branch(m: Any) -> Any:
    return m.vmap(lambda i, x: m.switch(i, [lambda x: x * 2], x))(m.array([0, 5]), m.some(2))


@program
def switch_of_trees_without_operands(m: Any) -> Any:
    make = [lambda: (m.array(1.0), m.array([1, 2])), lambda: (m.array(2.0), m.array([3, 4]))]
    return m.vmap(lambda i: m.switch(i, make))(m.array([1, 0, 1]))


@program
def switch_closes_over_mapped_and_unmapped(m: Any) -> Any:
    w = m.some(2)
    f = lambda i, x: m.switch(i, [lambda: x + w, lambda: x * w, lambda: w])
    return m.vmap(f)(m.array([2, 1, 0]), m.some(3, 2))


@program
def switch_over_two_axes(m: Any) -> Any:
    f = lambda i, j: m.switch(i + j, [lambda: i * 10, lambda: j * 100, lambda: i - j])
    return m.vmap(lambda i: m.vmap(lambda j: f(i, j))(m.arange(3)))(m.arange(2))


@program
def switch_in_cond_in_switch(m: Any) -> Any:
    inner = lambda x: m.cond(x > 0, lambda x: m.switch(m.to_int(x), three(m), x), lambda x: x - 1, x)
    return m.vmap(lambda i, x: m.switch(i, [inner, lambda x: -x], x))(
        m.array([0, 0, 0, 1]), m.array([2.5, 1.5, -1.0, 3.0])
    )


@program
def grad_of_switch(m: Any) -> Any:
    f = lambda x, i: m.switch(i, three(m), x).sum()
    return m.vmap(m.grad(f), in_axes=(None, 0))(m.some(2), m.array([-1, 0, 1, 2, 9]))


@program
def grad_of_switch_of_a_vector_that_decides(m: Any) -> Any:
    f = lambda x: m.switch(m.argmax(x, 0), three(m), x).sum()
    return [m.value_and_grad(f)(m.roll(m.some(3), k, 0)) for k in range(3)]


@program
def grad_of_vmap_of_switch(m: Any) -> Any:
    f = lambda x: (m.vmap(lambda i: m.switch(i, three(m), x))(m.array([0, 1, 1, 2])) * m.some(4, 2)).sum()
    return m.grad(f)(m.some(2))


@program
def jvp_and_hessian_of_switch(m: Any) -> Any:
    f = lambda x, i: m.switch(i, [lambda x: x[0] * x[1], lambda x: (x**3).sum()], x)
    push = lambda x, i: m.jvp(lambda x: f(x, i), (x,), (m.array([1.0, -1.0]),))
    return m.vmap(push)(m.some(2, 2), m.array([0, 1])), m.vmap(m.hessian(f))(m.some(2, 2), m.array([0, 1]))


@program
def piecewise_by_switch_of_a_bucket(m: Any) -> Any:
    pieces = [lambda x: 0 * x, lambda x: x**2, lambda x: 2 * x - 1]
    f = lambda x: m.switch(m.to_int(m.floor(x)) + 1, pieces, x)
    return m.vmap(m.value_and_grad(f))(m.array([-0.5, 0.25, 0.75, 1.5, 2.5]))
