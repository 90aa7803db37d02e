"""Many chunks run as one loop; the function is traced for the first chunk, the loop and the remainder."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor

from branded import grad, jit, tree, vmap
from tests.support.by_numpy import read

RANDOM = np.random.default_rng(0)
A, B, W = (Tensor(RANDOM.normal(size=s).astype(np.float32)).realize() for s in ((3, 203, 5), (203, 5), (5,)))


def features(a: Tensor, b: Tensor, w: Tensor) -> dict[str, Any]:
    return {"x": (a * b).sum(1) + w.sum(), "y": [b.reshape(5, 1) * w, w * 2], "n": 3.0}


def assert_close(first: Any, second: Any) -> None:
    for x, y in zip(tree.leaves(first), tree.leaves(second), strict=True):
        np.testing.assert_allclose(
            read(x) if isinstance(x, Tensor) else x, read(y) if isinstance(y, Tensor) else y, 1e-4, 1e-5
        )


@pytest.mark.parametrize("out_axes", [0, {"x": -1, "y": [2, None], "n": None}], ids=["first", "others"])
@pytest.mark.parametrize("size", [1, 2, 5, 6])
def test_looped_chunks_match_whole_batch(size: int, out_axes: Any) -> None:
    whole = vmap(features, (1, 0, None), out_axes)(A, B, W)
    assert_close(vmap(features, (1, 0, None), out_axes, chunk_size=size)(A, B, W), whole)
    assert_close(jit(vmap(features, (1, 0, None), out_axes, chunk_size=size))(A, B, W), whole)


@pytest.mark.parametrize(("size", "traces"), [(1, 2), (2, 3), (100, 3), (203, 1)])
def test_function_is_traced_at_most_three_times(size: int, traces: int) -> None:
    calls = 0

    def total(b: Tensor) -> Tensor:
        nonlocal calls
        calls += 1
        return b.sum()

    vmap(total, chunk_size=size)(B)
    assert calls == traces


def test_derivatives_of_looped_chunks() -> None:
    def total(w: Tensor, size: int | None) -> Tensor:
        return vmap(lambda b: (b * w).sin().sum(), chunk_size=size)(B).sum()

    expected = grad(lambda w: total(w, None))(W)
    assert_close(grad(lambda w: total(w, 2))(W), expected)
    assert_close(total(W, 2).gradient(W)[0], expected)


def test_random_samples_differ_between_chunks() -> None:
    samples = vmap(lambda b: b.sum() * 0 + Tensor.rand(()), randomness="different", chunk_size=2)(B)
    assert len(set(samples.numpy().tolist())) == 203


def test_chunks_within_vmap() -> None:
    def pairs(size: int | None) -> Tensor:
        return vmap(lambda a: vmap(lambda b: (a * b).sum(), chunk_size=size)(B))(W.reshape(1, 5).expand(3, 5))

    assert_close(pairs(4), pairs(None))
