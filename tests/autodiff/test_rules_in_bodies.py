"""Custom rules of functions called inside loops, branches, checkpoints, chunks and `function`.

A rule may use a closed-over tensor, a value of the loop step, or the mapped value.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from tinygrad import Context, Tensor, function

import branded
from branded import (
    checkpoint,
    cond,
    custom_jvp,
    custom_vjp,
    custom_vmap,
    errors,
    fori_loop,
    grad,
    hessian,
    jit,
    jvp,
    linalg,
    make_expr,
    scan,
    sequential_vmap,
    stop_gradient,
    tree,
    value_and_grad,
    vmap,
    while_loop,
)
from tests.fuzz.rules import InBodies, problem

pytestmark = pytest.mark.by_numpy


@pytest.fixture(autouse=True, scope="module")
def interpreted() -> Iterator[None]:
    with Context(DEV="PYTHON"):
        yield


F = Callable[..., Any]
with Context(DEV="PYTHON"):
    W, XS, TS = (Tensor(x).realize() for x in ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0, 4.0, 5.0], [1.0, 1.0, 2.0, 2.0, 1.0]))
    MS, TWO = Tensor([2.0, 3.0]).realize(), Tensor(2.0).realize()


def close(got: Any, wanted: Any) -> None:
    for x, y in zip(tree.leaves(got), wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
        np.testing.assert_allclose(x.numpy(), y, rtol=1e-4)


def by_jvp(of: Callable[[Any], Any]) -> F:
    """Return `x * of(x)` whose rule calls `of` too."""
    f = custom_jvp(lambda x: x * of(x))
    f.defjvp(lambda p, t: (f(*p), t[0] * of(p[0])))
    return f


def by_vjp(of: Callable[[Any], Any]) -> F:
    f = custom_vjp(lambda x: x * of(x))
    f.defvjp(lambda x: (x * of(x), x), lambda x, ct: (ct * of(x),))
    return f


RULES = pytest.mark.parametrize("rule", [by_jvp, by_vjp])


# ---- closed-over tensors ----


def outside(rule: Callable[..., F]) -> F:
    """Return six times the argument; the six comes from a closed-over tensor."""
    return rule(lambda _: W.sum())


def chunked(f: F) -> F:
    return vmap(f, chunk_size=2)


@RULES
def test_reverse_mode_of_chunked_vmap(rule: Callable[..., F]) -> None:
    close(grad(lambda xs: chunked(outside(rule))(xs).sum())(XS), [6.0] * 5)
    close(grad(lambda xs: chunked(outside(rule))(xs).square().sum())(XS), 72 * XS.numpy())


def test_forward_mode_of_chunked_vmap() -> None:
    close(jvp(chunked(outside(by_jvp)), (XS,), (TS,)), (6 * XS.numpy(), 6 * TS.numpy()))
    close(hessian(lambda xs: chunked(outside(by_jvp))(xs).square().sum())(XS), 72 * np.eye(5))


@pytest.mark.compiled
@RULES
def test_rule_closes_over_mapped_value_of_chunk(rule: Callable[..., F]) -> None:
    close(grad(lambda t: chunked(lambda x: rule(lambda _: x)(t))(XS).sum())(2.0), 15.0)
    if rule is by_jvp:
        close(jvp(lambda t: chunked(lambda x: rule(lambda _: x)(t))(XS), (2.0,), (1.0,))[1], XS.numpy())


@pytest.mark.compiled
def test_derivative_by_python_number_in_chunks() -> None:
    """A Python number has no buffer that the call of a chunk could read."""
    close(jvp(lambda t: chunked(lambda x: t * x)(XS), (2.0,), (1.0,)), (2 * XS.numpy(), XS.numpy()))
    close(grad(lambda t: chunked(lambda x: t * x)(XS).sum())(2.0), 15.0)


BODIES: dict[str, Callable[[F], F]] = {
    "checkpoint": checkpoint,
    "dots": functools.partial(checkpoint, policy="dots"),
    "in a scan": lambda f: lambda x: scan(lambda c, _: (checkpoint(f)(c), None), x, None, length=1)[0],
    "in fori_loop": lambda f: lambda x: fori_loop(0, 1, lambda i, c: checkpoint(f)(c), x),
    "in a branch": lambda f: lambda x: cond(x > 0, checkpoint(f), lambda x: x, x),
    "in a jit": lambda f: jit(checkpoint(f)),
    "sequential_vmap": lambda f: sequential_vmap(f),
    "function": lambda f: function(allow_implicit=True)(lambda x: f(x)),
    "function in function": lambda f: function(allow_implicit=True)(function(allow_implicit=True)(lambda x: f(x))),
}


@pytest.mark.parametrize("name", BODIES)
def test_rule_in_body_uses_closed_over_tensor(name: str) -> None:
    f, g = BODIES[name](outside(by_jvp)), BODIES[name](outside(by_vjp))
    close(jvp(f, (TWO,), (TWO,)), (12.0, 12.0))
    close(jvp(vmap(f), (XS,), (TS,))[1], 6 * TS.numpy())
    close((grad(f)(TWO), grad(g)(TWO)), (6.0, 6.0))
    close((grad(lambda xs: vmap(f)(xs).sum())(XS), vmap(grad(g))(XS)), ([6.0] * 5, [6.0] * 5))
    close(vmap(hessian(lambda x: f(x) * f(x)))(XS), [72.0] * 5)


def test_function_in_rule_uses_stop_gradient() -> None:
    """The value is an argument of the function, hidden by its stop_gradient."""

    def f(w: Any) -> Any:
        held = stop_gradient(w)
        return by_jvp(lambda _: function(allow_implicit=True)(lambda y: y * held)(MS).sum())(w)

    close((grad(f)(TWO), jvp(f, (TWO,), (TWO,))[1]), (10.0, 20.0))


# ---- values of a loop step ----


def static(rule: Callable[..., F]) -> Callable[[Any, Any], Any]:
    """Return `a * m` with a rule and the non-differentiable argument `m`."""
    if rule is by_jvp:
        f = custom_jvp(lambda a, m: a * m, nondiff_argnums=(1,))
        f.defjvp(lambda m, p, t: (p[0] * m, t[0] * m))
        return f
    g = custom_vjp(lambda a, m: a * m, nondiff_argnums=(1,))
    g.defvjp(lambda a, m: (a * m, None), lambda m, _, ct: (ct * m,))
    return g


LOOPS: dict[str, tuple[Callable[[F], F], float]] = {
    "scan": (lambda r: lambda x: scan(lambda c, m: (r(c, m), None), x, MS)[0], 6),
    "a value of the body": (lambda r: lambda x: scan(lambda c, m: (r(c, (m * m).sin()), None), x, MS)[0], -0.311896),
    "a carry": (lambda r: lambda x: scan(lambda c, m: ((r(*c), c[1] + m), None), (x, TWO), MS)[0][0], 8),
    "fori_loop": (lambda r: lambda x: fori_loop(1, 4, lambda i, c: r(c, i), x), 6),
    "map": (lambda r: lambda x: branded.map(lambda m: r(x, m), MS).sum(), 5),
    "unroll": (lambda r: lambda x: scan(lambda c, m: (r(c, m), None), x, MS, unroll=2)[0], 6),
    "a scan in a scan": (
        lambda r: lambda x: scan(lambda c, m: (scan(lambda d, n: (r(d, m + n), None), c, MS)[0], None), x, MS)[0],
        20 * 30,
    ),
    "a checkpoint": (lambda r: lambda x: scan(lambda c, m: (checkpoint(r)(c, m), None), x, MS)[0], 6),
    "a branch": (lambda r: lambda x: scan(lambda c, m: (cond(m > 2, r, lambda c, m: c, c, m), None), x, MS)[0], 3),
    "sequential_vmap": (lambda r: lambda x: vmap(sequential_vmap(lambda m: r(x, m)))(MS).sum(), 5),
    "jit": (lambda r: jit(lambda x: scan(lambda c, m: (r(c, m), None), x, MS)[0]), 6),
}


def closing(rule: Callable[..., F]) -> Callable[[Any, Any], Any]:
    return lambda c, m: rule(lambda _: m)(c)


@RULES
@pytest.mark.parametrize("way", [static, closing])
@pytest.mark.parametrize("name", LOOPS)
def test_rule_uses_value_of_loop_step(name: str, way: Any, rule: Callable[..., F]) -> None:
    loop, wanted = LOOPS[name]
    f = loop(way(rule))
    if name == "a value of the body":
        wanted = float(np.sin(4) * np.sin(9))
    close(grad(f)(TWO), wanted)
    close(vmap(grad(f))(XS[:2]), [wanted] * 2)
    close(grad(lambda xs: vmap(f)(xs).sum())(XS[:2]), [wanted] * 2)
    close(grad(grad(lambda x: f(x) * f(x)))(TWO), 2 * wanted * wanted)
    if rule is by_jvp:
        close(jvp(f, (TWO,), (TWO,))[1], 2 * wanted)
        close(jvp(vmap(f), (XS[:2],), (TS[:2],))[1], [wanted] * 2)


def test_forward_mode_of_while_loop() -> None:
    def f(x: Any) -> Any:
        return while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, by_jvp(lambda _: s[0] + 1)(s[1])), (0.0, x))[1]

    close(jvp(f, (TWO,), (TWO,)), (12.0, 12.0))
    close(vmap(lambda x: jvp(f, (x,), (x,))[1])(XS), 6 * XS.numpy())


def test_rule_closing_over_carry_is_an_error() -> None:
    """The same error is raised outside a loop: the rule has no derivative by the closed-over value."""
    with pytest.raises(errors.DerivativeError, match="closes over a differentiated value"):
        grad(lambda x: scan(lambda c, m: (closing(by_jvp)(m, c), None), x, MS)[0])(TWO).realize()
    close(grad(lambda x: scan(lambda c, m: (c + closing(by_jvp)(m, stop_gradient(c)), None), x, MS)[0])(TWO), 1.0)


def test_rule_in_body_may_branch_but_not_read() -> None:
    """The predicate is unknown when the rule is traced, so both branches are computed."""
    g = by_jvp(lambda x: cond(x > 3, lambda: x * 0 + 2, lambda: x * 0 + 5))
    loop = lambda x: scan(lambda c, _: (g(c), None), x, None, length=2)[0]  # noqa: E731
    close((grad(loop)(TWO), jvp(loop, (TWO,), (TWO,))[1]), (10.0, 20.0))
    close((grad(checkpoint(g))(TWO), vmap(grad(loop))(XS[:2])), (5.0, [10.0, 10.0]))
    read = by_jvp(lambda x: x if type(x) is float else 2)
    read.defjvp(lambda p, t: (read(*p), t[0] * (2 if p[0].item() > 0 else 1)))
    close(grad(read)(TWO), 2.0)
    with pytest.raises(errors.ReadError) as e:
        grad(lambda x: scan(lambda c, _: (read(c), None), x, None, length=2)[0])(TWO)
    assert str(e.value).startswith("item: a rule is traced, so there is no value to read\n")


# ---- rules that apply the function to a tangent ----


def test_rule_applies_its_function_to_tangent() -> None:
    f = custom_jvp(lambda x: 2 * x.flip(0))
    f.defjvp(lambda p, t: (f(*p), f(*t)))
    g = custom_jvp(lambda x, y: f(x) + y)
    g.defjvp(lambda p, t: (g(*p), g(*t)))
    a, b = XS[:2], XS[2:4]
    loss = lambda x: (f(x) * b).sum()  # noqa: E731
    close(grad(loss)(a), [8.0, 6.0])
    close(vmap(grad(loss))(a.stack(b)), [[8.0, 6.0]] * 2)
    close(hessian(lambda x: f(x).square().sum())(a), 8 * np.eye(2))
    close(grad(lambda x: scan(lambda c, _: (f(c), None), x, None, length=3)[0][0])(a), [0.0, 8.0])
    close(grad(lambda x: (g(x, x * x) * b).sum())(a), [8.0 + 2 * 3, 6.0 + 4 * 4])


# ---- functions that bind arguments by name ----


def scaled(x: Any, by: float = 1.0, *, plus: float = 0.0) -> Any:
    return x * by + plus


def test_partial_with_keyword_arguments() -> None:
    f = custom_jvp(functools.partial(scaled, by=3.0))
    f.defjvp(lambda p, t: (f(*p), t[0] * 5))
    g = custom_vjp(functools.partial(scaled, by=3.0))
    g.defvjp(lambda x: (3 * x, None), lambda _, ct: (ct * 5,))
    h = custom_vmap(functools.partial(scaled, by=3.0))
    h.def_vmap(lambda size, batched, x: (x * 5, True))
    close((f(TWO), grad(f)(TWO), grad(g)(TWO)), (6.0, 5.0, 5.0))
    close((vmap(h)(XS), vmap(sequential_vmap(functools.partial(scaled, by=3.0)))(XS)), (5 * XS.numpy(), 3 * XS.numpy()))
    with pytest.raises(errors.OptionError, match="keyword-only"):
        f(TWO, plus=1.0)


# ---- make_expr and reading values ----


@pytest.mark.parametrize("level", ["operations", "primitives", "batched"])
def test_expr_closes_over_differentiated_number(level: Any) -> None:
    def f(x: Any) -> Any:
        return make_expr(lambda y: y * x)(3.0).at(level)(3.0) * x

    close((*jvp(f, (2.0,), (1.0,)), grad(f)(2.0), grad(grad(f))(2.0)), (12.0, 12.0, 12.0, 6.0))


@pytest.mark.compiled
@pytest.mark.parametrize("of", [by_jvp, by_vjp, lambda of: checkpoint(lambda x: x * of(x))])
def test_rule_may_read_value_of_its_argument(of: Any) -> None:
    """Reading a value makes tinygrad rename the graphs of all tensors."""

    def positive(x: Any) -> Any:
        return cond(x.sum() > 0, lambda x: x * 0 + 3, lambda x: x, stop_gradient(x))

    with Context(DEV="PYTHON"):
        xs = Tensor(np.array([1.0, 2.0], dtype="float32"))  # not realized yet
    close(grad(lambda x: of(positive)(x * 1).sum())(xs), [3.0, 3.0])
    close(grad(lambda x: of(positive)(of(positive)(x + Tensor([1.0, 2.0]))).sum())(xs), [9.0, 9.0])


# ---- checkpoints of loops ----

SIN = checkpoint(lambda x: scan(lambda c, m: ((c * m).sin(), None), x, MS)[0])


def sines(x: float) -> tuple[float, float, float]:
    """Return sin(3 sin 2x) with its first and second derivative."""
    s, c = np.sin(2 * x), np.cos(2 * x)
    inner, outer = np.sin(3 * s), np.cos(3 * s)
    return inner, 6 * c * outer, -12 * s * outer - 36 * c * c * inner


Y, D, D2 = sines(1.0)
RUNS: dict[str, tuple[Callable[[], Any], Any]] = {
    "sin of checkpoint": (lambda: value_and_grad(lambda x: SIN(x).sin())(1.0), (np.sin(Y), np.cos(Y) * D)),
    "two in a row": (lambda: grad(lambda x: SIN(SIN(x)))(1.0), sines(Y)[1] * D),
    "second order": (lambda: hessian(lambda x: SIN(x).square())(1.0), 2 * D * D + 2 * Y * D2),
    "nested": (lambda: grad(lambda x: checkpoint(lambda x: SIN(x).square())(x))(1.0), 2 * Y * D),
    "nested, second order": (
        lambda: hessian(lambda x: checkpoint(lambda x: SIN(x).square())(x))(1.0),
        2 * D * D + 2 * Y * D2,
    ),
    "in a loop": (
        lambda: grad(lambda x: scan(lambda c, _: (SIN(c), None), x, None, length=2)[0])(1.0),
        sines(Y)[1] * D,
    ),
    "vmap": (lambda: vmap(grad(lambda x: SIN(x).sin()))(XS[:1]), [np.cos(Y) * D]),
    "in a jit": (lambda: jit(value_and_grad(lambda x: SIN(x).sin()))(1.0), (np.sin(Y), np.cos(Y) * D)),
    "setitem": (lambda: value_and_grad(lambda x: checkpoint(_written)(x).sin())(1.0), (np.sin(6), 6 * np.cos(6))),
}


def _written(x: Any) -> Any:
    y = (MS * x).clone()
    y[0] = x * 3
    return y[0] * y[1] / 1.5 / x


@pytest.mark.compiled
@pytest.mark.parametrize("name", RUNS)
def test_recomputed_checkpoint_has_own_buffers(name: str) -> None:
    run, wanted = RUNS[name]
    close(run(), wanted)


@pytest.mark.compiled
def test_cholesky_in_checkpoint() -> None:
    with Context(DEV="CPU"):
        a = Tensor([[4.0, 1.0], [1.0, 3.0]]).realize()
        slope = grad(lambda a: checkpoint(lambda a: linalg.cholesky(a).square())(a).sum().square())(a)
        np.testing.assert_allclose(slope.numpy(), 14 * np.eye(2), atol=1e-4)


# ---- random programs ----


@pytest.mark.parametrize("number", [*range(6), 47, 1215, 20142, 20409])
def test_random_programs_match_without_rules(number: int) -> None:
    assert problem(InBodies(number).case()) is None


def _with_rule(f: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    g = custom_jvp(f)
    g.defjvp(lambda primals, tangents: jvp(f, primals, tangents))
    return g


@pytest.mark.parametrize("over", ["scan", "fori_loop", "checkpoint"])
@pytest.mark.parametrize("mode", ["grad", "jvp"])
def test_derivative_by_batched_rule_result_in_jit(over: str, mode: str) -> None:
    """The call batched for the loop and the call batched for the derivative are the same call."""
    loss: Callable[[Tensor], Tensor] = {
        "scan": lambda v: scan(lambda c, _: (v.sum(), v.sum()), Tensor(1.0), length=2)[1].sum(),
        "fori_loop": lambda v: fori_loop(0, 2, lambda _, c: c + v.sum(), Tensor(0.0)),
        "checkpoint": lambda v: checkpoint(lambda: v.sum() * 2)(),
    }[over]
    square = vmap(_with_rule(lambda v: v * v))
    if mode == "grad":
        assert jit(lambda c: grad(loss)(square(c)))(Tensor([1.0, 3.0])).tolist() == [2.0, 2.0]
    else:
        assert jit(lambda c: jvp(loss, (square(c),), (c,))[1])(Tensor([1.0, 3.0])).item() == 8.0


@pytest.mark.parametrize("level", ["operations", "primitives"])
@pytest.mark.parametrize(
    "exchange",
    [
        lambda v: branded.psum(v * v, "i"),
        lambda v: branded.ppermute(v, "i", [(0, 1), (1, 2), (2, 0)]),
        lambda v: branded.all_gather(v, "i").sum(1),
        lambda v: branded.psum_scatter(v, "i"),
    ],
)
def test_expr_runs_collectives_of_custom_jvp(exchange: Callable[[Tensor], Tensor], level: Any) -> None:
    x = Tensor([[2.75, -2.25, -1.5], [0.5, 0.0, -0.25], [-2.0, -0.25, -2.5]])
    f = vmap(_with_rule(exchange), axis_name="i")
    assert make_expr(f)(x).at(level)(x).tolist() == f(x).tolist() == vmap(exchange, axis_name="i")(x).tolist()
