"""Kernels that load an element at a computed place in each step are plain loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor

from branded import jit, vmap
from branded.backends.cpu.gemm import blas
from tests.backends.test_cpu import programs_of, source
from tests.support.examples import in_memory

pytestmark = [
    pytest.mark.enabled("cpu"),
    pytest.mark.skipif(not blas.is_there("CPU"), reason="numpy has no BLAS here, or there is no compiler"),
]
R = np.random.default_rng(0)
TYPES = ("float32", "float64", "float16", "int8", "int32", "int64", "uint8", "bool")


def table(*shape: int, dtype: str = "float32") -> np.ndarray:
    x: np.ndarray = (R.standard_normal(shape) * 50).astype(dtype)
    return x


def selected(t: np.ndarray, i: np.ndarray) -> np.ndarray:
    """Return `t[i]` as tinygrad defines it: a negative index counts from the end, and others read zero."""
    i = np.where(i < 0, i + len(t), i)
    inside = (i >= 0) & (i < len(t))
    out: np.ndarray = np.where(inside, t[np.where(inside, i, 0)], 0).astype(t.dtype)
    return out


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", [1, 31, 1000])
def test_entries_of_a_table(n: int, dtype: str) -> None:
    t, i = table(n, dtype=dtype), R.integers(-2 * n, 2 * n, 517).astype(np.int32)
    for f in (lambda t, i: t[i], vmap(lambda t, i: t[i], in_axes=(None, 0))):
        np.testing.assert_array_equal(jit(f)(in_memory(t), in_memory(i)).numpy(), selected(t, i))


COMPUTED: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "ints times a float": ("int32", lambda t: t * 0.5),
    "a cumulative sum of ints": ("int32", lambda t: t.cumsum(0) * 0.5),
    "bools as floats": ("bool", lambda t: 1 - t.cast("float32")),
    "bytes as ints": ("uint8", lambda t: t.cast("int32") - 7),
    "rounded": ("float32", lambda t: (t * 0.1).round().cast("int32")),
}


@pytest.mark.parametrize("name", COMPUTED)
def test_entries_of_a_computed_table(name: str) -> None:
    """Each entry is one load: no kernel runs over all pairs of an index and a place in the table."""
    dtype, f = COMPUTED[name]
    t, i = table(251, dtype=dtype), R.integers(0, 251, 517).astype(np.int32)
    want = f(in_memory(t)).numpy()[i]
    for g in (lambda t, i: f(t)[i], vmap(lambda t, i: f(t)[i], in_axes=(None, 0))):
        np.testing.assert_array_equal(jit(g)(in_memory(t), in_memory(i)).numpy(), want)
        sources = [source(p) for p in programs_of(g(in_memory(t), in_memory(i)))]
        assert sources and not any("517" in text and "Ridx" in text for text in sources)


def test_no_index_and_special_values() -> None:
    t, i = table(40), R.integers(0, 40, 100).astype(np.int32)
    t[:4] = np.nan, np.inf, -np.inf, -0.0
    np.testing.assert_array_equal(jit(lambda t, i: t[i])(in_memory(t), in_memory(i)).numpy(), t[i])
    assert jit(lambda t, i: t[i])(in_memory(t), in_memory(i[:0])).shape == (0,)


def test_own_elements_and_pixels() -> None:
    t, j = table(33, 21), R.integers(0, 21, 33).astype(np.int32)
    own = jit(vmap(lambda row, j: row[j]))(in_memory(t), in_memory(j)).numpy()
    np.testing.assert_array_equal(own, t[np.arange(33), j])
    i, k = R.integers(0, 33, (9, 50)).astype(np.int32), R.integers(0, 21, (9, 50)).astype(np.int32)
    for f in (lambda t, i, k: t[i, k], vmap(lambda t, i, k: t[i, k], in_axes=(None, 0, 0))):
        np.testing.assert_array_equal(jit(f)(*map(in_memory, (t, i, k))).numpy(), t[i, k])


def test_warped_images() -> None:
    """The places are computed from floats, and those outside of the image read zero."""
    images, shifts = table(3, 17, 45), np.array([[0.5, 3.0], [-20.0, 0.25], [1.0, 100.0]], np.float32)
    ys, xs = np.arange(17, dtype=np.float32)[:, None], np.arange(45, dtype=np.float32)[None]

    def warp(image: Any, s: Any) -> Any:
        i, j = Tensor(ys) + s[0], Tensor(xs) + s[1]
        inside = (i >= 0) & (i < 17) & (j >= 0) & (j < 45)
        return inside.where(image[i.clip(0, 16).cast("int32"), j.clip(0, 44).cast("int32")], 0.0)

    want = np.zeros_like(images)
    for n, (a, b) in enumerate(shifts):
        i, j = ys + a, xs + b
        inside = (i >= 0) & (i < 17) & (j >= 0) & (j < 45)
        at = np.clip(i, 0, 16).astype(int), np.clip(j, 0, 44).astype(int)
        want[n] = np.where(inside, images[n][at], 0)
    np.testing.assert_array_equal(jit(vmap(warp))(in_memory(images), in_memory(shifts)).numpy(), want)
