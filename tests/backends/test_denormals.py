"""Denormal numbers on the CPU: zero in long sums of products, kept everywhere else."""

from __future__ import annotations

import platform
from collections.abc import Callable

import numpy as np
import pytest
from tinygrad import Context, Tensor, dtypes

from branded import jit, vmap
from branded.backends.cpu.gemm import blas
from tests.support.examples import in_memory

pytestmark = [
    pytest.mark.enabled("cpu"),
    pytest.mark.skipif(not blas.is_there("CPU"), reason="numpy has no BLAS here, or there is no compiler"),
]

TINY = 1e-40
R = np.random.default_rng(0)
SUMS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "rows": lambda a, x: a @ x,
    "columns": lambda a, x: a.T @ x[: a.shape[0]],
    "pairs": lambda a, x: a @ a.T,
    "all": lambda a, x: (a * x).sum(),
    "then a quotient": lambda a, x: 1 / ((a @ x).square() + 1),
    "vmap": lambda a, x: vmap(lambda r: (r * x).sum())(a),
}


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("shape", [(128, 256), (61, 127), (97, 43)])
def test_sums_with_denormal_operands_are_those_of_numpy(name: str, shape: tuple[int, int]) -> None:
    a = np.where(R.random(shape) < 0.5, TINY, R.standard_normal(shape)).astype(np.float32)
    x = R.standard_normal(max(shape)).astype(np.float32)[: shape[1] if name != "columns" else None]
    arguments = [in_memory(a), in_memory(x)]
    want = _by_numpy(name, a.astype(np.float64), x.astype(np.float64))
    for f in (SUMS[name], jit(SUMS[name])):
        np.testing.assert_allclose(f(*arguments).numpy(), want, rtol=1e-4, atol=1e-4)


def _by_numpy(name: str, a: np.ndarray, x: np.ndarray) -> np.ndarray:
    if name == "columns":
        return a.T @ x[: a.shape[0]]
    if name == "pairs":
        return a @ a.T
    if name == "all":
        return np.asarray((a * x).sum())
    return 1 / ((a @ x) ** 2 + 1) if name == "then a quotient" else a @ x


@pytest.mark.skipif(platform.machine() != "x86_64", reason="other processors keep denormal numbers")
@pytest.mark.parametrize("with_blas", [True, False])
def test_long_sum_of_products_flushes_denormal_operands(with_blas: bool) -> None:
    a, x = in_memory(np.full((64, 128), TINY, np.float32)), in_memory(np.full(128, 1e20, np.float32))
    f: Callable[[], Tensor] = (lambda: a @ x) if with_blas else (lambda: (a * x).sum(1))
    assert f().tolist() == [0] * 64
    with Context(BRANDED_CPU=0):
        assert min(f().tolist()) > 0


def test_other_kernels_keep_denormal_numbers() -> None:
    """An elementwise kernel, a comparison, a logarithm, a sum and a short product see them."""
    x = np.full(1 << 13, TINY, np.float32)
    t = in_memory(x)
    assert (t * 0.5).numpy().min() > 0
    assert (t != 0).all().item()
    np.testing.assert_allclose(t.log().numpy(), np.log(x), rtol=1e-6)
    assert t.reshape(64, 128).sum(1).numpy().min() > 0
    assert (in_memory(x[:64].reshape(8, 8)) @ in_memory(np.ones((8, 8), np.float32))).numpy().min() > 0


def test_processor_keeps_denormal_numbers_after_a_call() -> None:
    a = in_memory(np.full((64, 128), TINY, np.float32))
    for f in (lambda: a @ a.T, lambda: (a * a.cast(dtypes.float32)).sum(1)):
        f().realize()
        assert np.float32(TINY) * np.float32(0.5) > 0
