"""Indices in kernels for the CPU: rolls over many shapes, vectorized loops, counters of random numbers."""

from __future__ import annotations

import numpy as np
import pytest
from tinygrad import Tensor

from branded import jit, random, vmap
from branded.backends.cpu.renderer.wrapped import NAME, for_clang
from tests.backends.test_cpu import programs_of, source
from tests.support.examples import in_memory
from tests.support.profiles import pairs

pytestmark = pytest.mark.enabled("cpu")

R = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("shape", "dtype"), pairs([(16, 64), (64, 128), (61, 127), (7, 16), (2, 33)], [np.int8, np.float32, np.int64])
)
def test_rolls_are_those_of_numpy(shape: tuple[int, int], dtype: type) -> None:
    x = R.integers(-99, 99, shape).astype(dtype)
    for by in ((-1, -1), (1, -1), (3, 0), (0, shape[1] - 1)):
        rolled = jit(lambda x, by=by: x.roll(by, (0, 1)) + x)(in_memory(x))
        np.testing.assert_array_equal(rolled.numpy(), np.roll(x, by, (0, 1)) + x)


def test_stacked_rolls_are_those_of_numpy() -> None:
    """The values of a lattice, each shifted in its own direction."""
    x, shifts = R.random((9, 64, 128)).astype(np.float32), [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1)]
    stacked = jit(lambda x: Tensor.stack(*(x[i].roll(by, (0, 1)) for i, by in enumerate(shifts))))(in_memory(x))
    want = np.stack([np.roll(x[i], by, (0, 1)) for i, by in enumerate(shifts)])
    np.testing.assert_array_equal(stacked.numpy(), want)


@pytest.mark.parametrize("n", [512, 509, 64])
def test_gather_at_random_indices(n: int) -> None:
    """The last bits of random numbers are indices, which may be computed in vectors."""
    x = R.random(n).astype(np.float32)
    keys = random.split(random.key(3), 20)
    indices = vmap(lambda k: random.randint(k, (n,), 0, n))(keys).numpy()
    got = jit(lambda x: vmap(lambda k: x[random.randint(k, (n,), 0, n)])(keys))(in_memory(x))
    np.testing.assert_array_equal(got.numpy(), x[indices])


def test_program_without_wrapped_index_is_unchanged() -> None:
    assert for_clang([]) == []


def test_counters_of_random_numbers_are_no_sums_of_indices_to_clang() -> None:
    """Clang would take more than a second for a kernel that computes some random numbers from its index."""
    key, x = random.key(5), in_memory(R.random((7, 301)).astype(np.float32))
    hashes = [text for text in map(source, programs_of(x + random.normal(key, (301,)))) if text.count("^") > 16]
    assert hashes and all(f"+4294967295u)^{NAME})" in text and f"int {NAME};" in text for text in hashes)
    assert not any(NAME in text for text in map(source, programs_of(x.roll(1, 1) * 2)))
