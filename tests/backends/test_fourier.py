"""Fourier transforms in C equal numpy's, for all lengths, batches and dtypes, in loops and under transforms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor, dtypes

import branded
from branded import grad, jit, jvp, scan, vmap
from branded.backends import cpu
from branded.backends.cpu.linalg import fourier
from branded.backends.cpu.runtime import host_calls, native
from branded.backends.cpu.runtime.host_calls import ArrayType
from tests.support.by_numpy import reads
from tests.support.profiles import amount, pairs

pytestmark = pytest.mark.skipif(not native.can_run("CPU"), reason="there is no C compiler")

R = np.random.default_rng(0)
DTYPES = {"float32": dtypes.float32, "float64": dtypes.float64}
LENGTHS = (*range(1, 41), 49, 61, 64, 97, 100, 128, 143, 243, 251, 360, 509, 1000, 1009, 1024, 1922, 4096, 6007)
SAMPLE = (*range(1, 9), 11, 13, 16, 19, 25, 27, 36, 49, 97, 143, 360, 1009, 1024, 1922)
"""A length of each kind: powers, products and primes. Each one takes five compiled functions for each dtype."""


def in_c(kind: str, n: int, *parts: np.ndarray, batch: tuple[int, ...]) -> np.ndarray:
    """Run the C function on memory, without tinygrad."""
    dtype = parts[0].dtype
    size = n // 2 + 1 if kind == "rfft" else n
    outs = [np.full((*batch, size), 7, dtype) for _ in range(1 if kind == "irfft" else 2)]
    types: list[list[ArrayType]] = [[ArrayType(x.shape, DTYPES[str(x.dtype)]) for x in xs] for xs in (outs, parts)]
    function = fourier.transform(kind, n)(*types)
    assert function is not None
    function.run(kind, [x.ctypes.data for x in (*outs, *parts)])
    return outs[0] if kind == "irfft" else outs[0] + 1j * outs[1]


def close(found: np.ndarray, want: np.ndarray, n: int, dtype: Any) -> None:
    scale = np.abs(want).max() + math.sqrt(n)
    np.testing.assert_allclose(found / scale, want / scale, rtol=0, atol=8 * np.finfo(dtype).eps)


@pytest.mark.parametrize("batch", [(), (3,), (2, 17)], ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_lengths(dtype: str, batch: tuple[int, ...]) -> None:
    for n in amount(SAMPLE, LENGTHS):
        x, y = R.standard_normal((2, *batch, n)).astype(dtype)
        z, bins = x.astype(float) + 1j * y, n // 2 + 1
        half = [np.ascontiguousarray(part[..., :bins]) for part in (x, y)]
        close(in_c("fft", n, x, y, batch=batch), np.fft.fft(z), n, dtype)
        close(in_c("fft", n, x, batch=batch), np.fft.fft(z.real), n, dtype)
        close(in_c("ifft", n, x, y, batch=batch), np.fft.ifft(z, norm="forward"), n, dtype)
        close(in_c("rfft", n, x, batch=batch), np.fft.rfft(z.real), n, dtype)
        close(in_c("irfft", n, *half, batch=batch), np.fft.irfft(z[..., :bins], n, norm="forward"), n, dtype)


def test_large_lengths() -> None:
    for n in (1 << 16, 30030, 65537):
        x, y = R.standard_normal((2, n))
        close(in_c("fft", n, x, y, batch=()), np.fft.fft(x + 1j * y), n, "float64")


@pytest.mark.parametrize("shapes", [((5, 1, 20), (1, 3, 20)), ((1, 20), (5, 3, 20)), ((5, 3, 20), (20,))], ids=str)
def test_parts_broadcast(shapes: Sequence[tuple[int, ...]]) -> None:
    x, y = (R.standard_normal(shape) for shape in shapes)
    close(in_c("fft", 20, x, y, batch=(5, 3)), np.fft.fft(x + 1j * y), 20, "float64")


def test_not_a_number_stays_in_its_row() -> None:
    x = R.standard_normal((20, 24)).astype(np.float32)
    x[3, 5] = np.nan
    found = np.isnan(in_c("rfft", 24, x, batch=(20,)))
    assert found[3].all() and found.sum() == 13


def transforms(n: int) -> dict[str, Any]:
    return {
        "fft": lambda x, y: branded.fft((x, y), norm="ortho"),
        "fft of reals": lambda x, y: branded.fft(x, n + 3),
        "ifft": lambda x, y: branded.ifft((x, y)),
        "rfft": lambda x, y: branded.rfft(x * y, norm="forward"),
        "irfft": lambda x, y: (branded.irfft((x, y)),),
        "irfft to an odd length": lambda x, y: (branded.irfft((x, y), 2 * n - 1),),
    }


MAPPED = {17: (0, 0), 20: (0, None), 37: (None, 0)}


@pytest.mark.parametrize(("name", "n"), pairs(transforms(0), MAPPED))
def test_transforms_of_tensors(n: int, name: str) -> None:
    """Values, gradients, tangents and their gradients are those of the products with matrices."""
    f = transforms(n)[name]

    def loss(x: Tensor, y: Tensor) -> Tensor:
        total: Tensor = sum(((part + 1) ** 3 * Tensor.arange(part.shape[-1])).mean() for part in f(x, y))
        return total

    def slope(x: Tensor, y: Tensor) -> Tensor:
        out: Tensor = jvp(loss, (x, y), (y, x))[1]
        return out

    def everything(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        return tuple(g(x, y) for g in (lambda x, y: f(x, y)[0], grad(loss), grad(loss, argnums=1), slope, grad(slope)))

    xs = [Tensor(x).realize() for x in R.standard_normal((2, 3, n))]
    for axes in amount([MAPPED[n]], [*MAPPED.values()]):
        args: list[Any] = [x if axis == 0 else x[1] for x, axis in zip(xs, axes, strict=True)]
        results = jit(vmap(everything, in_axes=axes))(*args)
        with cpu.plain():
            wanted = reads(vmap(everything, in_axes=axes)(*args))
        for found, want in zip(results, wanted, strict=True):
            np.testing.assert_allclose(found.numpy(), want, rtol=1e-9, atol=1e-9 * (np.abs(want).max() + 1))


def test_a_loop_runs_no_python(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: host_calls.HostName, memory: Any) -> None:
        raise AssertionError(f"{self} ran in Python")

    monkeypatch.setattr(host_calls.HostName, "run", fails)
    x = R.standard_normal((4, 50)).astype(np.float32)
    decay = np.exp(-np.arange(26) / 9).astype(np.float32)

    def diffused(x: Tensor) -> Tensor:
        def step(x: Tensor, _: None) -> tuple[Tensor, Tensor]:
            re, im = branded.rfft(x)
            x = branded.irfft((re * Tensor(decay), im * Tensor(decay)))
            return x, x.sum()

        out: Tensor = scan(step, x, None, length=7)[0]
        return out

    want = x.astype(float)
    for _ in range(7):
        want = np.fft.irfft(np.fft.rfft(want) * decay, 50)
    for _ in range(2):
        np.testing.assert_allclose(jit(vmap(diffused))(Tensor(x)).numpy(), want, rtol=1e-5, atol=1e-5)
