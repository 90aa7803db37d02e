"""Nested transforms: vmap at each position among derivatives, loops, branches, collectives and custom rules."""

# ruff: noqa: E731  short functions read best as one line
from __future__ import annotations

from typing import Any

from tests.golden.registry import program


def repeated(m: Any, x: Any, w: Any) -> Any:
    """Scan a body that contains a cond."""
    step = lambda c, a: (m.cond(a > 0, lambda c: m.sin(c * w), lambda c: c + w * a, c), c)
    return m.scan(step, x, m.array([0.5, -0.3, 0.8]))[0]


@program
def grad_of_vmap_of_scan_of_cond(m: Any) -> Any:
    return m.grad(lambda w: m.vmap(lambda x: repeated(m, x, w))(m.some(3)).sum())(m.array(1.5))


@program
def vmap_of_grad_of_scan_of_cond(m: Any) -> Any:
    return m.vmap(m.grad(lambda x, w: repeated(m, x, w), (0, 1)), in_axes=(0, None))(m.some(3), m.array(1.5))


@program
def vmap_of_jvp_of_vmap_of_scan_of_cond(m: Any) -> Any:
    inner = lambda w: m.vmap(lambda x: repeated(m, x, w))(m.some(3))
    return m.vmap(lambda w: m.jvp(inner, (w,), (m.array(1.0),)))(m.array([0.5, 1.5]))


@program
def hessian_of_vmap_of_scan_of_cond(m: Any) -> Any:
    f = lambda p: m.vmap(lambda x: repeated(m, x + p[0], p[1]))(m.some(2)).sum()
    return m.hessian(f)(m.array([0.2, 1.5])), m.vmap(m.hessian(f))(m.some(2, 2))


@program
def scan_of_vmap_of_grad(m: Any) -> Any:
    loss = lambda w, x: m.tanh(w @ x) ** 2
    step = lambda w, _: (w - 0.3 * m.vmap(m.grad(loss), (None, 0))(w, m.some(3, 2)).mean(0), loss(w, m.some(2)))
    return m.scan(step, m.some(2), None, length=3)


@program
def vmap_of_scan_of_vmap_of_grad(m: Any) -> Any:
    loss = lambda w, x: m.tanh(w @ x) ** 2
    step = lambda xs: lambda w, _: (w - 0.3 * m.vmap(m.grad(loss), (None, 0))(w, xs).mean(0), None)
    return m.vmap(lambda xs: m.scan(step(xs), m.some(2), None, length=3)[0])(m.some(2, 3, 2))


@program
def grad_of_scan_of_vmap_of_grad(m: Any) -> Any:
    loss = lambda w, x, s: m.tanh(w @ x * s) ** 2
    step = lambda s: lambda w, _: (w - 0.3 * m.vmap(m.grad(loss), (None, 0, None))(w, m.some(3, 2), s).mean(0), None)
    return m.grad(lambda s: (m.scan(step(s), m.some(2), None, length=2)[0] ** 2).sum())(m.array(0.8))


@program
def cond_of_grad_of_scan_under_two_vmaps(m: Any) -> Any:
    f = lambda x: m.scan(lambda c, _: (m.sin(c * x), None), x, None, length=2)[0]
    g = lambda x, y: m.cond(x > y, m.grad(f), f, x)
    return m.vmap(lambda x: m.vmap(lambda y: g(x, y))(m.some(3)))(m.some(2))


@program
def grad_through_two_vmaps_and_a_switch(m: Any) -> Any:
    branches = [lambda x, y: x * y, lambda x, y: m.sin(x) + y, lambda x, y: x - y * y]
    f = lambda x, i: m.vmap(lambda y: m.switch(i, branches, x, y))(m.some(2)).sum()
    return m.vmap(m.grad(f))(m.some(4), m.array([0, 1, 2, 3])), m.grad(lambda x: m.vmap(f)(x, m.array([2, 1])).sum())(
        m.some(2)
    )


@program
def while_of_grad_under_vmap(m: Any) -> Any:
    slope = m.grad(lambda x: (x - 1) ** 2)
    f = lambda x: m.while_loop(lambda x: m.abs(slope(x)) > 0.1, lambda x: x - 0.25 * slope(x), x)
    return m.vmap(f)(m.array([0.0, 1.0, 5.0])), m.vmap(lambda x: m.jvp(f, (x,), (m.array(1.0),))[1])(
        m.array([0.0, 5.0])
    )


@program
def line_search_under_vmap(m: Any) -> Any:
    f = lambda x: (x**4).sum() / 4

    def step(x: Any) -> Any:
        g = m.grad(f)(x)
        t = m.while_loop(lambda t: f(x - t * g) > f(x) - 0.5 * t * (g * g).sum(), lambda t: t / 2, m.array(4.0))
        return x - t * g

    return m.vmap(lambda x: m.fori_loop(0, 3, lambda i, x: step(x), x))(m.array([[1.0, 2.0], [0.5, -1.5]]))


@program
def psum_under_grad_under_vmap_under_grad(m: Any) -> Any:
    f = lambda x, s: m.sin(x * s) * m.psum(x * s, "i")
    g = lambda s: m.vmap(m.grad(lambda x: f(x, s)), axis_name="i")(m.some(3)).sum()
    return m.grad(g)(m.array(1.5))


@program
def psum_of_jvp_of_psum(m: Any) -> Any:
    f = lambda x: m.psum(m.jvp(lambda x: x * m.psum(x, "i"), (x,), (m.array(1.0),))[1] * x, "i")
    return m.vmap(f, axis_name="i")(m.some(3))


@program
def collectives_across_a_vmap_between(m: Any) -> Any:
    f = lambda x: m.vmap(lambda y: m.psum(x * y, "i") + m.psum(y * x, "j"), axis_name="j")(m.some(2)).sum() * x
    outer = lambda x: m.vmap(f, axis_name="i")(x)
    return outer(m.some(3)), m.grad(lambda x: (outer(x) * m.some(3)).sum())(m.some(3))


@program
def pmean_of_gradients_in_a_scan(m: Any) -> Any:
    loss = lambda w, x, y: (w @ x - y) ** 2

    def train(x: Any, y: Any) -> Any:
        step = lambda w, _: (w - 0.2 * m.pmean(m.grad(loss)(w, x, y), "i"), loss(w, x, y))
        return m.scan(step, m.zeros((2,)), None, length=3)

    return m.vmap(train, axis_name="i")(m.some(4, 2), m.some(4))


@program
def psum_in_the_gradient_of_a_network_of_examples(m: Any) -> Any:
    def f(w: Any, x: Any) -> Any:
        h = m.tanh(w @ x)
        return ((h - m.pmean(h, "i")) ** 2).sum() / m.sqrt(m.psum((h * h).sum(), "i"))

    total = lambda w: m.vmap(f, in_axes=(None, 0), axis_name="i")(w, m.some(3, 2)).sum()
    return m.grad(total)(m.some(2, 2))


@program
def ppermute_in_a_scan_with_jvp(m: Any) -> Any:
    ring = [(0, 1), (1, 2), (2, 0)]
    walk = lambda x: m.scan(lambda c, _: (m.sin(m.ppermute(c, "i", ring)) + x, None), x, None, length=2)[0]
    f = m.vmap(walk, axis_name="i")
    return m.jvp(f, (m.some(3),), (m.array([1.0, 0.0, 0.0]),)), m.vjp(f, m.some(3))[1](m.array([1.0, 2.0, 3.0]))


@program
def map_of_vmap_of_fori_of_cond(m: Any) -> Any:
    body = lambda x: lambda i, s: m.cond(i % 2 == 0, lambda s: s * x, lambda s: s + 1, s)
    return m.map(lambda xs: m.vmap(lambda x: m.fori_loop(0, 4, body(x), m.array(1.0)))(xs), m.some(2, 3))


@program
def vmap_of_map_of_grad_of_fori(m: Any) -> Any:
    f = lambda x, w: m.fori_loop(0, 3, lambda i, s: m.tanh(s * w + x), x)
    return m.vmap(lambda w: m.map(lambda x: m.grad(f, 1)(x, w), m.some(3)))(m.some(2))


@program
def custom_vjp_under_vmap_in_scan_under_grad(m: Any) -> Any:
    f = m.custom_vjp(m.sin)
    f.defvjp(lambda x: (m.sin(x), x), lambda x, ct: (2 * m.cos(x) * ct,))
    step = lambda c, x: (m.vmap(f)(c) * x, None)
    return m.grad(lambda c: m.scan(step, c, m.array([1.5, -0.5]))[0].sum())(m.some(3))


@program
def custom_jvp_under_psum_under_jvp(m: Any) -> Any:
    f = m.custom_jvp(m.sin)
    f.defjvp(lambda primals, tangents: (m.sin(primals[0]), 2 * m.cos(primals[0]) * tangents[0]))
    g = m.vmap(lambda x: f(x * m.psum(f(x), "i")), axis_name="i")
    return m.jvp(g, (m.some(3),), (m.array([1.0, 2.0, 3.0]),)), m.grad(lambda x: g(x).sum())(m.some(3))


@program
def custom_vmap_under_vmap_of_cond(m: Any) -> Any:
    f = m.custom_vmap(lambda x: x * 2)
    f.def_vmap(lambda axis_size, in_batched, x: (x * 2, in_batched[0]))
    return m.vmap(lambda x: m.cond(x > 0, f, lambda x: x - 1, x))(m.some(4))


@program
def jacobian_of_vmap_of_while(m: Any) -> Any:
    f = lambda x: m.while_loop(lambda x: x < 5, lambda x: x * x + 1, x)
    return m.jacfwd(lambda x: m.vmap(f)(x))(m.array([0.5, 2.0, 7.0]))


@program
def vmap_of_vjp_in_scan(m: Any) -> Any:
    def step(c: Any, x: Any) -> Any:
        y, back = m.vjp(lambda c: m.sin(c) * x, c)
        return back(y)[0], y

    return m.vmap(lambda c: m.scan(step, c, m.some(3)))(m.some(2, 2))


@program
def three_vmaps_with_a_grad_in_each(m: Any) -> Any:
    f = lambda x, y, z: m.sin(x * y) * z + x * z**2
    f1 = lambda x, y: m.vmap(lambda z: m.grad(f, 2)(x, y, z))(m.some(2)).sum()
    f2 = lambda x: m.vmap(lambda y: m.grad(f1, 1)(x, y))(m.some(3)).sum()
    return m.vmap(m.grad(f2))(m.some(4))


@program
def rows_of_a_jacobian_in_chunks(m: Any) -> Any:
    f = lambda x: m.stack([x[0] * x[1], m.sin(x[0]), x[1] ** 3])
    _, back = m.vjp(f, m.some(2))
    return m.map(lambda ct: back(ct)[0], m.eye(3)), m.vmap(lambda x: m.map(lambda ct: m.vjp(f, x)[1](ct)[0], m.eye(3)))(
        m.some(2, 2)
    )


@program
def maml_with_a_scan_of_inner_steps(m: Any) -> Any:
    loss = lambda w, x: ((m.tanh(x @ w) - x[:, 0]) ** 2).mean()

    def task(w: Any, x: Any) -> Any:
        w = m.scan(lambda w, _: (w - 0.4 * m.grad(loss)(w, x), None), w, None, length=2)[0]
        return loss(w, x * 0.5)

    return m.value_and_grad(lambda w: m.vmap(task, (None, 0))(w, m.some(2, 3, 2)).mean())(m.some(2))


@program
def reinforce_with_a_baseline_of_all(m: Any) -> Any:
    def f(w: Any, x: Any, a: Any, r: Any) -> Any:
        advantage = m.stop_gradient(r - m.pmean(r, "i"))
        return -advantage * m.log_softmax(w @ x, 0)[a]

    args = m.some(2, 3), m.some(4, 3), m.array([0, 1, 1, 0]), m.some(4)
    return m.grad(lambda w: m.vmap(f, (None, 0, 0, 0), axis_name="i")(w, *args[1:]).mean())(args[0])
