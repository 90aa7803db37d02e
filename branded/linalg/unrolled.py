"""Operations on matrices of up to four rows, unrolled into one kernel for the whole batch.

A matrix is a list of rows, each a list of tensors of the batch's shape.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tinygrad import Tensor

LARGEST = 4
"""The largest number of rows that is unrolled."""

Rows = list[list[Tensor]]


def entries(x: Tensor) -> Rows:
    return [[x[..., i, j] for j in range(x.shape[-1])] for i in range(x.shape[-2])]


def matrix(rows: Sequence[Sequence[Tensor]]) -> Tensor:
    return Tensor.stack(*(Tensor.stack(*row, dim=-1) for row in rows), dim=-2)


def cholesky_small(a: Tensor) -> Tensor:
    """Compute the lower Cholesky factor; NaN if a pivot is not positive."""
    n, x = a.shape[-1], entries(a)
    low: Rows = []
    for i in range(n):
        row: list[Tensor] = []
        for j in range(i + 1):
            s = x[i][j]
            for k in range(j):
                s = s - row[k] * (low[j][k] if j < i else row[k])
            row.append(s / low[j][j] if j < i else s.sqrt())
        low.append(row)
    zero = low[0][0].const_like(0)
    return matrix([[low[i][j] if j <= i else zero for j in range(n)] for i in range(n)])


def substitute(a: Tensor, b: Tensor, lower: bool, unit: bool) -> Tensor:
    """Solve `a x = b` for a triangular `a`."""
    rows = [[x.unsqueeze(-1) for x in row] for row in entries(a)]
    return _substitute(rows, [b[..., i, :] for i in range(len(rows))], lower, unit)


def _substitute(rows: Rows, right: Sequence[Tensor], lower: bool, unit: bool) -> Tensor:
    n = len(rows)
    solution: dict[int, Tensor] = {}
    for i in range(n) if lower else reversed(range(n)):
        s = right[i]
        for j in range(i) if lower else range(i + 1, n):
            s = s - rows[i][j] * solution[j]
        solution[i] = s if unit else s / rows[i][i]
    return Tensor.stack(*(solution[i] for i in range(n)), dim=-2)


def eliminate(rows: Rows, n: int, on_pivot: Callable[[Rows, int, Tensor], None]) -> None:
    """Eliminate the first `n` columns in place with partial pivoting; `on_pivot` is called with each pivot.

    Rows are swapped only for a strictly larger entry, so the pivots are the same as in LAPACK.
    """
    for j in range(n):
        swaps = rows[j][j].const_like(1)
        for i in range(j + 1, n):
            better = rows[i][j].abs() > rows[j][j].abs()
            swaps = better.where(-swaps, swaps)
            for k in range(j, len(rows[j])):
                p, q = rows[j][k], rows[i][k]
                rows[j][k], rows[i][k] = better.where(q, p), better.where(p, q)
        on_pivot(rows, j, swaps)
        for i in range(j + 1, n):
            factor = rows[i][j] / rows[j][j]
            for k in range(j + 1, len(rows[j])):
                rows[i][k] = rows[i][k] - factor * rows[j][k]


def solve_small(a: Tensor, b: Tensor) -> Tensor:
    """Solve `a x = b`."""
    n = a.shape[-1]
    rows = [[x.unsqueeze(-1) for x in row] + [b[..., i, :]] for i, row in enumerate(entries(a))]
    eliminate(rows, n, lambda *_: None)
    return _substitute(rows, [row[n] for row in rows], lower=False, unit=False)


def pivots(a: Tensor) -> tuple[Tensor, Tensor]:
    """Compute the pivots of elimination, and the sign of the row permutation."""
    n, rows = a.shape[-1], entries(a)
    values: list[Tensor] = []
    sign = rows[0][0].const_like(1)

    def on_pivot(now: Rows, j: int, swaps: Tensor) -> None:
        nonlocal sign
        values.append(now[j][j])
        sign = sign * swaps
        now[j][j] = now[j][j].eq(0).where(now[j][j].const_like(1), now[j][j])

    eliminate(rows, n, on_pivot)
    return Tensor.stack(*values, dim=-1), sign


def cofactors(a: Tensor) -> Tensor:
    """Compute the derivative of the determinant with respect to each entry, for at most three rows."""
    n, x = a.shape[-1], entries(a)
    if n == 1:
        return a * 0 + 1

    def minor(i: int, j: int) -> Tensor:
        # rows and columns in cyclic order, which includes the sign
        if n == 2:
            return x[1 - i][1 - j] if i == j else -x[1 - i][1 - j]
        p, q, r, s = (i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3
        return x[p][r] * x[q][s] - x[p][s] * x[q][r]

    return matrix([[minor(i, j) for j in range(n)] for i in range(n)])
