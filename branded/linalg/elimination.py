"""Cholesky factors, triangular and general systems as loops of tinygrad operations, for any device."""

from __future__ import annotations

import math

from tinygrad import Tensor, dtypes

from branded.control_flow.loops import scan
from branded.graph.uops import moveaxis
from branded.linalg import unrolled
from branded.linalg.primitive import matrix_transpose
from branded.tinygrad_compat.private_api import broadcast_shape


def at_axis(n: int, j: Tensor) -> Tensor:
    """Return a mask of length `n` that is True at `j`."""
    return Tensor.arange(n).eq(j)


def zeros(x: Tensor) -> Tensor:
    """Return zeros in the shape of `x`, computed from `x`: a constant would need its own memory."""
    return (x < -math.inf).cast(x.dtype)


def positions(x: Tensor, n: int) -> Tensor:
    """Return the step indices 0 to `n - 1` of a loop, computed from `x` for the same reason."""
    return Tensor.arange(n) + (x.flatten()[:1] < -math.inf).cast(dtypes.int32)


def identity(x: Tensor) -> Tensor:
    """Return an identity matrix for each square matrix in `x`."""
    n = x.shape[-1]
    return Tensor.eye(n, dtype=dtypes.bool).where(1, zeros(x))


def batch_of(a: Tensor, b: Tensor) -> tuple[int, ...]:
    """Return the broadcast batch shape of both operands."""
    return broadcast_shape(a.shape[:-2], b.shape[:-2])


def by_rows(x: Tensor) -> Tensor:
    """Move the rows to axis 0, the axis that a loop iterates over."""
    return moveaxis(x, -2, 0)


def as_columns(x: Tensor) -> Tensor:
    return moveaxis(x, 0, -1)


def cholesky(a: Tensor) -> Tensor:
    """Compute the lower factor from the lower half of `a`; NaN for a matrix that is not positive definite.

    Source: the outer-product form, G. Golub, C. Van Loan, "Matrix computations" (1996), algorithm 4.2.2.
    """
    n = a.shape[-1]
    if n <= unrolled.LARGEST:
        low = unrolled.cholesky_small(a)
    else:
        half = a.tril()
        low = as_columns(_columns_of_cholesky(half + matrix_transpose(a.tril(-1))))
    diagonal = low.diagonal(dim1=-2, dim2=-1) if n > 1 else low[..., 0]
    good = (diagonal > 0).min(-1).reshape(*a.shape[:-2], 1, 1)
    return good.where(low, math.nan).tril()


def _columns_of_cholesky(a: Tensor) -> Tensor:
    n = a.shape[-1]

    def step(rest: Tensor, j: Tensor) -> tuple[Tensor, Tensor]:
        here = at_axis(n, j)
        column = here.where(rest, 0).sum(-1)
        pivot = here.where(column, 0).sum(-1, keepdim=True)
        below = (Tensor.arange(n) >= j).where(column, 0) / pivot.sqrt()
        return rest - below.unsqueeze(-1) * below.unsqueeze(-2), below

    return scan(step, a, positions(a, n))[1]


def solve_triangular(a: Tensor, b: Tensor, lower: bool, unit: bool) -> Tensor:
    """Solve `a x = b`, reading only the lower or the upper half of `a`."""
    n = a.shape[-1]
    b = b.expand(*batch_of(a, b), *b.shape[-2:])
    if n <= unrolled.LARGEST:
        return unrolled.substitute(a, b, lower, unit)

    def step(x: Tensor, row: tuple[Tensor, Tensor, Tensor]) -> tuple[Tensor, None]:
        of_a, of_b, j = row
        here = at_axis(n, j)
        pivot = here.where(of_a, 0).sum(-1, keepdim=True)
        before = Tensor.arange(n) < j if lower else Tensor.arange(n) > j
        s = of_b - (before.where(of_a, 0).unsqueeze(-2) @ x).squeeze(-2)
        solution = s if unit else s / pivot
        return here.unsqueeze(-1).where(solution.unsqueeze(-2), x), None

    xs = (by_rows(a), by_rows(b), positions(a, n))
    return scan(step, zeros(b), xs, reverse=not lower)[0]


def solve(a: Tensor, b: Tensor) -> Tensor:
    """Solve `a x = b` by Gauss-Jordan elimination."""
    n = a.shape[-1]
    if n <= unrolled.LARGEST:
        return unrolled.solve_small(a, b)
    batch = batch_of(a, b)
    both = Tensor.cat(a.expand(*batch, n, n), b.expand(*batch, n, b.shape[-1]), dim=-1)

    def step(carry: tuple[Tensor, Tensor], j: Tensor) -> tuple[tuple[Tensor, Tensor], Tensor]:
        rest, used = carry
        column = _column(rest, j)
        here, pivot = _best(column, used)
        row = here.unsqueeze(-1).where(rest, 0).sum(-2) / pivot
        factor = here.where(0, column)
        reduced = here.unsqueeze(-1).where(row.unsqueeze(-2), rest - factor.unsqueeze(-1) * row.unsqueeze(-2))
        return (reduced, used + here.cast(used.dtype)), here

    (done, _), pivot_masks = scan(step, (both, zeros(both[..., 0])), positions(a, n))
    # row j marks the row of the j-th unknown
    order = moveaxis(pivot_masks, 0, -2)
    return _in_order(order, done[..., n:])


def _in_order(order: Tensor, x: Tensor) -> Tensor:
    """Permute rows by a mask: a matrix product would spread the NaN of one row to the others."""
    return order.unsqueeze(-1).where(x.unsqueeze(-3), 0).sum(-2)


def _column(x: Tensor, j: Tensor) -> Tensor:
    return at_axis(x.shape[-1], j).where(x, 0).sum(-1)


def _best(column: Tensor, used: Tensor) -> tuple[Tensor, Tensor]:
    """Find the largest entry among the unused rows: return its mask and its value."""
    sizes = (used > 0).where(-1, column.abs())
    here = Tensor.arange(column.shape[-1]).eq(sizes.argmax(-1, keepdim=True))
    return here, here.where(column, 0).sum(-1, keepdim=True)


def pivots(a: Tensor) -> tuple[Tensor, Tensor]:
    """Compute the pivots of elimination, and the sign of the row permutation."""
    n = a.shape[-1]
    if n <= unrolled.LARGEST:
        return unrolled.pivots(a)

    def step(carry: tuple[Tensor, Tensor], j: Tensor) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
        rest, used = carry
        column = _column(rest, j)
        here, pivot = _best(column, used)
        row = here.unsqueeze(-1).where(rest, 0).sum(-2) / pivot.eq(0).where(1, pivot)
        free = (used > 0).where(0, here.where(0, column))
        index = (here.cast(used.dtype) * Tensor.arange(n).cast(used.dtype)).sum(-1)
        # each unused row above this one counts as one exchange
        ahead = ((used > 0).where(0, 1) * (Tensor.arange(n) < index.unsqueeze(-1)).where(1, 0)).sum(-1)
        reduced = rest - free.unsqueeze(-1) * row.unsqueeze(-2)
        return (reduced, used + here.cast(used.dtype)), (pivot.squeeze(-1), (1 - 2 * (ahead % 2)).cast(a.dtype))

    _, (values, signs) = scan(step, (a, zeros(a[..., 0])), positions(a, n))
    return as_columns(values), signs.prod(0)
