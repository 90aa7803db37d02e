"""Check the exact messages for arguments that are not matrices or do not fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor

from branded import linalg, vmap
from branded.errors import MatrixError, MatrixTypeError

A, WIDE, B = Tensor.eye(3).realize(), Tensor.ones(2, 3).realize(), Tensor.ones(3).realize()
anything: Any = None

CASES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "not square": (
        lambda: linalg.inv(WIDE),
        MatrixError,
        """\
inv: a has 2 rows and 3 columns
  a:   f32[2, 3]
  try: pass a square matrix, or use lstsq or pinv""",
    ),
    "not square under vmap": (
        lambda: vmap(linalg.cholesky)(WIDE.expand(4, 2, 3)),
        MatrixError,
        """\
cholesky: a has 2 rows and 3 columns
  a:   Vec[a:4, f32[2, 3]]
  try: pass a square matrix""",
    ),
    "a vector": (
        lambda: vmap(linalg.det)(WIDE),
        MatrixError,
        """\
det: a is Vec[a:2, f32[3]], not a matrix
  try: use one matrix per example; vmap has removed one axis""",
    ),
    "a scalar": (
        lambda: linalg.svd(Tensor(1.0)),
        MatrixError,
        "svd: a is f32[], not a matrix\n  try: pass at least two axes",
    ),
    "half precision": (
        lambda: linalg.qr(A.half()),
        MatrixTypeError,
        """\
qr: a is f16[3, 3], and matrices are factored in float32 or float64
  try: a.float(), and cast the result back""",
    ),
    "a list": (
        lambda: linalg.eigh(anything or [[1.0]]),  # type: ignore[arg-type]
        MatrixTypeError,
        "eigh: a is a list, not a tensor\n  try: pass a tensor of floats",
    ),
    "condition of a wide matrix": (
        lambda: linalg.cond(WIDE, 1),
        MatrixError,
        "cond: x has 2 rows and 3 columns\n  x:   f32[2, 3]\n  try: pass a square matrix",
    ),
    "condition of nothing": (
        lambda: linalg.cond(Tensor.zeros(0, 0)),
        MatrixError,
        "cond: x is f32[0, 0], without entries\n  try: pass a matrix with rows and columns",
    ),
    "rows of the right side": (
        lambda: linalg.solve(A, Tensor.ones(4)),
        MatrixError,
        """\
solve: a has 3 rows, and b has 4
  a:   f32[3, 3]
  b:   f32[4]
  try: pass 3 rows""",
    ),
    "right sides as rows": (
        lambda: linalg.solve(A, Tensor.ones(5, 3)),
        MatrixError,
        """\
solve: a has 3 rows, and b has 5
  a:   f32[3, 3]
  b:   f32[5, 3]
  try: b.unsqueeze(-1), if each row is one right-hand side""",
    ),
    "a scalar right side": (
        lambda: linalg.solve_triangular(A, Tensor(1.0)),
        MatrixError,
        "solve_triangular: b is f32[], a number\n  try: pass a vector, or a matrix of columns",
    ),
    "batches": (
        lambda: linalg.solve(A.expand(2, 3, 3), Tensor.ones(4, 3, 1)),
        MatrixError,
        """\
solve: the batches of a and b do not broadcast
  a:   f32[2, 3, 3]
  b:   f32[4, 3, 1]
  try: use equal sizes, or 1, for the batch axes""",
    ),
    "trans": (
        lambda: linalg.solve_triangular(A, B, trans="H"),
        MatrixError,
        "solve_triangular: trans='H' is not a valid choice\n  try: pass 0 for a, or 1 for its transpose",
    ),
    "a factor without its flag": (
        lambda: linalg.cho_solve(A, B),  # type: ignore[arg-type]
        MatrixError,
        "cho_solve: the factor must be a pair\n  try: cho_solve(cho_factor(a), b)",
    ),
    "mode": (
        lambda: linalg.qr(A, "full"),  # type: ignore[call-overload]
        MatrixError,
        """qr: mode='full' is not a valid choice\n  try: pass "reduced", "complete" or "r\"""",
    ),
    "UPLO": (
        lambda: linalg.eigh(A, "l"),
        MatrixError,
        """eigh: UPLO='l' is not a valid choice\n  try: pass "L" for the lower triangle or "U" for the upper""",
    ),
    "rtol": (
        lambda: linalg.pinv(A, Tensor(0.1)),  # type: ignore[arg-type]
        MatrixError,
        "pinv: rtol is not a Python number\n  try: rtol=1e-6",
    ),
    "more than one matrix": (
        lambda: linalg.lstsq(WIDE.expand(4, 2, 3), Tensor.ones(2)),
        MatrixError,
        """\
lstsq: one matrix, and one or more right sides
  a:   f32[4, 2, 3]
  b:   f32[2]
  try: use vmap for a batch""",
    ),
    "rows of least squares": (
        lambda: linalg.lstsq(WIDE, B),
        MatrixError,
        "lstsq: a has 2 rows, and b has 3\n  a:   f32[2, 3]\n  b:   f32[3]\n  try: pass one row of b for each row of a",
    ),
    "three axes": (
        lambda: linalg.norm(Tensor.ones(2, 3, 4), 2),
        MatrixError,
        """\
norm: axis=None are not one or two axes
  x:   f32[2, 3, 4]
  try: axis=-1 or axis=(-2, -1)""",
    ),
    "one axis twice": (
        lambda: linalg.norm(A, axis=(0, -2)),
        MatrixError,
        "norm: axis=(0, -2) names an axis twice\n  try: use two different axes",
    ),
    "an unknown vector norm": (
        lambda: linalg.norm(B, "fro"),
        MatrixError,
        "norm: there is no norm of vectors of order 'fro'\n  try: use a number, inf or -inf",
    ),
    "a non-numeric order": (
        lambda: linalg.norm(B, (1,)),  # type: ignore[arg-type]
        MatrixError,
        "norm: there is no norm of vectors of order (1,)\n  try: use a number, inf or -inf",
    ),
    "an unknown matrix norm": (
        lambda: linalg.norm(A, 3),
        MatrixError,
        """norm: there is no norm of matrices of order 3\n  try: "fro", "nuc", 1, -1, 2, -2, inf or -inf""",
    ),
    "a power": (
        lambda: linalg.matrix_power(A, 0.5),  # type: ignore[arg-type]
        MatrixTypeError,
        "matrix_power: n is the float 0.5\n  try: pass a Python int",
    ),
    "a chain of one": (
        lambda: linalg.multi_dot([A]),
        MatrixError,
        "multi_dot: a chain needs two or more matrices\n  try: multi_dot([a, b, c])",
    ),
    "a chain of incompatible shapes": (
        lambda: linalg.multi_dot([A, WIDE]),
        MatrixError,
        """\
multi_dot: array 1 has 3 columns, and array 2 has 2 rows
  array 1: f32[3, 3]
  array 2: f32[2, 3]
  try:     transpose one of them, or change their order""",
    ),
    "a chain with a batch": (
        lambda: linalg.multi_dot([A, A.expand(2, 3, 3), A]),
        MatrixError,
        "multi_dot: array 2 is f32[2, 3, 3], not a matrix\n  try: use vmap for batches",
    ),
    "squarings": (
        lambda: linalg.expm(A, max_squarings=-1),
        MatrixError,
        "expm: max_squarings=-1 is not a number of squarings\n  try: pass an int of 0 or more",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_message(name: str) -> None:
    program, error, text = CASES[name]
    with pytest.raises(error) as raised:
        program()
    assert str(raised.value) == text


def test_arrays_and_ints_are_accepted() -> None:
    a = np.array([[2, 0], [0, 4]])
    assert linalg.inv(a).tolist() == [[0.5, 0.0], [0.0, 0.25]]  # type: ignore[arg-type]


def test_solve_names_the_non_square_matrix() -> None:
    with pytest.raises(MatrixError, match=r"^solve: a has 2 rows"):
        linalg.solve(Tensor.ones(2, 3), Tensor.ones(2))
