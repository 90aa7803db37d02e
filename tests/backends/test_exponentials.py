"""`exp` and `exp2` on the CPU: accurate to one unit in the last place for all inputs, and vectorized."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tinygrad import Device, Tensor, dtypes
from tinygrad.helpers import Context

from branded import grad, vmap
from branded.backends import cpu
from branded.tinygrad_compat import private_api
from tests.backends.test_sines import BITS, source, ulps

pytestmark = [
    pytest.mark.enabled("cpu"),
    pytest.mark.skipif(
        Device.DEFAULT != "CPU" or type(Device["CPU"].renderer) is not private_api.cstyle.ClangRenderer,
        reason="kernels of clang",
    ),
]

rng = np.random.default_rng(0)
NEAR = 1.2
"""The error bound without fused multiply-add instructions; with them the error is 0.87."""
NUMBERS = {
    "small": rng.uniform(-1, 1, 20_000),
    "all results": rng.uniform(-105, 90, 50_000),
    "all results of 2": rng.uniform(-151, 129, 50_000),
    "below the smallest": rng.uniform(-104, -87, 20_000),
    "next to underflow": np.linspace(-87.35, -87.32, 5_000),
    "next to underflow of 2": np.linspace(-126.1, -125.9, 5_000),
    "next to the largest": np.linspace(88.7, 88.73, 5_000),
    "all sizes": BITS[np.isfinite(BITS)],
}


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("which", NUMBERS)
def test_error_is_at_most_one_ulp(which: str) -> None:
    x = NUMBERS[which].astype(np.float32)
    given = Tensor(x).realize()
    for got, exact in ((given.exp(), np.exp(x.astype(np.float64))), (given.exp2(), np.exp2(x.astype(np.float64)))):
        found, rounded = got.numpy(), exact.astype(np.float32)
        finite = np.isfinite(rounded)
        np.testing.assert_array_equal(found[~finite], rounded[~finite])
        assert ulps(found[finite], exact[finite]) < NEAR


def test_overflow_and_underflow_limits() -> None:
    x = Tensor([0.0, -0.0, math.inf, -math.inf, 88.72283, 88.72284, -103.97, -103.98, 1e-45], dtype="float32").realize()
    smallest, largest = 2.0**-149, 3.4027983e38
    want = [1.0, 1.0, math.inf, 0.0, largest, math.inf, smallest, 0.0, 1.0]
    np.testing.assert_allclose(x.exp().numpy(), np.float32(want), rtol=1e-7)
    assert np.isnan(Tensor([math.nan]).exp().item()) and np.isnan(Tensor([math.nan]).exp2().item())
    y = Tensor([128.0, 127.0, -149.0, -150.0, 10.0, -1.0]).realize()
    assert y.exp2().tolist() == [math.inf, 2.0**127, smallest, 0.0, 1024.0, 0.5]


def test_scaled_exp_is_computed_as_exp() -> None:
    """tinygrad computes e^y as 2^(y / ln 2), whose rounded quotient loses precision at y = 80."""
    y = np.linspace(-20, 20, 501).astype(np.float32)
    x, exact = Tensor(y).realize(), y.astype(np.float64)
    assert ulps((4 * x).exp().numpy(), np.exp(4 * exact)) < NEAR
    assert ulps((-x / 2).exp().numpy(), np.exp(-exact / 2)) < NEAR
    assert ulps((x * 2 * 2).exp().numpy(), np.exp(4 * exact)) < NEAR
    assert ulps(vmap(grad(lambda a: a.exp()))(x).numpy(), np.exp(exact)) < NEAR
    assert ulps(x.sigmoid().numpy(), 1 / (1 + np.exp(-exact))) < 3
    with cpu.plain():
        assert ulps((4 * x).exp().numpy(), np.exp(4 * exact)) > 10


def test_small_powers_are_rounded_once() -> None:
    """A power that underflows is a multiple of the smallest float32, rounded to nearest."""
    x = np.concatenate([np.linspace(-151, -125, 40_001), np.arange(-151, -120)]).astype(np.float32)
    exact = np.exp2(x.astype(np.float64)) * 2.0**149
    found = Tensor(x).realize().exp2().numpy().astype(np.float64) * 2.0**149
    is_small = x < -126
    assert (np.abs(found - exact)[is_small] <= 0.5 + 1e-7 * exact[is_small]).all()
    np.testing.assert_array_equal(found, np.round(found))


@pytest.mark.parametrize("n", [1, 3, 17, 64])
def test_same_function_in_all_kernel_forms(n: int) -> None:
    """Cover scalars, tiles, loops and sums."""
    x = np.linspace(-50, 50, n).astype(np.float32)
    exact = np.exp(x.astype(np.float64))
    assert ulps(Tensor(x).realize().exp().numpy(), exact) < NEAR
    assert ulps(vmap(lambda a: a.exp())(Tensor(x)).numpy(), exact) < NEAR
    np.testing.assert_allclose(Tensor(x).realize().exp().sum().item(), exact.sum(), rtol=1e-6)


@pytest.mark.parametrize("dtype", [dtypes.float16, dtypes.float64])
def test_other_float_dtypes(dtype: Any) -> None:
    x = np.linspace(-3, 3, 40)
    got = Tensor(x, dtype=dtype).realize().exp().numpy()
    np.testing.assert_allclose(got, np.exp(x), rtol=3e-3 if dtype == dtypes.float16 else 1e-12)


def test_generated_calls() -> None:
    x = Tensor(np.zeros((8, 32), np.float32)).realize()
    for of_e, call in ((x.exp(), "power_of_e(val0)"), ((x * -0.5).exp(), "power_of_e(-0.5f*(val0))")):
        assert call in source(of_e)
    for of_2, call in ((x.exp2(), "power_of_2(val0)"), ((x * 3).exp(), "power_of_2((val0*4.")):
        assert call in source(of_2)
    assert "power" not in source(x.sin()) and "power" not in source(x.double().exp())
    with cpu.plain():
        assert "power" not in source(x.exp())
    with Context(BRANDED_CPU=0):
        assert "power" not in source(x.exp2())
