"""while_loop, fori_loop, scan and map: mapped and unmapped values, numbers of steps, and derivatives."""

# ruff: noqa: E731  short functions read best as one line
from __future__ import annotations

from typing import Any

from tests.golden.registry import program

# ---- while_loop ----


@program
def while_of_a_counter(m: Any) -> Any:
    return m.while_loop(lambda n: n < 10, lambda n: n * 2, m.array(1))


@program
def while_of_no_trips(m: Any) -> Any:
    return m.while_loop(lambda n: n < 0, lambda n: n * 2, m.array(7))


@program
def while_mapped_stops_each_in_its_time(m: Any) -> Any:
    return m.vmap(lambda n: m.while_loop(lambda s: s[0] < 20, lambda s: (s[0] * 2, s[1] + 1), (n, m.array(0))))(
        m.array([1, 3, 25, 10])
    )


@program
def while_of_collatz(m: Any) -> Any:
    step = lambda n: m.where(n % 2 == 0, n // 2, 3 * n + 1)
    f = lambda n: m.while_loop(lambda s: s[0] > 1, lambda s: (step(s[0]), s[1] + 1), (n, m.array(0)))
    return m.vmap(f)(m.array([1, 2, 3, 6, 7]))


@program
def while_with_an_unmapped_predicate(m: Any) -> Any:
    body = lambda s: (s[0] + 1, s[1] * 1.5)
    return m.vmap(lambda x: m.while_loop(lambda s: s[0] < 3, body, (m.array(0), x)))(m.some(3, 2))


@program
def while_whose_predicate_becomes_mapped(m: Any) -> Any:
    f = lambda x: m.while_loop(lambda s: s.sum() < 5, lambda s: s + x, m.zeros((2,)))
    return m.vmap(f)(m.array([[1.0, 1.0], [0.5, 0.1], [3.0, 4.0]]))


@program
def while_with_a_mapped_bound(m: Any) -> Any:
    f = lambda b: m.while_loop(lambda s: s[1] < b, lambda s: (s[0] * 2, s[1] + 1), (m.array(1.0), m.array(0)))
    return m.vmap(f)(m.array([0, 1, 4]))


@program
def while_whose_carry_becomes_mapped(m: Any) -> Any:
    body = lambda s, x: (s[0] + 1, s[1] + s[2], s[2] * x)
    f = lambda x: m.while_loop(lambda s: s[0] < 4, lambda s: body(s, x), (m.array(0), m.array(0.0), m.array(1.0)))
    return m.vmap(f)(m.array([1.0, 2.0, 0.5]))


@program
def while_of_a_tree(m: Any) -> Any:
    body = lambda s: {"n": s["n"] + 1, "ab": [s["ab"][1], s["ab"][0] + s["ab"][1]]}
    f = lambda a, k: m.while_loop(lambda s: s["n"] < k, body, {"n": m.array(0), "ab": [a, m.array(1)]})
    return m.vmap(f, in_axes=(None, 0))(m.array(0), m.array([3, 10]))


@program
def while_over_two_axes(m: Any) -> Any:
    f = lambda x, y: m.while_loop(lambda s: s < y, lambda s: s + x, m.array(0))
    return m.vmap(lambda x: m.vmap(lambda y: f(x, y))(m.array([0, 5, 9])))(m.array([1, 2, 4]))


@program
def while_in_while(m: Any) -> Any:
    inner = lambda n: m.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] + s[0]), (m.array(0), m.array(0)))[1]
    f = lambda k: m.while_loop(lambda s: s[0] < k, lambda s: (s[0] + 1, s[1] + inner(s[0])), (m.array(0), m.array(0)))
    return m.vmap(f)(m.array([2, 5, 0]))


@program
def vmap_in_while(m: Any) -> Any:
    body = lambda x: m.vmap(lambda r: r * 2 + r.sum())(x)
    return m.vmap(lambda x: m.while_loop(lambda x: m.abs(x).sum() < 20, body, x))(m.some(3, 2, 2))


@program
def while_in_cond(m: Any) -> Any:
    double = lambda x: m.while_loop(lambda y: y * y < 99, lambda y: y * 2, x)
    return m.vmap(lambda x: m.cond(x > 0, double, lambda x: -x, x))(m.array([1.0, -3.0, 4.0]))


@program
def cond_in_while(m: Any) -> Any:
    body = lambda x: m.cond(x > 5, lambda x: x * 3, lambda x: x + 2, x)
    return m.vmap(lambda x: m.while_loop(lambda x: x < 30, body, x))(m.array([0.0, 4.0, 6.0]))


@program
def newton_until_it_is_near(m: Any) -> Any:
    f = lambda a: m.while_loop(lambda x: m.abs(x * x - a) > 1e-3, lambda x: 0.5 * (x + a / x), a)
    return m.vmap(f)(m.array([1.0, 2.0, 9.0, 100.0]))


@program
def gcd_of_pairs(m: Any) -> Any:
    f = lambda a, b: m.while_loop(lambda s: s[1] > 0, lambda s: (s[1], s[0] % s[1]), (a, b))[0]
    return m.vmap(m.vmap(f, (None, 0)), (0, None))(m.array([12, 35]), m.array([18, 7, 10]))


@program
def jvp_of_while(m: Any) -> Any:
    f = lambda x: m.while_loop(lambda s: s.sum() < 10, lambda s: s * s + 1, x)
    return m.jvp(f, (m.array([0.5, 1.0]),), (m.array([1.0, -1.0]),))


@program
def vmap_of_jvp_of_while(m: Any) -> Any:
    f = lambda x: m.while_loop(lambda s: s < 10, lambda s: s * s + 1, x)
    return m.vmap(lambda x: m.jvp(f, (x,), (m.array(1.0),)))(m.array([0.5, 2.0, 11.0]))


@program
def jvp_of_what_a_while_closes_over(m: Any) -> Any:
    f = lambda w, x: m.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * w), (m.array(0), x))[1]
    return m.vmap(lambda x: m.jvp(lambda w: f(w, x), (m.array(2.0),), (m.array(1.0),)))(m.some(3))


@program
def jvp_of_newton(m: Any) -> Any:
    f = lambda a: m.while_loop(lambda x: m.abs(x * x - a) > 1e-3, lambda x: 0.5 * (x + a / x), a)
    return m.vmap(lambda a: m.jvp(f, (a,), (m.array(1.0),)))(m.array([2.0, 9.0]))


@program
def jacfwd_of_while(m: Any) -> Any:
    f = lambda x: m.while_loop(lambda s: (s * s).sum() < 50, lambda s: s * m.array([2.0, 3.0]) + s[0], x)
    return m.vmap(m.jacfwd(f))(m.array([[1.0, 2.0], [3.0, 0.5]]))


@program
def while_in_while_closes_over_both(m: Any) -> Any:
    def f(x: Any) -> Any:
        inner = lambda s: m.while_loop(lambda t: t[0] < s[0], lambda t: (t[0] + 1, t[1] + x * s[1]), (m.array(0), x))[1]
        return m.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, inner(s)), (m.array(0), m.array(1.0)))

    return m.vmap(f)(m.some(3)), m.vmap(lambda x: m.jvp(f, (x,), (m.array(1.0),))[1][1])(m.some(3))


@program
def jvp_of_while_in_a_cond(m: Any) -> Any:
    grow = lambda x: m.while_loop(lambda s: s * s < 20, lambda s: s * x, x)
    f = lambda x: m.cond(x > 1.5, grow, lambda x: x**2, x)
    return m.vmap(lambda x: m.jvp(f, (x,), (m.array(1.0),)))(m.array([2.0, 1.2, 3.0]))


# ---- fori_loop ----


@program
def fori_of_a_sum(m: Any) -> Any:
    return m.fori_loop(0, 5, lambda i, s: s + i, m.array(0)), m.fori_loop(2, 5, lambda i, s: s * i, m.array(1))


@program
def fori_of_no_trips(m: Any) -> Any:
    return m.fori_loop(3, 3, lambda i, s: s + 1, m.some(2)), m.fori_loop(5, 1, lambda i, s: s + 1, m.some(2))


@program
def fori_of_a_python_number(m: Any) -> Any:
    return m.fori_loop(0, 4, lambda i, s: s * 0.5 + 1.0, 1.0), m.fori_loop(0, 4, lambda i, s: s + i, 0)


@program
def fori_mapped_carry(m: Any) -> Any:
    return m.vmap(lambda x: m.fori_loop(0, 3, lambda i, s: m.sin(s) + m.to_float(m.array(1)), x))(m.some(3, 2))


@program
def fori_of_a_mapped_upper_bound(m: Any) -> Any:
    return m.vmap(lambda n: m.fori_loop(0, n, lambda i, s: s + i * i, m.array(0)))(m.array([0, 1, 4, -2, 6]))


@program
def fori_of_mapped_bounds(m: Any) -> Any:
    f = lambda a, b, x: m.fori_loop(a, b, lambda i, s: s * 2 + i, x)
    return m.vmap(f)(m.array([0, 2, 5]), m.array([3, 3, 4]), m.array([1, 1, 1]))


@program
def fori_of_an_array_bound_that_is_not_mapped(m: Any) -> Any:
    return m.vmap(lambda x: m.fori_loop(m.array(1), m.array(4), lambda i, s: s * x, m.ones((2,))))(m.some(3, 2))


@program
def fori_whose_carry_becomes_mapped(m: Any) -> Any:
    return m.vmap(lambda x: m.fori_loop(0, 3, lambda i, s: (s[1], s[0] + x), (m.array(0.0), m.array(1.0))))(m.some(3))


@program
def fori_indexes_what_it_closes_over(m: Any) -> Any:
    return m.vmap(lambda x: m.fori_loop(0, 3, lambda i, s: s * 2 + x[i], m.array(0.0)))(m.some(2, 3))


@program
def fori_of_a_tree(m: Any) -> Any:
    body = lambda i, s: {"x": s["x"] + s["y"], "y": s["y"] * 2, "last": i}
    return m.vmap(lambda x: m.fori_loop(0, 4, body, {"x": x, "y": m.array(1.0), "last": m.array(-1)}))(m.some(3))


@program
def fori_in_fori(m: Any) -> Any:
    inner = lambda i, s: m.fori_loop(0, i, lambda j, t: t + i * j, s)
    return m.vmap(lambda n: m.fori_loop(0, n, inner, m.array(0)))(m.array([3, 5, 0]))


@program
def fori_in_while(m: Any) -> Any:
    body = lambda s: m.fori_loop(0, 3, lambda i, t: t + i, s) * 2
    return m.vmap(lambda x: m.while_loop(lambda s: s < 50, body, x))(m.array([1, 20, 60]))


@program
def vmap_in_fori(m: Any) -> Any:
    f = lambda x: m.fori_loop(0, 3, lambda i, s: m.vmap(lambda r: r * s[0] + r)(s), x)
    return f(m.some(4)), m.vmap(f)(m.some(2, 4))


@program
def power_iteration(m: Any) -> Any:
    def f(a: Any) -> Any:
        step = lambda i, v: a @ v / m.norm(a @ v)
        v = m.fori_loop(0, 8, step, m.ones((2,)))
        return v @ a @ v

    return m.vmap(f)(m.array([[[2.0, 1.0], [1.0, 3.0]], [[4.0, 0.0], [0.0, 1.0]]]))


@program
def grad_of_fori(m: Any) -> Any:
    f = lambda x: m.fori_loop(0, 3, lambda i, s: m.sin(s) * x, x).sum()
    return m.grad(f)(m.some(3)), m.vmap(m.value_and_grad(f))(m.some(2, 3))


@program
def grad_of_fori_of_no_trips(m: Any) -> Any:
    return m.grad(lambda x: m.fori_loop(2, 2, lambda i, s: s * s, x).sum())(m.some(3))


@program
def grad_of_a_fori_that_uses_its_index(m: Any) -> Any:
    f = lambda x: m.fori_loop(1, 4, lambda i, s: s * x + m.to_float(i), m.array(1.0))
    return m.vmap(m.grad(f))(m.array([0.5, 2.0]))


@program
def jvp_of_fori(m: Any) -> Any:
    f = lambda x, w: m.fori_loop(0, 4, lambda i, s: m.tanh(w @ s), x)
    return m.jvp(f, (m.some(2), m.some(2, 2)), (m.ones((2,)), m.eye(2)))


@program
def jvp_of_fori_with_a_mapped_bound(m: Any) -> Any:
    f = lambda x, n: m.fori_loop(0, n, lambda i, s: s * x, m.array(1.0))
    return m.vmap(lambda x, n: m.jvp(lambda x: f(x, n), (x,), (m.array(1.0),)))(
        m.array([2.0, 3.0, 4.0]), m.array([3, 0, 1])
    )


@program
def hessian_of_fori(m: Any) -> Any:
    f = lambda x: m.fori_loop(0, 2, lambda i, s: s * x[0] + x[1], x[1])
    return m.vmap(m.hessian(f))(m.some(2, 2))


@program
def gradient_descent_in_fori(m: Any) -> Any:
    def fitted(target: Any) -> Any:
        return m.fori_loop(0, 5, lambda i, w: w - 0.2 * m.grad(lambda w: ((w - target) ** 2).sum())(w), m.zeros((2,)))

    return m.vmap(fitted)(m.some(3, 2)), m.jacrev(fitted)(m.some(2))


@program
def derivatives_of_a_number_that_a_fori_closes_over(m: Any) -> Any:
    f = lambda w: m.fori_loop(0, 3, lambda i, s: s * w + 1, m.array(1.0))
    return m.grad(f)(m.array(2.0)), m.jvp(f, (m.array(2.0),), (m.array(1.0),)), m.hessian(f)(m.array(2.0))


@program
def fori_in_fori_closes_over_both(m: Any) -> Any:
    def f(x: Any) -> Any:
        outer = lambda i, s: s + m.fori_loop(0, 2, lambda j, t: t * x[i] + s * x[j], m.array(1.0))
        return m.fori_loop(0, 3, outer, m.array(0.5))

    return m.vmap(f)(m.some(2, 3)), m.vmap(m.grad(f))(m.some(2, 3))


@program
def fori_puts_into_its_carry(m: Any) -> Any:
    f = lambda x: m.fori_loop(1, 4, lambda i, s: m.where(m.arange(4) == i, s[i - 1] * x, s), m.ones((4,)))
    return m.vmap(f)(m.some(3)), m.vmap(m.jacfwd(f))(m.some(3))


# ---- scan ----


@program
def scan_of_a_running_sum(m: Any) -> Any:
    return m.scan(lambda c, x: (c + x, c * x), m.array(0.0), m.some(4))


@program
def scan_backwards(m: Any) -> Any:
    return m.scan(lambda c, x: (2 * c + x, c), m.array(1.0), m.some(4), reverse=True)


@program
def scan_of_a_length_alone(m: Any) -> Any:
    return m.scan(lambda c, _: (c * 2, c), m.array(1), None, length=5)


@program
def scan_without_outputs(m: Any) -> Any:
    return m.scan(lambda c, x: (c * x + 1, None), m.array(1.0), m.some(4))[0]


@program
def scan_without_a_carry(m: Any) -> Any:
    return m.scan(lambda c, x: (None, x * x), None, m.some(3, 2))[1]


@program
def scan_of_no_steps(m: Any) -> Any:
    return m.scan(lambda c, x: (c + x, (c, x * 2)), m.some(2), m.zeros((0, 2)))


@program
def scan_of_one_step(m: Any) -> Any:
    return m.scan(lambda c, x: (c + x, c - x), m.some(2), m.some(1, 2))


@program
def scan_of_trees(m: Any) -> Any:
    def f(c: Any, x: Any) -> Any:
        new = {"s": c["s"] + x[0], "n": c["n"] + 1}
        return new, [new["s"] * x[1]["k"], (c["n"],)]

    return m.scan(f, {"s": m.zeros((2,)), "n": m.array(0)}, (m.some(3, 2), {"k": m.array([1.0, 2.0, 3.0])}))


@program
def scan_with_mapped_inputs(m: Any) -> Any:
    return m.vmap(lambda x: m.scan(lambda c, x: (c + x, c), m.array(0.0), x))(m.some(3, 4))


@program
def scan_with_a_mapped_carry(m: Any) -> Any:
    return m.vmap(lambda c: m.scan(lambda c, x: (c * x, c + x), c, m.some(4)))(m.some(3))


@program
def scan_whose_carry_becomes_mapped(m: Any) -> Any:
    f = lambda w: m.scan(lambda c, x: ((c[1], c[0] + w * x), c[0]), (m.array(0.0), m.array(0.0)), m.some(4))
    return m.vmap(f)(m.some(3))


@program
def scan_with_nothing_mapped_in_it(m: Any) -> Any:
    return m.vmap(lambda x: x + m.scan(lambda c, x: (c + x, None), m.array(0.0), m.some(4))[0])(m.some(3))


@program
def scan_with_mapped_outputs_alone(m: Any) -> Any:
    return m.vmap(lambda w: m.scan(lambda c, x: (c + x, c * w), m.array(1.0), m.some(3)), out_axes=(None, 1))(m.some(2))


@program
def scan_with_axes(m: Any) -> Any:
    f = lambda c, xs: m.scan(lambda c, x: (c + x, c * 2), c, xs)
    return m.vmap(f, in_axes=(1, 2), out_axes=(1, 2))(m.some(2, 3), m.some(4, 2, 3))


@program
def scan_backwards_under_vmap(m: Any) -> Any:
    return m.vmap(lambda xs: m.scan(lambda c, x: (c * 0.5 + x, c), m.array(0.0), xs, reverse=True))(m.some(3, 4))


@program
def scan_over_two_axes(m: Any) -> Any:
    f = lambda a, b: m.scan(lambda c, x: (c * a + x * b, c), m.array(1.0), m.some(3))[0]
    return m.vmap(lambda a: m.vmap(lambda b: f(a, b))(m.some(3)))(m.some(2))


@program
def scan_in_scan(m: Any) -> Any:
    row = lambda c, xs: m.scan(lambda c, x: (c + x, c * x), c, xs)
    f = lambda xss: m.scan(row, m.array(1.0), xss)
    return f(m.some(2, 3)), m.vmap(f)(m.some(2, 2, 3))


@program
def vmap_in_scan(m: Any) -> Any:
    f = lambda c, x: (m.vmap(lambda a: a * x[0] + 1)(c), m.vmap(lambda b: b * c.sum())(x))
    return m.scan(f, m.some(3), m.some(2, 4)), m.vmap(lambda c: m.scan(f, c, m.some(2, 4)))(m.some(2, 3))


@program
def while_in_scan(m: Any) -> Any:
    f = lambda c, x: (m.while_loop(lambda s: s < x, lambda s: s * 2 + 1, c) - 1, c)
    return m.vmap(lambda c: m.scan(f, c, m.array([3, 9, 4])))(m.array([0, 5]))


@program
def scan_in_while(m: Any) -> Any:
    grow = lambda s: m.scan(lambda c, x: (c * x + 1, None), s, m.array([1.5, 2.0]))[0]
    return m.vmap(lambda s: m.while_loop(lambda s: s < 40, grow, s))(m.array([1.0, 10.0, 50.0]))


@program
def cond_in_scan(m: Any) -> Any:
    f = lambda c, x: (m.cond(x > 0, lambda c: c + x, lambda c: c * x, c), c)
    return m.vmap(lambda xs: m.scan(f, m.array(1.0), xs))(m.some(3, 4))


@program
def scan_of_a_recurrent_network(m: Any) -> Any:
    def net(w: Any, xs: Any) -> Any:
        step = lambda h, x: (m.tanh(w["h"] @ h + w["x"] * x), h.sum())
        return m.scan(step, m.zeros((2,)), xs)

    return m.vmap(net, in_axes=(None, 0))({"h": m.some(2, 2), "x": m.array([1.0, -1.0])}, m.some(3, 4))


@program
def scan_of_logistic_maps(m: Any) -> Any:
    return m.vmap(lambda r: m.scan(lambda x, _: (r * x * (1 - x),) * 2, m.array(0.4), None, length=6)[1])(
        m.array([1.5, 2.9, 3.3])
    )


@program
def grad_of_scan(m: Any) -> Any:
    f = lambda c, xs: (lambda c, ys: (c * ys).sum())(*m.scan(lambda c, x: (m.sin(c * x), c + x), c, xs))
    return m.grad(f, argnums=(0, 1))(m.array(0.5), m.some(4))


@program
def grad_of_scan_backwards(m: Any) -> Any:
    f = lambda c, xs: m.scan(lambda c, x: (c * x + m.sin(x), c), c, xs, reverse=True)[1].sum()
    return m.vmap(m.grad(f, (0, 1)))(m.some(2), m.some(2, 3))


@program
def grad_of_what_a_scan_closes_over(m: Any) -> Any:
    f = lambda w, xs: (m.scan(lambda h, x: (m.tanh(w @ h + x), h), m.zeros((2,)), xs)[1] ** 2).sum()
    return m.vmap(m.grad(f), in_axes=(None, 0))(m.some(2, 2), m.some(2, 3, 2))


@program
def grad_of_scan_of_trees(m: Any) -> Any:
    step = lambda c, x: ({"a": c["a"] * x["u"], "b": c["b"] + c["a"]}, x["v"] * c["b"])
    f = lambda c, xs: m.scan(step, c, xs)[1].sum()
    return m.grad(f, (0, 1))({"a": m.array(1.0), "b": m.array(2.0)}, {"u": m.some(3), "v": m.array([1.0, 2.0, 3.0])})


@program
def grad_of_vmap_of_scan(m: Any) -> Any:
    f = lambda w, xs: m.scan(lambda c, x: (c * w + x, None), m.array(0.0), xs)[0]
    return m.grad(lambda w: m.vmap(f, in_axes=(None, 0))(w, m.some(3, 4)).sum())(m.array(0.9))


@program
def grad_of_scan_with_an_int_in_its_carry(m: Any) -> Any:
    step = lambda c, x: ((c[0] + 1, c[1] * x + m.to_float(c[0])), c[1])
    f = lambda x, xs: m.scan(step, (m.array(0), x), xs)[1].sum()
    return m.grad(f, (0, 1))(m.array(2.0), m.some(3))


@program
def grad_of_scan_of_no_steps(m: Any) -> Any:
    return m.grad(lambda c: m.scan(lambda c, x: (c * x, c), c, m.zeros((0,)))[0] ** 2)(m.array(3.0))


@program
def jvp_of_scan(m: Any) -> Any:
    f = lambda c, xs: m.scan(lambda c, x: (c * x, c + x), c, xs)
    return m.jvp(f, (m.array(2.0), m.some(3)), (m.array(1.0), m.ones((3,))))


@program
def jvp_of_the_inputs_of_a_scan_alone(m: Any) -> Any:
    f = lambda xs: m.scan(lambda c, x: ((c[0] + 1, c[1] * x), c[1] * 2), (m.array(0), m.array(1.0)), xs)[1]
    return m.vmap(lambda xs: m.jvp(f, (xs,), (m.array([1.0, 0.0, 2.0]),)))(m.some(2, 3))


@program
def vjp_of_scan(m: Any) -> Any:
    _, back = m.vjp(lambda c, xs: m.scan(lambda c, x: (c * x, c + x), c, xs), m.some(2), m.some(3, 2))
    return back((m.ones((2,)), m.some(3, 2)))


@program
def jacobians_of_scan(m: Any) -> Any:
    f = lambda xs: m.scan(lambda c, x: (c * x + 1, c), m.array(1.0), xs)[1]
    return m.jacfwd(f)(m.some(3)), m.jacrev(f)(m.some(3))


@program
def hessian_of_scan(m: Any) -> Any:
    f = lambda x: m.scan(lambda c, a: (m.sin(c * x[0] + a * x[1]), None), x[0], m.some(3))[0]
    return m.vmap(m.hessian(f))(m.some(2, 2))


@program
def grad_of_grad_of_scan(m: Any) -> Any:
    f = lambda x: m.scan(lambda c, _: (c * c + x, None), x, None, length=3)[0]
    return m.vmap(m.grad(m.grad(f)))(m.array([0.1, 0.5]))


@program
def hessian_vector_product_through_scan(m: Any) -> Any:
    f = lambda w: (m.scan(lambda h, x: (m.tanh(w * h + x), None), m.zeros((2,)), m.some(3, 2))[0] ** 2).sum()
    return m.jvp(m.grad(f), (m.some(2),), (m.array([1.0, -1.0]),))[1]


@program
def grad_inside_a_scan(m: Any) -> Any:
    step = lambda w, x: (w - 0.1 * m.grad(lambda w: (w @ x) ** 2)(w), (w * x).sum())
    return m.vmap(lambda w: m.scan(step, w, m.some(4, 2)))(m.some(3, 2))


@program
def grad_through_a_grad_inside_a_scan(m: Any) -> Any:
    step = lambda w, x: (w - 0.1 * m.grad(lambda w: m.sin(w @ x))(w), None)
    return m.grad(lambda w: (m.scan(step, w, m.some(3, 2))[0] ** 2).sum())(m.some(2))


@program
def jvp_inside_a_scan(m: Any) -> Any:
    step = lambda c, x: (m.jvp(m.sin, (c,), (x,))[1], c)
    return m.vmap(lambda c: m.scan(step, c, m.some(3)))(m.some(2))


@program
def grad_of_cond_in_scan(m: Any) -> Any:
    step = lambda w: lambda c, x: (m.cond(x > 0, lambda: c * w, lambda: c + w * x), None)
    return m.vmap(m.grad(lambda w, xs: m.scan(step(w), m.array(1.0), xs)[0]), (None, 0))(m.array(1.5), m.some(3, 4))


@program
def grad_of_scan_in_scan(m: Any) -> Any:
    row = lambda c, xs: (m.scan(lambda c, x: (m.sin(c + x), None), c, xs)[0], c)
    return m.grad(lambda xss: m.scan(row, m.array(1.0), xss)[1].sum())(m.some(2, 3))


@program
def grad_of_fori_in_scan(m: Any) -> Any:
    step = lambda c, x: (m.fori_loop(0, 2, lambda i, c: c * x + 1, c), c)
    return m.vmap(m.grad(lambda xs: m.scan(step, m.array(1.0), xs)[0]))(m.some(2, 3))


@program
def stop_gradient_in_a_scan(m: Any) -> Any:
    step = lambda c, x: (m.stop_gradient(c) * x + c, None)
    return m.grad(lambda c, xs: m.scan(step, c, xs)[0], (0, 1))(m.array(2.0), m.some(3))


@program
def viterbi_scores(m: Any) -> Any:
    step = lambda t: lambda s, e: (m.max(s.reshape(2, 1) + t, 0) + e,) * 2
    f = lambda t, es: m.max(m.scan(step(t), m.zeros((2,)), es)[0], 0)
    return m.vmap(m.value_and_grad(f), in_axes=(None, 0))(m.some(2, 2), m.some(2, 3, 2))


@program
def integrated_oscillator(m: Any) -> Any:
    def end(k: Any) -> Any:
        step = lambda s, _: ((s[0] + 0.1 * s[1], s[1] - 0.1 * k * s[0]), s[0])
        (x, v), path = m.scan(step, (m.array(1.0), m.array(0.0)), None, length=6)
        return x * v + path.sum()

    return m.vmap(m.value_and_grad(end))(m.array([1.0, 4.0])), m.vmap(m.grad(m.grad(end)))(m.array([1.0, 4.0]))


@program
def scan_in_scan_closes_over_the_outer_carry(m: Any) -> Any:
    def f(w: Any) -> Any:
        row = lambda c, x: (m.scan(lambda d, y: (d * w + c * y * x, None), c, m.some(2))[0], c)
        return m.scan(row, m.array(1.0), m.some(3))[1].sum()

    return m.vmap(m.value_and_grad(f))(m.some(3)), m.hessian(f)(m.array(0.5))


@program
def scan_of_vmap_of_scan(m: Any) -> Any:
    inner = lambda c, w: m.scan(lambda d, y: (m.sin(d * w + y), None), c, m.some(2))[0]
    f = lambda w: m.scan(lambda c, x: (m.vmap(lambda a: inner(a, w * x))(c), c.sum()), m.some(3), m.some(2))
    return f(m.array(0.5)), m.vmap(f)(m.some(2)), m.grad(lambda w: f(w)[1].sum())(m.array(0.5))


@program
def scan_whose_carry_picks_from_a_mapped_table(m: Any) -> Any:
    f = lambda t, n: m.scan(lambda i, _: (t[i], i), n, None, length=4)
    return m.vmap(f)(m.array([[1, 2, 0], [2, 0, 1]]), m.array([0, 1])), m.vmap(f, (0, None))(
        m.array([[1, 2, 0]]), m.array(2)
    )


@program
def reverse_over_reverse_through_scan(m: Any) -> Any:
    f = lambda x: m.scan(lambda c, a: (m.sin(c * x[0] + a * x[1]), None), x[0], m.some(3))[0]
    return m.jacrev(m.grad(f))(m.some(2)), m.vmap(m.jacrev(m.jacrev(f)))(m.some(2, 2))


@program
def jvp_of_grad_of_scan_backwards(m: Any) -> Any:
    f = lambda w, xs: m.scan(lambda c, x: (m.tanh(c * w + x), c), w, xs, reverse=True)[1].sum()
    g = lambda w, xs: m.jvp(lambda w, xs: m.grad(f)(w, xs), (w, xs), (m.array(1.0), m.ones((3,))))
    return m.vmap(g)(m.some(2), m.some(2, 3))


@program
def stacked_outputs_that_do_not_change(m: Any) -> Any:
    f = lambda w: m.scan(lambda c, x: (c + x, (w, x, m.array(2.0))), m.array(0.0), m.some(3))
    return m.vmap(f)(m.some(2)), m.grad(lambda w: f(w)[1][0].sum() * w)(m.array(3.0))


# ---- map ----


@program
def map_of_an_array(m: Any) -> Any:
    return m.map(lambda x: x * x.sum(), m.some(3, 2))


@program
def map_of_trees(m: Any) -> Any:
    return m.map(lambda t: {"s": t[0] + t[1]["k"], "d": (t[0] - 1,)}, (m.some(3), {"k": m.arange(3)}))


@program
def map_of_no_entries(m: Any) -> Any:
    return m.map(lambda x: x.sum() * 2, m.zeros((0, 3)))


@program
def map_in_batches(m: Any) -> Any:
    return m.map(lambda x: m.sin(x) * x, m.some(5), batch_size=2)


@program
def map_under_vmap(m: Any) -> Any:
    return m.vmap(lambda w: m.map(lambda x: x * w, m.some(3)))(m.some(2)), m.vmap(lambda xs: m.map(m.sin, xs))(
        m.some(2, 3)
    )


@program
def vmap_under_map(m: Any) -> Any:
    return m.map(lambda xs: m.vmap(lambda x: x * xs.sum())(xs), m.some(3, 2))


@program
def map_of_a_while(m: Any) -> Any:
    return m.map(lambda n: m.while_loop(lambda s: s < 10, lambda s: s + n, n), m.array([1, 3, 7, 20]))


@program
def grad_of_map(m: Any) -> Any:
    f = lambda w: (m.map(lambda x: m.sin(w * x), m.some(4)) ** 2).sum()
    return m.vmap(m.grad(f))(m.some(2)), m.hessian(f)(m.array(0.5))


@program
def map_of_grad(m: Any) -> Any:
    return m.map(m.grad(lambda x: (x**3).sum()), m.some(3, 2))


@program
def map_in_map_under_vmap(m: Any) -> Any:
    f = lambda w: m.map(lambda x: m.map(lambda y: m.sin(x * y * w), m.some(2)), m.some(3))
    return m.vmap(f)(m.some(2)), m.vmap(m.jacfwd(f))(m.some(2)), m.vmap(m.jacrev(f))(m.some(2))
