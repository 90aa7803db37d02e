"""Sizes that are a bound Variable give the same values as ints, also in loops and in TinyJit."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor, TinyJit, Variable

from branded import associative_scan, fori_loop, grad, jvp, scan, sequential_vmap, vmap
from branded.errors import AxesError, BrandedError, CarryError, OptionError, SizeError
from tests.fuzz import symbolic

X = np.random.default_rng(0).standard_normal((16, 4)).astype(np.float32)
W = np.random.default_rng(1).standard_normal((4, 3)).astype(np.float32)


def n(k: int) -> Any:
    return Variable("n", 1, 16).bind(k)


def test_matmul_with_symbolic_size() -> None:
    x, w = Tensor(X).realize(), Tensor(W).realize()
    found = (x[: n(5)] @ w).clone().realize()
    np.testing.assert_allclose(found[:5].numpy(), X[:5] @ W, rtol=1e-5, atol=1e-6)


def test_kv_cache_in_tinyjit() -> None:
    cache = Tensor.zeros(2, 16, 4).contiguous().realize()

    @TinyJit
    def attend(x: Tensor, at: Any) -> Tensor:
        cache[:, at : at + 1].assign(Tensor.stack(x * 2, x - 1)).realize()
        keys, values = cache[0, : at + 1], cache[1, : at + 1]
        return ((x @ keys.T).softmax(-1) @ values).realize()

    for k in range(1, 8):
        found = attend(Tensor(X[k : k + 1]).realize(), Variable("at", 1, 15).bind(k)).numpy()
        keys, values = X[: k + 1] * 2, X[: k + 1] - 1
        keys[0] = values[0] = 0  # the cache starts at 1
        scores = np.exp(X[k] @ keys.T)
        np.testing.assert_allclose(found[0], scores @ values / scores.sum(), rtol=1e-4, atol=1e-5)


def test_random_programs() -> None:
    rng = random.Random(6)
    for _ in range(6):
        text, way, *sizes = symbolic.program(rng)
        assert symbolic.check(text, way, tuple(sizes)) is None, (text, way, sizes)


LOOPS: dict[str, Callable[[Tensor, Any], Tensor]] = {
    "scan": lambda x, n: scan(lambda c, y: (c + (x[:n] * y).sum(), None), Tensor(0.0), Tensor([1.0, 2.0]))[0],
    "of a value of the body": lambda x, n: scan(
        lambda c, y: (c + (x[:n].exp() @ Tensor(W)).contiguous().sum() * y, None), Tensor(0.0), Tensor([1.0, 2.0])
    )[0],
    "fori_loop": lambda x, n: fori_loop(0, n, lambda i, s: s + x[i].sum(), Tensor(0.0)),
    "nested": lambda x, n: fori_loop(
        0, 2, lambda i, s: s + fori_loop(0, 2, lambda j, t: t + x[:n].sum(), s), Tensor(0.0)
    ),
    "vmap of fori_loop": lambda x, n: vmap(lambda y: fori_loop(0, n, lambda i, s: s + x[i].sum() * y, Tensor(0.0)))(
        Tensor([1.0, 2.0])
    ),
}


@pytest.mark.parametrize("name", LOOPS)
def test_loops_in_tinyjit_with_symbolic_sizes(name: str) -> None:
    x, f = Tensor(X).realize(), LOOPS[name]
    step = TinyJit(lambda n: f(x, n).realize())
    for k in (3, 5, 2, 7):
        wanted = f(x, k).numpy()
        np.testing.assert_allclose(f(x, n(k)).numpy(), wanted, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(step(n(k)).numpy(), wanted, rtol=1e-5, atol=1e-5)


def test_derivatives_with_symbolic_size() -> None:
    x, w = Tensor(X).realize(), Tensor(W[:, 0]).realize()
    wanted = X[:5].cumsum(0).sum(0)
    f = lambda w: (x[: n(5)] * w).cumsum(0).sum()  # noqa: E731
    np.testing.assert_allclose(grad(f)(w).numpy(), wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(f(w).gradient(w)[0].numpy(), wanted, rtol=1e-4, atol=1e-5)
    tangent = jvp(f, (w,), (Tensor([1.0, 0.0, 0.0, 0.0]),))[1]
    np.testing.assert_allclose(tangent.item(), wanted[0], rtol=1e-4, atol=1e-5)


MISTAKES: dict[str, tuple[Callable[[], Any], type[BrandedError], str]] = {
    "axis_size": (
        lambda: vmap(lambda: Tensor(1.0), axis_size=n(3))(),
        OptionError,
        "axis_size: the symbolic number n is not a size\n  try: pass an int of 0 or more",
    ),
    "length": (
        lambda: scan(lambda c, _: (c, None), Tensor(0.0), None, length=n(3)),
        SizeError,
        "scan: length=the symbolic number n is not a number of steps\n  try: pass an int from 0 to 2**31 - 1",
    ),
    "xs": (
        lambda: scan(lambda c, x: (c + x.sum(), None), Tensor(0.0), Tensor.ones(16, 4)[: n(3)]),
        CarryError,
        "scan: xs has a symbolic size\n  value: f32[n, 4]\n  try:   pass the whole tensor, and select a part with where",  # noqa: E501
    ),
    "an example of sequential_vmap": (
        lambda: vmap(sequential_vmap(lambda x: x.sum()))(Tensor.ones(2, 16)[:, : n(3)]),
        CarryError,
        "map: xs[0] has a symbolic size\n  value: f32[2, n]\n  try:   pass the whole tensor, and select a part with where",  # noqa: E501
    ),
    "a carry": (
        lambda: fori_loop(0, 2, lambda i, x: x + 1, Tensor.ones(16, 4)[: n(3)]),
        CarryError,
        "fori_loop: the carry has a symbolic size\n  value: f32[n, 4]\n"
        "  try:   pass the whole tensor, and select a part with where",
    ),
    "in_axes": (
        lambda: vmap(lambda x: x)(Tensor.ones(16, 4)[: n(3)]),
        AxesError,
        "in_axes: argument 1 has a symbolic size on axis 0\n  value: f32[n, 4]\n"
        "  try:   use a size that is known when vmap is called",
    ),
    "associative_scan": (
        lambda: associative_scan(lambda a, b: a + b, Tensor.ones(16, 4)[: n(3)]),
        SizeError,
        "associative_scan: elems has a symbolic number of elements\n  value: f32[n, 4]\n"
        "  try:   pass the whole tensor, and take the first n elements of the result",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_error_messages(name: str) -> None:
    call, error, text = MISTAKES[name]
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == text
