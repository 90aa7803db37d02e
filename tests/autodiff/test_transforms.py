"""Unit tests of derivatives, control flow, collectives and custom rules."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor, TinyJit, dtypes, function, nn
from tinygrad.uop.ops import GroupOp, Ops, UOp

from branded import (
    Brand,
    all_gather,
    all_to_all,
    axis_index,
    brand,
    brands,
    cond,
    custom_jvp,
    custom_vjp,
    custom_vmap,
    errors,
    fori_loop,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jit,
    jvp,
    pmean,
    ppermute,
    psum,
    psum_scatter,
    scan,
    sequential_vmap,
    stop_gradient,
    switch,
    value_and_grad,
    vjp,
    vmap,
    while_loop,
)
from branded import map as map_
from branded.autodiff import forward
from branded.compile import compiled_loop, loop_executor
from branded.control_flow.loop_primitive import Loop
from branded.graph.tags import is_leaf

pytestmark = pytest.mark.by_numpy

X = Tensor([1.0, 2.0, 3.0]).realize()
ROWS = Tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]).realize()
TWO = Tensor([2.0]).sum().realize()


def counted(f: Callable[..., Any]) -> tuple[Callable[..., Any], list[int]]:
    """Return `f` with a counter of its calls."""
    calls = [0]

    def g(*args: Any) -> Any:
        calls[0] += 1
        return f(*args)

    return g, calls


# ---- derivatives ----


def test_every_float_primitive_has_a_tangent_rule() -> None:
    floats = {*GroupOp.Unary, *GroupOp.Movement, Ops.ADD, Ops.MUL, Ops.MAX, Ops.POW, Ops.WHERE, Ops.CAST, Ops.REDUCE}
    assert floats - {Ops.NEG} <= {*forward._table, *forward._FLAT}  # NEG is made only when kernels are


def test_nested_derivatives_keep_variables_apart() -> None:
    assert grad(lambda x: x * grad(lambda y: x + y)(1.0))(1.0).item() == 1
    assert grad(lambda x: x * grad(lambda y: y * y)(TWO))(TWO).item() == 4  # the inner derivative is constant in x
    assert jvp(lambda x: x * jvp(lambda y: x * y, (TWO,), (1.0,))[1], (TWO,), (1.0,))[1].item() == 4
    assert [g.item() for g in grad(lambda a, b: a * a * b, (0, 1))(TWO, TWO)] == [8, 4]
    _, pullback = vjp(lambda x: x * x, TWO)
    assert grad(lambda z: pullback(z)[0])(TWO).item() == 4  # the pullback is linear


def test_derivative_leaves_no_tags_in_graph() -> None:
    value, slope = value_and_grad(lambda x: (x * x).sum())(X)
    assert not any(is_leaf(u) for t in (value, slope) for u in t.uop.toposort())
    assert not any(is_leaf(u) for u in grad(grad(lambda x: x * x * x))(TWO).uop.toposort())


def test_pullback_works_after_realize() -> None:
    y, pullback = vjp(lambda x: x * x, Tensor([1.0, 2.0]))
    y.realize()
    for _ in range(2):
        assert pullback(Tensor([1.0, 1.0]))[0].tolist() == [2, 4]


def test_jacobian_traces_once_into_one_graph() -> None:
    for jacobian in (jacfwd, jacrev):
        sizes = []
        for n in (4, 64):
            f, calls = counted(lambda x: (x * x).cumsum())
            sizes.append(len(jacobian(f)(Tensor.ones(n).contiguous()).uop.toposort()))
            assert calls == [1]
        assert sizes[1] < sizes[0] + 60  # one more axis, instead of one graph per row


@pytest.mark.compiled
@pytest.mark.parametrize("inner", [jacfwd, jacrev])
@pytest.mark.parametrize("outer", [jacfwd, jacrev])
def test_jacobians_of_jacobians(outer: Any, inner: Any) -> None:
    """Their kernels sum products of identity matrices, which tinygrad must not rewrite without end."""
    a = np.array([[1.0, 2.0], [3.0, 5.0]], dtype=np.float32)
    e = np.eye(2)
    wanted = np.einsum("ia,bc,dl->ilabcd", e, e, e) + np.einsum("ic,da,bl->ilabcd", e, e, e)
    np.testing.assert_allclose(outer(inner(lambda x: x @ x))(Tensor(a)).numpy(), wanted, rtol=1e-6)
    second = outer(inner(lambda x: x.sin() * x[0]))(Tensor(a[0])).numpy()
    sin, cos = np.sin(a[0]), np.cos(a[0])
    by_hand = np.zeros((2, 2, 2))
    by_hand[0, 0, 0] = 2 * cos[0] - sin[0] * a[0, 0]
    by_hand[1] = [[0, cos[1]], [cos[1], -sin[1] * a[0, 0]]]
    np.testing.assert_allclose(second, by_hand, rtol=1e-5)


def test_pytrees_and_aux() -> None:
    params = {"w": X, "b": (TWO, None)}
    grads, aux = grad(lambda p: ((p["w"] * p["b"][0]).sum(), "aux"), has_aux=True)(params)
    assert grads["w"].tolist() == [2, 2, 2] and grads["b"][0].item() == 6 and grads["b"][1] is None and aux == "aux"
    jacobian = jacfwd(lambda p: {"y": p["w"] * p["b"][0]})(params)
    assert jacobian["y"]["w"].tolist() == np.diag([2.0] * 3).tolist()
    assert jacobian["y"]["b"][0].tolist() == X.tolist()
    assert grad(lambda x, *, k: x * k)(TWO, k=3.0).item() == 3
    assert grad(lambda x: x * x)(3.0).item() == 6 and grad(lambda x: (x * x).sum())(np.ones(2)).dtype == dtypes.float64
    out, tangent, more = jvp(lambda x: (x * x, x + 1), (TWO,), (1.0,), has_aux=True)
    assert (out.item(), tangent.item(), more.item()) == (4, 4, 3)
    assert hessian(lambda x: (x.prod(), x), has_aux=True)(Tensor([2.0, 0.0, 0.0]))[0].tolist()[1] == [0, 0, 2]


def test_casts_and_comparisons_have_no_derivative() -> None:
    assert grad(lambda x: (x.cast(dtypes.int32).cast(dtypes.float32) * x).sum())(X).tolist() == [1, 2, 3]
    assert grad(lambda x: ((x < 2) & (x > 0)).float().sum() + (x * 0).sum())(X).tolist() == [0, 0, 0]
    assert jvp(lambda x: x * stop_gradient(x), (TWO,), (1.0,))[1].item() == 2


def test_operands_with_and_without_tangent() -> None:
    """Each primitive with several operands, one of them constant."""
    one, at = Tensor([1.0, 5.0, 9.0]), Tensor([0.0, 1.0, 0.0])
    programs: dict[Callable[[Tensor], Tensor], list[Any]] = {
        lambda x: Tensor.stack(one, x * 2, one): [[0, 0, 0], [2, 2, 2], [0, 0, 0]],
        lambda x: x.maximum(one): [0.5, 0, 0],
        lambda x: one.maximum(x): [0.5, 0, 0],
        lambda x: (x > 2).where(one, x): [1, 1, 0],
        lambda x: x.pow(at + 1): [1, 4, 1],
        lambda x: one.reshape(1, 3) + x: [[1, 1, 1]],
        lambda x: x.expand(2, 3) * one: [[1, 5, 9]] * 2,
    }
    for f, wanted in programs.items():
        assert np.allclose(jvp(f, (X,), (Tensor.ones(3),))[1].numpy(), wanted)


def test_tensor_gradient_inside_and_outside_vmap() -> None:
    inner = grad(lambda x: (x * x * x).gradient(x)[0])(TWO)
    assert inner.item() == 12
    w = Tensor([1.0, 2.0]).realize()
    out = vmap(lambda x: grad(lambda y: (w * y).sum())(x))(ROWS).sum()
    assert out.gradient(w)[0].tolist() == [3, 3]
    scan(lambda c, x: (c + x * w.sum(), None), TWO, X)[0].backward()
    assert w.grad is not None and w.grad.tolist() == [6, 6]


def test_setitem_in_differentiated_function() -> None:
    def f(x: Tensor) -> Tensor:
        x[0] = 5.0
        return (x * x).sum()

    assert grad(f)(Tensor([1.0, 2.0]).realize()).tolist() == [0, 4]
    assert jvp(f, (Tensor([1.0, 2.0]).realize(),), (Tensor([1.0, 1.0]),))[1].item() == 4


def test_jacobians_of_function_and_chunks() -> None:
    assert hessian(function(lambda w: (w * w * w).sum()))(X).tolist() == np.diag([6.0, 12, 18]).tolist()
    plain = lambda w: (w * 2).sum() * w  # noqa: E731
    assert jacrev(function(plain))(X).tolist() == jacfwd(function(plain))(X).tolist() == jacrev(plain)(X).tolist()
    chunked = lambda size: lambda w: vmap(lambda x: (w * x).sum().sin(), chunk_size=size)(ROWS)  # noqa: E731
    w = ROWS[0].contiguous()
    for jacobian in (jacrev, jacfwd):
        np.testing.assert_allclose(jacobian(chunked(2))(w).numpy(), jacobian(chunked(None))(w).numpy(), rtol=1e-4)


def test_derivatives_of_nn_layers() -> None:
    layer, x = nn.Linear(2, 3), ROWS[0]
    per_weight = vmap(grad(lambda w, x: (x @ w.T).square().sum()), in_axes=(None, 0))(layer.weight, ROWS)
    assert per_weight.shape == (3, 3, 2)
    np.testing.assert_allclose(jacfwd(layer)(x).numpy(), layer.weight.numpy(), rtol=1e-5)


def test_grad_of_inner_vmap_results() -> None:
    total = vmap(lambda p: grad(lambda q: q * q)(vmap(lambda r: r)(p * X).sum()))(X)
    assert total.tolist() == [12, 24, 36]
    each = vmap(lambda p: grad(lambda q: (q * q).sum())(vmap(lambda r: r * p)(X)))(X)
    assert each.tolist() == [[2, 4, 6], [4, 8, 12], [6, 12, 18]]
    inner = lambda r: grad(lambda s: s * s)(psum(r, "p"))  # noqa: E731
    nested = vmap(lambda p: grad(lambda q: q * vmap(inner)(ROWS[0]).sum())(TWO + p * 0), axis_name="p")
    assert nested(X).tolist() == [18, 18, 18]


# ---- branches ----


def test_cond_runs_only_the_taken_branch() -> None:
    left, lefts = counted(lambda x: x + 1)
    right, rights = counted(lambda x: x - 1)
    assert cond(TWO > 1, left, right, TWO).item() == 3 and (lefts, rights) == ([1], [0])
    assert switch(Tensor(9), [left, right], TWO).item() == 1 and switch(-3, [left, right], TWO).item() == 3
    state = Tensor([1.0]).realize()
    cond(False, lambda: state.assign(state + 1), lambda: state)
    assert state.tolist() == [1]


def test_cond_keeps_both_branches_under_tinyjit() -> None:
    step = TinyJit(lambda x: cond(x.sum() > 0, lambda: x + 1, lambda: x - 1).realize())
    for sign in (1, 1, 1, -1, 1, -1):
        x = (Tensor([1.0, 2.0]) * sign).clone().realize()
        assert step(x).tolist() == [v * sign + sign for v in (1, 2)]


def test_cond_masks_closed_over_values() -> None:
    def f(x: Tensor) -> Tensor:
        alive = x.sqrt()  # the branch computes the same UOp
        assert alive is not None
        return cond(x > 0, lambda: x.sqrt(), lambda: x * 0)

    xs = Tensor([4.0, -1.0])
    assert vmap(grad(f))(xs).tolist() == [0.25, 0] and vmap(hessian(f))(xs).tolist() == [-0.03125, 0]
    shared = grad(lambda w: vmap(lambda x: cond(x > 0, lambda: (w + x).log(), lambda: w * x))(xs).sum())
    assert shared(Tensor(-2.0)).item() == -0.5
    own = xs.contiguous()
    total = vmap(lambda x: cond(x > 0, lambda: x.sqrt(), lambda: x * 0))(own).sum()
    assert total.gradient(own)[0].tolist() == [0.25, 0]


def test_untaken_branch_does_not_divide_by_zero() -> None:
    a, b = Tensor([12, 7]), Tensor([5, 0])
    assert vmap(lambda a, b: cond(b != 0, lambda: a // b, lambda: a))(a, b).tolist() == [2, 7]
    gcd = lambda a, b: while_loop(lambda s: s[1] != 0, lambda s: (s[1], s[0] % s[1]), (a, b))[0]  # noqa: E731
    assert vmap(gcd)(Tensor([12, 7, 100]), Tensor([18, 0, 75])).tolist() == [6, 7, 25]


def test_predicate_over_two_brands() -> None:
    table = vmap(lambda a: vmap(lambda b: cond(a > b, lambda: a * 10, lambda: b))(X))(X)
    assert table.tolist() == [[1, 2, 3], [20, 2, 3], [30, 30, 3]]


def test_switch_takes_each_of_three_branches() -> None:
    branches = [lambda x: x * x, lambda x: 3 * x, lambda x: x.sqrt()]
    choose = lambda i, x: switch(i, branches, x)  # noqa: E731
    at, xs = Tensor([-5, 0, 1, 2, 9]), Tensor([-4.0, 3.0, -2.0, 4.0, 16.0])  # out-of-range indices are clamped
    assert vmap(choose)(at, xs).tolist() == [16, 9, -6, 2, 4]
    assert vmap(grad(choose, 1))(at, xs).tolist() == [-8, 6, 3, 0.25, 0.125]


# ---- loops ----


@pytest.mark.compiled
def test_loop_body_is_traced_and_compiled_once() -> None:
    def steps(n: int) -> tuple[int, int]:
        f, calls = counted(lambda c, x: ((c * 0.7 + x).sin(), c))
        c, ys = scan(f, Tensor.zeros(4), Tensor.ones(n, 4).contiguous())
        size = len(UOp.sink(c.uop, ys.uop).toposort())
        assert ys.shape == (n, 4)
        return calls[0], size

    assert steps(10) == steps(10_000)
    before = set(compiled_loop._steps.values())
    # no other test uses this step, and one compiled step serves all lengths
    out, ys = scan(lambda c, x: (c + x * 0.5 + x * 0.5, c), Tensor(0.0), Tensor.ones(10_000).contiguous())
    Tensor.realize(out, ys)
    assert out.item() == 10_000 and ys[-1].item() == 9_999
    (step,) = set(compiled_loop._steps.values()) - before
    assert len(step.graph.linear.src) <= 3  # kernels, for any length


def test_equal_loops_share_one_object() -> None:
    run = lambda: grad(lambda w: scan(lambda c, x: (c * w + x, None), w, X)[0])(TWO).item()  # noqa: E731
    run()
    before = len(Loop.made)
    for _ in range(3):
        run()
        vmap(lambda c: scan(lambda c, x: (c * x + psum(c, "i"), None), c, X)[0], axis_name="i")(X).realize()
    assert len(Loop.made) <= before + 1


@pytest.mark.compiled
def test_forward_loop_is_shared_with_reverse_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    runs, original = list[Loop](), compiled_loop.compile_loop
    for module in (compiled_loop, loop_executor):
        monkeypatch.setattr(module, "compile_loop", lambda loop: (runs.append(loop), original(loop))[1])

    def loss(w: Tensor) -> Tensor:
        step = lambda h, x: ((w * h + x).tanh(), None)  # noqa: E731
        return scan(step, scan(step, w * 0, X)[0], X)[0].square().sum()

    value, slope = value_and_grad(loss)(X)
    Tensor.realize(value, slope)
    assert len(runs) == 4  # two loops forward, two backward


def test_carries_of_all_kinds() -> None:
    c, ys = scan(lambda c, x: ({"a": c["a"] + x, "n": c["n"] + 1}, (x, None)), {"a": 0.0, "n": 0}, X)
    assert c["a"].item() == 6 and c["n"].item() == 3 and ys[0].tolist() == [1, 2, 3] and ys[1] is None
    assert c["n"].dtype == dtypes.int32
    swapped, _ = scan(lambda c, _: ((c[1], c[0]), None), (TWO, X.sum()), None, length=3)
    assert [t.item() for t in swapped] == [6, 2]
    constant, outs = scan(lambda c, x: (c, 1.5), TWO, X)
    assert constant.item() == 2 and outs.tolist() == [1.5] * 3
    empty, none = scan(lambda c, x: (c + x, c), TWO, X[:0])
    assert empty.item() == 2 and none.shape == (0,)
    nothing, _ = scan(lambda c, x: (c + x[:0], None), Tensor.zeros(0), ROWS)
    assert nothing.shape == (0,)
    half, _ = scan(lambda c, x: (c + x.half(), None), Tensor(1.0, dtype=dtypes.float16), X)
    assert half.dtype == dtypes.float16 and half.float().item() == 7
    assert scan(lambda c, x: (c + x, c), TWO, X, reverse=True)[1].tolist() == [7, 5, 2]
    assert fori_loop(3, 1, lambda i, x: x + i, TWO).item() == 2
    assert grad(lambda x: fori_loop(np.int64(0), np.int32(3), lambda i, y: x * y, x))(TWO).item() == 32


def test_constant_carry_becomes_batched() -> None:
    f = lambda x: scan(lambda c, _: ((c[0] + x, c[0]), None), (Tensor(0.0), Tensor(0.0)), None, length=3)[0]  # noqa: E731
    first, second = vmap(f)(X)
    assert first.tolist() == [3, 6, 9] and second.tolist() == [2, 4, 6]
    kept = vmap(lambda x: scan(lambda c, y: (c + 1, c * x), TWO, X)[0], out_axes=None)(X)
    assert kept.item() == 5  # the carry is unbatched, though the other result is batched


def test_nested_loops_and_vmaps() -> None:
    inner = lambda x: fori_loop(0, 3, lambda i, a: a * x + i, Tensor(1.0))  # noqa: E731
    wanted = [inner(x).item() for x in (1.0, 2.0, 3.0)]
    assert vmap(lambda x: scan(lambda c, y: (c + inner(x), inner(y)), x * 0, X)[1])(X)[0].tolist() == wanted
    in_loop = scan(lambda c, row: (c + vmap(inner)(row).sum(), None), Tensor(0.0), ROWS)[0]
    np.testing.assert_allclose(in_loop.item(), sum(inner(x).item() for x in range(1, 7)))
    start = (Tensor(1.0), Tensor(2.0))  # a carry that never changes is an argument of the inner loop
    outs = scan(lambda c, x: ((c[0] * x, c[1]), fori_loop(0, 3, lambda i, d: d * 2, c[1]) * x), start, X)[1]
    assert outs.tolist() == [16, 32, 48]
    assert (
        grad(lambda a: scan(lambda c, x: (c + fori_loop(0, 3, lambda i, d: d * 2, a * x), None), a, X)[0])(TWO).item()
        == 49
    )
    chosen = scan(lambda c, x: (cond(x > 1, lambda: c + x, lambda: c * 10), None), TWO, X)[0]
    assert chosen.item() == 25
    table = vmap(lambda x: vmap(lambda y: while_loop(lambda c: c < x * y, lambda c: c + y, y))(X))(X)
    assert table.tolist() == [[1, 2, 3], [2, 4, 6], [3, 6, 9]]


def test_loop_over_unrealized_number() -> None:
    w = Tensor(1.5)
    f = lambda w: scan(lambda c, x: (c * w + (w * 2) * x, None), Tensor(1.0), X)[0]  # noqa: E731
    by_hand = lambda w: ((w + 2 * w) * w + 4 * w) * w + 6 * w  # noqa: E731
    assert np.isclose(grad(f)(w).item(), grad(by_hand)(w).item())
    assert np.isclose(jvp(f, (w,), (1.0,))[1].item(), grad(by_hand)(w).item())
    for second in (hessian, lambda g: jacrev(jacrev(g)), lambda g: grad(grad(g))):
        assert np.isclose(second(f)(w).item(), grad(grad(by_hand))(w).item())


def test_tangent_reaches_carry_in_later_step() -> None:
    """The tangent moves from one carry to the next, so each tracing round finds one more carry with a tangent."""
    down = lambda w, c: (w, c[0], c[1], c[2] + c[3], c[4] * 2)  # noqa: E731
    start = (0.0, 0.0, 0.0, 0.0, 1.0)

    def until(w: Tensor) -> Any:
        return while_loop(lambda c: c[1] < 6, lambda c: (down(w, c[0]), c[1] + 1), (start, 0))

    def through(w: Tensor) -> Any:
        return scan(lambda c, x: (down(w, c), (c[2], x)), start, X.cat(X))

    (out, count), (tangent, none) = jvp(until, (TWO,), (1.0,))
    assert [t.item() for t in (*out, count)] == [2, 2, 2, 6, 64, 6]
    assert [t.item() for t in (*tangent, none)] == [1, 1, 1, 3, 0, 0]
    _, (tangent, (of_ys, of_xs)) = jvp(through, (TWO,), (1.0,))
    assert [t.item() for t in tangent] == [1, 1, 1, 3, 0]
    assert of_ys.tolist() == [0, 0, 0, 1, 1, 1] and of_xs.tolist() == [0] * 6
    assert grad(lambda w: through(w)[0][3])(TWO).item() == grad(lambda w: through(w)[1][0].sum())(TWO).item() == 3


def test_loop_with_batched_and_unbatched_values() -> None:
    limit, step = Tensor([20.0]).sum().realize(), Tensor([0.5]).sum().realize()
    grow = lambda x, by: while_loop(lambda c: c < limit, lambda c: c * by + step, x)  # noqa: E731
    assert vmap(grow)(X, X + 1).tolist() == [23.5, 20.0, 50.5] == [grow(x, x + 1).item() for x in X]
    assert vmap(lambda x: jvp(lambda y: grow(y, 2.0), (x,), (1.0,))[1])(X).tolist() == [16, 16, 8]
    add = lambda x, by: scan(lambda c, y: (c * by + step * y, None), x, X)[0]  # noqa: E731
    assert vmap(add)(X, X - 1).tolist() == [add(x, x - 1).item() for x in X] == [1.5, 5.0, 29.5]


def test_map_batch_size_does_not_change_results() -> None:
    xs, f = Tensor(np.arange(30.0).reshape(5, 2, 3)), lambda x: {"twice": x * 2, "total": x.sum()}
    for size in (1, 2, 5, 7):
        out = map_(f, xs, batch_size=size)
        assert out["twice"].tolist() == (xs * 2).tolist() and out["total"].tolist() == xs.sum((1, 2)).tolist()


def test_fori_loop_with_batched_bounds() -> None:
    digits = lambda a, b: fori_loop(a, b, lambda i, x: x * 10 + i, Tensor(1))  # noqa: E731
    assert vmap(digits)(Tensor([0, 2, 3, 5]), Tensor([0, 5, 3, 2])).tolist() == [1, 1234, 1, 1]
    assert [digits(Tensor(2), 4).item(), digits(2, Tensor(2)).item(), digits(Tensor(3), Tensor(2)).item()] == [
        123,
        1,
        1,
    ]


def test_loops_under_tinyjit_and_function() -> None:
    def f(x: Tensor) -> Tensor:
        return scan(lambda c, v: ((c + v).sin(), c * v), Tensor(0.0), x)[1]

    step, x, wanted = TinyJit(lambda x: f(x).realize()), X.clone().realize(), X
    for _ in range(5):  # feed results back as inputs
        x, wanted = step(x), f(wanted)
    np.testing.assert_allclose(x.numpy(), wanted.numpy(), rtol=1e-5, atol=1e-6)
    for compiled in (function(f), function(f, precompile=True)):
        np.testing.assert_allclose(compiled(X).numpy(), f(X).numpy(), rtol=1e-5)
        np.testing.assert_allclose(vmap(compiled)(ROWS).numpy(), vmap(f)(ROWS).numpy(), rtol=1e-5)
    a = Tensor([[1.0, 2.0, 3.0], [0.5, 0.6, 0.7], [0.1, 0.2, 0.3]]).realize()
    g = lambda a: scan(lambda c, y: (c * a[0] + y * a[1].sin().contiguous(), None), a[0] * 0, a)[0].sum()  # noqa: E731
    np.testing.assert_allclose(grad(function(g))(a).numpy(), grad(g)(a).numpy(), rtol=1e-5)


@pytest.mark.compiled
def test_realized_result_is_not_recomputed(monkeypatch: pytest.MonkeyPatch) -> None:
    runs, original = list[Loop](), compiled_loop.compile_loop
    for module in (compiled_loop, loop_executor):
        monkeypatch.setattr(module, "compile_loop", lambda loop: (runs.append(loop), original(loop))[1])
    _, ys = scan(lambda c, x: (c + x, c), TWO, X)
    ys.realize()
    assert ys.tolist() == [2, 3, 5] and (ys + 1).tolist() == [3, 4, 6]
    assert len(runs) == 1


def test_buffer_views_in_loops_and_chunks() -> None:
    """A view may start at any address, but vector loads must be aligned."""
    numbers = np.arange(64, dtype=np.float32)
    whole = Tensor(numbers).realize()
    c, wanted = scan(lambda c, x: (c * 2 + x, None), whole[1:17], whole[:3])[0], numbers[1:17]
    for x in numbers[:3]:
        wanted = wanted * 2 + x
    assert c.tolist() == wanted.tolist()
    rows = whole[:15].contiguous().realize().reshape(5, 3)
    f = lambda x: while_loop(lambda c: c < 20, lambda c: c * 2, x.abs().sum() + 0.5)  # noqa: E731
    assert vmap(f, chunk_size=2)(rows).tolist() == vmap(f)(rows).tolist()


def test_write_in_body_stays_in_body() -> None:
    a = Tensor([1.0, 2.0]).realize()
    assert while_loop(lambda c: c.sum() < 10, lambda c: c.assign(c + 1), a).tolist() == [5, 6]

    def first(c: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        c[0] = x
        return c, c * 1

    assert scan(first, a, X)[1].tolist() == [[1, 2], [2, 2], [3, 2]]
    assert a.tolist() == [1, 2]


def test_interpreted_and_compiled_loops_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    run = lambda n: scan(lambda c, x: ((c * x).tanh() + c, c), ROWS[0], ROWS[:n])  # noqa: E731
    count = lambda: vmap(lambda x: while_loop(lambda c: c < 50, lambda c: c * x, x + 1))(X + 1)  # noqa: E731
    compiled = [[t.numpy() for t in run(n)] for n in (1, 2, 3)], count().numpy()
    monkeypatch.setattr(compiled_loop.LoopStep, "plan", lambda *_: None)  # simulate a device outside this process
    for (c, ys), (d, zs) in zip([run(n) for n in (1, 2, 3)], compiled[0], strict=True):
        np.testing.assert_array_equal(c.numpy(), d)
        np.testing.assert_array_equal(ys.numpy(), zs)
    np.testing.assert_array_equal(count().numpy(), compiled[1])


# ---- collectives ----


class Rows(Brand): ...


def test_brand_by_class_string_or_object() -> None:
    assert vmap(lambda x: psum(x, Rows), axis_name=Rows, out_axes=None)(X).item() == 6
    assert vmap(lambda x: psum(x, "Rows"), axis_name=Rows)(X).tolist() == [6, 6, 6]
    with brand("r", 3) as r, brand("c", 2) as c:
        z = r.vec(c.vec(ROWS, axis=1))
        assert brands(psum(z, r)) == (c,) and psum(z, (r, "c")).item() == 21
        total = c.unvec(psum(z, "r"))
    assert total.tolist() == [9, 12]


def test_collectives_of_unbatched_values() -> None:
    shared, flag = Tensor([1.5, 2.5]), Tensor(True)
    tell = lambda f: vmap(lambda x: f(), in_axes=0, out_axes=None, axis_name="i")(X)  # noqa: E731
    total, count = tell(lambda: (psum(shared, "i"), psum(flag, "i")))
    assert total.tolist() == [4.5, 7.5] and count.item() == 3 and count.dtype == dtypes.int32
    assert tell(lambda: ppermute(shared, "i", [(0, 1), (1, 2), (2, 0)])).tolist() == [1.5, 2.5]
    some = vmap(lambda x: ppermute(shared, "i", [(0, 1)]) + 0 * x, axis_name="i")(X)
    assert some.tolist() == [[0, 0], [1.5, 2.5], [0, 0]]


def test_collectives_over_nested_brands() -> None:
    f = lambda x: (psum(x, "rows"), all_gather(x, ("rows", "columns")), axis_index(("rows", "columns")))  # noqa: E731
    sums, gathered, index = vmap(vmap(f, axis_name="columns"), axis_name="rows", out_axes=(0, 0, 0))(ROWS)
    assert sums[0].tolist() == [9, 12] and gathered[1, 1].tolist() == [1, 2, 3, 4, 5, 6]
    assert index.flatten().tolist() == [0, 1, 2, 3, 4, 5]


def test_unbatched_value_counts_once_per_example() -> None:
    assert vmap(lambda x: psum(1, "i") + x * 0, axis_name="i")(X).tolist() == [3, 3, 3]
    assert vmap(lambda x: psum(True, "i").cast("float32") + x * 0, axis_name="i")(X).tolist() == [3, 3, 3]
    shared = vmap(grad(lambda w, x: psum(w, "i") * x), in_axes=(None, 0), axis_name="i")
    copies = vmap(grad(lambda w, x: psum(w, "i") * x), axis_name="i")
    assert shared(TWO, X).tolist() == copies(TWO.expand(3), X).tolist() == [6, 6, 6]


def test_tensor_gradient_over_collectives() -> None:
    assert vmap(lambda x: (x * psum(x, "i")).gradient(x)[0], axis_name="i")(X).tolist() == [12, 12, 12]
    w = Tensor([2.0]).realize()
    with brand("rows", 3) as rows:
        loss = rows.unvec((rows.vec(X) * w).sum(), axis=0).square().sum()
        assert loss.gradient(w)[0].tolist() == [56]  # one unbatched loss, so no copies are summed


@pytest.mark.enabled("cpu")
def test_slice_of_realized_tangent() -> None:
    m = Tensor([[2.0, 3.0], [4.0, 5.0]]).realize()
    tangent, _ = jvp(lambda x: jvp(lambda x: x, (x,), (x,)), (m,), (m,))[1]
    assert tangent[0:1].tolist() == [[2, 3]] and m.contiguous_backward()[1:].tolist() == [[4, 5]]


def test_second_derivatives_of_collectives() -> None:
    assert vmap(hessian(lambda x: x * psum(x, "i")), axis_name="i")(X).tolist() == [6, 6, 6]
    assert vmap(grad(grad(lambda x: x * x * psum(x, "i"))), axis_name="i")(X).tolist() == [30, 36, 42]
    inside = vmap(lambda x: jvp(grad(lambda x: x * pmean(x * x, "i")), (x,), (x,))[1], axis_name="i")(X)
    whole = lambda xs: vmap(lambda x: x * pmean(x * x, "i"), axis_name="i")(xs).sum()  # noqa: E731
    np.testing.assert_allclose(inside.numpy(), jvp(grad(whole), (X,), (X,))[1].numpy(), rtol=1e-5)


@pytest.mark.parametrize("collective", [lambda t: psum(t, "i"), lambda t: ppermute(t, "i", [(0, 1), (1, 2), (2, 0)])])
def test_hessian_of_collective_in_jit_and_scan(collective: Callable[[Any], Any]) -> None:
    """A value that loses its brand while it is lowered must be repeated for the examples."""
    w = Tensor([1.0, 2.0]).realize()
    f = vmap(hessian(lambda v: (collective(v * w) * v).sum() ** 2), axis_name="i")
    expected = f(ROWS).numpy()
    np.testing.assert_allclose(jit(f)(ROWS).numpy(), expected)
    np.testing.assert_allclose(scan(lambda c, _: (c, f(c)), ROWS, None, length=2)[1].numpy()[1], expected)


def test_collectives_in_loops() -> None:
    f = lambda x: scan(lambda c, y: (c + psum(y, "i"), psum(y, "i")), Tensor(0.0), x)  # noqa: E731
    total, sums = vmap(f, axis_name="i", out_axes=None)(ROWS)
    assert total.item() == 21 and sums.tolist() == [9, 12]
    grown = lambda x: scan(lambda c, _: (c + psum(c, "i"), None), x, None, length=1)[0]  # noqa: E731
    assert vmap(lambda x: jvp(grown, (x,), (x,))[1], axis_name="i")(X).tolist() == [7, 8, 9]
    until = vmap(lambda x: while_loop(lambda c: psum(c, "i") < 100, lambda c: c * 2, x), axis_name="i")
    assert until(X).tolist() == [32, 64, 96]
    firsts = vmap(lambda x: scan(lambda c, y: (c + all_gather(c, "i")[0], None), x.sum(), x)[0], axis_name="i")
    assert firsts(ROWS).tolist() == [12, 16, 20]
    per_weight = lambda x: grad(lambda w: scan(lambda c, _: (c + psum(w * x, "i"), None), TWO * 0, None, length=2)[0])  # noqa: E731
    assert vmap(lambda x: per_weight(x)(TWO), axis_name="i")(X).tolist() == [6, 12, 18]


def test_ppermute_lowers_to_slices() -> None:
    shift = [(i, i + 1) for i in range(99)]
    out = vmap(lambda x: ppermute(x, "i", shift), axis_name="i")(Tensor.arange(1, 101).contiguous())
    assert out.tolist() == list(range(100)) and len(out.uop.toposort()) < 60


@pytest.mark.parametrize("names", [("rows", "columns"), ("columns", "rows"), ("columns",)])
def test_collectives_over_several_brands(names: tuple[str, ...]) -> None:
    """The last brand varies fastest in an example's index, as in JAX."""
    of = np.arange(36.0, dtype=np.float32).reshape(2, 3, 6)[..., : 6 if len(names) == 2 else 3]
    every = {("rows", "columns"): of, ("columns", "rows"): of.transpose(1, 0, 2), ("columns",): of}[names]
    lead, n = (2, 1)[len(names) - 1], of.shape[-1]
    table = every.reshape(lead, n, n)  # one row per group, indexed by the example's index

    def back(out: np.ndarray) -> np.ndarray:
        shaped = out.reshape(*every.shape[:2], *out.shape[2:])
        return shaped.swapaxes(0, 1) if names == ("columns", "rows") else shaped

    def run(f: Callable[[Any], Any]) -> np.ndarray:
        found: np.ndarray = vmap(vmap(f, axis_name="columns"), axis_name="rows")(Tensor(of)).numpy()
        return found

    np.testing.assert_array_equal(run(lambda x: all_to_all(x, names, 0, 0)), back(table.swapaxes(1, 2)))
    np.testing.assert_array_equal(run(lambda x: psum_scatter(x, names)), back(table.sum(1)))
    np.testing.assert_array_equal(
        run(lambda x: psum_scatter(x, names, tiled=True)), back(table.sum(1).reshape(lead, n, 1))
    )
    moved = np.zeros_like(table)
    moved[:, 0], moved[:, 2] = table[:, 1], table[:, 0]
    np.testing.assert_array_equal(run(lambda x: ppermute(x, names, [(1, 0), (0, 2)])), back(moved))
    numbers = np.broadcast_to(np.arange(n, dtype=np.float32), (lead, n))
    np.testing.assert_array_equal(run(lambda x: axis_index(names).float()), back(numbers))


def test_collective_over_no_axes_is_identity() -> None:
    """Each example is its own group, as in JAX."""
    for f in (psum, all_gather, psum_scatter):
        assert vmap(lambda x, f=f: f(x, ()), axis_name="i")(ROWS).tolist() == ROWS.tolist()


def test_ppermute_of_unbatched_value_derivative() -> None:
    around = [(2, 1), (0, 2), (1, 0)]
    by_w = grad(lambda w, x: x * ppermute(w, "i", around))
    assert vmap(by_w, (None, 0), axis_name="i")(TWO, X).tolist() == [3, 1, 2]
    assert vmap(by_w, axis_name="i")(TWO.expand(3), X).tolist() == [3, 1, 2]


def test_psum_result_can_be_read() -> None:
    seen: list[float] = []
    vmap(lambda x: seen.append(psum(x, "i").item()) or x, axis_name="i")(X)
    assert seen == [6]


# ---- rules ----


def test_custom_jvp_under_vmap_and_in_scan() -> None:
    @custom_jvp
    def sin(x: Tensor) -> Tensor:
        return x.sin()

    sin.defjvps(lambda t, y, x: 10 * t * x.cos())
    assert vmap(grad(sin))(X * 0).tolist() == [10, 10, 10] == vmap(lambda x: jvp(sin, (x,), (1.0,))[1])(X * 0).tolist()
    assert grad(lambda x: vmap(lambda y: sin(x * y))(X).sum())(TWO * 0).item() == 60
    assert np.isclose(grad(grad(sin))(1.0).item(), -10 * np.sin(1.0))
    assert grad(lambda c: scan(lambda c, x: (sin(c), None), c, X)[0])(0.0).item() == 1000

    @custom_vjp
    def product(x: Tensor, y: Tensor) -> Tensor:
        return x * y

    product.defvjp(lambda x, y: (x * y, (x, y)), lambda r, ct: (ct * r[1] * 100, None))
    assert [g.item() for g in grad(product, (0, 1))(2.0, 3.0)] == [300, 0]
    assert grad(lambda x: vmap(lambda y: product(x, y))(X).sum())(TWO).item() == 600

    def power(n: int, x: Tensor) -> Tensor:
        return x**n

    cubed = custom_jvp(power, nondiff_argnums=(0,))
    cubed.defjvp(lambda n, primals, tangents: (power(n, primals[0]), tangents[0] * n))
    assert grad(lambda x: cubed(3, x))(TWO).item() == 3


def test_missing_cotangents_in_pytree() -> None:
    f = custom_vjp(lambda p, x: p["a"] * x + p["b"][0] * p["b"][1])
    params = {"a": TWO, "b": (TWO, TWO)}

    def slopes(rule: Callable[[Tensor, Tensor], Any]) -> list[float]:
        f.defvjp(lambda p, x: (f(p, x), x), rule)
        of_params, of_x = grad(f, (0, 1))(params, TWO + 3)
        return [of_params["a"].item(), *(t.item() for t in of_params["b"]), of_x.item()]

    assert slopes(lambda x, ct: ({"a": ct * x * 10, "b": None}, None)) == [50, 0, 0, 0]
    assert slopes(lambda x, ct: ({"b": (None, ct), "a": None}, ct)) == [0, 0, 1, 1]
    assert slopes(lambda x, ct: (None, ct)) == [0, 0, 0, 1]
    for other in ({"a": TWO}, {"a": TWO, "c": TWO}, {"a": TWO, "b": TWO}, {"a": TWO, "b": (TWO, TWO, TWO)}, TWO):
        with pytest.raises(errors.DerivativeError, match="the cotangent of argument 1 has another structure"):
            slopes(lambda x, ct: (other, ct))


def test_loop_in_custom_vjp_may_start_at_number() -> None:
    f = custom_vjp(lambda a: while_loop(lambda c: c < 100.0, lambda c: c * 2, a * 0 + 10.0))
    f.defvjp(lambda a: (f(a), None), lambda residuals, ct: (ct,))
    assert vmap(f)(X).tolist() == [160, 160, 160]
    g = function(lambda a: scan(lambda c, x: (c + x.half(), c), (a * 0 + 10).half(), a.reshape(1) * 1)[0].float())
    assert vmap(g)(X).tolist() == [11, 12, 13]


def test_custom_jvp_rule_may_use_psum() -> None:
    @custom_jvp
    def f(x: Tensor) -> Tensor:
        return x * psum(x, "i")

    f.defjvp(lambda p, t: (f(*p), t[0] * psum(p[0], "i") + p[0] * psum(t[0], "i")))
    assert vmap(grad(f), axis_name="i")(X).tolist() == [12, 12, 12]


def test_custom_vmap_sees_one_brand_at_a_time() -> None:
    seen: list[Any] = []

    @custom_vmap
    def add(x: Tensor, y: Tensor) -> Tensor:
        return x + y

    @add.def_vmap
    def rule(axis_size: int, in_batched: list[bool], x: Tensor, y: Tensor) -> tuple[Tensor, bool]:
        seen.append((axis_size, in_batched, x.shape, y.shape))
        return add(x.reshape(-1, 1) if in_batched[0] and y.ndim else x, y), True

    table = vmap(lambda a: vmap(lambda b: add(a, b))(ROWS[0]))(X)
    assert table.tolist() == [[2, 3], [3, 4], [4, 5]]
    assert seen == [(2, [False, True], (), (2,)), (3, [True, False], (3,), (2,))]
    assert add(TWO, TWO).item() == 4
    assert vmap(grad(lambda x: add(x * x, TWO)))(X).tolist() == [2, 4, 6]


def test_custom_vmap_out_batched_pytree() -> None:
    @custom_vmap
    def f(x: Tensor) -> dict[str, Any]:
        return {"twice": x * 2, "rest": (x, x.sum())}

    @f.def_vmap
    def rule(axis_size: int, in_batched: list[bool], x: Tensor) -> tuple[Any, Any]:
        return {"twice": x * 2, "rest": (x, Tensor(7.0))}, {"rest": (True, False), "twice": True}

    out = vmap(f, out_axes={"twice": 0, "rest": (0, None)})(ROWS)
    assert out["twice"].tolist() == (ROWS * 2).tolist() and out["rest"][0].tolist() == ROWS.tolist()
    assert out["rest"][1].item() == 7


def test_custom_vmap_in_branch_sees_all_examples() -> None:
    """A batched predicate computes both branches for all examples, as in JAX."""

    @custom_vmap
    def less_the_mean(x: Tensor) -> Tensor:
        return x * 0

    @less_the_mean.def_vmap
    def rule(axis_size: int, in_batched: list[bool], x: Tensor) -> tuple[Tensor, bool]:
        return x - x.mean(), True

    assert vmap(lambda x: cond(x > 1, less_the_mean, lambda x: x, x))(X).tolist() == [1, 0, 1]
    assert vmap(lambda x: switch(x.cast("int32") - 1, [less_the_mean, lambda x: x], x))(X).tolist() == [-1, 2, 3]


def test_custom_vmap_passes_arguments_by_position() -> None:
    class Scale:
        @custom_vmap
        def of(self, x: Tensor, by: Any = 1.0, plus: float = 0.0) -> Tensor:
            raise AssertionError

    @Scale.of.def_vmap
    def rule(axis_size: int, in_batched: Any, self: Scale, x: Tensor, by: Any, plus: float) -> tuple[Tensor, bool]:
        assert isinstance(self, Scale)
        return x * by + plus, True

    scale = Scale()
    assert vmap(lambda x: scale.of(x, plus=1.0))(X).tolist() == [2, 3, 4]
    assert vmap(lambda x: scale.of(1.0, by=x))(X).tolist() == [1, 2, 3]
    assert vmap(lambda x: scale.of(by=x, x=x))(X).tolist() == [1, 4, 9]
    with pytest.raises(errors.OptionError, match="custom_vmap: only has keyword-only parameters"):

        @custom_vmap
        def only(*, x: Tensor) -> Tensor:
            return x

        vmap(lambda x: only(x=x))(X)


def test_sequential_vmap_at_two_depths() -> None:
    product = sequential_vmap(lambda x, y: x * y)
    assert vmap(lambda x: vmap(lambda y: product(x, y))(X))(ROWS[0]).tolist() == [[1, 2, 3], [2, 4, 6]]


# ---- scopes ----


def test_error_in_body_closes_all_scopes() -> None:
    def fails(*_: Any) -> Any:
        raise ZeroDivisionError

    for run in (
        lambda: grad(fails)(TWO),
        lambda: scan(fails, TWO, X),
        lambda: while_loop(lambda c: c > 0, fails, TWO),
        lambda: vmap(lambda x: cond(x > 0, fails, lambda: x))(X),
        lambda: jacfwd(fails)(X),
    ):
        with pytest.raises(ZeroDivisionError):
            run()
    assert brands(TWO * 2) == () and vmap(grad(lambda x: x * x))(X).tolist() == [2, 4, 6]


def test_escaped_body_value_is_an_error() -> None:
    kept: list[Tensor] = []
    scan(lambda c, x: (kept.append(x) or c, None), TWO, X)
    with pytest.raises(errors.EscapeError):
        (kept[0] + 1).tolist()


def test_transforms_do_not_leak_objects() -> None:
    def once() -> None:
        vmap(grad(lambda x: scan(lambda c, y: (c * x + y, None), x, X)[0]))(X).realize()

    for _ in range(3):
        once()
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(5):
        once()
    gc.collect()
    assert len(gc.get_objects()) - before < 500


def test_maximum_under_different_rounding() -> None:
    """tinygrad folds the factors 0.2 and 1..8 in one kernel and not in the other."""
    a = np.random.RandomState(0).rand(8, 8).astype(np.float32)
    x, factor = Tensor(a).realize(), np.arange(1, 9)[:, None] * 0.2
    f = lambda x: (x * (Tensor.arange(8).reshape(8, 1) + 1.0) * 0.2).max(0)  # noqa: E731
    most, slope = (a * factor).max(0), (a * factor == (a * factor).max(0)) * factor
    found = grad(lambda x: (f(x) * x).square().sum())(x).numpy()
    np.testing.assert_allclose(found, slope * 2 * most * (a * a).sum(0) + 2 * most**2 * a, rtol=1e-4)
    np.testing.assert_allclose(jvp(f, (x,), (x,))[1].numpy(), (slope * a).sum(0), rtol=1e-5)
