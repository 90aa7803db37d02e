"""Slow values that are the same for each row of a kernel are computed once, before the kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor
from tinygrad.uop.ops import Ops

from branded import jit, vmap
from branded.backends import cpu
from branded.backends.cpu.gemm import blas
from branded.backends.cpu.renderer import loops as kernels

pytestmark = [
    pytest.mark.enabled("cpu"),
    pytest.mark.skipif(not blas.is_there("CPU"), reason="numpy has no BLAS here, or there is no compiler"),
]


def data(*shape: int) -> Tensor:
    return Tensor(np.random.default_rng(0).standard_normal(shape).astype(np.float32)).realize()


def slow_in_loops(*xs: Tensor) -> list[set[int]]:
    """Return the loop lengths of each kernel that contains a slow operation."""
    asts = [call.src[0].toposort() for call in xs[0].schedule_linear(*xs[1:]).src]
    return [
        {int(u.src[0].val) for u in ast if u.op is Ops.RANGE} for ast in asts if any(u.op in kernels.DEAR for u in ast)
    ]


ROWS: dict[str, tuple[Callable[..., Tensor], Callable[..., Any], set[int]]] = {
    "a row for all rows": (lambda x, b, c: x * b.exp(), lambda x, b, c: x * np.exp(b), {192}),
    "by vmap": (lambda x, b, c: vmap(lambda r: r + b.tanh())(x), lambda x, b, c: x + np.tanh(b), {192}),
    "a matrix and a vector": (lambda x, b, c: x @ b.tanh(), lambda x, b, c: x @ np.tanh(b), {192}),
    "sums of rows": (lambda x, b, c: (x - b.sin()).sum(1), lambda x, b, c: (x - np.sin(b)).sum(1), {192}),
    "repeated": (lambda x, b, c: b.exp().expand(96, 192).contiguous(), lambda x, b, c: np.exp(b) + 0 * x, {192}),
    "padded": (
        lambda x, b, c: x * b[1:191].pad(((1, 1),)).exp(),
        lambda x, b, c: x * np.exp(np.pad(b[1:191], 1)),
        {192},
    ),
    "divisor": (lambda x, b, c: x / (1 + b.exp()), lambda x, b, c: x / (1 + np.exp(b)), {192}),
}


@pytest.mark.parametrize("name", ROWS)
def test_value_common_to_rows_gets_its_own_kernel(name: str) -> None:
    f, by_numpy, loops = ROWS[name]
    x, b, c = data(96, 192), data(192), data(96)
    assert slow_in_loops(f(x, b, c))[0] == loops
    with cpu.plain():
        assert slow_in_loops(f(x, b, c)) == [{96, 192}]
    want = by_numpy(x.numpy(), b.numpy(), c.numpy())
    for run in (f, jit(f)):
        np.testing.assert_allclose(run(x, b, c).numpy(), want, rtol=1e-5, atol=1e-4)


ONE_KERNEL: dict[str, Callable[[], Tensor]] = {
    "once for each row already": lambda: data(96, 192) * data(96, 1).exp(),
    "few rows": lambda: data(3, 192) * data(192).exp(),
    "few numbers": lambda: data(8, 64) * data(64).exp(),
    "nothing slow": lambda: data(96, 192) * (data(192) + 1),
    "a quotient, which is rounded once": lambda: data(96, 192) / data(192),
}


@pytest.mark.parametrize("name", ONE_KERNEL)
def test_cheap_or_small_values_stay_in_one_kernel(name: str) -> None:
    assert len(ONE_KERNEL[name]().schedule_linear().src) == 1


def test_hoisted_values_are_bitwise_equal() -> None:
    """Compare with a full matrix of these rows, where nothing can be hoisted."""
    x, b = data(96, 192), data(192)
    whole = b.expand(96, 192).contiguous().realize()
    fs: list[Callable[[Tensor], Tensor]] = [
        lambda b: x + b.exp() * 3,
        lambda b: x + b.abs().log(),
        lambda b: x * b.sigmoid() - b.tanh(),
        lambda b: (b > 0).where(b.abs().sqrt(), x),
    ]
    for f in fs:
        assert np.array_equal(f(b).numpy(), f(whole).numpy())


def test_row_overwritten_by_its_kernel() -> None:
    x = data(96, 96).clone().realize()
    before = x.numpy().copy()
    x.assign(x * x[0].exp()).realize()
    np.testing.assert_allclose(x.numpy(), before * np.exp(before[0]), rtol=1e-5)
