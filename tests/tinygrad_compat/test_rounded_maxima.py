"""Indices of maxima whose elements two kernels compute, and may round differently."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor

from branded import random, vmap
from branded.tinygrad_compat.uops import is_inexact

LOGITS = np.linspace(0, 2, 3, dtype=np.float32)
SAMPLES = 3000
"""With so many samples, one of the kernels reuses products that the other one groups differently."""


def _scores(key: Tensor) -> Tensor:
    return random.gumbel(key, (4, 3)) + Tensor(LOGITS)


INDICES: dict[str, tuple[Callable[[Tensor], Any], Callable[[Any], Any]]] = {
    "argmax": (lambda x: x.argmax(-1), lambda a: a.argmax(-1)),
    "argmin": (lambda x: x.argmin(-1), lambda a: a.argmin(-1)),
    "argmax of all": (lambda x: x.argmax(), lambda a: a.reshape(len(a), -1).argmax(-1)),
    "max_pool2d": (
        lambda x: x[None].max_pool2d((1, 3), return_indices=True)[1][0, :, 0],
        lambda a: a.argmax(-1) + np.arange(0, 12, 3),
    ),
    "cummax": (lambda x: x.cummax(-1)[1][:, 2], lambda a: a.argmax(-1)),
}


@pytest.mark.parametrize("name", INDICES)
def test_index_of_computed_maximum(name: str) -> None:
    f, wanted = INDICES[name]
    keys = random.split(random.key(7), SAMPLES).realize()
    scores = vmap(_scores)(keys).numpy()
    np.testing.assert_array_equal(vmap(lambda key: f(_scores(key)))(keys).numpy(), wanted(scores))


def test_categorical_samples_are_in_range() -> None:
    keys = random.split(random.key(7), SAMPLES).realize()
    samples = vmap(lambda key: random.categorical(key, Tensor(LOGITS), shape=(4,)))(keys).numpy()
    np.testing.assert_array_equal(samples, vmap(_scores)(keys).numpy().argmax(-1))


def test_stored_values_are_not_copied() -> None:
    x = Tensor([1.0, 3.0, 2.0]).realize()
    assert not is_inexact(x[None].expand(2, 3).uop) and not is_inexact((x * 2).uop) and is_inexact((x * 2 + 1).uop)
