"""Initial values are written to memory without a kernel, and later writes change that memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor, dtypes
from tinygrad.dtype import DType

from branded import jit, vmap
from branded.compile.initial_values import write_initial_values
from branded.compile.output_pool import Result
from branded.tinygrad_compat import result_marks

pytestmark = pytest.mark.compiled

VALUES: dict[str, Callable[[], Tensor]] = {
    "an array": lambda: Tensor(np.arange(12, dtype=np.float32).reshape(3, 4)),
    "a transposed array": lambda: Tensor(np.arange(12, dtype=np.float32).reshape(4, 3).T),
    "an array of the other byte order": lambda: Tensor(np.arange(12, dtype=">f4").reshape(3, 4)),
    "a list": lambda: Tensor([[1.5, 2.0], [3.0, 4.0]]),
    "bools": lambda: Tensor([True, False, True]),
    "bfloat16": lambda: Tensor([1.0, 2.0], dtype=dtypes.bfloat16),
    "a cast": lambda: Tensor(np.arange(3), dtype=dtypes.float32),
    "zeros": lambda: Tensor.zeros(3, 4),
    "ones of ints": lambda: Tensor.ones(3, 4, dtype=dtypes.int8),
    "a 0-d value": lambda: Tensor.full((), 7),
    "a float16": lambda: Tensor.full((2, 3), 0.1, dtype=dtypes.float16),
    "infinity": lambda: Tensor.full((2, 3), -float("inf")),
    "minus zero": lambda: Tensor.full((2, 3), -0.0),
    "NaN": lambda: Tensor.full((2, 3), float("nan")),
    "a clone of a constant": lambda: Tensor.full((2, 3), 2.0, buffer=False).clone(),
    "an empty array": lambda: Tensor(np.zeros((0, 4), np.float32)),
    "part of an array": lambda: Tensor(np.arange(12, dtype=np.float32).reshape(3, 4))[1],
    "a sum of both": lambda: Tensor(np.arange(4, dtype=np.float32)) + Tensor.ones(4),
}
"""Values with a last axis of at least one element, computed from initial values."""


def bits(x: Tensor) -> Any:
    size = x.dtype.itemsize
    return (
        x.bitcast({1: dtypes.uint8, 2: dtypes.uint16, 4: dtypes.uint32, 8: dtypes.uint64}[size]).contiguous().tolist()
    )


@pytest.mark.parametrize("name", VALUES)
def test_initial_values_have_the_same_bits(name: str) -> None:
    make = VALUES[name]
    expected = bits(make().realize())
    identity = jit(lambda x: x.contiguous())
    for _ in range(3):
        x = make()
        write_initial_values([x])
        assert bits(x) == expected
        assert bits(identity(make())) == expected
    if make().ndim:
        for _ in range(3):
            np.testing.assert_array_equal(vmap(lambda r: r + r)(make()).numpy(), (make() + make()).numpy())


@pytest.mark.parametrize(("dtype", "number"), [(dtypes.int8, 100), (dtypes.float64, 0.1), (dtypes.uint64, 2**63)])
def test_representable_number_is_written(dtype: DType, number: float) -> None:
    x = Tensor.full((2,), number, dtype=dtype)
    assert write_initial_values([x])
    assert x.uop.is_realized and x.tolist() == [number, number]
    assert not write_initial_values([x])


@pytest.mark.parametrize("other", ["the argument", "a view", "a value computed from it"])
def test_array_is_copied_once(other: str) -> None:
    a = np.ones(4, np.float32)
    x = Tensor(a)
    y = {"the argument": x, "a view": x.reshape(2, 2), "a value computed from it": x * 1}[other]
    jit(lambda x: x * 2)(x)
    a[:] = 5
    assert y.flatten().tolist() == [1, 1, 1, 1]


def test_later_writes_change_the_memory() -> None:
    f = jit(lambda x: x * 2)
    for _ in range(3):
        x = Tensor.zeros(4)
        y = x.reshape(2, 2)
        assert f(x).tolist() == [0, 0, 0, 0]
        x.assign(Tensor.ones(4))
        assert f(x).tolist() == [2, 2, 2, 2] and f(y).tolist() == [[2, 2], [2, 2]]
        x += 1
        assert f(x).tolist() == [4, 4, 4, 4]


def test_write_before_the_first_use() -> None:
    f = jit(lambda x: x * 2)
    for _ in range(3):
        x = Tensor.zeros(4)
        x.assign(x + Tensor([1.0, 2.0, 3.0, 4.0]))
        assert f(x).tolist() == [2, 4, 6, 8]
        z = Tensor.zeros(4).contiguous()
        z[1:3] = 5
        assert vmap(lambda r: r + 1)(z).tolist() == [1, 6, 6, 1]


def test_shared_zeros_are_never_written() -> None:
    """Small filled tensors share memory as arguments, so no write and no donated argument may reach it."""
    f, g, same = jit(lambda x: x + 1), jit(lambda x: x + 2, donate_argnums=0), jit(lambda x: x)
    for _ in range(3):
        x, y = Tensor.zeros(2, 3), Tensor.zeros(2, 3)
        assert f(x).tolist() == f(y).tolist() == [[1] * 3] * 2
        assert g(Tensor.zeros(2, 3)).tolist() == [[2] * 3] * 2
        assert g(f(y)).tolist() == [[3] * 3] * 2
        z = same(x)
        z += 5
        x.assign(x + 7)
        y[0] = 3
        assert f(x).tolist() == [[8] * 3] * 2 and f(y).tolist() == [[4] * 3, [1] * 3]
        assert z.tolist() == [[5] * 3] * 2 and f(Tensor.zeros(2, 3)).tolist() == [[1] * 3] * 2
        assert vmap(lambda r: r + 1)(Tensor.zeros(2, 3)).tolist() == [[1] * 3] * 2


@pytest.mark.parametrize("is_reused", [False, True])
def test_memory_of_arrays_is_used_again_after_their_tensors(is_reused: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tensor, a view, a value that contains it or a written tensor keeps its memory."""
    f, g, kept, made = jit(lambda x: x * 2), jit(lambda x: x + 1, donate_argnums=0), [], list[Any]()
    a = np.ones((4, 4), np.float32)
    f(Tensor(a))
    monkeypatch.setattr(Result, "make", lambda self, make=Result.make: made.append(self) or make(self))
    for i in range(30):
        a[:] = i
        x = Tensor(a)
        expected = a * 2
        y = f(x)
        assert y.tolist() == expected.tolist()
        if not is_reused:
            view, lazy, donated = x.reshape(16), x.T + 1, g(Tensor(a))
            if i % 2:
                x.assign(x * 3).realize()
                kept.append((x, a * 3))
            kept += [(view, a.reshape(16) * (3 if i % 2 else 1)), (donated, a + 1), (y, expected.copy())]
            if not i % 2:
                kept.append((lazy, a.T + 1))
            del view, lazy, donated
        del x, y
    assert bool(made) is not is_reused
    for t, expected in kept:
        np.testing.assert_array_equal(t.numpy(), expected)


def test_memory_of_arrays_is_not_ours() -> None:
    """What tinygrad computes from an argument of a compiled function stays tinygrad's."""
    x = Tensor(np.full((4, 3), 2.0, np.float32))
    jit(lambda x: x * 2)(x)
    assert x.uop.base.is_realized and not result_marks.is_ours(x.uop) and not result_marks.is_ours((x + 41).uop)
