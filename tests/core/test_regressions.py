"""Small programs that once failed silently or raised an unrelated error."""

from __future__ import annotations

import collections
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pytest
from tinygrad import Context, Tensor, TinyJit, dtypes, function

from branded import (
    brand,
    brands,
    checkpoint,
    cond,
    custom_jvp,
    custom_vjp,
    errors,
    fori_loop,
    grad,
    jit,
    jvp,
    make_expr,
    optim,
    pmean,
    psum,
    random,
    scan,
    switch,
    take_along_axis,
    unique,
    vmap,
    while_loop,
)
from branded import map as map_
from branded.callbacks.host import ShapeDtype, call_host
from branded.errors import CarryError, ShapeError
from branded.graph.scope import open_brands
from tests.support.by_numpy import reads
from tests.support.examples import normals
from tests.support.profiles import amount

pytestmark = pytest.mark.by_numpy
compiled = pytest.mark.compiled


def close(got: Tensor, wanted: Any) -> None:
    np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-4, atol=1e-5)


X, W = normals(3, 4), normals(4, 4)


@compiled
def test_gradients_of_captured_values_in_chunks() -> None:
    twice = W * 2
    loss = lambda w: vmap(lambda x: (w @ x).sum() + (W @ x).sum(), chunk_size=2)(X).sum()  # noqa: E731
    each = np.tile(X.numpy().sum(0), (4, 1))
    close(loss(W).gradient(W)[0], 2 * each)
    close(loss(twice).gradient(twice)[0], each)
    by_argument = vmap(lambda w, x: (w @ x).sum(), in_axes=(None, 0), chunk_size=2)(W, X)
    close(by_argument.sum().gradient(W)[0], each)


@compiled
def test_chunks_under_tinyjit() -> None:
    f = TinyJit(lambda x, w: [t.realize() for t in vmap(lambda a: (w @ a, w * 2), out_axes=(0, None), chunk_size=2)(x)])
    for i in range(4):
        x, w = Tensor.ones(3, 4).contiguous().realize(), Tensor.full((4, 4), float(i)).contiguous().realize()
        mapped, shared = f(x, w)
        close(mapped, np.full((3, 4), 4.0 * i))
        close(shared, np.full((4, 4), 2.0 * i))


@compiled
def test_chunks_with_writes() -> None:
    def body(a: Tensor) -> Tensor:
        mine = a.clone()
        view = mine[1:3]
        view += 1
        return mine

    wanted = X.numpy() + np.array([0, 1, 1, 0])
    close(vmap(body)(X), wanted)
    close(vmap(body, chunk_size=2)(X), wanted)


@compiled
def test_unvec_in_chunks_is_an_error() -> None:
    body = lambda a: a - brands(a)[0].unvec(a).sum()  # noqa: E731
    assert vmap(body)(X).shape == (3, 4)
    with pytest.raises(errors.OptionError, match="runs in chunks"):
        vmap(body, chunk_size=2)(X)


def test_function_result_brands() -> None:
    both = function(lambda a, b: (a * 2, b * 2))
    assert vmap(lambda a: both(a, W)[1], out_axes=None)(X).shape == (4, 4)
    close(vmap(lambda a: vmap(lambda r: both(a, r)[0])(W))(X), np.tile(2 * X.numpy()[:, None], (1, 4, 1)))


def test_function_may_use_inner_results() -> None:
    def body(a: Tensor) -> Tensor:
        inner = vmap(lambda r: (r * a).contiguous().sum())(W)
        return function(lambda b: b * inner, allow_implicit=True)(a)

    close(vmap(body)(X), X.numpy() * (X.numpy() @ W.numpy().T))


@compiled
@pytest.mark.parametrize("precompile", [False, True])
def test_function_of_sharded_examples(precompile: bool) -> None:
    s = W.shard(("CPU:0", "CPU:1"), 0).realize()
    close(vmap(function(lambda a: a * 2, precompile=precompile))(s), 2 * W.numpy())


@compiled
def test_clone_is_a_copy() -> None:
    x = normals(3, 4)
    before = x.numpy().copy()
    kept = vmap(lambda a: a.clone())(x).realize()
    x.assign(x + 1).realize()
    close(kept, before)


@compiled
def test_write_to_tensor_realized_in_body() -> None:
    outside = (X[0] + 1).contiguous()
    wanted = X.numpy()[0] + 1

    def body(a: Tensor) -> Tensor:
        outside.realize()
        outside[0:2].assign(a[:2])
        return a

    with pytest.raises(errors.WriteError):
        vmap(body)(X)
    close(outside, wanted)


def test_gradient_by_closed_value_is_an_error() -> None:
    kept: list[Tensor] = []
    losses = vmap(lambda a: kept.append(a) or a.square().sum())(X)
    with pytest.raises(errors.EscapeError, match="gradient: this value belongs to `a`, which is closed"):
        losses.sum().gradient(kept[0])
    with brand("users", 3) as users:
        x = users.vec(X)
        total = users.unvec(x.square().sum()).sum()
        with pytest.raises(errors.EscapeError, match="this value is one example of `users`, and the loss uses all"):
            total.gradient(x)


def test_unbatched_loss_has_zero_gradient() -> None:
    close(vmap(lambda a: (W * W).sum().gradient(a)[0])(X), np.zeros((3, 4)))


def test_backward_with_batched_gradient_fails() -> None:
    q = normals(4)
    with pytest.raises(errors.ReadError):
        vmap(lambda a: (q * q).backward(gradient=a))(X)
    assert q.grad is None


def test_brands_may_be_closed_in_any_order() -> None:
    a, b = brand("a", 2), brand("b", 2)
    first, second = a.__enter__(), b.__enter__()
    a.__exit__(None, None, None)
    assert open_brands() == (second,) and not first.is_open
    b.__exit__(None, None, None)
    assert open_brands() == ()


def test_vec_of_batched_value() -> None:
    """Each example takes its own entry."""
    with brand("users", 3) as users:
        x = users.vec(X)
        own = users.vec(users.unvec(x) * 2 + x)
        out = users.unvec(own)
    close(out, 3 * X.numpy())


def test_dataclass_attributes_are_set_per_example() -> None:
    @dataclass
    class Point:
        at: Any

        def __post_init__(self) -> None:
            self.twice = self.at * 2

        @cached_property
        def norm(self) -> Any:
            return self.at.square().sum()

    p = Point(X)
    assert p.norm.shape == ()
    close(vmap(lambda p: p.twice / p.norm)(p), 2 * X.numpy() / (X.numpy() ** 2).sum(1, keepdims=True))


@pytest.mark.parametrize("shifts", [[-5, 0, 2], [1, 9, -1]])
def test_roll_by_batched_shift(shifts: list[int]) -> None:
    x, i = X.numpy(), Tensor(shifts)
    both = list(zip(x, shifts, strict=True))
    close(vmap(lambda x, i: x.roll(i, 0))(X, i), np.stack([np.roll(x, i) for x, i in both]))
    close(
        scan(lambda c, xi: (c, xi[0].roll(xi[1], 0)), Tensor(0), (X, i))[1], np.stack([np.roll(x, i) for x, i in both])
    )
    square = np.stack([np.roll(x.reshape(2, 2), (1, i), (0, 1)) for x, i in both])
    close(vmap(lambda x, i: x.reshape(2, 2).roll((1, i), (0, -1)))(X, i), square)
    flat = np.stack([np.roll(x.reshape(2, 2), i) for x, i in both])
    close(vmap(lambda x, i: x.reshape(2, 2).roll(i))(X, i), flat)
    close(vmap(lambda i: X.roll(i, 0))(i), np.stack([np.roll(x, i, 0) for i in shifts]))


def test_roll_errors() -> None:
    with pytest.raises(ShapeError, match="roll: a shift must be a scalar int"):
        vmap(lambda x: x.roll(x, 0))(X)
    with pytest.raises(ShapeError, match="roll: 2 shifts for 1 axis\n  try: give one shift per axis"):
        vmap(lambda x, i: x.roll((i, 1), 0))(X, Tensor([1, 2, 3]))


def test_counter_is_a_dict() -> None:
    close(vmap(lambda c: c["k"])(collections.Counter({"k": X})), X.numpy())


@compiled
def test_assign_takes_argument_by_name() -> None:
    assert Tensor([1.0, 2.0]).contiguous().assign(x=Tensor([3.0, 4.0])).tolist() == [3.0, 4.0]


def test_grad_fxn_under_two_brands() -> None:
    def grad(d: Any, call: Any) -> tuple[Any, ...]:
        return d * call.src[2], d * call.src[1]

    mul = function(grad_fxn=grad)(lambda a, b: a * b)

    def gradients(times: Any) -> Tensor:
        body = lambda r: vmap(lambda x: times(x, r))(X).square().sum().gradient(r)[0]  # noqa: E731
        return vmap(body)(W)

    close(gradients(mul), gradients(lambda a, b: a * b).numpy())


@compiled
def test_write_to_shared_value_is_an_error() -> None:
    count = Tensor([0.0]).realize()

    def body(a: Tensor) -> Tensor:
        nonlocal count
        count += 1
        return a + count

    with pytest.raises(errors.WriteError, match="would run once, not once for each example of `a`"):
        vmap(body)(X)
    assert count.tolist() == [0]


def test_brand_left_open_by_generator() -> None:
    def forgets() -> Any:
        with brand("g", 3) as g:
            yield g

    it = forgets()
    next(it)
    with brand("h", 3):
        it.close()
    assert Tensor.rand(2).shape == (2,)
    with brand("g", 2):
        pass


def test_duplicate_brand_name_is_an_error() -> None:
    first, second = brand("n", 3), brand("n", 3)
    with first, pytest.raises(errors.NameTakenError):
        second.__enter__()


@pytest.mark.parametrize("axis", [None, "a", 1.0, True])
def test_unvec_axis_type_errors(axis: Any) -> None:
    with brand("users", 3) as users, pytest.raises(errors.AxisTypeError):
        users.unvec(users.vec(X), axis=axis)


def test_non_numeric_arrays_are_an_error() -> None:
    for x in (np.array([None, 1]), np.array(["a", "b"])):
        with pytest.raises(errors.AxisTypeError):
            vmap(lambda a: a)(x)
    assert vmap(lambda a: a)(np.ma.masked_array([[1.0, 2.0]])).shape == (1, 2)


def test_jvp_of_vmap_of_custom_jvp() -> None:
    """The user's rule used to see a value of the closed vmap."""

    @custom_jvp
    def f(x: Tensor) -> Tensor:
        return 3 * x.sin()

    f.defjvp(lambda primals, tangents: (f(primals[0]), 3 * primals[0].cos() * tangents[0]))
    x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    got = vmap(lambda y: jvp(vmap(f), (y,), (y,)))(x)[1]
    np.testing.assert_allclose(got.numpy(), 3 * np.cos(x.numpy()) * x.numpy(), rtol=1e-5)


@compiled
@pytest.mark.parametrize("how", ["add", "view", "assign"])
def test_derivative_of_write_into_slice(how: str) -> None:
    def body(x: Tensor, v: Tensor) -> Tensor:
        y = x.clone()
        if how == "add":
            y[0:2] += v * v
        elif how == "view":
            view = y.reshape(3, 1)[0:2].permute(1, 0)
            view += v * v
        else:
            y[0:2].assign(v * v)
        return (y * x).sum()

    x, v = Tensor([[1.0, 2.0, 3.0]]), Tensor([[5.0, 6.0]])
    before = 0 if how == "assign" else 1
    dx, dv = vmap(grad(body, (0, 1)))(x, v)
    close(dx, [[25 + 2 * before, 36 + 4 * before, 6]])
    close(dv, [[10, 24]])
    tangent = vmap(lambda x, v: jvp(body, (x, v), (x, v))[1])(x, v)
    close(tangent, (dx.numpy() * x.numpy()).sum(1) + (dv.numpy() * v.numpy()).sum(1))


def test_make_expr_of_identity_operations() -> None:
    w = Tensor([1.0, 2.0]).realize()
    expr = make_expr(lambda y: w.float() + w.reshape(2) + y)(Tensor(1.0))
    close(expr(Tensor(10.0)), [12, 14])
    close(expr.at("batched")(Tensor(10.0)), [12, 14])


def rules_with_swapped_dependencies() -> list[Any]:
    """Return `(x, w) -> (x, w)` with two kinds of rules that make each result depend on the other argument."""
    f = custom_jvp(lambda x, w: (x * 1, w * 1))
    f.defjvp(lambda primals, tangents: (f(*primals), (tangents[1] * 3, tangents[0] * 5)))
    g = custom_vjp(lambda x, w: (x * 1, w * 1))
    g.defvjp(lambda x, w: (g(x, w), None), lambda residuals, ct: (ct[1] * 5, ct[0] * 3))
    return [f, g]


@pytest.mark.parametrize("f", rules_with_swapped_dependencies(), ids=["custom_jvp", "custom_vjp"])
def test_rule_depends_on_argument_result_ignores(f: Any) -> None:
    xs, w = Tensor([1.0, 2.0]), Tensor(4.0)
    close(grad(lambda w: f(xs[0], w)[0])(w), 3)
    close(grad(lambda w: vmap(lambda x: f(x, w)[0])(xs).sum())(w), 6)
    close(vmap(grad(lambda x: f(x, w)[1]))(xs), [5, 5])
    close(grad(lambda xs: vmap(lambda x: f(w, x)[0])(xs).sum())(xs), [3, 3])
    shared = vmap(lambda x: f(w, x)[0])(xs)  # at this point no derivative is known to follow
    with pytest.raises(
        errors.DerivativeError, match="returns a derivative with respect to a value that a result does not use"
    ) as e:
        shared.sum().gradient(xs)
    assert "the same for all examples of `x`" in str(e.value)


def rules_with_batched_derivatives(f: Callable[..., Any]) -> list[Any]:
    """Return `(x, w) -> w` with rules whose derivatives are 3 and cos x, so they vary with `x`."""
    g, h = custom_jvp(f), custom_vjp(f)
    g.defjvp(lambda primals, ts: (g(*primals), 3 * ts[0] + primals[0].cos() * ts[1]))
    h.defvjp(lambda x, w: (h(x, w), x), lambda x, ct: (3 * ct, x.cos() * ct))
    return [g, h]


@pytest.mark.parametrize("f", rules_with_batched_derivatives(lambda x, w: w * 1), ids=["custom_jvp", "custom_vjp"])
def test_batched_rule_of_unbatched_function(f: Any) -> None:
    """The derivative of the first example used to be taken for all examples."""
    x, w, by = Tensor([0.0, 1.0, 2.0]).realize(), Tensor([2.0]).realize()[0], Tensor([1.0, 2.0, 3.0]).realize()
    wanted = ([3.0, 6.0, 9.0], np.cos([0, 1, 2]) @ [1, 2, 3])

    def loss(x: Tensor, w: Tensor) -> Any:
        return vmap(lambda x: f(x, w))(x).dot(by)

    def looped(x: Tensor, w: Tensor) -> Any:
        return map_(lambda x: f(x, w), x, batch_size=2).dot(by)

    def in_scan(x: Tensor, w: Tensor) -> Any:
        return scan(lambda c, b: (c + b * vmap(lambda x: f(x, w))(x).dot(by), None), Tensor(0.0), by / 6)[0]

    for total in (loss, looped, in_scan, jit(loss)):
        for got, right in zip(grad(total, (0, 1))(x, w), wanted, strict=True):
            close(got, right)
    for dx in vmap(lambda w: grad(loss)(x, w))(w.expand(2)):
        close(dx, wanted[0])
    for out in (loss(x, w), vmap(lambda x: psum(f(x, w), "i"), out_axes=None, axis_name="i")(x)):
        with pytest.raises(errors.DerivativeError, match="with respect to a value that a result does not use"):
            out.gradient(w)
    with pytest.raises(errors.AxesError, match="None needs a result that is the same for all examples"):
        grad(lambda x: vmap(lambda x: f(x, w), out_axes=None)(x))(x)
    close(vmap(lambda x: f(x, w), out_axes=None)(x), 2)


def test_jvp_with_rule_batched_unlike_function() -> None:
    f = rules_with_batched_derivatives(lambda x, w: w * 1)[0]
    x, w = Tensor([0.0, 1.0, 2.0]), Tensor(2.0)
    y, dy = jvp(lambda w: vmap(lambda x: f(x, w))(x), (w,), (w,))
    close(y, [2, 2, 2])
    close(dy, 2 * np.cos([0, 1, 2]))
    close(jvp(lambda x: vmap(lambda x: f(x, w))(x), (x,), (x,))[1], [0, 3, 6])


@compiled
def test_loop_whose_step_uses_empty_tensor() -> None:
    none, x = Tensor.zeros(0), Tensor([1.0, 2.0]).realize()
    step = lambda a: lambda c, y: (c + y + psum(a * y, "i"), c * 2)  # noqa: E731
    c, ys = vmap(lambda a: scan(step(a), Tensor(1.0), x), out_axes=None, axis_name="i")(none)
    assert (c.item(), ys.tolist()) == (4, [2, 4])


@compiled
def test_loop_with_empty_result() -> None:
    x = Tensor([1.0, 2.0]).realize()
    c, (ys, none) = scan(lambda c, y: (c + y, (c, Tensor.ones(0, 2) * y)), Tensor(1.0), x)
    Tensor.realize(c, ys, none)
    assert (c.item(), ys.tolist(), none.shape) == (4, [1, 2], (2, 0, 2))


def test_jvp_by_result_of_closed_vmap() -> None:
    """The tangent used to be 0: in a loop's body the vmap is not lowered yet, so the leaf above it was missed."""

    def body(x: Tensor) -> Tensor:
        copies = vmap(lambda y: y)(x.expand(2, 2))
        return jvp(lambda y: y * 3, (copies,), (copies,))[1]

    close(map_(body, Tensor([[1.0, 2.0], [5.0, 6.0]])), [[[3, 6]] * 2, [[15, 18]] * 2])


def rules_around(f: Any) -> list[Any]:
    g, h = custom_vjp(f), custom_jvp(f)
    g.defvjp(lambda x: (f(x), x), lambda x, ct: (ct.sum(0) * 5,))
    h.defjvp(lambda primals, tangents: (f(*primals), 5 * tangents[0].expand(2, 2)))
    return [g, h]


@compiled
@pytest.mark.parametrize("rule", [0, 1], ids=["custom_vjp", "custom_jvp"])
def test_chunks_in_function_of_custom_rule(rule: int) -> None:
    """A chunk used to be a call that tinygrad schedules on its own, and such calls cannot be nested."""
    f = rules_around(lambda x: vmap(lambda a: x - a, chunk_size=1)(x))[rule]
    x = Tensor([1.0, 3.0])
    close(f(x), [[0, 2], [-2, 0]])
    close(grad(lambda x: f(x).sum())(x), [10, 10])


@compiled
def test_jit_with_empty_tensors() -> None:
    f = jit(lambda x, none: (x + none.sum(), none * 2))
    _, none = scan(lambda c, x: (c, x), Tensor(0.0), Tensor.zeros(0, 2))
    for value in (1.0, 2.0, 3.0):
        y, still = f(Tensor([value]), none)
        assert (y.tolist(), still.shape) == ([value], (0, 2))


@compiled
@pytest.mark.parametrize("rule", [0, 1], ids=["custom_vjp", "custom_jvp"])
def test_jit_in_function_of_custom_rule(rule: int) -> None:
    """The inner jit used to be compiled alone, although its argument belongs to a call in a graph."""
    f = rules_around(jit(lambda x: x.expand(2, 2) * 2))[rule]
    x = Tensor([1.0, 3.0])
    close(f(x), [[2, 6], [2, 6]])
    close(grad(lambda x: f(x).sum())(x), [10, 10])


@compiled
def test_scan_over_numbers_in_make_expr() -> None:
    """A carry must have a buffer, also if its initial value is a constant."""
    v = Tensor(0)

    def f(start: Tensor) -> tuple[Tensor, Tensor]:
        def step(c: tuple[Tensor, Tensor], _: None) -> tuple[tuple[Tensor, Tensor], Tensor]:
            y = (v + c[1]) % 3
            return (y, y), y

        (_, last), ys = scan(step, (v, start), None, length=2)
        return last, ys

    last, ys = make_expr(f)(Tensor(5)).at("primitives")(Tensor(5))
    assert (last.tolist(), ys.tolist()) == (2, [2, 2])


@compiled
def test_loops_differing_in_inner_loop() -> None:
    """If the first steps were equal, the first compiled loop used to run for both."""
    xs, x = Tensor([[1.0, 2.0], [3.0, 4.0]]).realize(), Tensor([1.5]).realize()[0]

    def nested(reverse: bool) -> Any:
        inner = lambda c, y: scan(lambda d, z: (d * 2 + z, None), c, y, reverse=reverse)[0]  # noqa: E731
        return scan(lambda c, y: (inner(c, y), None), x, xs)[0]

    def until(n: float) -> Any:
        inner = lambda c, y: while_loop(lambda d: d < n, lambda d: d * 2 + y.sum(), c)  # noqa: E731
        return scan(lambda c, y: (inner(c, y) + 1, None), x, xs)[0]

    found = [nested(False), nested(True), until(5.0), until(20.0)]
    assert [y.item() for y in found] == [50, 55, 8, 35]


@compiled
def test_functions_differing_in_inner_loop() -> None:
    xs, x = Tensor([1.0, 2.0]).realize(), Tensor([1.5]).realize()[0].realize()
    step = lambda c, y: (c * 2 + y, None)  # noqa: E731
    found = [function(lambda x, xs, r=r: scan(step, x, xs, reverse=r)[0])(x, xs) for r in (False, True)]
    assert [y.item() for y in found] == [10, 11]
    found = [function(lambda x, n=n: while_loop(lambda c: c < n, lambda c: c * 2, x))(x) for n in (5.0, 20.0)]
    assert [y.item() for y in found] == [6, 24]


@compiled
def test_loops_differing_in_custom_rule() -> None:
    def by(k: float) -> Any:
        f = custom_jvp(lambda x: x * 1.0)
        f.defjvp(lambda primals, tangents: (f(*primals), tangents[0] * k))
        return f

    two, five, x, xs = by(2.0), by(5.0), Tensor(1.5), Tensor([1.0, 2.0])
    total = lambda x: sum(scan(lambda c, y: (f(c) * y, None), x, xs)[0] for f in (two, five))  # noqa: E731
    close(grad(total)(x), 2 * 2 * 2 + 2 * 5 * 5)
    close(jvp(total, (x,), (x,))[1], 1.5 * 58)


@compiled
def test_loops_differing_in_host_callback() -> None:
    x, types = Tensor([1.5]).realize()[0].realize(), [ShapeDtype((), dtypes.float32)]
    fs = [lambda v: np.float32(2 * v), lambda v: np.float32(5 * v)]
    looped = [scan(lambda c, _: (call_host("h", f, types, [c])[0], None), x, None, length=2)[0] for f in fs]
    assert [y.item() for y in looped] == [6, 37.5]
    calls = [function(lambda x, f=f: call_host("h", f, types, [x])[0])(x) for f in fs]
    assert [y.item() for y in calls] == [3, 7.5]


@pytest.mark.parametrize("name", ["sigmoid", "tanh", "silu", "gelu"])
def test_derivatives_of_sigmoids_near_zero(name: str) -> None:
    """exp(-x) overflows, and infinity times zero used to give NaN in both modes and all orders."""
    f = getattr(Tensor, name)
    x = Tensor([-300.0, -100.0, -89.0])
    ones = x.const_like(1.0)
    first = lambda x: grad(lambda x: f(x).sum())(x)  # noqa: E731
    for y in (first(x), jvp(f, (x,), (ones,))[1], jvp(first, (x,), (ones,))[1], grad(lambda x: first(x).sum())(x)):
        np.testing.assert_allclose(y.numpy(), 0, atol=1e-30)


def test_second_derivative_of_exp_at_zero() -> None:
    f = lambda x: x.exp() * x  # noqa: E731
    assert grad(grad(f))(Tensor(0.0)).item() == 2.0
    assert grad(Tensor.exp)(Tensor(1000.0)).item() == float("inf")


@compiled
def test_unique_fill_value_from_numpy_arrays() -> None:
    """The arrays broadcast to the result, as in JAX."""
    for fill in (np.array(7), np.array([7]), np.int32(7), np.array([9, 9, 9, 7])):
        assert unique(Tensor([1, 2, 2, 3]), size=4, fill_value=fill).tolist() == [1, 2, 3, 7]
    rows = unique(Tensor([[1, 2], [1, 2]]), size=2, axis=0, fill_value=np.array([7, 8]))
    assert rows.tolist() == [[1, 2], [7, 8]]
    with pytest.raises(errors.ArgumentError, match="fill_value is not a scalar"):
        unique(Tensor([1, 2]), size=2, fill_value=np.ones((3, 2)))


def test_jit_results_without_elements() -> None:
    """The results used to depend on the arguments, which do not exist while they are computed."""
    assert jit(lambda x: (x.sum() * Tensor.ones(0)).contiguous())(Tensor([1.0, 2.0])).tolist() == []
    assert jit(lambda x: unique(x, size=0))(Tensor([1, 2])).dtype == dtypes.int32


# ---- lost fractions: a carry was cast back after each step, a branch result to the int dtype of the other one ----

INTS = Tensor([1, 2, 3, 4, 5])


@compiled
@pytest.mark.parametrize(
    "how", [{}, {"unroll": 2}, {"unroll": True}, {"checkpoint": 2}, {"checkpoint": 3, "unroll": 2}]
)
@pytest.mark.parametrize("init", [0, 0.0, False])
def test_number_carry_takes_dtype_of_step(init: float, how: dict[str, Any]) -> None:
    last, seen = scan(lambda c, x: (c + x * 1.5, c), init, INTS, **how)
    assert (last.item(), seen.tolist()) == (22.5, [0, 1.5, 4.5, 9, 15])
    assert scan(lambda c, x: (c + x, c), init, Tensor([0.5, 1.0, 2.0, 4.0, 8.0]), **how)[0].item() == 15.5


@compiled
def test_int_carries_become_floats() -> None:
    assert fori_loop(0, 5, lambda i, c: c + 1.5, 0).item() == 7.5
    assert vmap(lambda x: while_loop(lambda c: c < 5, lambda c: c * 1.5 + x, 0))(INTS[:2]).tolist() == [8.125, 5.0]
    i, half = fori_loop(0, 3, lambda i, c: (c[0] + i, c[1] + i * 0.5), (0, 0))
    assert (i.item(), half.item(), i.dtype) == (3, 1.5, dtypes.int32)
    assert scan(lambda c, x: (c + 1, None), False, INTS)[0].item() == 5


@compiled
@pytest.mark.parametrize("init", [Tensor([0], dtype=dtypes.int32), Tensor(False)])
def test_tensor_carry_keeps_its_dtype(init: Tensor) -> None:
    with pytest.raises(CarryError, match="carry changes its type from step to step"):
        scan(lambda c, x: (c + (1 if c.dtype == dtypes.bool else 1.5), None), init, INTS)


def test_branches_returning_numbers() -> None:
    choose = lambda f, g: vmap(lambda p, x: cond(p, f, g, x))(Tensor([True, False]), INTS[:2])  # noqa: E731
    assert choose(lambda x: 1, lambda x: 1.5).tolist() == [1, 1.5]
    assert choose(lambda x: Tensor(1), lambda x: Tensor(1.5)).tolist() == [1, 1.5]
    assert choose(lambda x: True, lambda x: 7).tolist() == [1, 7]
    assert choose(lambda x: x * 1.5, lambda x: 0).tolist() == [1.5, 0]
    assert choose(lambda x: x > 0, lambda x: False).tolist() == [True, False]
    for g in (lambda x: x * 1.5, lambda x: 1.5):
        with pytest.raises(CarryError, match="the branches return different types for the result"):
            choose(lambda x: x, g)


@pytest.mark.parametrize("rule", [custom_jvp, custom_vjp])
def test_grad_of_branch_with_custom_rule_result(rule: Any) -> None:
    """The gradient used to be 0; predicating a branch must keep the values that derivatives depend on."""
    double = rule(lambda x: x * 2)
    if rule is custom_jvp:
        double.defjvp(lambda primals, tangents: (primals[0] * 2, tangents[0] * 2))
    else:
        double.defvjp(lambda x: (x * 2, ()), lambda _, d: (d * 2,))

    def branch(x: Tensor) -> Tensor:
        return cond(x.sum() > 0, lambda x: x.mean() * 2, lambda x: x.sum() * 0, x)

    assert vmap(grad(branch))(double(Tensor.ones(2, 2))).tolist() == [[1, 1], [1, 1]]
    given = double(Tensor.ones(2))

    def step(x: Tensor) -> Any:
        def body(i: Tensor, c: Tensor) -> Tensor:
            return c + cond(i < 1, lambda: x.mean() * 2, lambda: 0 * x.sum())

        return fori_loop(0, 2, body, 0 * x.sum())

    assert grad(step)(given).tolist() == [1, 1]
    assert jvp(step, (given,), (Tensor([1.0, 3.0]),))[1].item() == 4


KEPT = Tensor([[1.0, 2.0], [3.0, 4.0]]).realize()
CLOSED_OVER: dict[str, Callable[[], Tensor]] = {
    "an array": lambda: Tensor([[1.0, 2.0], [3.0, 4.0]]),
    "computed": lambda: KEPT * 2,
    "kept": lambda: KEPT,
    "written before": lambda: KEPT.clone(),
}


def _ruled(make: Any) -> Callable[[Any], Any]:
    def rule(f: Any) -> Any:
        g = make(f)
        g.defjvp(lambda *a: (g(*a[0]), a[1][0])) if make is custom_jvp else g.defvjp(
            lambda *x: (f(*x), x), lambda _, d: d
        )
        return g

    return rule


@compiled
@pytest.mark.parametrize("what", CLOSED_OVER)
@pytest.mark.parametrize("made", [_ruled(custom_jvp), _ruled(custom_vjp), checkpoint, lambda f: f])
def test_write_into_copy_of_closed_over_value(made: Any, what: str) -> None:
    """An earlier write belongs to the body too; the rows not written used to have undefined values."""

    def f(v: Tensor) -> Tensor:
        y = CLOSED_OVER[what]().clone()
        y[0].assign(v)
        return y

    v = Tensor([7.0, 8.0]).realize()
    expected = [[7, 8], [6, 8] if what == "computed" else [3, 4]]
    assert made(f)(v).tolist() == expected
    assert made(lambda v: made(f)(v))(v).tolist() == expected
    assert vmap(made(f))(v.reshape(1, 2)).tolist() == [expected]


@compiled
def test_per_example_gradients_of_ctc_loss() -> None:
    """A scan over log-probabilities for each of 64 sequences used to crash the process."""
    steps, kinds, labels, n = 4, 3, 2, 64
    places = 2 * labels + 1
    rng = np.random.default_rng(0)
    logits = rng.standard_normal((n, steps, kinds)).astype(np.float32)
    words = rng.integers(1, kinds, (n, labels)).astype(np.int32)

    def ctc(logit: Tensor, word: Tensor) -> Tensor:
        blank = Tensor.zeros(labels, dtype="int32")
        way = blank.stack(word, dim=1).reshape(2 * labels).cat(blank[:1])
        skips = (way != 0) & (way != way.roll(2, 0)) & (Tensor.arange(places) >= 2)
        said = logit.log_softmax(-1).gather(1, way.reshape(1, places).expand(steps, places))

        def step(a: Tensor, at: Tensor) -> tuple[Tensor, None]:
            one, two = (a.pad(((k, 0),), value=-1e5)[:places] for k in (1, 2))
            return a.stack(one, skips.where(two, -1e5)).logsumexp(0) + at, None

        last, _ = scan(step, (Tensor.arange(places) < 2).where(said[0], -1e5), said[1:])
        return -last[places - 2 :].logsumexp(0)

    def by_paths(logit: np.ndarray, word: np.ndarray) -> np.ndarray:
        """Return softmax minus the expected count of each label over all paths that spell the word."""
        p = np.exp(logit - logit.max(-1, keepdims=True))
        p /= p.sum(-1, keepdims=True)
        often, total = np.zeros_like(p), 0.0
        for path in itertools.product(range(kinds), repeat=steps):
            if [k for k, _ in itertools.groupby(path) if k] == [*word]:
                here = p[range(steps), path].prod()
                often[range(steps), path] += here
                total += here
        return p - often / total

    found = vmap(grad(ctc))(Tensor(logits), Tensor(words))
    close(found, [by_paths(a, b) for a, b in zip(logits, words, strict=True)])


@pytest.mark.parametrize(
    "xs", [np.uint8([200, 255, 3]), np.int32([2**31 - 1] * 2), np.float16([6e4, 6e4]), [True, False]]
)
def test_pmean_does_not_overflow(xs: Any) -> None:
    """In JAX, the pmean of the uint8 values 200, 255 and 3 is 67.3."""
    xs = np.asarray(xs)
    got = vmap(lambda x: pmean(x, "i"), axis_name="i", out_axes=None)(Tensor(xs))
    assert got.numpy() == pytest.approx(xs.astype(np.float64).mean())
    assert got.dtype == (dtypes.half if xs.dtype == np.float16 else dtypes.float32)
    two = ("CPU:0", "CPU:1")
    on_devices = vmap(lambda x: pmean(x, "i"), axis_name="i", devices=two)(Tensor(np.tile(xs, 2)))
    assert on_devices.numpy()[0] == pytest.approx(xs.astype(np.float64).mean())


def test_negative_int8_indices() -> None:
    x = Tensor.arange(300)
    for mode in ("fill", "clip"):
        at = Tensor([-1, -3, 5], dtype=dtypes.int8)
        assert take_along_axis(x, at, mode=mode).tolist() == [299, 297, 5]
    assert take_along_axis(x, Tensor([-1, -400, 500]), mode="clip").tolist() == [299, 0, 299]


def test_comparison_of_lists_is_an_error() -> None:
    """The hint used to be `([x] == [-x]).where(...)`, which asks for the same truth value."""
    with pytest.raises(errors.ReadError, match=r"try:   condition\.where\(a, b\) instead of `if condition`"):
        vmap(lambda x: x if [x] == [-x] else -x)(X)


def test_number_carry_keeps_float64_precision() -> None:
    """The number used to become a float32 before the float64 that the body makes of it."""
    step = Tensor(0.1, dtype=dtypes.float64)
    assert fori_loop(0, 3, lambda i, c: c + step, 0.1).item() == 0.1 + 0.1 + 0.1 + 0.1
    for how in ({}, {"unroll": 2}, {"checkpoint": True}):
        assert scan(lambda c, x: (c + x, None), 0.1, step.reshape(1).expand(2), **how)[0].item() == 0.1 + 0.1 + 0.1
    one = Tensor(1, dtype=dtypes.int64)
    assert fori_loop(0, 1, lambda i, c: c + one, 2**40).item() == 2**40 + 1


def test_first_steps_of_adam_in_float64() -> None:
    """1 - 0.999 in float32 has only five correct digits."""
    adam, g = optim.adam(0.1), Tensor([0.3], dtype=dtypes.float64)
    assert adam.update(g, adam.init(g))[0].item() == pytest.approx(-0.1 * 0.3 / (0.3 + 1e-8), rel=1e-12)


@compiled
def test_argmax_with_nan() -> None:
    """The result is the index of the first NaN, as in numpy and JAX; it used to be out of range."""
    nan, inf = np.nan, np.inf
    rows = [
        [nan, 1, 2],
        [1, nan, inf],
        [2, 1, nan],
        [nan] * 3,
        [-inf, nan, nan],
        [-inf] * 3,
        [inf, 0, inf],
        [0, -0.0, 0],
    ]
    ways = [(axis, False) for axis in (0, 1, -1, None)] + [(1, True)]

    def largest(xs: Tensor, name: str) -> tuple[Tensor, ...]:
        return tuple(vmap(lambda x, how=how: getattr(x, name)(*how))(xs) for how in ways)

    for dtype in amount((np.float32, np.float16), (np.float32, np.float16, np.float64)):
        xs = np.array([rows, rows[::-1]], dtype)
        for name in ("argmax", "argmin"):
            wanted = [[getattr(x, name)(axis, keepdims=kept) for x in xs] for axis, kept in ways]
            nested = vmap(lambda xs, name=name: largest(xs, name))(Tensor(xs[None]))
            with Context(NOOPT=int(dtype != np.float32)):  # optimize the kernels of one dtype
                got, compiled = largest(Tensor(xs), name), jit(largest, static_argnums=1)(Tensor(xs), name)
                Tensor.realize(*got)
            assert all(y.dtype == dtypes.int32 for y in (*nested, *got, *compiled))
            for a, b, c, want in zip(reads(nested), got, compiled, wanted, strict=True):
                for found in (a[0], b.numpy(), c.numpy()):
                    assert np.array_equal(found, want)
    assert vmap(lambda x: x.argmax())(Tensor([[1, 3, 3], [5, 2, 1]])).tolist() == [1, 0]


def test_numbers_from_branches_take_operand_dtype() -> None:
    """The numbers used to become float32: next to a float64, 0.1 lost precision, and float16 became float32."""
    p = Tensor([True, False])

    def choose(p: Tensor, a: Any, b: Any) -> Tensor:
        return cond(p, lambda: a, lambda: b)

    for dtype in (dtypes.float64, dtypes.float32, dtypes.half):
        x = Tensor([1.0, 2.0], dtype=dtype)
        out = vmap(lambda p, x: choose(p, 0.1, 2) + x)(p, x)
        assert out.dtype == dtype and np.array_equal(out.numpy(), (p.where(0.1, 2) + x).numpy())
        deep = vmap(lambda p, x: vmap(lambda y: choose(p, choose(p, 0.1, 0.2), 3) * y)(x))(p, x.reshape(2, 1))
        assert deep.dtype == dtype and np.array_equal(deep.numpy()[:, 0], (p.where(0.1, 3) * x).numpy())
        by_index = vmap(lambda p, x: switch(p.int(), [lambda: 0.1, lambda: 0.3]) + x)(p, x)
        assert np.array_equal(by_index.numpy(), (p.where(0.3, 0.1) + x).numpy())
        assert (cond(p[0], lambda: 0.1, lambda: 2) + x[0]).numpy() == (x[0] + 0.1).numpy()
    small = vmap(lambda p, x: choose(p, 1, True) + x)(p, Tensor([1, 2], dtype=dtypes.int8))
    assert small.dtype == dtypes.int8 and small.tolist() == [2, 3]
    large = vmap(lambda p, x: choose(p, 2**40, 3) + x)(p, Tensor([1, 2], dtype=dtypes.int64))
    assert large.tolist() == [2**40 + 1, 5]


@compiled
def test_numbers_from_branches_have_buffers() -> None:
    """tinygrad gives a constant no buffer, and TinyJit rejects a result without one."""
    sign = TinyJit(vmap(lambda x: cond(x > 0, lambda: 1.5, lambda: -1) * 2))
    for k in range(3):
        x = Tensor([1.0, -2.0 - k, 3.0]).realize()
        assert sign(x).tolist() == [3.0, -2.0, 3.0]
    assert vmap(lambda x: cond(x > 0, lambda: 1, lambda: 2))(x).realize().uop.has_buffer_identity()
    one = TinyJit(lambda x: cond(x.sum() > 0, lambda: 1.5, lambda: 2))
    assert [one(Tensor([k]).realize()).item() for k in (1, 1, -1)] == [1.5, 1.5, 2.0]


@compiled
def test_random_key_of_int64_bool() -> None:
    """C leaves a 32-bit shift of a 32-bit int undefined; the upper word used to be the seed."""
    p = Tensor([True, False]).realize()
    assert vmap(random.key)(p.cast(dtypes.int64)).tolist() == [[0, 1], [0, 0]]
    assert vmap(lambda p: random.key(cond(p, lambda: 0, lambda: 1)))(p).tolist() == [[0, 0], [0, 1]]


def test_categorical_with_nan() -> None:
    scores = Tensor([[0.0, float("inf"), float("nan")]])
    assert vmap(lambda x: random.categorical(random.key(0), x))(scores).tolist() == [2]


def test_cond_predicate_after_update_of_copy() -> None:
    x = Tensor([[1.0], [-1.25]]).realize()
    y = x.clone()
    y[0:2] += x
    assert cond(y[Tensor([0, 1, 0])].sum() > 0, lambda: x * y, lambda: y).tolist() == [[2.0], [3.125]]
