"""Functions with custom derivative rules give the same results under nested vmaps as functions without rules."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from tinygrad import Context, Tensor, dtypes, function

from branded import (
    all_gather,
    all_to_all,
    axis_index,
    brand,
    custom_jvp,
    custom_vjp,
    errors,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jit,
    jvp,
    pmax,
    pmean,
    ppermute,
    psum,
    psum_scatter,
    scan,
    stop_gradient,
    value_and_grad,
    vjp,
    vmap,
)
from tests.fuzz.rules import Generator, difference

pytestmark = pytest.mark.by_numpy


@pytest.fixture(autouse=True, scope="module")
def interpreted() -> Iterator[None]:
    with Context(DEV="PYTHON"):
        yield


F = Callable[..., Any]
with Context(DEV="PYTHON"):
    W, X, Y = Tensor(3.0), Tensor([1.0, 2.0, 3.0]), Tensor([1.0, 2.0])
    V, M = Tensor([10.0, 20.0, 30.0]), Tensor([[1.0, 2.0], [3.0, 4.0]])


def close(got: Tensor, wanted: Any) -> None:
    np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-5)


def by_jvp(f: F) -> F:
    g = custom_jvp(f)
    g.defjvp(lambda primals, tangents: jvp(f, primals, tangents))
    return g


def by_vjp(f: F) -> F:
    g = custom_vjp(f)
    g.defvjp(lambda *args: (f(*args), args), lambda args, ct: vjp(f, *args)[1](ct))
    return g


RULES = pytest.mark.parametrize("own", [by_jvp, by_vjp])


def leaves(x: Any) -> list[Tensor]:
    return [x] if isinstance(x, Tensor) else [y for part in x for y in leaves(part)]


def assert_same(program: Callable[[F], Any], own: Callable[[F], F]) -> None:
    """Assert that the program gives equal results with and without the rule."""
    with_rule, without = leaves(program(own)), leaves(program(lambda f: f))
    for x, y in zip(with_rule, without, strict=True):
        assert x.shape == y.shape
        np.testing.assert_allclose(x.numpy(), y.numpy(), rtol=1e-4, atol=1e-5)


def batched_and_unbatched(w: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """Return one result that varies with `x` and one that does not."""
    return (w * x).sum(), (w * w).sum()


@RULES
def test_result_varies_only_over_used_arguments(own: Callable[[F], F]) -> None:
    f = own(batched_and_unbatched)
    assert vmap(lambda x: f(W, x)[1], out_axes=None)(X).item() == 9
    assert vmap(lambda y: vmap(lambda x: f(W, x * y)[1])(X))(Y).shape == (2, 3)
    assert vmap(lambda y: vmap(lambda x: f(y, x)[1], out_axes=None)(X))(Y).tolist() == [1, 4]
    assert vmap(lambda y: vmap(lambda x: f(y, x)[1])(X))(Y).tolist() == [[1, 1, 1], [4, 4, 4]]
    assert vmap(lambda x: psum(f(W, x)[1], "i"), axis_name="i")(X).tolist() == [27, 27, 27]
    assert vmap(lambda x: all_gather(f(W, x)[1], "i"), axis_name="i", out_axes=None)(X).tolist() == [9, 9, 9]
    with brand("b", 3) as b:
        assert b.unvec(f(W, b.vec(X))[1]).tolist() == [9, 9, 9]
        assert f(W, b.vec(X))[1].item() == 9


def test_primal_is_unbatched_if_tangent_is_unused() -> None:
    """The rule's tangent varies over the examples, but no derivative here uses it."""
    f = custom_jvp(lambda x, w: w * 1)
    f.defjvp(lambda primals, tangents: (primals[1], primals[0].cos() * tangents[0]))

    def program(w: Tensor, y: Tensor) -> Tensor:
        shared = vmap(lambda x: f(x, w), out_axes=None)(X)
        return (shared * y).sum()

    assert grad(program, argnums=1)(W, Y).tolist() == jit(grad(program, argnums=1))(W, Y).tolist() == [3, 3]
    assert vmap(lambda y: jvp(lambda y: program(W, y), (y,), (y,))[1])(Y).tolist() == [3, 6]
    with pytest.raises(errors.AxesError, match="and the result varies over `x`"):
        grad(program)(W, Y)


@RULES
def test_psum_result_with_out_axes_none(own: Callable[[F], F]) -> None:
    total = own(lambda x: psum(x, "i"))
    assert vmap(total, axis_name="i", out_axes=None)(X).item() == 6
    assert grad(lambda xs: vmap(total, axis_name="i", out_axes=None)(xs))(X).tolist() == [1, 1, 1]
    in_a_function = function(lambda x: psum(x, "i"))
    assert vmap(in_a_function, axis_name="i", out_axes=None)(X).item() == 6


def test_rule_without_exchange_for_a_function_with_psum() -> None:
    """Each example has its own cotangent of the shared result, as in JAX, and a permuted batch has permuted slopes."""
    total = custom_vjp(lambda x: psum(x, "i"))
    total.defvjp(lambda x: (psum(x, "i"), None), lambda _, g: (g * 10,))
    both = custom_vjp(lambda x, w: (psum(x * w, "i"), x * w))
    both.defvjp(lambda x, w: (both(x, w), (x, w)), lambda r, g: (r[1] * (g[0] + g[1]), r[0] * (g[0] - g[1])))
    assert vmap(grad(total), axis_name="i")(X).tolist() == [10, 10, 10]
    assert vmap(lambda x, z: grad(lambda x: total(x) * z)(x), axis_name="i")(X, V).tolist() == (10 * V).tolist()
    assert grad(lambda xs: (vmap(total, axis_name="i")(xs) * V).sum())(X).tolist() == (10 * V).tolist()
    slopes = vmap(lambda x: grad(lambda w: both(x, w)[0])(W), axis_name="i")(X)
    assert slopes.tolist() == X.tolist()
    with pytest.raises(errors.AxesError, match="None needs a result that is the same for all examples"):
        grad(lambda xs: vmap(total, axis_name="i", out_axes=None)(xs))(X)


@RULES
def test_collectives_of_unbatched_values(own: Callable[[F], F]) -> None:
    for f in (
        lambda v: psum(v, "i"),
        lambda v: ppermute(v, "i", [(0, 1), (1, 2)]),
        lambda v: all_to_all(v, "i", 0, 0),
        lambda v: psum_scatter(v, "i"),
        lambda v: v * axis_index("i"),
    ):

        def program(own: Callable[[F], F], f: F = f) -> Any:
            g = own(f)
            inside = vmap(lambda x: (g(V), grad(lambda v: (g(v) * x).sum())(V)), axis_name="i")(X)
            return inside, grad(lambda v: (vmap(lambda x: g(v) * x, axis_name="i")(X)).sum())(V)

        assert_same(program, own)


@RULES
def test_unbatched_cotangent_counts_once(own: Callable[[F], F]) -> None:
    f = own(batched_and_unbatched)
    assert grad(lambda w: vmap(lambda x: f(w, x)[1], out_axes=None)(X))(W).item() == 6
    both = lambda w: vmap(lambda x: f(w, x), out_axes=(0, None))(X)  # noqa: E731
    assert grad(lambda w: both(w)[0].sum() + both(w)[1])(W).item() == 12
    assert grad(lambda w: grad(lambda w: both(w)[1] * w)(w))(W).item() == 18
    assert grad(lambda w: vmap(lambda x: f(w, x)[1], out_axes=None)(Tensor.zeros(0)))(W).item() == 6
    with brand("b", 3) as b:
        assert b.unvec(grad(lambda w: sum(f(w, b.vec(X))))(W)).tolist() == [7, 8, 9]


def test_unbatched_tangent_counts_once() -> None:
    f = custom_jvp(batched_and_unbatched)
    f.defjvp(lambda p, t: (f(*p), (p[0] * t[1] + p[1] * t[0], 2 * p[0] * t[0] + 0 * p[1])))  # batched by 0 * p[1]
    y, dy = jvp(lambda w: vmap(lambda x: f(w, x), out_axes=(0, None))(X), (W,), (Tensor(1.0),))
    assert [t.tolist() for t in (*y, *dy)] == [[3, 6, 9], 9, [1, 2, 3], 6]


@RULES
def test_vmap_inside_custom_rule(own: Callable[[F], F]) -> None:
    for f in (
        lambda x: vmap(lambda y: x + y)(Y).sum(),
        lambda x: vmap(lambda y: x * y * psum(x, "i"))(Y).sum(),
        lambda x: jacfwd(lambda v: v * v * x)(Y).sum(),
        lambda x: vmap(lambda y: own(batched_and_unbatched)(x, y)[1], out_axes=None)(Y),
        lambda x: scan(
            lambda c, y: (vmap(lambda z: own(batched_and_unbatched)(c, z)[1], out_axes=None)(Y) * 0.1 + y, None), x, Y
        )[0],
    ):

        def program(own: Callable[[F], F], f: F = f) -> Any:
            g = own(f)
            inside = vmap(lambda x: (g(x), grad(lambda x: g(x) ** 2)(x)), axis_name="i")(X)
            return inside, grad(lambda xs: (vmap(g, axis_name="i")(xs) ** 2).sum())(X)

        assert_same(program, own)


@RULES
def test_rule_closes_over_batched_value(own: Callable[[F], F]) -> None:
    def program(own: Callable[[F], F]) -> Any:
        def body(x: Tensor, s: Tensor) -> Any:
            s = stop_gradient(s)
            return own(lambda x: x * s + psum(x * s, "i"))(x) ** 2

        outside = grad(lambda xs: vmap(body, axis_name="i")(xs, V).sum())(X)
        return outside, vmap(grad(body), axis_name="i")(X, V)

    assert_same(program, own)


@RULES
def test_rule_sees_brands_of_its_call(own: Callable[[F], F]) -> None:
    total = own(lambda v: psum(v, "i") * 2)
    assert grad(lambda w: vmap(lambda x: total(w), axis_name="i", out_axes=None)(X))(W).item() == 6
    nested = lambda w: vmap(lambda x: vmap(lambda y: total(w * y))(Y).sum(), axis_name="i")(X).sum()  # noqa: E731
    assert grad(nested)(W).item() == 54
    with pytest.raises(errors.NameUnboundError, match="no brand 'i' is open"):
        total(W)


@RULES
def test_collectives_inside_and_outside_rule(own: Callable[[F], F]) -> None:
    def program(own: Callable[[F], F]) -> Any:
        g = own(lambda w, x: (psum_scatter(x, "i") * x, w * 1))
        loss = lambda w, x: (psum(x, "i") * g(w, x)[0]).sum() + g(w, x)[1].sin().sum()  # noqa: E731
        each = lambda w: vmap(lambda x: grad(loss, argnums=(0, 1))(w, x), axis_name="i")(M)  # noqa: E731
        second = grad(lambda w: sum(t.sin().sum() for t in each(w)))(Y)
        return each(Y), second

    assert_same(program, own)


def test_grad_of_outer_collective_in_inner_vmap() -> None:
    each = lambda f: vmap(lambda x: grad(f)(x), axis_name="i")(X).tolist()  # noqa: E731
    assert each(lambda x: vmap(lambda y: psum(x, "i") * y)(Y).sum()) == [9, 9, 9]
    assert each(lambda x: vmap(lambda y: psum(x * x, "i") * y)(Y).sum()) == [18, 36, 54]
    assert each(lambda x: vmap(lambda y: psum(x, "i"), out_axes=None)(Y)) == [3, 3, 3]
    slope = lambda x: jvp(lambda x: vmap(lambda y: psum(x * x, "i") * y)(Y).sum(), (x,), (x,))[1]  # noqa: E731
    assert vmap(slope, axis_name="i")(X).tolist() == [84, 84, 84]


def test_jvp_of_function_with_psum() -> None:
    total = function(lambda x: psum(x, "i"))
    slopes = vmap(lambda x: jvp(total, (x,), (x,))[1], axis_name="i")(X)
    assert slopes.tolist() == [6, 6, 6]


def test_jacfwd_of_grad_of_psum() -> None:
    def program(x: Tensor) -> Tensor:
        inner = lambda v, w: grad(lambda w: psum(v.sum() * w, "n").sin().sum())(w)  # noqa: E731
        return jacfwd(lambda v: vmap(lambda w: inner(v, w))(M).sum())(x)

    got = vmap(program, axis_name="n")(Tensor([[1.0, 2.0], [0.5, 0.3], [0.1, 0.2]]))
    wanted = [[59.373817] * 2, [14.250792] * 2, [3.9955583] * 2]
    np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-4)


def test_grad_of_pmean_of_unbatched_value() -> None:
    mean = lambda x: pmean(x, "i").sum()  # noqa: E731
    assert vmap(lambda x: grad(mean)(Y), axis_name="i")(X).tolist() == [[1, 1]] * 3


@pytest.mark.parametrize("size", [0, 1, 2])
def test_unbatched_gradient_with_out_axes_none(size: int) -> None:
    v, mapped = Tensor([0.5, 2.0]), {"axis_name": "i", "axis_size": size, "in_axes": None}
    losses: list[F] = [
        lambda x: psum(x.sin(), "i").sum(),
        lambda x: (psum(x[1:].flip(0), "i") * x).sum(),
        lambda x: pmax((x.reshape(1, 2) @ x.reshape(2, 1)), "i").sum(),
        lambda x: psum(x.softmax(), "i")[0],
    ]
    for f in losses:
        one = vmap(grad(f), out_axes=None, **mapped)(v)
        each = vmap(lambda x: grad(f)(x), out_axes=0, **mapped)(v)
        assert one.shape == (2,)
        np.testing.assert_allclose(each.numpy(), np.broadcast_to(one.numpy(), (size, 2)))


def test_batched_gradient_needs_an_out_axis() -> None:
    first = grad(lambda x: all_gather(x, "i")[0].sum())
    assert vmap(lambda _: first(Y), axis_name="i")(Tensor.ones(2)).tolist() == [[2, 2], [0, 0]]
    with pytest.raises(errors.AxesError, match="the result varies over `i`"):
        vmap(lambda _: first(Y), axis_name="i", out_axes=None)(Tensor.ones(2))


def test_second_derivative_of_unbatched_gradient() -> None:
    """Simplifying an unbatched gradient must not hide it from outer derivatives."""
    slope = grad(lambda x: (psum(x.sin(), "i") * x).sum())
    inner = lambda _: grad(lambda x: (slope(x) * slope(x)).sum())(Y)  # noqa: E731

    def by_hand(n: int) -> Any:
        # L = sum_k (sum_j sin x_j) x_k, so g_k = n m cos x_k + sum_j sin x_j; the outer loss is sum_k g_k ** 2
        x = np.array([1.0, 2.0])
        g = n * x * np.cos(x) + n * np.sin(x)
        return 2 * n * g * (2 * np.cos(x) - x * np.sin(x))

    for n in (1, 2):
        got = vmap(inner, axis_name="i")(Tensor.ones(n)).numpy()
        np.testing.assert_allclose(got, np.broadcast_to(by_hand(n), (n, 2)), rtol=1e-5)


@pytest.mark.parametrize("size", [1, 2])
def test_batched_leaf_stays_batched_in_outer_grad(size: int) -> None:
    """The leaf `v` of the outer derivative is batched, though the value it is made from is unbatched."""
    mapped = {"axis_name": "i", "axis_size": size, "in_axes": None}

    def of_each(v: Tensor) -> Tensor:
        return grad(lambda w: psum((w * v).sin(), "i").sum())(Y)

    slope = grad(lambda v: (of_each(v) * of_each(v)).sum())
    copied = vmap(lambda x: x, axis_size=size, in_axes=None)(Y * 0 + 0.5)
    got = vmap(slope, axis_name="i")(copied).numpy()
    w, v = np.array([1.0, 2.0]), 0.5
    # g_k = n v cos(w v) is the same for all examples; its derivative is taken by the v_k of one example
    g, dg = size * v * np.cos(w * v), size * (np.cos(w * v) - w * v * np.sin(w * v))
    np.testing.assert_allclose(got, np.broadcast_to(2 * g * dg, (size, 2)), rtol=1e-5)
    shared = vmap(lambda _: of_each(Tensor([0.5, 0.5])), out_axes=None, **mapped)(Y)
    np.testing.assert_allclose(shared.numpy(), g, rtol=1e-5)


def test_rule_returns_cotangent_of_unused_value() -> None:
    f = custom_vjp(lambda total, x: x * 1)
    f.defvjp(lambda total, x: (x * 1, None), lambda _, ct: (ct, 2 * ct))
    slope = grad(lambda x: f(all_gather(x, "i").sum(0), x).sum())
    assert vmap(slope, axis_name="i")(X).tolist() == [5, 5, 5]
    again = grad(lambda x: (slope(x) * x).sum())
    assert vmap(again, axis_name="i")(X).tolist() == [5, 5, 5]


@RULES
def test_zero_derivative_is_unbatched(own: Callable[[F], F]) -> None:
    """A zero derivative times a batched value stays an unbatched zero, inside the rule and after it."""
    f = own(lambda x: (Y * 3, x.sin()))
    slope = lambda x: grad(lambda w: (f(w * x)[0] * w).sum())(Y)  # noqa: E731
    assert vmap(slope, out_axes=None)(X).tolist() == [3, 6]


@RULES
def test_explicit_zero_cotangent_is_a_number(own: Callable[[F], F]) -> None:
    """A missing derivative times infinity is zero; an explicit zero times infinity is NaN."""
    none, zero = (lambda w: w.detach() * 2), Y.const_like(0)
    flat, steep = own(none), own(lambda w: w * math.inf)
    assert grad(lambda w: flat(steep(w)).sum())(Y).tolist() == [0, 0]
    assert np.isnan(vjp(steep, Y)[1](zero)[0].numpy()).all()
    if own is by_jvp:
        assert jvp(lambda w: steep(flat(w)), (Y,), (Y,))[1].tolist() == [0, 0]
        assert np.isnan(jvp(steep, (Y,), (zero,))[1].numpy()).all()


def test_zero_tangent_from_rule_is_a_number() -> None:
    none, zero, steep = (lambda w: w.detach() * 2), Y.const_like(0), lambda w: w * math.inf
    given = custom_jvp(none)
    given.defjvp(lambda primals, tangents: (none(*primals), zero))
    assert np.isnan(jvp(lambda w: steep(given(w)), (Y,), (Y,))[1].numpy()).all()
    # the rule's tangent does not depend on its input, so there is nothing to transpose
    assert grad(lambda w: given(steep(w)).sum())(Y).tolist() == [0, 0]
    pulled = custom_vjp(none)
    pulled.defvjp(lambda w: (none(w), None), lambda _, ct: (zero,))
    assert np.isnan(grad(lambda w: pulled(steep(w)).sum())(Y).numpy()).all()


def test_write_into_zero_gradient() -> None:
    """Two zero gradients are separate values, though both come from the same zero."""

    def loss(w: Tensor) -> Tensor:
        slope = grad(lambda v: (v.detach() * 2).sum())(w)
        other = grad(lambda v: (v.detach() * 2).sum())(w)
        slope[0] = w[1]
        return (slope * w + other).sum()

    assert grad(loss)(Y).tolist() == [2, 1]
    assert vmap(lambda x: grad(loss)(Y * x))(X[:2]).tolist() == [[2, 1], [4, 2]]


@RULES
def test_unbatched_gradient_through_nested_rules(own: Callable[[F], F]) -> None:
    f = own(lambda w: own(lambda v: v.sin())(w) * w)
    slope = grad(lambda w: psum(f(w), "i").sum())
    wanted = np.sin([1, 2]) + np.array([1, 2]) * np.cos([1, 2])
    got = vmap(lambda _: slope(Y), axis_name="i", out_axes=None)(X)
    np.testing.assert_allclose(got.numpy(), 3 * wanted, rtol=1e-5)


@RULES
def test_derivative_outside_vmap_over_no_examples(own: Callable[[F], F]) -> None:
    def loss(f: F, w: Tensor) -> Tensor:
        return vmap(lambda _: f(w), axis_name="i", out_axes=None)(Tensor.zeros(0)).sum()

    for inside in (lambda w: 3 * w, lambda w: w.sin()):
        f = own(lambda w: inside(w) + all_gather(w, "i").sum(0))
        wanted = grad(lambda w: inside(w).sum())(Y).tolist()
        for g in (f, own(lambda w: f(w))):
            assert grad(lambda w: loss(g, w))(Y).tolist() == wanted


def test_pmean_over_no_examples_is_nan() -> None:
    none = Tensor.zeros(0, 2)
    assert np.isnan(vmap(lambda x: pmean(x, "i"), axis_name="i", out_axes=None)(none).numpy()).all()
    assert np.isnan(vmap(lambda x: pmean(Y, "i"), axis_name="i", out_axes=None)(none).numpy()).all()


def test_weakint_is_an_argument_of_a_loop() -> None:
    def total(x: Tensor) -> Tensor:
        weak = x.cast(dtypes.int32).cast(dtypes.weakint)
        return scan(lambda c, y: ((weak + c.cast(dtypes.weakint)).float(), None), Tensor(0.0), Y)[0]

    assert vmap(total)(X).tolist() == [2, 4, 6]


@pytest.mark.parametrize(
    "number", [*range(100, 112), 5028, 5082, 5119, 5129, 5148, 5168, 5171, 5283, 5299, 5321, 5382, 6470]
)
def test_random_programs_match_without_rules(number: int) -> None:
    assert difference(Generator(number).case()) is None


def tripled(factor: float = 2) -> Any:
    """Return `2 * x` whose reverse-mode rule claims the value `factor * x` and the slope `3 * cos(x)`."""
    f = custom_vjp(lambda x: x * 2)
    f.defvjp(lambda x: (x * factor, x), lambda x, ct: (3 * ct * x.cos(),))
    return f


def test_reverse_mode_value_is_from_forward_rule() -> None:
    """Forward mode over reverse mode then works, because no reverse-only rule is left in the graph."""
    f, x = tripled(20), Tensor(1.5)
    assert (f(x).item(), vjp(f, x)[0].item(), value_and_grad(f)(x)[0].item()) == (3, 30, 30)
    assert vjp(lambda x: f(f(x)), x)[0].item() == 600
    close(jvp(lambda x: vjp(f, x)[0], (x,), (x,))[1], 30)
    g = tripled()
    close(jvp(grad(g), (x,), (Tensor(1.0),))[1], -3 * math.sin(1.5))
    wanted = 2 * (2 * 3 * math.cos(1.5) - 2 * 1.5 * 3 * math.sin(1.5))
    close(hessian(lambda x: g(x) ** 2)(x), wanted)
    close(vmap(hessian(lambda x: g(x) ** 2))(Tensor([1.5, 1.5])), [wanted] * 2)
    with pytest.raises(errors.DerivativeError, match="only a reverse-mode rule"):
        jvp(lambda x: vjp(lambda y: g(x) * y, x)[0], (x,), (x,))


@pytest.mark.parametrize("inner", ["plain", "vmap"])
def test_jvp_rule_over_vjp_only_function(inner: str) -> None:
    """Reverse mode transposes the jvp rule, and the function inside it has only a known transpose."""
    g = tripled() if inner == "plain" else lambda x: vmap(tripled())(x.expand(2))[1]
    h = custom_jvp(lambda x: g(x))
    h.defjvp(lambda primals, tangents: jvp(g, primals, tangents))
    xs = Tensor([1.5, 2.5])
    wanted = 3 * np.cos(xs.numpy())
    close(vmap(grad(h))(xs), wanted)
    close(grad(lambda xs: vmap(h)(xs).sum())(xs), wanted)
    close(vmap(grad(lambda xs: vmap(h)(xs).sum()))(xs.reshape(1, 2)), [wanted])
    with pytest.raises(errors.DerivativeError, match="only a reverse-mode rule"):
        jvp(h, (xs[0],), (xs[0],))
    odd = custom_jvp(lambda x: g(x))
    odd.defjvp(lambda primals, tangents: (g(*primals), jvp(g, primals, tangents)[1].sin()))
    with pytest.raises(errors.DerivativeError, match="only a reverse-mode rule"):
        grad(odd)(xs[0])


def test_forward_rule_may_return_python_number() -> None:
    f = custom_vjp(lambda x: (x * 2, Tensor(3)))
    f.defvjp(lambda x: ((x * 2, 3), None), lambda residuals, ct: (ct[0],))
    y, pullback = vjp(f, Tensor(1.0))
    assert (y[0].item(), y[1].item(), y[1].dtype) == (2, 3, dtypes.int)
    assert pullback((Tensor(1.0), Tensor(0.0)))[0].item() == 1


def test_forward_rule_result_must_match_shape() -> None:
    f = custom_vjp(lambda x: x * 2)
    f.defvjp(lambda x: (x.sum(), None), lambda residuals, ct: (ct,))
    with pytest.raises(errors.DerivativeError, match="custom_vjp: the value from the rule of <lambda>"):
        grad(lambda x: f(x).sum())(Tensor([1.0, 2.0]))


def test_reverse_mode_uses_forward_rule_in_loops() -> None:
    f = custom_vjp(lambda x: x * 1)
    f.defvjp(lambda x: (x + 100, x), lambda x, ct: (5 * x * ct,))
    xs = Tensor([1.0, 2.0])

    def loop(x: Tensor) -> Any:
        return scan(lambda c, y: (f(c) * y, f(c + y)), x, xs)

    last, seen = vjp(loop, Tensor(2.0))[0]
    assert (last.item(), seen.tolist()) == (404, [103, 204])
    assert [y.tolist() for y in loop(Tensor(2.0))] == [4, [3, 4]]
    value, slope = value_and_grad(lambda x: loop(x)[0])(Tensor(2.0))
    assert (value.item(), slope.item()) == (404, 5 * 2 * 5 * 102 * 2)
    assert vmap(lambda x: vjp(loop, x)[0][0])(Tensor([2.0, 3.0])).tolist() == [404, 406]
    nested = lambda x: scan(lambda c, y: (loop(c)[0] + y, None), x, xs)[0]  # noqa: E731
    assert vjp(nested, Tensor(2.0))[0].item() == ((102 * 1 + 100) * 2 + 1 + 100 + 100) * 2 + 2


def test_jvp_rule_of_loop_over_vjp_only_function() -> None:
    f = custom_vjp(lambda x: x * 1)
    f.defvjp(lambda x: (x * 1, x), lambda x, ct: (5 * x * ct,))
    xs = Tensor([3.0, 2.0])

    def loop(x: Tensor) -> Any:
        return scan(lambda c, y: (f(c) * y, f(c + y)), x, xs)

    total = lambda x: loop(x)[0] + loop(x)[1].sum()  # noqa: E731
    g = custom_jvp(lambda x: x * 2)
    g.defjvp(lambda primals, tangents: jvp(total, primals, tangents))
    right = [grad(total)(Tensor(x)).item() for x in (2.0, 3.0)]
    assert grad(g)(Tensor(2.0)).item() == right[0]
    assert vmap(grad(g))(Tensor([2.0, 3.0])).tolist() == right
    assert grad(lambda xs: vmap(g)(xs).sum())(Tensor([2.0, 3.0])).tolist() == right
    with pytest.raises(errors.DerivativeError, match="has only a reverse-mode rule"):
        jvp(g, (Tensor(2.0),), (Tensor(1.0),))


def test_aux_value_is_from_forward_rule() -> None:
    """The derivative of the auxiliary value follows the forward rule, not the backward rule."""
    f, x = tripled(20), Tensor(1.5)
    beside = lambda x: (f(x), {"n": 3, "y": f(f(x)), "x": x})  # noqa: E731
    ways: list[Callable[[Tensor], Any]] = [
        lambda x: grad(beside, has_aux=True)(x)[1],
        lambda x: value_and_grad(beside, has_aux=True)(x)[0][1],
        lambda x: jacrev(beside, has_aux=True)(x)[1],
    ]
    for way in ways:
        aux = way(x)
        assert (aux["n"], aux["x"].item(), aux["y"].item()) == (3, 1.5, 600)
        close(grad(lambda x, way=way: way(x)["y"])(x), 400)
        close(vmap(grad(lambda x, way=way: way(x)["y"]))(Tensor([1.5, 2.5])), [400, 400])
    assert vjp(beside, x, has_aux=True)[2]["y"].item() == 600
    assert vjp(beside, x, has_aux=True)[2]["n"] == 3


def test_unused_tangent_needs_no_rule() -> None:
    f = tripled()
    g = custom_jvp(lambda x, y: x.sin())
    g.defjvp(lambda primals, tangents: (primals[0].sin(), primals[0].cos() * tangents[0]))
    xs = Tensor([1.5, 2.5])

    def loop(x: Tensor) -> Tensor:
        return scan(lambda c, y: (c, g(x, f(x)) * y), 0.0, Tensor([1.0, 2.0]))[1].sum()

    wanted = 3 * np.cos(xs.numpy())
    for run in (loop, lambda x: 3 * g(x, f(x))):
        close(vmap(lambda x, run=run: jvp(run, (x,), (1.0,))[1])(xs), wanted)
        close(jvp(vmap(run), (xs,), (Tensor([1.0, 1.0]),))[1], wanted)
        close(vmap(jacfwd(run))(xs), wanted)
    for wrong in (f, lambda x: loop(x) + f(x), lambda x: scan(lambda c, y: (f(c), None), x, xs)[0]):
        with pytest.raises(errors.DerivativeError, match="has only a reverse-mode rule"):
            jvp(wrong, (Tensor(1.0),), (Tensor(1.0),))
