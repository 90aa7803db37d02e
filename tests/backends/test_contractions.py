"""Products that read overlapping windows without a copy of them equal numpy's."""

from __future__ import annotations

import ctypes
import mmap
import random
import sys
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor, dtypes

from branded import grad
from branded.backends.cpu.gemm import blas
from branded.backends.cpu.gemm.blas import Beginning, OuterAxis
from branded.backends.cpu.gemm.contraction import AXES, Contraction, contraction
from branded.tinygrad_compat import private_api
from tests.fuzz.products_fuzz import found
from tests.support.examples import in_memory

pytestmark = [
    pytest.mark.enabled("cpu"),
    pytest.mark.skipif(not blas.is_there("CPU"), reason="numpy has no BLAS here, or there is no compiler"),
]

R = np.random.default_rng(0)


def array(*shape: int, dtype: Any = np.float32) -> Any:
    return R.standard_normal(shape).astype(dtype)


def windows(x: Any, sizes: tuple[int, ...], stride: int = 1, dilation: int = 1) -> Any:
    """Return the windows of the last axes: their places first, then their elements."""
    n = len(sizes)
    every = tuple(dilation * (k - 1) + 1 for k in sizes)
    out = np.lib.stride_tricks.sliding_window_view(x, every, axis=tuple(range(-n, 0)))
    places, elements = (slice(None, None, stride),) * n, (slice(None, None, dilation),) * n
    return out[(..., *places, *elements)]


def conv(x: Any, w: Any, stride: int = 1, padding: int = 0, dilation: int = 1, groups: int = 1) -> Any:
    n = x.ndim - 2
    x = np.pad(x.astype(np.float64), ((0, 0), (0, 0), *((padding, padding),) * n))
    y = windows(x, w.shape[2:], stride, dilation)
    y = y.reshape(len(x), groups, -1, *y.shape[2:])
    kernels = w.reshape(groups, -1, *w.shape[1:])
    spec = "ngcyxuv,gocuv->ngoyx" if n == 2 else "ngcxu,gocu->ngox"
    out = np.einsum(spec, y, kernels, optimize=True)
    return out.reshape(len(x), len(w), *out.shape[3:])


def execute(t: Tensor) -> tuple[list[Any], Any]:
    """Return the products of a value, and the value."""
    linear, values = t.linear_with_vars()
    private_api.run_linear(linear, values)
    return found(linear), t.numpy()


def close(got: Any, want: Any) -> None:
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5 * max(np.abs(want).max(), 1))


# ---- convolutions ----

CONVOLUTIONS: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, int]]] = [
    ((4, 28, 32, 32), (28, 28, 3, 3), {}),
    ((4, 28, 32, 32), (28, 28, 3, 3), {"padding": 1}),
    ((3, 17, 31, 29), (19, 17, 3, 5), {}),
    ((2, 13, 37, 41), (11, 13, 5, 3), {"padding": 2}),
    ((2, 16, 33, 47), (37, 16, 3, 3), {"stride": 2}),
    ((2, 16, 34, 50), (24, 16, 3, 3), {"stride": 3, "padding": 1}),
    ((4, 16, 32, 32), (32, 16, 3, 3), {"stride": 2, "padding": 1}),
    ((3, 16, 33, 32), (24, 16, 5, 5), {"stride": 2, "padding": 2}),
    ((2, 17, 31, 33), (19, 17, 3, 3), {"dilation": 2}),
    ((2, 17, 31, 33), (19, 17, 3, 3), {"dilation": 3, "padding": 3}),
    ((4, 32, 16, 16), (32, 8, 3, 3), {"groups": 4, "padding": 1}),
    ((8, 64, 7, 7), (96, 64, 3, 3), {"padding": 1}),
    ((1, 40, 56, 23), (150, 40, 3, 3), {"padding": 1}),
    ((8, 3, 28, 28), (6, 3, 5, 5), {}),
    ((8, 32, 257), (64, 32, 5), {"padding": 2}),
    ((3, 23, 101), (29, 23, 7), {"stride": 2}),
]


@pytest.mark.parametrize(("of_x", "of_w", "options"), CONVOLUTIONS)
def test_convolution(of_x: tuple[int, ...], of_w: tuple[int, ...], options: dict[str, int]) -> None:
    x, w = array(*of_x), array(*of_w)
    _, got = execute(in_memory(x).conv2d(in_memory(w), **options))
    close(got, conv(x, w, **options))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_convolution_reads_windows_without_a_copy(dtype: Any) -> None:
    x, w = array(4, 28, 32, 32, dtype=dtype), array(28, 28, 3, 3, dtype=dtype)
    t = in_memory(x).conv2d(in_memory(w))
    linear, values = t.linear_with_vars()
    (p,) = found(linear)
    assert isinstance(p, Contraction)
    assert (p.m, p.n, p.k) == (28, 4 * 30 * 30, 28 * 9)
    assert len(linear.src) == 1
    private_api.run_linear(linear, values)
    close(t.numpy(), conv(x, w))


def test_operand_that_a_small_copy_lays_out_is_multiplied_by_blas() -> None:
    a, b = array(16, 40, 24), array(16, 32, 24)
    (p,), got = execute(Tensor.einsum("bij,bkj->ikb", in_memory(a), in_memory(b)))
    assert isinstance(p, blas.Product)
    close(got, np.einsum("bij,bkj->ikb", a, b))


@pytest.mark.parametrize("padding", [0, 1])
@pytest.mark.parametrize("stride", [1, 2])
def test_derivatives_of_a_convolution(padding: int, stride: int) -> None:
    x, w = array(2, 11, 17, 19), array(13, 11, 3, 3)
    options = {"padding": padding, "stride": stride}
    y = conv(x, w, **options)
    g = R.standard_normal(y.shape)
    dx, dw = grad(lambda x, w: (x.conv2d(w, **options) * Tensor(g.astype(np.float32))).sum(), argnums=(0, 1))(
        in_memory(x), in_memory(w)
    )
    for got, of, value in (
        (dx.numpy(), x, lambda x: conv(x, w, **options)),
        (dw.numpy(), w, lambda w: conv(x, w, **options)),
    ):
        direction = R.standard_normal(of.shape)
        close((got * direction).sum(), (value(direction) * g).sum())  # a convolution is linear in both operands


def test_transposed_convolution() -> None:
    x, w = array(2, 12, 13, 17), array(12, 7, 4, 4)
    _, got = execute(in_memory(x).conv_transpose2d(in_memory(w), stride=2, padding=1))
    direction = R.standard_normal(got.shape)
    close((got * direction).sum(), (conv(direction, w, stride=2, padding=1) * x).sum())


# ---- any axes ----


def before_a_closed_page(x: Any) -> Any:
    """Return a copy that ends where no memory may be read."""
    size = -(-x.nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
    memory = mmap.mmap(-1, size + mmap.PAGESIZE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    if sys.platform == "linux":
        assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(start + size), mmap.PAGESIZE, 0) == 0
    out = np.frombuffer(memory, x.dtype, len(x), size - x.nbytes)
    out[:] = x
    return out


class Axes:
    """Random axes of a product, its arrays, and its value by numpy."""

    def __init__(self, seed: int) -> None:
        self.r, self.np = random.Random(seed), np.random.default_rng(seed)
        self.dtype = self.r.choice((np.float32, np.float32, np.float64))
        kinds = [(1, 0, 1), (0, 1, 1), (1, 1, 0), *self.r.choices([(1, 0, 1), (0, 1, 1), (1, 1, 0), (1, 1, 1)], k=4)]
        sizes = (1, 2, 3, 5, 7, 8, 13, 16, 17, 31, 33)
        self.axes, budget = [], 60_000
        for kind in kinds[: self.r.randint(3, 7)]:
            size = self.r.choice([n for n in sizes if n <= budget] or [1])
            budget //= size
            self.axes.append((kind, size))
        self.of_a, self.of_b = (self._strides(i, can_overlap=True) for i in range(2))
        self.of_out = self._strides(2, can_overlap=False)
        self.alpha = self.r.choice((1.0, -0.5))

    def _strides(self, operand: int, can_overlap: bool) -> list[int]:
        """Return a stride for each axis: in any order, with gaps, backwards, or overlapping as windows do."""
        out, step = [0] * len(self.axes), 1
        for i in self.r.sample(range(len(self.axes)), len(self.axes)):
            kind, size = self.axes[i]
            if kind[operand]:
                out[i] = (
                    step if not can_overlap or self.r.random() < 0.7 else self.r.choice((1, 2, 3, max(step // 2, 1)))
                )
                step = max(step, out[i] * size + self.r.choice((0, 0, 2)))
                if self.r.random() < 0.1 and operand < 2:
                    out[i] = -out[i]
        return out

    def check(self, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
        axes = [OuterAxis(n, *of) for (_, n), *of in zip(self.axes, self.of_a, self.of_b, self.of_out, strict=True)]
        first = [sum(-(x[i] * (x.size - 1)) for x in axes if x[i] < 0) + 3 for i in (1, 2, 3)]
        lengths = [
            f + sum(x[i] * (x.size - 1) for x in axes if x[i] > 0) + 1 for f, i in zip(first, (1, 2, 3), strict=True)
        ]
        a, b = (before_a_closed_page(self.np.standard_normal(n).astype(self.dtype)) for n in lengths[:2])
        out = np.full(lengths[2] + 40, 7, self.dtype)
        made = contraction(axes, {4: dtypes.float32, 8: dtypes.float64}[a.itemsize], *map(Beginning, first), self.alpha)
        assert made is not None
        p, is_turned = made
        address = blas._system()[0]
        monkeypatch.setattr(blas, "threads_for", lambda n: (address, threads if address else 1))
        operands = (b, a) if is_turned else (a, b)
        blas.run(blas.call(p, None).call(), [x.ctypes.data for x in (out, *operands)], {})
        sizes = [n for _, n in self.axes]
        views = [
            np.lib.stride_tricks.as_strided(x[f:], sizes, [s * x.itemsize for s in of])
            for x, f, of in ((a, first[0], self.of_a), (b, first[1], self.of_b))
        ]
        summed = tuple(i for i, (kind, _) in enumerate(self.axes) if not kind[2])
        want = self.alpha * (views[0].astype(np.float64) * views[1]).sum(summed, keepdims=True)
        full = np.full_like(out, 7)
        place = [1 if i in summed else n for i, n in enumerate(sizes)]
        np.lib.stride_tricks.as_strided(full[first[2] :], place, [s * a.itemsize for s in self.of_out])[...] = want
        np.testing.assert_allclose(out, full, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("part", range(4))
def test_axes_in_any_order(part: int, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(40 * part, 40 * part + 40):
        Axes(seed).check(threads, monkeypatch)


def test_many_axes_are_no_contraction() -> None:
    axes = [OuterAxis(2, 4**i, 0, 8**i) for i in range(AXES - 1)]
    axes += [OuterAxis(2, 0, 1, 8**AXES), OuterAxis(2, 3 * 4**AXES, 2, 0)]
    assert contraction(axes, dtypes.float32, *[Beginning()] * 3, 1.0) is None
    assert contraction(axes[1:], dtypes.float32, *[Beginning()] * 3, 1.0) is not None
