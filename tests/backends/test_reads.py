"""Kernels whose form depends on the order of their reads: transposed operands, and sums that read no memory."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from tinygrad import Tensor
from tinygrad.uop.ops import Ops, UOp

from branded import jit, value_and_grad
from branded.tinygrad_compat import private_api
from tests.backends.test_cpu import is_loops, programs_of, pytestmark, source
from tests.support.by_numpy import read
from tests.support.examples import in_memory

pytestmark = list(pytestmark)
R = np.random.default_rng(0)


def data(*shape: int, dtype: str = "float32") -> Tensor:
    return in_memory((R.standard_normal(shape) * 50).astype(dtype))


TRANSPOSED: dict[str, Callable[[], Tensor]] = {
    "a copy": lambda: data(40, 64).T.contiguous(),
    "a prime number of rows": lambda: data(41, 64).T.contiguous(),
    "a sum": lambda: data(64, 64) + data(64, 64).T,
    "computed": lambda: (data(40, 64).T * 0.01).exp(),
    "both transposed": lambda: (data(40, 64) - data(40, 64)).T.contiguous(),
    "from the end": lambda: data(40, 64).T.flip(1) + 1,
    "rows from the end": lambda: data(40, 64).T.flip((0, 1)) + 1,
    "padded": lambda: data(40, 64).T.pad((1, 2)) + 1,
    "joined": lambda: data(40, 64).T.cat(data(64, 40), dim=1),
    "batches": lambda: data(5, 40, 64).transpose(1, 2).contiguous(),
    "three axes": lambda: data(16, 5, 24).permute(2, 1, 0).contiguous(),
    "doubles": lambda: data(40, 64, dtype="float64").T.contiguous(),
    "integers of 8 bits": lambda: data(40, 64, dtype="int8").T + 1,
    "integers of 8 bits, a prime number of rows": lambda: data(41, 64, dtype="int8").T + 1,
    "halves": lambda: data(40, 64, dtype="float16").T + 1,
}
OTHERS: dict[str, Callable[[], Tensor]] = {
    "contiguous": lambda: data(40, 64) + 1,
    "few rows": lambda: data(8, 64).T.contiguous(),
    "a prime number of columns": lambda: data(40, 61).T.contiguous(),
    "every other column": lambda: data(40, 64)[:, ::2].T.contiguous(),
}


def width(program: UOp) -> list[object]:
    return [opt.arg for opt in program.src[0].arg.applied_opts if opt.op is private_api.OptOps.UPCAST]


@pytest.mark.parametrize("name", TRANSPOSED)
def test_columns_are_read_eight_at_a_time(name: str) -> None:
    (program,) = programs_of(TRANSPOSED[name]())
    assert is_loops(program) and width(program)[0] == 8
    x = TRANSPOSED[name]()
    np.testing.assert_allclose(x.numpy(), read(x), rtol=2e-6)


@pytest.mark.parametrize("name", OTHERS)
def test_other_reads_are_left_alone(name: str) -> None:
    (program,) = programs_of(OTHERS[name]())
    assert not (is_loops(program) and width(program) == [8])


REDUCED: dict[str, Callable[[], Tensor]] = {
    "everything": lambda: data(40, 64).T.sum(),
    "everything, in parts": lambda: data(512, 130).T.sum(),
    "two axes": lambda: data(40, 5, 64).permute(2, 1, 0).max((0, 2)),
    "three axes": lambda: (data(40, 5, 64).permute(2, 0, 1) * 2).sum(),
    "doubles": lambda: data(40, 64, dtype="float64").T.square().sum(),
    "a square": lambda: (data(64, 64).T * data(64)).square().sum(),
}
CONFLICTING: dict[str, tuple[int, Callable[[], Tensor]]] = {
    "a sum": (8, lambda: (data(40, 64) * data(64, 40).T).sum()),
    "a maximum": (8, lambda: (data(40, 64) - data(64, 40).T).abs().max()),
    "four rows": (4, lambda: (data(12, 64) * data(64, 12).T).sum()),
    "in parts": (4, lambda: (data(1024, 64) * data(64, 1024).T).sum()),
    "integers": (8, lambda: (data(40, 64, dtype="int32") * data(64, 40, dtype="int32").T).sum()),
    "a sum for each example": (8, lambda: (data(3, 40, 64) * data(3, 64, 40).transpose(1, 2)).sum((1, 2))),
}


@pytest.mark.parametrize("name", REDUCED)
def test_reductions_read_in_the_order_of_memory(name: str) -> None:
    made = programs_of(REDUCED[name]())
    assert all(is_loops(program) and not width(program) for program in made)
    x = REDUCED[name]()
    np.testing.assert_allclose(x.numpy(), read(x), rtol=2e-5)


@pytest.mark.parametrize("name", CONFLICTING)
def test_reductions_of_rows_and_columns_read_some_rows_at_a_time(name: str) -> None:
    n, of = CONFLICTING[name]
    program = programs_of(of())[0]
    opts = [opt.arg for opt in program.src[0].arg.applied_opts if opt.op is private_api.OptOps.UNROLL]
    assert is_loops(program) and opts == [n]
    x = of()
    np.testing.assert_allclose(x.numpy(), read(x), rtol=2e-4)


def test_a_sum_without_reads_is_computed_once() -> None:
    """The derivative of the diagonal is a mask; each element of the result would sum its row and its column again."""

    def loss(x: Tensor) -> Tensor:
        return (x.log_softmax(0).diagonal() + x.log_softmax(1).diagonal()).mean()

    value, gradient = value_and_grad(loss)(data(96, 96) / 50)
    linear = private_api.realize.compile_linear(value.linear_with_vars(gradient)[0])
    programs = [call.src[0] for call in linear.src if call.src[0].op is Ops.PROGRAM]
    assert max(len(re.findall(r"for \(int", source(program))) for program in programs) <= 2


@pytest.mark.parametrize(("rows", "width"), [(64, 64), (61, 8)])
def test_windows_times_the_last_one(rows: int, width: int) -> None:
    """One of the windows is the operand itself: the loops of both must not be merged into different orders."""
    t = np.random.default_rng(0).normal(size=(rows, width)).astype(np.float32)

    def sums(t: Tensor) -> Tensor:
        return (t[Tensor.arange(4)[:, None] + Tensor.arange(rows - 3)] * t[3:]).sum((1, 2))

    want = [(t[i : i + rows - 3] * t[3:]).sum() for i in range(4)]
    np.testing.assert_allclose(jit(sums)(Tensor(t).realize()).numpy(), want, rtol=1e-3, atol=1e-3)
