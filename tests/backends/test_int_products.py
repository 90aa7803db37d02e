"""Matrix products of small ints by BLAS in floats that represent all partial sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tinygrad import dtypes

from branded import jit, vmap
from branded.backends.cpu.gemm import blas
from tests.backends.test_products import execute
from tests.support.examples import in_memory

pytestmark = [
    pytest.mark.enabled("cpu"),
    pytest.mark.skipif(not blas.is_there("CPU"), reason="numpy has no BLAS here, or there is no compiler"),
]
R = np.random.default_rng(0)


def ints(*shape: int, dtype: Any = np.int8) -> Any:
    if dtype is np.bool_:
        return R.random(shape) < 0.5
    return R.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype, endpoint=True)


def largest(dtype: Any) -> Any:
    return True if dtype is np.bool_ else np.iinfo(dtype).max


def product(a: Any, b: Any) -> Any:
    return a.matmul(b, dtype=dtypes.int32)


def exact(a: Any, b: Any) -> Any:
    return np.matmul(a, b, dtype=np.int64).astype(np.int32)


@pytest.mark.parametrize(
    ("left", "right", "most"),
    [(np.int8, np.int8, 1023), (np.uint8, np.uint8, 258), (np.uint8, np.int8, 514), (np.bool_, np.int8, 3000)],
)
def test_sums_that_float32_has(left: Any, right: Any, most: int) -> None:
    """Most entries are the largest, and odd, so that more terms have sums that float32 does not have."""
    for terms in (most, 5 * most):
        a, b = (np.full(shape, largest(t), t) for shape, t in (((61, terms), left), ((terms, 67), right)))
        a[0], b[:, 0] = ints(terms, dtype=left), ints(terms, dtype=right)
        products, _, got = execute(product(in_memory(a), in_memory(b)))
        assert products or terms > most
        np.testing.assert_array_equal(got, exact(a, b))


def test_other_products_of_ints() -> None:
    wide, few, a = ints(61, 64, dtype=np.int32), ints(3, 64), ints(64, 67)
    for x in (wide, few):
        products, _, got = execute(product(in_memory(x), in_memory(a)))
        assert not products
        np.testing.assert_array_equal(got, np.matmul(x, a, dtype=np.int32))


def test_batches_and_operations_on_the_sums() -> None:
    xs, w = ints(5, 37, 64), ints(64, 41)
    want = exact(xs, w)
    got = jit(vmap(product, in_axes=(0, None)))(in_memory(xs), in_memory(w)).numpy()
    np.testing.assert_array_equal(got, want)
    rows = jit(vmap(vmap(product, in_axes=(0, None)), in_axes=(0, None)))(in_memory(xs), in_memory(w)).numpy()
    np.testing.assert_array_equal(rows, want)
    got = jit(lambda x, w: product(x, w).maximum(0) * 3 - 1)(in_memory(xs[0]), in_memory(w)).numpy()
    np.testing.assert_array_equal(got, np.maximum(want[0], 0) * 3 - 1)


@pytest.mark.parametrize("to", [dtypes.uint8, dtypes.uint16, dtypes.int32])
def test_conversions_that_change_negative_values(to: Any) -> None:
    x, a = ints(61, 64), ints(64, 67, dtype=np.bool_)
    got = jit(lambda x, a: product(x.cast(to), a))(in_memory(x), in_memory(a)).numpy()
    np.testing.assert_array_equal(got, exact(x.astype(to.fmt), a))
