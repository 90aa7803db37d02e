"""Collectives over a named axis, and their derivatives."""

# ruff: noqa: E731  short functions read best as one line
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.golden.registry import program


def over(m: Any, f: Callable[..., Any], **axes: Any) -> Callable[..., Any]:
    """Map `f` over the axis `i`."""
    return m.vmap(f, axis_name="i", **axes)


def both(m: Any, f: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """Compute `f(x, y)` for each `x` of the axis `i` and each `y` of the axis `j`."""
    return m.vmap(m.vmap(f, in_axes=(None, 0), axis_name="j"), in_axes=(0, None), axis_name="i")


# ---- reductions ----


@program
def psum_of_each(m: Any) -> Any:
    return over(m, lambda x: x - m.psum(x, "i"))(m.some(4, 2))


@program
def psum_alone_is_the_same_for_all(m: Any) -> Any:
    return over(m, lambda x: m.psum(x, "i"))(m.some(4)), over(m, lambda x: m.psum(x, "i"), out_axes=None)(m.some(4))


@program
def psum_of_what_is_not_mapped(m: Any) -> Any:
    y = m.some(2)
    return over(m, lambda x: x + m.psum(y, "i"))(m.some(3, 2))


@program
def psum_of_a_python_number(m: Any) -> Any:
    return over(m, lambda x: x / m.psum(1, "i") + m.psum(2.5, "i"))(m.some(4))


@program
def psum_of_a_tree(m: Any) -> Any:
    return over(m, lambda t: m.psum(t, "i"))({"a": m.some(3, 2), "b": [m.arange(3)]})


@program
def psum_of_integers_and_booleans(m: Any) -> Any:
    return over(m, lambda x: (m.psum(x, "i"), m.psum(m.to_int(x > 1), "i")))(m.arange(4))


@program
def pmean_centres(m: Any) -> Any:
    return over(m, lambda x: x - m.pmean(x, "i"))(m.some(4, 2)), over(m, lambda x: m.pmean(x, "i"))(m.arange(4))


@program
def pmax_and_pmin(m: Any) -> Any:
    return over(m, lambda x: (m.pmax(x, "i"), m.pmin(x, "i"), m.pmax(m.to_int(x * 10), "i")))(m.some(4, 3))


@program
def pmax_of_what_is_not_mapped(m: Any) -> Any:
    return over(m, lambda x: (x, m.pmax(m.some(2), "i"), m.pmin(m.array(3), "i")))(m.some(3))


@program
def softmax_over_the_examples(m: Any) -> Any:
    def f(x: Any) -> Any:
        e = m.exp(x - m.pmax(x, "i"))
        return e / m.psum(e, "i")

    return over(m, f)(m.some(4, 2))


@program
def batch_normalisation(m: Any) -> Any:
    def f(x: Any) -> Any:
        mean = m.pmean(x, "i")
        return (x - mean) / m.sqrt(m.pmean((x - mean) ** 2, "i") + 1e-3)

    return over(m, f)(m.some(5, 2))


@program
def psum_along_another_axis(m: Any) -> Any:
    return over(m, lambda x: m.psum(x * x, "i") + x, in_axes=1, out_axes=1)(m.some(2, 3))


@program
def psum_over_either_of_two_axes(m: Any) -> Any:
    f = lambda x, y: (m.psum(x * y, "i"), m.psum(x * y, "j"), m.psum(m.psum(x * y, "i"), "j"))
    return both(m, f)(m.some(2), m.some(3))


@program
def reductions_over_two_axes_at_once(m: Any) -> Any:
    f = lambda x, y: (m.psum(x * y, ("i", "j")), m.pmean(x + y, ("j", "i")), m.pmax(x * y, ("i", "j")))
    return both(m, f)(m.some(2), m.some(3))


@program
def psum_over_two_axes_of_what_varies_over_one(m: Any) -> Any:
    return both(m, lambda x, y: (m.psum(x, ("i", "j")), m.pmean(y, ("i", "j")), m.psum(1, ("i", "j"))))(
        m.some(2), m.some(3)
    )


@program
def psum_over_the_outer_axis_inside_the_inner(m: Any) -> Any:
    f = lambda xs: m.vmap(lambda x: x - m.psum(x, "i"))(xs)
    return over(m, f)(m.some(3, 2))


@program
def psum_over_the_inner_axis_of_an_outer_value(m: Any) -> Any:
    f = lambda x: m.vmap(lambda y: (y + m.psum(x, "j"), m.psum(x * y, "j")), axis_name="j")(m.some(3))
    return m.vmap(f)(m.some(2))


@program
def psum_twice(m: Any) -> Any:
    return over(m, lambda x: m.psum(x * m.psum(x, "i"), "i"))(m.some(3))


# ---- exchanges ----


@program
def all_gather_of_each(m: Any) -> Any:
    return over(m, lambda x: m.all_gather(x, "i") - x)(m.some(3, 2))


@program
def all_gather_along_another_axis(m: Any) -> Any:
    return over(m, lambda x: (m.all_gather(x, "i", axis=1) * x.sum(), m.all_gather(x, "i", axis=-1)))(m.some(3, 2))


@program
def all_gather_tiled(m: Any) -> Any:
    return over(m, lambda x: m.all_gather(x, "i", tiled=True))(m.some(3, 2)), over(
        m, lambda x: m.all_gather(x, "i", axis=1, tiled=True)
    )(m.some(3, 2, 2))


@program
def all_gather_of_what_is_not_mapped(m: Any) -> Any:
    y = m.some(2)
    return over(m, lambda x: (x, m.all_gather(y, "i"), m.all_gather(y, "i", tiled=True)))(m.some(3))


@program
def all_gather_over_one_of_two_axes(m: Any) -> Any:
    f = lambda x, y: (m.all_gather(x * y, "i"), m.all_gather(x * y, "j"), m.all_gather(x, "j"))
    return both(m, f)(m.some(2), m.some(3))


@program
def all_gather_of_all_gather(m: Any) -> Any:
    return both(m, lambda x, y: m.all_gather(m.all_gather(x + 2 * y, "i"), "j"))(m.some(2), m.some(3))


@program
def all_gather_is_an_attention_over_examples(m: Any) -> Any:
    def f(q: Any, k: Any) -> Any:
        ks = m.all_gather(k, "i")
        return m.softmax(ks @ q, 0) @ ks

    return over(m, f)(m.some(3, 2), m.some(3, 2) * 2)


@program
def ppermute_of_a_ring(m: Any) -> Any:
    ring = [(0, 1), (1, 2), (2, 3), (3, 0)]
    return over(m, lambda x: x - m.ppermute(x, "i", ring))(m.some(4, 2))


@program
def ppermute_of_a_permutation_in_any_order(m: Any) -> Any:
    return over(m, lambda x: m.ppermute(x, "i", [(2, 0), (0, 3), (3, 2), (1, 1)]))(m.some(4))


@program
def ppermute_of_trees_and_of_what_is_not_mapped(m: Any) -> Any:
    swap = [(0, 1), (1, 0)]
    return over(m, lambda x: m.ppermute({"x": x, "y": [x > 0]}, "i", swap))(m.some(2)), over(
        m, lambda x: x + m.ppermute(m.array(3.0), "i", swap)
    )(m.some(2))


@program
def ppermute_twice_is_the_composition(m: Any) -> Any:
    ring = [(0, 1), (1, 2), (2, 0)]
    return over(m, lambda x: m.ppermute(m.ppermute(x, "i", ring), "i", ring))(m.some(3))


@program
def ppermute_over_one_of_two_axes(m: Any) -> Any:
    f = lambda x, y: (m.ppermute(x * y, "j", [(0, 1), (1, 2), (2, 0)]), m.ppermute(x * y, "i", [(0, 1), (1, 0)]))
    return both(m, f)(m.some(2), m.some(3))


@program
def all_to_all_is_a_transposition(m: Any) -> Any:
    return over(m, lambda x: m.all_to_all(x, "i", 0, 0))(m.some(3, 3))


@program
def all_to_all_with_axes(m: Any) -> Any:
    x = m.some(2, 2, 3, 2)
    return [
        over(m, lambda x: m.all_to_all(x, "i", s, c))(x) for s, c in [(0, 0), (0, 1), (0, 2), (2, 0), (2, 1), (2, 2)]
    ]


@program
def all_to_all_tiled(m: Any) -> Any:
    x = m.some(2, 4, 2)
    return [over(m, lambda x: m.all_to_all(x, "i", s, c, tiled=True))(x) for s, c in [(0, 0), (0, 1), (1, 0), (1, 1)]]


@program
def all_to_all_over_one_of_two_axes(m: Any) -> Any:
    f = lambda x, y: m.all_to_all(m.outer(x, y), "j", 0, 1)
    return both(m, f)(m.some(2, 3), m.some(3, 2))


@program
def psum_scatter_of_each(m: Any) -> Any:
    return over(m, lambda x: m.psum_scatter(x, "i"))(m.some(3, 3)), over(m, lambda x: m.psum_scatter(x, "i"))(
        m.some(2, 2, 3)
    )


@program
def psum_scatter_along_another_axis(m: Any) -> Any:
    return over(m, lambda x: m.psum_scatter(x, "i", scatter_dimension=1))(m.some(3, 2, 3))


@program
def psum_scatter_tiled(m: Any) -> Any:
    return over(m, lambda x: m.psum_scatter(x, "i", tiled=True))(m.some(2, 4)), over(
        m, lambda x: m.psum_scatter(x, "i", scatter_dimension=1, tiled=True)
    )(m.some(3, 2, 6))


@program
def psum_scatter_and_all_gather_are_psum(m: Any) -> Any:
    f = lambda x: m.all_gather(m.psum_scatter(x, "i", tiled=True), "i", tiled=True) - m.psum(x, "i")
    return over(m, f)(m.some(2, 4))


# ---- axis_index and axis_size ----


@program
def axis_index_of_each(m: Any) -> Any:
    return over(m, lambda x: (m.axis_index("i"), x * m.axis_index("i")))(m.some(4))


@program
def axis_index_of_what_nothing_maps(m: Any) -> Any:
    return m.vmap(lambda x: x * m.axis_index("i"), in_axes=None, axis_name="i", axis_size=3)(m.some(2))


@program
def axis_index_of_two_axes(m: Any) -> Any:
    return both(m, lambda x, y: (m.axis_index("i") * 10 + m.axis_index("j"), x + y))(m.some(2), m.some(3))


@program
def axis_index_of_a_tuple_of_axes(m: Any) -> Any:
    return both(m, lambda x, y: (m.axis_index(("i", "j")), m.axis_index(("j", "i"))))(m.some(2), m.some(3))


@program
def axis_index_picks_an_entry(m: Any) -> Any:
    table = m.some(3, 2)
    return over(m, lambda x: table[m.axis_index("i")] * x[m.axis_index("i")])(m.some(3, 3))


@program
def axis_size_of_one_and_of_two(m: Any) -> Any:
    f = lambda x, y: x * m.axis_size("i") + y * m.axis_size("j") + m.axis_size(("i", "j"))
    return both(m, f)(m.some(2), m.some(3))


@program
def one_example_alone(m: Any) -> Any:
    f = lambda x: (m.psum(x, "i"), m.all_gather(x, "i"), m.ppermute(x, "i", [(0, 0)]), m.axis_index("i"))
    return over(m, f)(m.some(1, 2))


# ---- gradients of one example's result, inside ----


@program
def grad_inside_of_psum(m: Any) -> Any:
    return over(m, m.grad(lambda x: m.psum(x * x, "i")))(m.some(3))


@program
def grad_inside_of_a_value_times_psum(m: Any) -> Any:
    return over(m, m.grad(lambda x: (x * m.psum(m.sin(x), "i")).sum()))(m.some(3, 2))


@program
def grad_inside_of_pmean(m: Any) -> Any:
    return over(m, m.value_and_grad(lambda x: m.pmean(m.exp(x), "i") * x))(m.some(4))


@program
def grad_inside_of_all_gather(m: Any) -> Any:
    f = lambda x: (m.all_gather(x, "i") * m.array([1.0, 10.0, 100.0])).sum() * x
    return over(m, m.grad(f))(m.array([1.0, 2.0, 3.0]))


@program
def grad_inside_of_ppermute(m: Any) -> Any:
    f = lambda x, w: w * m.ppermute(x, "i", [(0, 1), (1, 2), (2, 0)]) ** 2
    return over(m, m.grad(f))(m.some(3), m.array([1.0, 10.0, 100.0]))


@program
def grad_inside_of_all_to_all(m: Any) -> Any:
    f = lambda x, w: (m.all_to_all(x * x, "i", 0, 0) * w).sum()
    return over(m, m.grad(f))(m.some(2, 2), m.array([[1.0, 2.0], [10.0, 20.0]]))


@program
def grad_inside_of_psum_scatter(m: Any) -> Any:
    f = lambda x, w: (m.psum_scatter(x * x, "i", tiled=True) * w).sum()
    return over(m, m.grad(f))(m.some(2, 4), m.array([1.0, 10.0]))


@program
def grad_inside_of_axis_index(m: Any) -> Any:
    return over(m, m.grad(lambda x: x**2 * m.to_float(m.axis_index("i"))))(m.some(4))


@program
def grad_inside_over_two_axes(m: Any) -> Any:
    f = m.grad(lambda x, y: m.psum(m.sin(x * y), ("i", "j")) * x, argnums=(0, 1))
    return both(m, f)(m.some(2), m.some(3))


@program
def grad_inside_over_one_of_two_axes(m: Any) -> Any:
    f = m.grad(lambda x, y: m.psum(x * y, "j") ** 2, argnums=(0, 1))
    return both(m, f)(m.some(2), m.some(3))


@program
def data_parallel_gradients(m: Any) -> Any:
    loss = lambda w, x, y: (m.tanh(w @ x) - y) ** 2
    f = lambda w, x, y: m.pmean(m.grad(loss)(w, x, y), "i")
    return over(m, f, in_axes=(None, 0, 0), out_axes=None)(m.some(2), m.some(4, 2), m.some(4))


@program
def psum_of_a_gradient_of_trees(m: Any) -> Any:
    loss = lambda p, x: (p["w"] * x + p["b"]) ** 2
    f = lambda p, x: m.psum(m.grad(loss)(p, x), "i")
    return over(m, f, in_axes=(None, 0))({"w": m.array(1.5), "b": m.array(-0.5)}, m.some(4))


@program
def vjp_inside_of_psum_with_each_its_cotangent(m: Any) -> Any:
    def f(x: Any, ct: Any) -> Any:
        y, back = m.vjp(lambda x: m.psum(x * x, "i"), x)
        return y, back(ct)[0]

    return over(m, f)(m.some(3), m.array([1.0, 10.0, 100.0]))


@program
def jacobians_inside_of_psum(m: Any) -> Any:
    f = lambda x: m.psum(x * x, "i") * x[0]
    return over(m, m.jacfwd(f))(m.some(2, 2)), over(m, m.jacrev(f))(m.some(2, 2))


@program
def grad_inside_of_psum_in_a_scan(m: Any) -> Any:
    f = lambda x: m.scan(lambda c, _: (m.sin(c + m.pmean(c * x, "i")), None), x, None, length=2)[0]
    return over(m, m.grad(f))(m.some(3))


@program
def grad_inside_of_a_cond_that_psum_decides(m: Any) -> Any:
    f = lambda x: m.cond(m.psum(x, "i") > 0, lambda x: x**3, lambda x: x * m.psum(x, "i"), x)
    return over(m, m.grad(f))(m.some(3)), over(m, m.grad(f))(-m.some(3))


@program
def custom_vjp_that_sums_its_cotangents(m: Any) -> Any:
    f = m.custom_vjp(lambda w: w)
    f.defvjp(lambda w: (w, None), lambda _, ct: (m.psum(ct, "i"),))
    return over(m, m.grad(lambda w, x: (f(w) * x) ** 2), in_axes=(None, 0))(m.array(1.5), m.some(4))


@program
def custom_jvp_whose_rule_exchanges(m: Any) -> Any:
    f = m.custom_jvp(lambda x: x * x)
    f.defjvp(lambda primals, tangents: (f(primals[0]), m.pmean(primals[0] * tangents[0], "i")))
    return over(m, lambda x, v: m.jvp(f, (x,), (v,)))(m.some(3), m.array([1.0, 2.0, 3.0]))


@program
def grad_inside_under_a_vmap_of_other_examples(m: Any) -> Any:
    f = lambda x, y: m.psum(m.sin(x * y), "i") * x
    g = lambda y: over(m, m.grad(f), in_axes=(0, None))(m.some(3), y)
    return m.vmap(g)(m.some(2)), m.jacfwd(g)(m.array(0.5))


# ---- gradients of all examples, outside ----


@program
def grad_outside_of_psum(m: Any) -> Any:
    f = lambda x: (over(m, lambda x: x * m.psum(x * x, "i"))(x) * m.array([1.0, 2.0, 3.0])).sum()
    return m.grad(f)(m.some(3))


@program
def grad_outside_of_pmean(m: Any) -> Any:
    f = lambda x: (over(m, lambda x: (x - m.pmean(x, "i")) ** 2)(x)).sum()
    return m.grad(f)(m.some(4, 2))


@program
def grad_outside_of_what_all_share(m: Any) -> Any:
    f = lambda w: over(m, lambda x: m.sin(m.psum(w * x, "i") * x))(m.some(3)).sum()
    return m.value_and_grad(f)(m.array(1.5))


@program
def grad_outside_of_psum_of_what_all_share(m: Any) -> Any:
    return m.grad(lambda w: over(m, lambda x: x * m.psum(w * w, "i"))(m.some(3)).sum())(m.array(1.5))


@program
def grad_outside_of_all_gather(m: Any) -> Any:
    f = lambda x: over(m, lambda x: (m.all_gather(x, "i") * x).prod())(x).sum()
    return m.grad(f)(m.some(3) + 1.5)


@program
def grad_outside_of_ppermute(m: Any) -> Any:
    f = lambda x: (over(m, lambda x: x * m.ppermute(m.sin(x), "i", [(0, 2), (1, 0), (2, 1)]))(x)).sum()
    return m.grad(f)(m.some(3))


@program
def grad_outside_of_all_to_all(m: Any) -> Any:
    f = lambda x: (over(m, lambda x: x * m.all_to_all(m.sin(x), "i", 0, 0))(x) * m.some(2, 2)).sum()
    return m.grad(f)(m.array([[1.0, 2.0], [3.0, 4.0]]))


@program
def grad_outside_of_psum_scatter(m: Any) -> Any:
    f = lambda x: (over(m, lambda x: m.psum_scatter(x * x, "i"))(x) * m.array([1.0, 10.0])).sum()
    return m.grad(f)(m.some(2, 2))


@program
def grad_outside_over_two_axes(m: Any) -> Any:
    f = lambda x, y: (both(m, lambda x, y: x * m.psum(x * y, ("i", "j")) + m.pmean(m.exp(y), "j"))(x, y)).sum()
    return m.grad(f, (0, 1))(m.some(2), m.some(3))


@program
def hessian_outside_of_psum(m: Any) -> Any:
    return m.hessian(lambda x: over(m, lambda x: x * m.psum(x * x, "i"))(x).sum())(m.some(3))


@program
def gradient_of_batch_normalisation(m: Any) -> Any:
    def normal(x: Any) -> Any:
        mean = m.pmean(x, "i")
        return (x - mean) / m.sqrt(m.pmean((x - mean) ** 2, "i") + 1e-3)

    return m.grad(lambda x: (over(m, normal)(x) * m.some(3, 2)).sum())(m.some(3, 2) ** 2)


# ---- forward mode ----


@program
def jvp_inside_of_psum(m: Any) -> Any:
    f = lambda x, v: m.jvp(lambda x: x * m.psum(m.sin(x), "i"), (x,), (v,))
    return over(m, f)(m.some(3), m.array([1.0, 0.0, -2.0]))


@program
def jvp_inside_of_a_shared_tangent(m: Any) -> Any:
    f = lambda x: m.jvp(lambda x: x * m.pmean(x * x, "i"), (x,), (m.array(1.0),))
    return over(m, f)(m.some(3))


@program
def jvp_outside_of_psum_and_pmean(m: Any) -> Any:
    f = over(m, lambda x: (m.psum(x * x, "i") * x, m.pmean(x**3, "i")))
    return m.jvp(f, (m.some(3),), (m.array([1.0, 2.0, 3.0]),))


@program
def jvp_of_exchanges(m: Any) -> Any:
    f = lambda x: (
        m.all_gather(x * x, "i"),
        m.ppermute(x[0] * x[1], "i", [(0, 1), (1, 0)]),
        m.all_to_all(x**3, "i", 0, 0),
    )
    return m.jvp(over(m, f), (m.some(2, 2),), (m.array([[1.0, 2.0], [3.0, 4.0]]),))


@program
def jvp_of_psum_scatter(m: Any) -> Any:
    return m.jvp(over(m, lambda x: m.psum_scatter(x * x, "i")), (m.some(3, 3),), (m.ones((3, 3)),))


@program
def jacobians_across_examples(m: Any) -> Any:
    f = over(m, lambda x: x * m.psum(x, "i"))
    return m.jacfwd(f)(m.some(3)), m.jacrev(f)(m.some(3))


@program
def hessian_vector_product_inside(m: Any) -> Any:
    f = lambda x: m.psum(x**3, "i") * x
    return over(m, lambda x, v: m.jvp(m.grad(f), (x,), (v,)))(m.some(3), m.array([1.0, 2.0, 3.0]))


@program
def second_derivative_inside_of_psum(m: Any) -> Any:
    return over(m, m.grad(m.grad(lambda x: m.psum(x**3, "i"))))(m.some(3)), over(
        m, lambda x: m.grad(lambda x: m.jvp(lambda x: m.psum(x**3, "i") * x, (x,), (m.array(1.0),))[1])(x)
    )(m.some(3))


@program
def hessian_vector_products_inside_of_exchanges(m: Any) -> Any:
    swap = [(0, 1), (1, 0)]
    gathered = lambda x: (m.all_gather(x**3, "i") * m.array([1.0, 10.0])).sum() * x
    permuted = lambda x: m.ppermute(m.sin(x), "i", swap) * x
    hvp = lambda f: over(m, lambda x, v: m.jvp(m.grad(f), (x,), (v,))[1])(m.some(2), m.array([1.0, 2.0]))
    return hvp(gathered), hvp(permuted)


@program
def hessian_inside_of_pmean(m: Any) -> Any:
    f = lambda x: m.pmean((x[0] * x[1]) ** 2, "i") * x[0]
    return over(m, m.hessian(f))(m.some(2, 2))


@program
def jvp_inside_over_two_axes(m: Any) -> Any:
    f = lambda x, y: m.jvp(lambda x, y: m.psum(x * y, "i") * m.pmean(x, ("i", "j")), (x, y), (m.array(1.0), x))
    return both(m, f)(m.some(2), m.some(3))


# ---- with control flow ----


@program
def psum_in_a_scan(m: Any) -> Any:
    f = lambda xs: m.scan(lambda c, x: (c + m.psum(c * x, "i"), c), m.array(1.0), xs)
    return over(m, f)(m.some(3, 4))


@program
def ring_exchange_in_a_fori(m: Any) -> Any:
    ring = [(0, 1), (1, 2), (2, 0)]
    step = lambda i, s: (m.ppermute(s[0], "i", ring), s[1] * 2 + s[0])
    return over(m, lambda x: m.fori_loop(0, 3, step, (x, m.array(0.0)))[1])(m.some(3))


@program
def consensus_in_a_while(m: Any) -> Any:
    spread = lambda x: m.pmax(x, "i") - m.pmin(x, "i")
    step = lambda x: 0.5 * (x + m.pmean(x, "i"))
    return over(m, lambda x: m.while_loop(lambda x: spread(x) > 0.3, step, x))(m.some(4))


@program
def psum_in_an_unmapped_cond(m: Any) -> Any:
    f = lambda p, x: m.cond(p, lambda x: m.psum(x, "i") * x, lambda x: x, x)
    return [over(m, f, in_axes=(None, 0))(m.array(p), m.some(3)) for p in (True, False)]


@program
def psum_decides_a_cond(m: Any) -> Any:
    f = lambda x: m.cond(m.psum(x, "i") > 0, lambda x: x * 2, lambda x: -x, x)
    return over(m, f)(m.some(3)), over(m, f)(-m.some(3))


@program
def grad_of_psum_in_a_scan(m: Any) -> Any:
    f = lambda w: over(m, lambda x: m.scan(lambda c, _: (m.sin(c * w + m.pmean(c, "i")), None), x, None, length=3)[0])
    return m.grad(lambda w: (f(w)(m.some(3)) ** 2).sum())(m.array(0.7))


@program
def axis_index_in_a_loop_bound(m: Any) -> Any:
    return over(m, lambda x: m.fori_loop(0, m.axis_index("i"), lambda i, s: s * 2 + x, m.array(1.0)))(m.some(4))
