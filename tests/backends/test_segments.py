"""Concatenations of slow values on the CPU: a kernel for each piece."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tinygrad import Tensor

from branded import grad, jit, vmap
from branded.backends.cpu.gemm import blas
from tests.backends.test_products import array, close, execute

pytestmark = [
    pytest.mark.enabled("cpu"),
    pytest.mark.skipif(not blas.is_there("CPU"), reason="kernels are replaced where BLAS is"),
]

A, B = array(40, 33), array(40, 33)
JOINED: dict[str, tuple[Callable[[Tensor, Tensor], Tensor], Callable[..., np.ndarray], int]] = {
    "rows": (
        lambda a, b: a.exp().cat(b.sin(), dim=1),
        lambda a, b: np.concatenate([np.exp(a), np.sin(b)], 1),
        2,
    ),
    "columns": (
        lambda a, b: a.exp().cat(b.sin(), b.exp(), dim=0),
        lambda a, b: np.concatenate([np.exp(a), np.sin(b), np.exp(b)], 0),
        3,
    ),
    "one column": (
        lambda a, b: a[:, :1].exp().cat(b.sin(), dim=1),
        lambda a, b: np.concatenate([np.exp(a[:, :1]), np.sin(b)], 1),
        2,
    ),
    "stacked": (
        lambda a, b: Tensor.stack(a.exp(), b.sin()) * 2,
        lambda a, b: np.stack([np.exp(a), np.sin(b)]) * 2,
        2,
    ),
    "examples": (
        vmap(lambda a, b: (a * 2).exp().cat(b.exp().flip(0), (a - b).sin()), in_axes=(1, 0)),
        lambda a, b: np.concatenate([np.exp(a * 2).T, np.exp(b)[:, ::-1], np.sin(a.T - b)], 1),
        3,
    ),
}


def smooth(image: Tensor) -> Tensor:
    """Return the sum of each pixel's neighbors, weighted by their difference, as in a bilateral filter."""
    height, width = image.shape
    padded = image.pad(((2, 2), (2, 2)))
    windows = [padded[i : i + height, j : j + width] for i in range(5) for j in range(5)]
    return sum((w * (-((w - image) ** 2)).exp() for w in windows), start=Tensor(0.0))


WHOLE: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "cheap pieces": lambda a, b: a.cat(b * 2, dim=1),
    "few elements": lambda a, b: a[0, :3].exp().cat(b[0, :3].sin()),
    "edges": lambda a, b: a.exp().sin().pad(((0, 0), (1, 1))) + b[0, 0],
    "windows": lambda a, b: vmap(smooth)(a.flatten()[: 20 * 64].reshape(20, 8, 8)),
}


@pytest.mark.parametrize("name", JOINED)
def test_each_piece_has_its_own_kernel(name: str) -> None:
    f, of, pieces = JOINED[name]
    a, b = (A, B) if name != "examples" else (A[:33], B[:33])
    _, kernels, value = execute(f(Tensor(a).realize(), Tensor(b).realize()))
    assert len(kernels) == pieces
    close(value, of(a, b))


@pytest.mark.parametrize("name", WHOLE)
def test_other_kernels_stay_whole(name: str) -> None:
    _, kernels, _ = execute(WHOLE[name](Tensor(A).realize(), Tensor(B).realize()))
    assert len(kernels) == 1


def test_derivative_of_gates() -> None:
    """The derivative of the parts of a value is their concatenation."""

    def gates(z: Tensor) -> Tensor:
        return ((z[:32].sigmoid() * z[32:64].tanh()).exp() * z[64:].sigmoid()).sum()

    z = Tensor(array(50, 96)).realize()
    got = jit(vmap(grad(gates)))(z).numpy()
    for row, x in zip(got[::7], z.numpy()[::7], strict=True):
        np.testing.assert_allclose(row, grad(gates)(Tensor(x)).numpy(), rtol=2e-4, atol=1e-5)
