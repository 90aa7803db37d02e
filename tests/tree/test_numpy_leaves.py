"""Numpy arrays are copied when they are passed: the tensors are lazy, and the caller may write into the array later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor

from branded import array, brand, cond, grad, jit, logaddexp, random, scan, tree, vjp, vmap, while_loop

Array = Any


def _in_brand(a: Array) -> Tensor:
    with brand("i", 2) as i:
        return i.unvec(i.vec(a) * 2)


inner = jit(lambda x, a: x * a)

CALLS: dict[str, tuple[Callable[[Array], Any], list[float]]] = {
    "vmap": (vmap(lambda x: x * 2), [2, 4]),
    "vmap, shared": (lambda a: vmap(lambda x: x * a[1])(Tensor([1.0, 2.0])), [2, 4]),
    "vmap, captured": (lambda a: vmap(lambda x: (x * a).sum())(Tensor([1.0, 2.0])), [3, 6]),
    "grad": (grad(lambda x: x.square().sum()), [2, 4]),
    "vjp": (lambda a: vjp(lambda x: x * 3, a)[1](a)[0], [3, 6]),
    "scan": (lambda a: scan(lambda c, x: (c + x, c + x), Tensor(0.0), a)[1], [1, 3]),
    "while_loop": (lambda a: while_loop(lambda c: c[0] < 3, lambda c: c * 2, a), [4, 8]),
    "cond": (lambda a: cond(Tensor(True), lambda x: x * 2, lambda x: x, a), [2, 4]),
    "brand": (_in_brand, [2, 4]),
    "jit": (jit(lambda x: x), [1, 2]),
    "jit in vmap": (lambda a: vmap(lambda x: inner(x, a).sum())(Tensor([1.0, 2.0])), [3, 6]),
    "array": (array, [1, 2]),
    "ravel": (lambda a: tree.ravel({"a": a})[0], [1, 2]),
    "logaddexp": (lambda a: logaddexp(a, a) - float(np.log(2)), [1, 2]),
}


@pytest.mark.parametrize("name", CALLS)
def test_later_write_into_array_changes_no_result(name: str) -> None:
    f, wanted = CALLS[name]
    for _ in range(2):  # the second call of `jit` takes another path
        a = np.array([1, 2], dtype=np.float32)
        result = f(a)
        a[:] = np.nan
        np.testing.assert_allclose(result.numpy(), wanted, rtol=1e-5)


def test_probabilities_are_copied() -> None:
    p = np.array([0, 1], dtype=np.float32)
    samples = random.choice(random.key(0), 2, (8,), p=p)
    p[:] = [1, 0]
    assert samples.tolist() == [1] * 8
