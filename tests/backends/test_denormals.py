"""Denormal numbers on the CPU: zero in long sums of products and products to be added, kept everywhere else."""

from __future__ import annotations

import math
import platform
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from tinygrad import Context, Tensor, dtypes
from tinygrad.uop.ops import Ops, UOp

from branded import fori_loop, jit, vmap
from branded.backends.cpu.gemm import blas
from branded.compile import kernel_order, linear_program
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


N = 64
HALF = np.full((N, N), TINY, np.float32)
"""Its products with 0.5 are denormal."""
ADDED: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "rows": lambda p, x: p.sum(0),
    "rows and columns": lambda p, x: p.sum(0) + p.sum(1),
    "rows of products": lambda p, x: (p * x).sum(0),
    "something else": lambda p, x: p + x,
    "before a logarithm of a sum": lambda p, x: (p.sum(1) + x[0]).log(),
}
SEEN: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "result": lambda p, x: p,
    "product": lambda p, x: p * x,
    "logarithm": lambda p, x: p.log(),
    "sum of logarithms": lambda p, x: p.log().sum(0),
    "comparison": lambda p, x: (p != 0).where(1.0, x),
    "sum of comparisons": lambda p, x: (p != 0).where(1.0, x).sum(0),
    "maximum": lambda p, x: p.max(0),
    "quotient": lambda p, x: (x / p).sum(0),
    "logarithm of a sum with a constant": lambda p, x: (p + 1e-40).log(),
    "sum with itself": lambda p, x: p * x + p,
    "condition on a sum": lambda p, x: ((p + x) > 0).where(1.0, 2.0),
}


def _flushing(f: Callable[..., Any], *args: Tensor) -> int:
    """Return the number of kernels in the program of a function that flush because others add their results."""
    with pytest.MonkeyPatch.context() as patch:
        marked: list[int] = []

        def flush_terms(calls: Sequence[UOp], writes: Callable[[UOp], Sequence[int]]) -> tuple[UOp, ...]:
            out = kernel_order.flush_terms(calls, writes)
            marked.append(sum(c.src[0].op is Ops.SINK and c.src[0].arg.dont_use_locals for c in out))
            return out

        patch.setattr(linear_program, "flush_terms", flush_terms)
        jit(f)(*args)
    return sum(marked)


@pytest.mark.parametrize("name", ADDED)
def test_products_that_other_kernels_only_add_flush(name: str) -> None:
    assert _flushing(lambda a, b, x: ADDED[name]((a * b).contiguous(), x), *_operands()) == 1


@pytest.mark.parametrize("name", SEEN)
def test_products_that_other_kernels_see_keep_denormal_numbers(name: str) -> None:
    f = SEEN[name]
    assert _flushing(lambda a, b, x: f((a * b).contiguous(), x), *_operands()) == 0

    def with_a_sum(a: Tensor, b: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        p = (a * b).contiguous()
        return p.sum(0), f(p, x)

    assert _flushing(with_a_sum, *_operands()) == 0


def _operands() -> tuple[Tensor, Tensor, Tensor]:
    return in_memory(HALF), in_memory(np.full((N, N), 0.5, np.float32)), in_memory(np.ones((N, N), np.float32))


@pytest.mark.skipif(platform.machine() != "x86_64", reason="other processors keep denormal numbers")
def test_flushed_products_are_zero() -> None:
    a, b, _ = _operands()

    @jit
    def rows(a: Tensor, b: Tensor) -> Tensor:
        return (a * b).contiguous().sum(0)

    @jit
    def logs(a: Tensor, b: Tensor) -> Tensor:
        return (a * b).contiguous().log()

    assert rows(a, b).tolist() == [0] * N
    assert np.isfinite(logs(a, b).numpy()).all()


KEPT: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "a condition on an operand": lambda a, b: (a != 0).where(a * b, 1.0),
    "a condition on the product": lambda a, b: (a * b > 0).where(a * b, 1.0),
    "a quotient": lambda a, b: b * b / a,
    "a logarithm": lambda a, b: a.log() * b,
    "a root": lambda a, b: a.sqrt() * b,
    "no product": lambda a, b: a + b,
    "a constant factor": lambda a, b: a * 0.5,
}


@pytest.mark.parametrize("name", KEPT)
def test_kernels_that_see_denormal_operands_keep_them(name: str) -> None:
    assert _flushing(lambda a, b, x: KEPT[name](a, b).contiguous().sum(0), *_operands()) == 0


def test_derivative_of_a_product_may_ask_for_zero() -> None:
    """`b` is only used where the other factor is not zero."""

    def product(factor: Tensor, a: Tensor, b: Tensor) -> Tensor:
        return (factor * ((b != math.inf) | (a != 0)).where(b, 0.0)).contiguous().sum(0)

    assert _flushing(lambda a, b, x: product(a, a, b), *_operands()) == 1
    assert _flushing(lambda a, b, x: product(x, a, b), *_operands()) == 0


def test_small_products_keep_denormal_numbers() -> None:
    a, b, x = (t[:32].contiguous().realize() for t in _operands())
    assert _flushing(lambda a, b, x: (a * b).contiguous().sum(0), a, b, x) == 0


def test_carries_keep_denormal_numbers_and_terms_of_carries_do_not() -> None:
    a, b, x = _operands()

    def carried(a: Tensor, b: Tensor, x: Tensor) -> Tensor:
        return fori_loop(0, 3, lambda i, c: c * b, a).sum(0)

    def added(a: Tensor, b: Tensor, x: Tensor) -> Tensor:
        def step(i: Tensor, c: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
            p = (a * b * c[1].unsqueeze(1)).contiguous()
            return c[0] + p, c[1] + p.sum(0)

        return fori_loop(0, 3, step, (x, x[0]))[0]

    assert _flushing(carried, a, b, x) == 0
    assert _flushing(added, a, b, x) == 1
