"""Cached indices and broadcasts build the same graphs as tinygrad, including its errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tinygrad import Tensor
from tinygrad.uop.ops import GroupOp

from branded.tinygrad_compat import private_api

pytestmark = pytest.mark.enabled("cpu")

INDICES: list[Any] = [
    *(
        0,
        3,
        -1,
        None,
        ...,
        slice(None),
        slice(1, 3),
        slice(None, None, 2),
        slice(1, None, 2),
        slice(None, None, -1),
        (),
    ),
    *(
        (1, 2),
        (slice(None), 1),
        (..., -2),
        (None, 1, slice(1, 4)),
        (slice(3, 1), 0),
        (slice(-3, -1), slice(None, None, -2)),
    ),
    *(True, 9, (0, 0, 0), (..., ...), "x", slice(0, "x"), slice(None, None, 0)),
]
SHAPES: list[Any] = [(4, 6), (2, 4, 6), (3, 2, 4, 6), (4, 5), (6,), [2, 4, 6], (True, 4, 6)]


def outcome(f: Callable[..., Tensor], x: Tensor, arg: Any) -> Any:
    """Return the UOp of a result, which is the same object for equal graphs, with its shape; or the error."""
    try:
        y = f(x, arg)
    except Exception as error:
        return type(error), str(error)
    return y.uop, y.shape, y is x


@pytest.mark.parametrize(
    ("name", "arguments"), [(private_api.INDEXES, INDICES), (private_api.BROADCASTS, SHAPES)], ids=["index", "shape"]
)
def test_cached_movements_match_tinygrad(name: str, arguments: list[Any]) -> None:
    ours = getattr(Tensor, name)
    for x in (Tensor.empty(4, 6), Tensor.empty(4, 6), Tensor.empty(6, 4).T, Tensor.ones(4, 6) * 2):
        for arg in arguments:
            for _ in range(2):
                got = outcome(ours, x, arg)
                assert got == outcome(ours.__wrapped__, x, arg), arg


def test_cached_movements_name_their_kernels() -> None:
    x = Tensor.empty(3, 5)
    for _ in range(2):
        y = x[1:, ::2]
        moves = [u for u in y.uop.toposort() if u.op in GroupOp.Movement]  # the sizes belong to other methods too
        names = [private_api.all_metadata[u][0].name for u in moves if u in private_api.all_metadata]
        assert set(names) == {"__getitem__"}
        del y
