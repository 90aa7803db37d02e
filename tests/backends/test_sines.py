"""Sine and cosine on the CPU: accurate to two units in the last place for all angles, and vectorized."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tinygrad import Device, Tensor, dtypes
from tinygrad.helpers import Context
from tinygrad.uop.ops import Ops

from branded import grad, vmap
from branded.backends import cpu
from branded.backends.cpu.renderer import sines
from branded.tinygrad_compat import private_api

pytestmark = [
    pytest.mark.enabled("cpu"),
    pytest.mark.skipif(
        Device.DEFAULT != "CPU" or type(Device["CPU"].renderer) is not private_api.cstyle.ClangRenderer,
        reason="kernels of clang",
    ),
]

rng = np.random.default_rng(0)
BITS = rng.integers(0, 2**32, 100_000, dtype=np.uint64).astype(np.uint32).view(np.float32)
ANGLES = {
    "small": rng.uniform(-4, 4, 20_000),
    "thousands": rng.uniform(-1e4, 1e4, 20_000),
    "billions": rng.uniform(-1e9, 1e9, 20_000),
    "all sizes": BITS[np.isfinite(BITS)],
    "next to zeros": np.arange(1, 20_000) * math.pi,
    "next to zeros of the cosine": (np.arange(1, 20_000) - 0.5) * math.pi,
}


def ulps(got: Any, want: Any) -> float:
    """Return the largest error, in units in the last place of the exact result."""
    place = np.maximum(np.spacing(np.abs(want.astype(np.float32))), np.float32(2.0**-149))
    return float((np.abs(got - want) / place).max())


@pytest.mark.parametrize("which", ANGLES)
def test_error_is_at_most_two_ulps(which: str) -> None:
    x = ANGLES[which].astype(np.float32)
    exact = x.astype(np.float64)
    given = Tensor(x).realize()
    assert ulps(given.sin().numpy(), np.sin(exact)) < 2
    assert ulps(given.cos().numpy(), np.cos(exact)) < 2


def test_zeros_infinities_nan_and_denormals() -> None:
    x = Tensor([0.0, -0.0, math.inf, -math.inf, math.nan, 1e-45, -1e-40], dtype="float32").realize()
    sin, cos = x.sin().numpy(), x.cos().numpy()
    assert sin[[0, 1, 5, 6]].tobytes() == x.numpy()[[0, 1, 5, 6]].tobytes()  # the sign of zero too
    assert cos[[0, 1, 5, 6]].tolist() == [1.0] * 4
    assert np.isnan(sin[2:5]).all() and np.isnan(cos[2:5]).all()


@pytest.mark.parametrize("n", [1, 3, 17, 64])
def test_same_function_in_all_kernel_forms(n: int) -> None:
    """Cover scalars, tiles, loops and sums."""
    x = np.linspace(-100, 100, n).astype(np.float32)
    exact = np.sin(x.astype(np.float64))
    assert ulps(Tensor(x).realize().sin().numpy(), exact) < 2
    assert ulps(vmap(lambda a: a.sin())(Tensor(x)).numpy(), exact) < 2
    np.testing.assert_allclose(Tensor(x).realize().sin().sum().item(), exact.sum(), atol=1e-4)


def test_derivative_is_as_accurate() -> None:
    x = Tensor(np.linspace(1000, 1010, 50).astype(np.float32)).realize()
    assert ulps(vmap(grad(lambda a: a.sin()))(x).numpy(), np.cos(x.numpy().astype(np.float64))) < 2


@pytest.mark.parametrize("dtype", [dtypes.float16, dtypes.float64])
def test_other_float_dtypes(dtype: Any) -> None:
    x = np.linspace(-3, 3, 40)
    got = Tensor(x, dtype=dtype).realize().sin().numpy()
    np.testing.assert_allclose(got, np.sin(x), atol=2e-3 if dtype == dtypes.float16 else 1e-12)


def source(x: Tensor) -> str:
    linear = private_api.realize.compile_linear(x.schedule_linear())
    programs = [call.src[0] for call in linear.src if call.src[0].op is Ops.PROGRAM]
    return "\n".join(str(u.arg) for p in programs for u in p.src if u.op is Ops.SOURCE)


def test_generated_calls() -> None:
    x = Tensor(np.zeros((8, 32), np.float32)).realize()
    assert "sine(float x, int turn)" in (text := source(x.sin())) and ", 0)" in text
    assert ", 1)" in source((2 * x).cos()) and ", 1)" in source((-x).cos())
    assert "sine" not in source(x.exp()) and "sine" not in source(x.cast("half").sin())
    with cpu.plain():
        assert "sine" not in source(x.sin())
    with Context(BRANDED_CPU=0):
        assert "sine" not in source(x.cos())


def test_stored_digits_of_pi() -> None:
    """Compare with Machin's formula: 16 arctan(1/5) - 4 arctan(1/239)."""

    def arctan(n: int) -> int:
        term = total = (1 << sines.BITS + 32) // n
        for i in range(3, 2 * sines.BITS, 2):
            term //= -n * n
            total += term // i
        return total

    assert (16 * arctan(5) - 4 * arctan(239)) >> 32 == sines.PI
    assert math.pi == sines.PI / 2**sines.BITS
