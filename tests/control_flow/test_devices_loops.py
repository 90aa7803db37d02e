"""Loops over sharded values: one device runs the steps, with the same results as on one device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tinygrad import Context, Tensor, function

import branded
from branded import Brand, all_gather, brand, cond, fori_loop, grad, jit, linalg, scan, shard, tree, vmap, while_loop
from tests.support import realized
from tests.support.examples import normals

TWO, THIRD = ("CPU:0", "CPU:1"), ("CPU:2",)


X, W, Y = normals(4, 2), normals(2, 2, seed=1), normals(2, 2, seed=2)


def _same(found: Any, wanted: Callable[[], Any]) -> None:
    with realized.by_numpy():
        pairs = zip(tree.leaves(found), tree.leaves(wanted()), strict=True)
        expected = [(a, b.numpy()) for a, b in pairs]
    for a, b in expected:
        np.testing.assert_allclose(a.numpy(), b, rtol=1e-4, atol=1e-5)


def _over(devices: tuple[str, ...] | None) -> Any:
    return lambda f, **options: vmap(f, devices=devices, **options)


def _steps(f: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    out: Tensor = scan(lambda c, _: (f(c) * 0.5, None), x, None, length=3)[0]
    return out


def _nested(u: Any, v: Any) -> Any:
    return u(lambda y: _steps(lambda c: v(lambda x: _steps(lambda d: d * y, x))(X).sum(0) + c, y))(Y)


@pytest.mark.parametrize("inner", [THIRD, TWO])
@pytest.mark.parametrize("outer", [("CPU:1",), TWO])
def test_vmap_over_devices_in_loop_in_vmap(outer: tuple[str, ...], inner: tuple[str, ...]) -> None:
    with Context(NOOPT=1):
        _same(_nested(_over(outer), _over(inner)), lambda: _nested(vmap, vmap))


def _loss(w: Tensor, x: Tensor) -> Tensor:
    return ((x @ w).tanh() - x).square().sum()


def _trained(v: Any, x: Tensor) -> Any:
    return _steps(lambda w: w - 0.1 * grad(lambda w: v(lambda x: _loss(w, x))(x).mean())(w), W)


PLACED: dict[str, Callable[[Callable[[Tensor, int], Tensor]], Any]] = {
    "a carry": lambda to: scan(lambda c, _: ((c @ W).sin(), c.sum(1)), to(X, 0), None, length=3),
    "a carry, by its last axis": lambda to: fori_loop(0, 3, lambda i, c: c * 1.5 + i, to(X, 1)),
    "while_loop": lambda to: while_loop(lambda c: c.square().sum() < 99, lambda c: c * 1.5 + 0.1, to(X, 0)),
    "inputs": lambda to: branded.map(lambda x: x.sin(), to(X, 0)),
    "entries of inputs": lambda to: scan(lambda c, x: ((c * x).sin(), x + c), to(W[0], 0), to(X, 1)),
    "a derivative": lambda to: grad(lambda x: _steps(lambda c: (c @ W).sin(), x).sum())(to(X, 0)),
    "an axis of the examples": lambda to: vmap(lambda x: _steps(lambda c: (c * 2).sin(), x))(to(X, 1)),
    "jit": lambda to: jit(lambda x: _steps(lambda c: (c @ W).sin(), x))(to(X, 0)),
}
"""Loops over values sharded by the user."""


@pytest.mark.parametrize("name", PLACED)
def test_loop_result_keeps_its_devices(name: str) -> None:
    with Context(NOOPT=1):
        out = PLACED[name](lambda x, axis: x.shard(TWO, axis))
        assert all(isinstance(y.device, tuple) for y in tree.leaves(out))
        _same(out, lambda: PLACED[name](lambda x, _: x))


def test_carry_is_sharded_and_outputs_replicated() -> None:
    carry, sums = scan(lambda c, _: (c * 2, c.sum(1)), X.shard(TWO, 0), None, length=3)
    assert (carry.uop.axis, sums.uop.axis) == (0, None)


@pytest.mark.parametrize("is_laid", [False, True])
def test_training_steps_on_one_device(is_laid: bool) -> None:
    with Context(NOOPT=1):
        found = _trained(_over(TWO), X.shard(TWO, 0) if is_laid else X)
        assert found.device == W.device
        _same(found, lambda: _trained(vmap, X))


def test_named_brand_in_loop() -> None:
    class Data(Brand): ...

    def step(c: Tensor) -> Tensor:
        with brand(Data, 4) as b:
            return b.unvec(b.vec(c) * 2)

    with shard(Data, TWO):
        np.testing.assert_allclose(_steps(step, X).numpy(), X.numpy())
        with brand(Data, 4) as b:
            assert b.unvec(b.vec(X)).device == ("CPU", "CPU:1")


def test_copy_in_step_stays_on_device_of_loop() -> None:
    away = lambda c: (c.to("CPU:1") * 2).to("CPU").sin()  # noqa: E731
    laid = lambda c: (c.shard(TWO, 0) * 2).to("CPU").sin()  # noqa: E731
    _same((_steps(away, X), _steps(laid, X)), lambda: (_steps(lambda c: (c * 2).sin(), X),) * 2)


def test_examples_on_other_device_than_captured() -> None:
    there = vmap(lambda x: x * 1, devices=THIRD)(X)
    found = vmap(lambda x: branded.map(lambda w: (w * x).sum(), W), devices=THIRD)(there)
    np.testing.assert_allclose(found.numpy(), (X @ W.T).numpy(), rtol=1e-4)


def test_all_gather_of_sharded_argument() -> None:
    """Without `devices=`, gathered and per-example values lie on different axes of the same sharded tensor."""
    gathered = lambda x: vmap(lambda x: (all_gather(x, "i") * x).sum(0), axis_name="i")(x)  # noqa: E731
    np.testing.assert_allclose(gathered(X.shard(TWO, 0)).numpy(), (X.sum(0) * X).numpy(), rtol=1e-4, atol=1e-6)


def test_grad_through_cond_with_captured_matrix() -> None:
    """tinygrad simplifies a choice between equal values to that value, which has fewer axes."""

    def loss(x: Tensor) -> Tensor:
        out: Tensor = cond(x.sum() > 0, lambda x: linalg.solve(W, x), lambda x: x * 2, x)
        return out.sum()

    with Context(NOOPT=1):
        _same(vmap(grad(loss), devices=TWO)(X), lambda: vmap(grad(loss))(X))


@pytest.mark.parametrize("f", [Tensor.erf, function(lambda x: x * x + 1), branded.checkpoint(lambda x: x * x + 1)])
def test_step_calls_function_of_sharded_examples(f: Callable[[Tensor], Tensor]) -> None:
    def steps(v: Any, x: Tensor) -> Any:
        return _steps(lambda w: w - 0.1 * v(lambda row: f(row @ w))(x).mean(0), W)

    with Context(NOOPT=1):
        _same(steps(_over(TWO), X.shard(TWO, 0)), lambda: steps(vmap, X))
