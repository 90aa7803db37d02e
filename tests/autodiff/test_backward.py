"""tinygrad's `Tensor.gradient` and `backward` with respect to closed-over tensors, in loops and across devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tinygrad import Context, Tensor, function

import branded
from branded import checkpoint, cond, grad, linalg, scan, sequential_vmap, vmap
from tests.support.examples import normals

TWO = ("CPU:0", "CPU:1")


X, W = normals(4, 3), normals(3, 3, seed=1)
VIEW = W.T
"""A view of `W` that is a tensor of its own, so a gradient can be taken with respect to it."""


def _step(x: Tensor, w: Tensor) -> Tensor:
    return (x @ w).sin()


def _scanned(x: Tensor, w: Tensor) -> Tensor:
    out: Tensor = scan(lambda c, _: (_step(c, w), None), x, None, length=2)[0]
    return out


LOOPS: dict[str, tuple[Callable[[Tensor], Any], Callable[[Tensor], Any]]] = {
    "map": (lambda w: branded.map(lambda x: _step(x, w), X), lambda w: _step(X, w)),
    "scan": (lambda w: _scanned(X, w), lambda w: _step(_step(X, w), w)),
    "a scan in a vmap": (lambda w: vmap(lambda x: _scanned(x, w))(X), lambda w: _step(_step(X, w), w)),
    "checkpoint": (lambda w: checkpoint(lambda x: _step(x, w))(X), lambda w: _step(X, w)),
    "sequential_vmap": (lambda w: vmap(sequential_vmap(lambda x: _step(x, w)))(X), lambda w: _step(X, w)),
}


@pytest.mark.parametrize("by", ["whole buffer", "a view"])
@pytest.mark.parametrize("name", LOOPS)
def test_gradient_of_tensor_captured_by_loop(name: str, by: str) -> None:
    run, plain = LOOPS[name]
    w = W if by == "whole buffer" else VIEW
    found, wanted = (f(w).square().sum().gradient(w)[0].numpy() for f in (run, plain))
    np.testing.assert_allclose(found, wanted, rtol=1e-4)


def test_backward() -> None:
    w = W.clone().realize()
    branded.map(lambda x: _step(x, w), X).square().sum().backward()
    assert w.grad is not None
    np.testing.assert_allclose(w.grad.numpy(), _step(X, W).square().sum().gradient(W)[0].numpy(), rtol=1e-4)


SHARED: dict[str, Callable[[Any, Tensor], Any]] = {
    "a product": lambda v, w: v(lambda x: _step(x, w))(X),
    "transpose": lambda v, w: v(lambda x: _step(x, w.T))(X),
    "slice": lambda v, w: v(lambda x: x * w[0])(X),
    "a scan": lambda v, w: v(lambda x: _scanned(x, w))(X),
    "a branch": lambda v, w: v(lambda x: cond(x.sum() > 0, lambda x: x @ w.T, lambda x: x, x))(X),
    "solve": lambda v, w: v(lambda x: linalg.solve(w, x))(X),
    "sequential_vmap": lambda v, w: v(sequential_vmap(lambda x: _step(x, w)))(X),
}


@pytest.mark.parametrize("name", SHARED)
def test_gradient_of_tensor_shared_by_devices(name: str) -> None:
    def gradient(v: Any, w: Tensor) -> np.ndarray:
        found: np.ndarray = SHARED[name](v, w).square().sum().gradient(w)[0].numpy()
        return found

    with Context(NOOPT=1):
        for w in (W, VIEW):
            found = gradient(lambda f: vmap(f, devices=TWO), w)
            np.testing.assert_allclose(found, gradient(vmap, w), rtol=1e-3, atol=1e-4)


def test_gradient_of_realized_precompiled_result() -> None:
    x = Tensor([1.0, 2.0]).realize()
    y = function(lambda x: x * x, precompile=True)(x).realize()
    assert y.tolist() == [1.0, 4.0]
    assert y.sum().gradient(x)[0].tolist() == [2.0, 4.0]
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2.0, 4.0]


@pytest.mark.parametrize("precompile", [False, True])
def test_function_returns_same_value_twice(precompile: bool) -> None:
    f = function(lambda a: (a, a, a * 2), precompile=precompile)
    x = Tensor([1.0, 2.0]).realize()
    assert [grad(lambda x, i=i: f(x)[i].sum())(x).tolist() for i in range(3)] == [[1, 1], [1, 1], [2, 2]]
