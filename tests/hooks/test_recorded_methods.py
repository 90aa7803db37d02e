"""Recorded methods build the same graphs as tinygrad, for the arguments of each call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor, dtypes
from tinygrad.dtype import DType

from branded import jit, vmap
from branded.hooks.recorded_methods import METHODS
from branded.tinygrad_compat import gates

ARGUMENTS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    *(((), {}), ((0,), {}), ((1,), {}), ((-1,), {}), (((0, 1),), {}), ((None,), {}), ((True,), {})),
    *(((), {"axis": 0}), ((), {"axis": 1}), ((0, True), {}), ((), {"axis": 0, "keepdim": True})),
    *(((), {"keepdim": True}), ((), {"keepdim": False}), ((), {"axis": -1, "keepdim": False}), ((1, False), {})),
    *(((7,), {}), (("x",), {}), ((), {"wrong": 1}), ((), {"dtype": dtypes.float64}), ((), {"correction": 0})),
]


def outcome(f: Callable[..., Tensor], x: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the UOp of a result, which is the same object for equal graphs, or the error."""
    try:
        y = f(x, *args, **kwargs)
    except Exception as error:
        return type(error), str(error)
    return y.uop, y.uop.shape, y.uop.dtype


@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.float16, dtypes.int8, dtypes.bool])
@pytest.mark.parametrize("name", METHODS)
def test_second_call_builds_the_same_graph(name: str, dtype: DType) -> None:
    ours = getattr(Tensor, name)
    plain = ours.ours.__wrapped__
    with gates.our_code.during(None):
        for shape in ((2, 3), (3, 2), (3,), (), (1, 3), (0, 3)):
            for _ in range(2):
                x = Tensor.empty(*shape, dtype=dtype)
                for arguments in ARGUMENTS:
                    expected = outcome(plain, x, *arguments)
                    assert outcome(ours, x, *arguments) == expected
                    assert outcome(ours, x, *arguments) == expected


@pytest.mark.compiled
@pytest.mark.parametrize("name", METHODS)
def test_values_of_results(name: str) -> None:
    f = jit(lambda x: x * 2)
    for i in range(4):
        a = np.random.default_rng(i).normal(size=(3, 4)).astype(np.float32)
        y, plain = f(Tensor(a)), Tensor(a * 2)
        for kwargs in ({"axis": 0}, {"axis": 1}):
            np.testing.assert_allclose(
                getattr(y, name)(**kwargs).numpy(), getattr(plain, name)(**kwargs).numpy(), rtol=1e-5, atol=1e-6
            )
        np.testing.assert_allclose(
            vmap(lambda r: getattr(r, name)())(y).numpy(),
            np.stack([getattr(r, name)().numpy() for r in y]),
            rtol=1e-5,
            atol=1e-6,
        )
