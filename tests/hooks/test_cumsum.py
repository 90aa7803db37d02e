"""Test `cumsum` on the CPU: a long axis is one call of C, with the values and dtypes of tinygrad."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tinygrad import Device, Tensor, dtypes

from branded import grad, jacfwd, jacrev, jit, scan, vmap
from branded.backends import cpu
from branded.backends.cpu.runtime import native
from branded.callbacks.running_sums import RunningSums, numpy_cumsum
from branded.graph.primitive import primitive_of

pytestmark = [
    pytest.mark.enabled("cpu"),
    pytest.mark.skipif(not native.can_run(Device.DEFAULT), reason="functions of C in this process"),
]

rng = np.random.default_rng(0)
ONCE = 2.0**-23
"""The relative error of a float32 that was rounded once."""


def data(*shape: int) -> Tensor:
    return Tensor(rng.standard_normal(shape).astype(np.float32)).realize()


def is_one_call(x: Tensor) -> bool:
    return any(isinstance(primitive_of(u), RunningSums) for u in x.uop.toposort())


SHAPES = [
    ((100,), 0),
    ((7, 66), 1),
    ((66, 7), 0),
    ((3, 50, 70), 1),
    ((3, 50, 70), -1),
    ((34, 3, 5), 0),
    ((5, 1, 40), 2),
]


@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_sums_along_each_axis(shape: tuple[int, ...], axis: int) -> None:
    x = data(*shape)
    exact = np.cumsum(x.numpy().astype(np.float64), axis)
    found = x.cumsum(axis)
    assert is_one_call(found)
    np.testing.assert_allclose(found.numpy(), exact, rtol=ONCE, atol=1e-12)
    np.testing.assert_allclose(
        numpy_cumsum(x.numpy(), len(shape) - 1 - axis % len(shape)), exact, rtol=ONCE, atol=1e-12
    )
    whole = (x * 100).cast("int").realize()
    np.testing.assert_array_equal(whole.cumsum(axis).numpy(), np.cumsum(whole.numpy(), axis))


def test_ints_wrap_around() -> None:
    x = Tensor(np.full(40, 2**30, np.int32)).realize()
    assert is_one_call(x.cumsum())
    np.testing.assert_array_equal(x.cumsum().numpy(), np.cumsum(x.numpy(), dtype=np.int32))


@pytest.mark.parametrize("dtype", [dtypes.float16, dtypes.int8, dtypes.bool, dtypes.float64, dtypes.int64])
def test_dtypes_match_tinygrad(dtype: Any) -> None:
    x = (data(3, 40) * 3).cast(dtype).realize()
    found = x.cumsum(1)
    with cpu.plain():
        expected = x.cumsum(1)
        assert found.dtype == expected.dtype and not is_one_call(expected)
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-2)


def test_short_axis_has_no_call() -> None:
    assert not is_one_call(data(1000, 31).cumsum(1)) and is_one_call(data(2, 32).cumsum(1))
    assert not is_one_call(data(0, 50).cumsum(1))


def test_vmap_scan_and_jit() -> None:
    x, w = data(6, 50), data(50)
    expected = np.cumsum(x.numpy(), 1)
    np.testing.assert_allclose(vmap(lambda r: r.cumsum())(x).numpy(), expected, atol=1e-5)
    np.testing.assert_allclose(vmap(lambda r: r.cumsum(), 1)(x.T.contiguous()).numpy(), expected, atol=1e-5)
    both = vmap(lambda a: vmap(lambda b: (a * b).cumsum())(x))(x)
    np.testing.assert_allclose(both.numpy()[2, 3], np.cumsum(x.numpy()[2] * x.numpy()[3]), atol=1e-4)
    total, _ = scan(lambda c, r: (c + r.cumsum(), None), w, x)
    np.testing.assert_allclose(total.numpy(), w.numpy() + expected.sum(0), atol=1e-4)
    np.testing.assert_allclose(jit(lambda x: x.cumsum(1) + 1)(x).numpy(), expected + 1, atol=1e-5)


def test_derivatives() -> None:
    x, w, lower = data(6, 50), data(50), np.tril(np.ones((50, 50), np.float32))
    for jacobian in (jacfwd, jacrev):
        np.testing.assert_array_equal(jacobian(lambda r: r.cumsum())(w).numpy(), lower)
    found = vmap(grad(lambda r: (r.cumsum() * w).sum()))(x)
    np.testing.assert_allclose(found.numpy(), np.tile(lower.T @ w.numpy(), (6, 1)), atol=1e-4)
    second = grad(lambda r: (grad(lambda q: q.cumsum().square().sum())(r) * r).sum())
    np.testing.assert_allclose(second(w).numpy(), 4 * lower.T @ lower @ w.numpy(), rtol=1e-3, atol=1e-2)
    t = w.clone()
    (t.cumsum() * x[0]).sum().backward()
    np.testing.assert_allclose(t.grad.numpy(), lower.T @ x.numpy()[0], atol=1e-4)


def test_large_tensor() -> None:
    x = data(400, 500)
    np.testing.assert_allclose(x.cumsum(1).numpy(), np.cumsum(x.numpy(), 1, np.float64), rtol=ONCE, atol=1e-12)


def test_infinities() -> None:
    a = np.ones(40, np.float32)
    a[[5, 9]] = np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(Tensor(a).realize().cumsum().numpy(), np.cumsum(a))
