"""`sequential_vmap` runs examples one after the other, in time linear in their number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tinygrad import Context, Tensor
from tinygrad.uop.ops import Ops, UOp

from branded import (
    axis_index,
    checkpoint,
    cond,
    custom_jvp,
    custom_vjp,
    debug,
    grad,
    hessian,
    jacfwd,
    jit,
    jvp,
    make_expr,
    pmean,
    psum,
    random,
    scan,
    sequential_vmap,
    tree,
    vmap,
    while_loop,
)
from branded.control_flow.loop_primitive import Loop
from branded.graph.primitive import primitive_of
from tests.support import realized
from tests.support.examples import normals
from tests.support.profiles import pairs

X, Y, W = normals(4, 3), normals(2, 3, seed=1), normals(3, 3, seed=2)


def _f(x: Tensor, w: Tensor = W) -> Tensor:
    return (x @ w).sin()


@custom_jvp
def _doubled(x: Tensor) -> Tensor:
    return x * 2


_doubled.defjvp(lambda p, t: (p[0] * 2, t[0] * 5))


@custom_vjp
def _known(x: Tensor) -> Tensor:
    return x * 2


_known.defvjp(lambda x: (x * 3, x), lambda x, g: (g * x,))


def _written(x: Tensor) -> Tensor:
    x = x.clone()
    x[0] = 7.0
    return x


def _taken(q: Any, f: Any, g: Any = lambda x: x * 3) -> Callable[[Tensor], Tensor]:
    return lambda x: cond(x.sum() > 0, q(f), g, x)


def _scanned(f: Any) -> Callable[[Tensor], Tensor]:
    return lambda x: scan(lambda c, _: (f(c), None), x, None, length=2)[0]


PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "trees": lambda q, v: v(lambda x: q(lambda d, k=2.0: {"a": d["x"] * k, "b": (d["x"].sum(),)})({"x": x}))(X),
    "unbatched": lambda q, v: v(lambda x: q(lambda x, w: (x * 2, w @ x, W.sum(), 3.0))(x, W))(X),
    "closure": lambda q, v: v(lambda x: (lambda w: q(lambda a: a * w)(x))(x * 3))(X),
    "two brands": lambda q, v: v(lambda x: vmap(lambda y: q(lambda a, b: (a * 2, b * 3, a * b))(x, y))(Y))(X),
    "nested": lambda q, v: v(q(lambda x: vmap(q(lambda y: x * y))(Y)))(X),
    "gradients": lambda q, v: v(grad(lambda x: q(_f)(x).square().sum()))(X),
    "hessians": lambda q, v: v(hessian(lambda x: q(_f)(x).square().sum()))(X),
    "forward mode": lambda q, v: (v(jacfwd(q(_f)))(X), jvp(lambda w: v(q(lambda x: _f(x, w)))(X), (W,), (W,))[1]),
    "gradient by unbatched": lambda q, v: grad(lambda w: v(q(lambda x: _f(x, w)))(X).square().sum())(W),
    "branches": lambda q, v: v(_taken(q, _f))(X),
    "gradients of branches": lambda q, v: v(grad(lambda x: _taken(q, _f)(x).sum()))(X),
    "a branch not taken": lambda q, v: v(
        grad(lambda x: cond(x.min() > 0, q(lambda x: x.sqrt().sum()), lambda x: x.sum(), x))
    )(X),
    "a division not done": lambda q, v: v(lambda i: cond(i > 0, q(lambda i: 12 // i), lambda i: i, i))(
        Tensor([0, 1, 2, 0])
    ),
    "branches in a loop": lambda q, v: v(grad(lambda x: _scanned(_taken(q, _f))(x).sum()))(X),
    "while_loop": lambda q, v: v(lambda x: while_loop(lambda c: c.square().sum() < 30, q(_grown), x))(X),
    "loops inside": lambda q, v: v(q(_scanned(_f)))(X),
    "a write": lambda q, v: v(q(_written))(X),
    "rules": lambda q, v: (v(grad(lambda x: q(_doubled)(x).sum()))(X), v(grad(lambda x: q(_known)(x).sum()))(X)),
    "a rule, by all": lambda q, v: grad(lambda xs: v(q(_known))(xs).sum())(X),
    "checkpoint": lambda q, v: v(grad(lambda x: checkpoint(q(_f))(x).sum()))(X),
    "keys": lambda q, v: v(q(lambda k: random.normal(k, (3,))))(random.split(random.key(0), 4)),
    "psum": lambda q, v: v(lambda x: (lambda s: q(lambda x: x * s)(x))(psum(x, "i")), axis_name="i")(X),
    "axis_index": lambda q, v: v(lambda x: q(lambda x, i: x * i)(x, axis_index("i")), axis_name="i")(X),
    "jit": lambda q, v: jit(lambda x: v(q(_f))(x))(X),
    "a program": lambda q, v: make_expr(lambda x: v(q(_f))(x))(X)(X),
    "chunks": lambda q, v: v(q(_f), chunk_size=2, out_axes=1)(X),
    "no example": lambda q, v: v(q(_f))(X[:0]),
    "no entry": lambda q, v: v(q(lambda x: x * 2))(X[:, :0]),
    "a dtype": lambda q, v: v(q(lambda x: (x > 0, x.half())))(X),
}


def _grown(c: Tensor) -> Tensor:
    return c * 1.5 + 0.2


def _arrays(out: Any) -> list[np.ndarray]:
    return [x.numpy() for x in tree.leaves(out)]


def _of_all(f: Any, **options: Any) -> Any:
    return vmap(f, **options)


def _over_two(f: Any, **options: Any) -> Any:
    return vmap(f, devices=("CPU:0", "CPU:1"), **options)


@pytest.mark.parametrize(("name", "v"), pairs(PROGRAMS, [_of_all, _over_two]))
def test_sequential_matches_vmap(name: str, v: Any) -> None:
    run = PROGRAMS[name]
    with Context(NOOPT=1):
        found = _arrays(run(sequential_vmap, v))
    with realized.by_numpy():
        wanted = _arrays(run(lambda f: f, vmap))
    for a, b in zip(found, wanted, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def _loops(u: UOp) -> list[Loop]:
    found = [primitive_of(v) for v in u.toposort() if v.op is Ops.FUNCTION]
    return [p for p in found if isinstance(p, Loop)]


LINEAR: dict[str, Callable[[Tensor], Tensor]] = {
    "closure": lambda xs: vmap(lambda x, w: sequential_vmap(lambda a: a * w)(x))(xs, xs * 2),
    "a branch": lambda xs: vmap(_taken(sequential_vmap, lambda x: _f(x, W)))(xs),
    "gradient by closure": lambda xs: grad(lambda w: vmap(_taken(sequential_vmap, lambda x: _f(x, w)))(xs).sum())(W),
    "gradients of examples": lambda xs: vmap(
        lambda x: grad(lambda w: _taken(sequential_vmap, lambda x: _f(x, w))(x).sum())(W)
    )(xs),
}


@pytest.mark.parametrize("name", LINEAR)
def test_step_computes_one_example(name: str) -> None:
    loops = _loops(LINEAR[name](normals(50, 3)).uop)
    assert loops
    for loop in loops:
        step = UOp.sink(*loop.step.src).toposort(enter_calls=False)
        assert max(u.max_numel() for u in step if u.op not in {Ops.SINK, Ops.TUPLE, Ops.FUNCTION}) <= 3 * 3 * 3


def test_each_device_runs_its_own_examples() -> None:
    y = vmap(sequential_vmap(_f), devices=("CPU:0", "CPU:1"))(X.shard(("CPU:0", "CPU:1"), 0).realize())
    linear, _ = y.linear_with_vars()
    assert [c.src[1].max_numel() for c in linear.src if c.src[0].op is Ops.COPY] == [9]  # W, to CPU:1


def test_effects_run_example_by_example() -> None:
    seen = list[float]()

    def f(x: Tensor) -> Tensor:
        debug.callback(lambda v: seen.append(float(v)), x[0])
        debug.callback(lambda v: seen.append(float(v)), x[1])
        return x * 2

    np.testing.assert_allclose(vmap(sequential_vmap(f))(X).numpy(), X.numpy() * 2)
    np.testing.assert_allclose(seen, X[:, :2].flatten().numpy())


def test_results_may_be_used_in_collectives() -> None:
    f = sequential_vmap(lambda x: (x * W[0]).sin())
    found = vmap(lambda x: f(x) - pmean(f(x), "i"), axis_name="i")(X)
    whole = (X * W[0]).sin()
    np.testing.assert_allclose(found.numpy(), (whole - whole.mean(0)).numpy(), atol=1e-6)


def test_function_without_used_arguments() -> None:
    """The body has no parameter that gives the loop a device."""
    slope = sequential_vmap(lambda x, y: hessian(lambda z: Tensor.full((), 1.0))(y))
    found = vmap(lambda x: vmap(lambda y: slope(x, y), out_axes=None)(Y), in_axes=-1)(X)
    assert found.shape == (3, 3, 3) and not found.numpy().any()
