"""Each row of the primitive table rebuilds its operation from parameters, text and Python code."""

from __future__ import annotations

import numpy as np
import pytest
from tinygrad import Tensor, dtypes
from tinygrad.uop.ops import GroupOp, Ops, UOp

from branded.ir.parser import read as read_program
from branded.ir.primitives import PRIMITIVES, Operand
from branded.ir.terms import Eqn, Program, Type, Var
from tests.support.by_numpy import read

X = Tensor([[0.5, 2.0, 1.5], [3.0, 0.25, 1.0]])
Y = Tensor([[1.5, 2.0, 0.5], [2.0, 4.0, 1.0]])
I = Tensor([[7, -7, 6], [-5, 9, 3]])  # noqa: E741  ints
J = Tensor([[2, 2, 3], [3, 4, 1]])
IS_LESS = X < Y
UNSIGNED = I.cast(dtypes.uint32)


def made(op: str, *tensors: Tensor) -> UOp:
    """Return an operation without parameters."""
    dtype = dtypes.bool if op.startswith("CMP") else tensors[-1].uop.dtype
    return UOp(Ops[op], dtype, tuple(t.uop for t in tensors))


INTS = ("FLOORDIV", "FLOORMOD", "CDIV", "CMOD", "XOR", "OR", "AND", "SHR", "SHL")
ONE = ("EXP2", "LOG2", "SIN", "SQRT", "RECIPROCAL", "TRUNC", "NEG", "DETACH", "CONTIGUOUS", "CONTIGUOUS_BACKWARD")
TWO = ("ADD", "SUB", "MUL", "FDIV", "POW", "MAX", "CMPLT", "CMPNE", "CMPEQ", "STACK", "MSTACK", "AFTER")
OPERATIONS: dict[str, UOp] = {
    **{op: made(op, X) for op in ONE},
    **{op: made(op, X, Y) for op in TWO},
    **{op: made(op, I, J) for op in INTS},
    "THREEFRY": made("THREEFRY", UNSIGNED.cast(dtypes.uint64), UNSIGNED.cast(dtypes.uint64)),
    "WHERE": made("WHERE", IS_LESS, X, Y),
    "MULACC": made("MULACC", X, Y, X),
    "CAST": X.uop.cast(dtypes.int32),
    "BITCAST": X.uop.bitcast(dtypes.int32),
    "PAD": X.pad(((1, 2), (0, 1))).uop,
    "SHRINK": X.shrink(((0, 1), (1, 3))).uop,
    "RESHAPE": X.reshape(3, 2).uop,
    "EXPAND": X.expand(4, 2, 3).uop,
    "PERMUTE": X.permute(1, 0).uop,
    "FLIP": X.flip(1).uop,
    "REDUCE": X.sum(0).uop,
    "COPY": X.to("PYTHON").uop,
}
ONE_VALUE = {"PAD", "SHRINK", "RESHAPE", "EXPAND"}
WITHOUT_PYTHON = {"AFTER", "CMOD", "FDIV", "MSTACK", "MULACC", "THREEFRY"}


def operands(op: str) -> tuple[UOp, ...]:
    u = OPERATIONS[op]
    return u.src[:1] if op in ONE_VALUE else u.src


def test_every_primitive_has_an_operation_here() -> None:
    assert OPERATIONS.keys() == PRIMITIVES.keys()
    assert {op.name for op in GroupOp.ALU} <= PRIMITIVES.keys()
    assert {name for name, row in PRIMITIVES.items() if row.python is None} == WITHOUT_PYTHON


@pytest.mark.parametrize("op", sorted(PRIMITIVES))
def test_build_restores_the_operation(op: str) -> None:
    """build(params(u)) is u, also after printing and parsing the parameters."""
    row, u = PRIMITIVES[op], OPERATIONS[op]
    assert u.op is Ops[op]
    params = row.params(u)
    assert params is not None and row.build(u.dtype, operands(op), **params) is u
    ins = [Var(Type("f32", (2, 3))) for _ in operands(op)]
    program = Program([], ins, [Eqn(op, tuple(ins), params, (out := Var(Type("f32", (2, 3))),))], [out])
    (eqn,) = read_program(str(program)).eqns
    assert row.build(u.dtype, operands(op), **eqn.params) is u


@pytest.mark.parametrize("op", sorted(PRIMITIVES.keys() - WITHOUT_PYTHON))
def test_python_code_gives_same_value(op: str) -> None:
    row, u = PRIMITIVES[op], OPERATIONS[op]
    assert row.python is not None
    given = [Operand(f"x{i}", tuple(v.shape)) for i, v in enumerate(operands(op))]
    names = {x.text: Tensor(v) for x, v in zip(given, operands(op), strict=True)}
    line = row.python(*given, **(row.params(u) or {}))
    np.testing.assert_allclose(read(eval(line, names)), read(Tensor(u)), rtol=1e-6, err_msg=line)


def test_numbers_and_signs_in_python() -> None:
    add, exp2, pad = (PRIMITIVES[op].python for op in ("ADD", "EXP2", "PAD"))
    assert add is not None and exp2 is not None and pad is not None
    x, one, minus = Operand("x", (2,)), Operand("1", is_number=True), Operand("-1", is_number=True)
    assert [add(x, one), add(one, x), add(minus, x), add(one, minus)] == [
        "x + 1",
        "1 + x",
        "(-1) + x",
        "Tensor(1) + (-1)",
    ]
    assert exp2(one) == "Tensor(1).exp2()"
    assert pad(x, offset=(1,), size=(5,)) == "x.pad(((1, 2),))"


def test_non_numeric_parameter_has_no_text() -> None:
    contiguous = UOp(Ops.CONTIGUOUS, X.uop.dtype, (X.uop,), arg=("hint",))
    assert PRIMITIVES["CONTIGUOUS"].params(contiguous) is None


@pytest.mark.parametrize("sizes", [(1.5,), [2], 3, None])
def test_sizes_are_whole_numbers(sizes: object) -> None:
    with pytest.raises(TypeError, match="are not sizes"):
        PRIMITIVES["RESHAPE"].build(X.uop.dtype, (X.uop,), shape=sizes)
