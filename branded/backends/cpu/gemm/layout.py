"""Axes in BLAS terms: recognize loops over three arrays as one matrix multiplication with loops around it.

An axis has a size and a stride in each of `a`, `b` and the result: 0 if the array lacks the axis.  Axes of `a` and the
result are rows, and axes of `b` and the result are columns.  Axes of `a` and `b` are summed, and axes of all three are
batch axes.  Axes that are contiguous to each other in memory are merged.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tinygrad.dtype import DType

from branded.backends.cpu.gemm.blas import LOOPS, Beginning, OuterAxis, Product

ONE = OuterAxis(1, 0, 0, 0)


class Matrices(NamedTuple):
    """Axes by their role."""

    rows: list[OuterAxis]
    columns: list[OuterAxis]
    sums: list[OuterAxis]
    batch: list[OuterAxis]


def axes_by_role(axes: Iterable[OuterAxis]) -> Matrices | None:
    """Return the axes by role, or None if an axis has no role in a matrix multiplication."""
    matrices = Matrices([], [], [], [])
    kinds = {(True, False, True): 0, (False, True, True): 1, (True, True, False): 2, (True, True, True): 3}
    for x in axes:
        kind = kinds.get((x.a != 0, x.b != 0, x.out != 0))
        if kind is None:
            return None
        matrices[kind].append(x)
    return Matrices(*map(merge_axes, matrices))


def merge_axes(axes: Sequence[OuterAxis]) -> list[OuterAxis]:
    """Merge axes of one role that are contiguous to each other in all arrays."""
    out = list(axes)
    while True:
        pair = next((p for p in itertools.permutations(out, 2) if _are_contiguous(*p)), None)
        if pair is None:
            return out
        outer, inner = pair
        out.remove(outer)
        out[out.index(inner)] = inner._replace(size=outer.size * inner.size)


def _are_contiguous(outer: OuterAxis, inner: OuterAxis) -> bool:
    return all(o == inner.size * i for o, i in zip(outer[1:], inner[1:], strict=True))


def product(
    axes: Iterable[OuterAxis], dtype: DType, a: Beginning, b: Beginning, out: Beginning, alpha: float
) -> tuple[Product, bool] | None:
    """Return the product with most work per call and whether its operands are swapped; None if no BLAS call fits."""
    if (matrices := axes_by_role(axes)) is None or any(s < 0 for group in matrices for axis in group for s in axis[1:]):
        return None
    best: tuple[Product, bool] | None = None
    for m, n, k in itertools.product(*(group or [ONE] for group in matrices[:3])):
        around = [x for x in itertools.chain(*matrices[:3]) if x not in (m, n, k)]
        loops = tuple(x for x in (*matrices.batch, *around) if x.size > 1)
        if len(loops) > LOOPS or m.size * n.size == 1:
            continue
        # summed axes go innermost, so the result stays in the cache
        loops = tuple(sorted(loops, key=lambda x: -x.out))
        unturned = _product_of_sides((m, n, k), loops, dtype, a, b, out, alpha)
        sides, swapped = (tuple(map(swap_operands, axes)) for axes in ((n, m, k), loops))
        turned = _product_of_sides(sides, swapped, dtype, b, a, out, alpha)
        for candidate, is_turned in ((unturned, False), (turned, True)):
            if candidate is not None and (best is None or _work_per_call(candidate) > _work_per_call(best[0])):
                best = candidate, is_turned
    return best


def swap_operands(x: OuterAxis) -> OuterAxis:
    return OuterAxis(x.size, x.b, x.a, x.out)


def _work_per_call(p: Product) -> int:
    return p.m * p.n * p.k


def _product_of_sides(
    sides: Sequence[OuterAxis],
    loops: tuple[OuterAxis, ...],
    dtype: DType,
    a: Beginning,
    b: Beginning,
    out: Beginning,
    alpha: float,
) -> Product | None:
    m, n, k = sides
    first = _leading_dimension(m.size, k.size, m.a, k.a)
    if first is None:
        return None
    lda, a_is_transposed = first
    if n.size == 1:
        steps = (max(k.b, 1), max(m.out, 1))
        return Product(dtype, m.size, 1, k.size, lda, *steps, a_is_transposed, False, True, a, b, out, alpha, loops)
    second, third = _leading_dimension(k.size, n.size, k.b, n.b), _leading_dimension(m.size, n.size, m.out, n.out)
    if m.size == 1 or second is None or third is None or third[1]:
        return None
    (ldb, b_is_transposed), ldc = second, third[0]
    return Product(
        dtype, m.size, n.size, k.size, lda, ldb, ldc, a_is_transposed, b_is_transposed, False, a, b, out, alpha, loops
    )


def _leading_dimension(rows: int, columns: int, down: int, right: int) -> tuple[int, bool] | None:
    """Return the leading dimension of a matrix and whether it is transposed; None if neither axis is contiguous."""
    if (columns == 1 or right == 1) and (rows == 1 or down >= columns):
        return (down if rows > 1 else columns), False
    if (rows == 1 or down == 1) and (columns == 1 or right >= rows):
        return (right if columns > 1 else rows), True
    return None
