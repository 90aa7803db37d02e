"""`conv_transpose2d` with a stride equals tinygrad's, which multiplies zeros, and has no product with a zero."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor
from tinygrad.uop.ops import Ops

from branded import grad, vmap
from branded.backends import cpu
from branded.backends.cpu.runtime import native
from tests.support.by_numpy import read

pytestmark = [
    pytest.mark.enabled("cpu"),
    pytest.mark.skipif(not native.can_run("CPU"), reason="there is no C compiler for this device"),
]

R = np.random.default_rng(0)
OPTIONS: tuple[tuple[int, int, dict[str, Any]], ...] = (
    (1, 1, {"stride": 2}),
    (1, 5, {"stride": 3, "output_padding": 2}),
    (2, 2, {"stride": 2}),
    (2, 3, {"stride": 2, "padding": 1, "output_padding": 1}),
    (2, 5, {"stride": (1, 3), "padding": (0, 2)}),
    (2, 4, {"stride": [2, 3], "padding": (1, 0, 2, 3), "groups": 2}),
    (2, 2, {"stride": 3, "output_padding": (4, 1)}),
    (2, 3, {"stride": 2, "dilation": 2}),
    (3, 3, {"stride": (2, 1, 2), "padding": -1, "groups": 2}),
)


@pytest.mark.parametrize("axes, size, options", OPTIONS, ids=str)
def test_values_and_gradients(axes: int, size: int, options: dict[str, Any]) -> None:
    x = Tensor(R.standard_normal((3, 2, 4, *(3, 5, 1)[:axes])))
    w = Tensor(R.standard_normal((3, 4, 3, *[size] * axes)))
    b = Tensor(R.standard_normal(3 * options.get("groups", 1)))

    def f(x: Tensor, w: Tensor) -> Tensor:
        y: Tensor = x.conv_transpose2d(w, b, **options)
        return y

    def loss(x: Tensor, w: Tensor) -> Tensor:
        y = f(x, w)
        total: Tensor = (y * y.flip(-1) * (y + 1)).sum()
        return total

    functions = (vmap(f), vmap(f, in_axes=(0, None)), vmap(f, in_axes=(None, 0)), vmap(grad(loss, argnums=(0, 1))))
    for g, args in zip(functions, ((x, w), (x, w[0]), (x[0], w), (x, w)), strict=True):
        found = g(*args)
        with cpu.plain():
            want = g(*args)
        for y, z in zip(*(t if isinstance(t, tuple) else (t,) for t in (found, want)), strict=True):
            assert y.shape == z.shape and y.dtype == z.dtype
            np.testing.assert_allclose(read(y), read(z), rtol=1e-9, atol=1e-9)


def test_no_zero_is_multiplied() -> None:
    y = Tensor.empty(1, 3, 8, 8).conv_transpose2d(Tensor.empty(3, 2, 4, 4), stride=2)
    products = [u for u in y.uop.toposort() if u.op is Ops.REDUCE]
    assert [u.src[0].shape for u in products if 3 in u.src[0].shape] and len(products) == 1
    assert products[0].src[0].numel() == 3 * 8 * 8 * 2 * 4 * 4


@pytest.mark.parametrize("weight", [(2, 2, 3, 3), (3, 2, 3), (3, 2, 9, 9, 9)])
def test_errors_are_those_of_tinygrad(weight: tuple[int, ...]) -> None:
    def call() -> str:
        with pytest.raises(Exception) as error:
            Tensor.empty(1, 3, 8, 8).conv_transpose2d(Tensor.empty(*weight), stride=2)
        return f"{type(error.value).__name__}: {error.value}"

    with cpu.plain():
        want = call()
    assert call() == want
