"""Cached indices and broadcasts build the same graphs as tinygrad, including its errors."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import pytest
from tinygrad import Context, Tensor, dtypes
from tinygrad.dtype import DType
from tinygrad.uop.ops import GroupOp, Ops

from branded.tinygrad_compat import gates, private_api
from branded.tinygrad_compat.activation import disable, enable

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


OPERANDS: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    *(((3, 4), (4, 5)), ((4,), (4, 5)), ((3, 4), (4,)), ((4,), (4,)), ((4, 4), (4, 4)), ((2, 3, 4), (4, 5))),
    *(((3, 4), (2, 4, 5)), ((1, 4, 4), (4, 4)), ((3, 1), (1, 5)), ((0, 4), (4, 5)), ((3, 4), (3, 4)), ((), (4,))),
]


@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.float16, dtypes.int8, dtypes.bool])
def test_cached_products_match_tinygrad(dtype: DType) -> None:
    ours = gates.plain_of(Tensor, "dot", None)

    def product(x: Tensor, w: Any) -> Any:
        return outcome(ours, x, w)

    for shape, other in OPERANDS:
        for kind in (dtype, dtypes.float32, dtypes.int32):
            for _ in range(2):
                x, w = Tensor.empty(*shape, dtype=dtype), Tensor.empty(*other, dtype=kind)
                pairs = [(x, w), (x, Tensor.ones(*other, dtype=kind) * 2)]
                if math.prod(shape) == math.prod(other):
                    pairs += [(x, x.reshape(other)), (x.reshape(other), x)]
                for a, b in pairs:
                    assert product(a, b) == outcome(ours.__wrapped__, a, b), (shape, other)
    x = Tensor.empty(4, 4)
    for _ in range(2):
        for a, b in ((x, x), (x, x.reshape(1, 4, 4)), (x.reshape(1, 4, 4), x), (x, x.T), (x, 2), (x, [1.0] * 4)):
            assert product(a, b) == outcome(ours.__wrapped__, a, b)


@pytest.mark.parametrize("dtype", dtypes.all)
def test_products_are_built_the_same_outside_of_the_package(dtype: DType) -> None:
    """The cache of products is active for every program, and has one entry for both states."""
    ours = gates.plain_of(Tensor, "dot", None)
    x = Tensor.empty(3, 4, dtype=dtype)
    for kind in dtypes.all:
        w = Tensor.empty(4, 5, dtype=kind)
        expected = outcome(ours.__wrapped__, x, w)
        assert outcome(ours, x, w) == expected
        disable()
        assert outcome(ours.__wrapped__, x, w) == expected == outcome(ours, x, w)
        with Context(IMAGE=1):
            assert outcome(ours, x, w) == outcome(ours.__wrapped__, x, w)
        enable("cpu")


def test_cached_products_name_their_kernels() -> None:
    x, w = Tensor.empty(3, 5), Tensor.empty(5, 4)
    for product, name in ((Tensor.dot, "dot"), (operator.matmul, "__matmul__")):
        for _ in range(2):
            y = product(x, w)
            made = [u for u in y.uop.toposort() if u.op in (Ops.MUL, Ops.REDUCE)]
            assert {private_api.all_metadata[u][0].name for u in made} == {name}
            del y, made


def test_cached_movements_name_their_kernels() -> None:
    x = Tensor.empty(3, 5)
    for _ in range(2):
        y = x[1:, ::2]
        moves = [u for u in y.uop.toposort() if u.op in GroupOp.Movement]  # the sizes belong to other methods too
        names = [private_api.all_metadata[u][0].name for u in moves if u in private_api.all_metadata]
        assert set(names) == {"__getitem__"}
        del y


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.float16, dtypes.int8, dtypes.uint64, dtypes.bool, None])
def test_operands_match_tinygrad(dtype: DType | None, reverse: bool) -> None:
    """None is the weak dtype of a Python number. Equal graphs are the same object."""
    ours = Tensor._broadcasted
    plain = ours.__wrapped__
    x = Tensor(2) if dtype is None else Tensor.empty(2, 3, dtype=dtype)
    numbers = 0, -1, 3, 2**31, -(2**31), 2**70, 0.0, -0.0, 0.1, math.inf, -math.inf, math.nan, True, False
    others = [x, x + 1, x.exp(), x.empty_like(), Tensor(1), Tensor(0.5), Tensor.empty(3, dtype=dtypes.int8)]
    for y in (*numbers, *others, "x", None, [1]):

        def operands(f: Callable[..., Any], y: Any = y) -> Any:
            try:
                return [(t.uop, t.dtype) for t in f(x, y, reverse)]
            except Exception as error:
                return type(error), str(error)

        assert operands(ours) == operands(plain)
