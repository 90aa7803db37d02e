"""Kernels in the step of a loop that compute the same values in every step: only the first step runs them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor

from branded import fori_loop, jit, scan, while_loop
from branded.backends.cpu.gemm import blas
from branded.compile import kernel_times

WIDTH = 128
"""A matrix of this width, transposed, is copied for BLAS if that happens once, but not in each step."""


def arrays(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=shape, scale=WIDTH**-0.5).astype(np.float32) for shape in shapes]


def product(h: Any, w: Any) -> Any:
    """Multiply by a transposed matrix."""
    return h @ w.T + 1


def repeat(h: np.ndarray, w: np.ndarray, steps: int) -> np.ndarray:
    for _ in range(steps):
        h = product(h, w)
    return h


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 6])
@pytest.mark.parametrize("kind", ["scan", "reverse", "while"])
def test_products_with_a_fixed_matrix_equal_the_loop(kind: str, steps: int) -> None:
    h, w = arrays((32, WIDTH), (WIDTH, WIDTH))

    def run(h: Tensor, w: Tensor) -> Tensor:
        if kind == "while":
            return while_loop(lambda s: s[0] < steps, lambda s: (s[0] + 1, product(s[1], w)), (Tensor(0), h))[1]
        return scan(lambda h, _: (product(h, w), None), h, None, length=steps, reverse=kind == "reverse")[0]

    f = jit(run)
    for a, b in ((h, w), (h, w * 2), (h, w * 2)):  # a step runs again with another matrix
        np.testing.assert_allclose(f(Tensor(a), Tensor(b)).numpy(), repeat(a, b, steps), rtol=1e-4, atol=1e-4)


def test_matrix_of_each_step_is_read_in_each_step() -> None:
    h, ws = arrays((32, WIDTH), (5, WIDTH, WIDTH))
    """Also by a kernel that reads nothing else."""
    step = lambda h, w: (product(h, (w * 2).contiguous()), None)  # noqa: E731
    found = jit(lambda h, ws: scan(step, h, ws)[0])(Tensor(h), Tensor(ws))
    wanted = h
    for w in ws:
        wanted = product(wanted, w * 2)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-4, atol=1e-4)


def test_matrix_of_an_outer_step_is_fixed_in_the_inner_loop_alone() -> None:
    h, ws = arrays((32, WIDTH), (3, WIDTH, WIDTH))

    def outer(h: Tensor, w: Tensor) -> Any:
        return fori_loop(0, 4, lambda _, h: product(h, w), h), None

    found = jit(lambda h, ws: scan(outer, h, ws)[0])(Tensor(h), Tensor(ws))
    wanted = h
    for w in ws:
        wanted = repeat(wanted, w, 4)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.skipif(not blas.is_there("CPU"), reason="BLAS is not available")
def test_a_fixed_matrix_is_transposed_once() -> None:
    h, w = (Tensor(a).realize() for a in arrays((32, WIDTH), (WIDTH, WIDTH)))
    found = scan(lambda h, _: (product(h, w), None), h, None, length=50)[0]
    runs = [t.runs for t in kernel_times.kernels([found.uop]) if t.depth == 1]
    assert runs == [1, 50, 50], "a copy of the matrix, then BLAS and the sum in each step"
