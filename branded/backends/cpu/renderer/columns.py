"""Sums of columns, products, and what is largest in each: some rows at a time, and then what these give.

A kernel works out a column at a time, or four, and goes down it: from row to row that is far in memory, and of all that
comes with a number none is used before it is gone.  A few rows are read side by side, number by number, in vectors:

    x of 2048 x 1024    sums of 16 rows    128 x 1024    sums of 16 rows    8 x 1024    their sum

The largest number is so without NaN, as it is of tinygrad's one after the other: NaN is the least of all here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from tinygrad import dtypes
from tinygrad.uop.ops import AxisType, GroupOp, Ops, UOp

from branded.backends.cpu.gemm.cost import elements, indices, is_plain, size
from branded.backends.cpu.renderer import loops as kernels

ROWS = 16
"""So many rows at a time: of more, one takes the place of another in the cache.  Each `exp` and the like counts."""
FEW, SHORT, MANY = 8, 32, 1 << 16
"""Of fewer rows at a time there is no gain; so many are written out in one kernel; of fewer numbers than the last there
is no gain that pays for another kernel."""
_REDUCED = {Ops.ADD, Ops.MUL, Ops.MAX}


class Some(NamedTuple):
    """The sums of some rows, or what else is asked of them."""

    value: UOp
    loops: Sequence[UOp]
    """Those around it, the outermost first: of them is the result."""
    left: Sequence[UOp]
    """Those of them over which the results are to be added up."""


def some_rows(red: UOp, over: Sequence[UOp]) -> Some | None:
    """The first step of a sum in a kernel with these loops; None where it is left as it is."""
    order = sorted(over, key=lambda r: r.arg)
    op, axes = red.arg
    if op not in _REDUCED or axes != 0 or not order or not all(map(is_plain, (*order, *red.src[1:]))):
        return None
    if elements((*order, *red.src[1:])) < MANY or elements(red.src[1:]) <= SHORT or not _are_columns(red, order[-1]):
        return None
    last = max(red.src[1:], key=lambda r: r.arg)
    dear = sum(u.op in kernels.DEAR for u in red.src[0].toposort())
    most = min(ROWS, kernels.WRITTEN_OUT // max(dear, 1))
    rows = next((n for n in range(most, FEW - 1, -1) if size(last) % n == 0), 0)
    if not rows:
        return None
    names = 1 + max(r.arg[0] for r in (*order, *red.src[1:]))
    outer, inner = (
        last.replace(src=(UOp.const(n, last.dtype),), arg=(names + i, AxisType.REDUCE))
        for i, n in enumerate((size(last) // rows, rows))
    )
    left = [*(r for r in red.src[1:] if r is not last), *([outer] if size(outer) > 1 else [])]
    whole = inner if size(outer) == 1 else outer * rows + inner
    term = red.src[0].substitute({last: whole})
    if op is Ops.MAX and dtypes.is_float(red.dtype):
        term = term.ne(term).where(term.const_like(-math.inf), term)
    value = red.replace(src=(term, inner))
    return Some(value, [*order[:-1], *left, order[-1]], left)


def _outside(u: UOp) -> dict[UOp, None]:
    """What a value is worked out of, but for where it is read."""
    found: dict[UOp, None] = u.toposort(gate=lambda v: v.op is not Ops.INDEX)
    return found


def _are_columns(red: UOp, column: UOp) -> bool:
    """Do the numbers of a row lie one behind another, and not those that are added up?"""
    reads = [u for u in red.src[0].toposort() if u.op is Ops.INDEX]
    if any(len(u.src) < 2 or u.src[1].get_valid().op is not Ops.CONST for u in reads):
        return False
    if any(u.op in GroupOp.Comparison and not {*red.src[1:]}.isdisjoint(_outside(u)) for u in _outside(red.src[0])):
        return False  # rows are chosen by their number: tinygrad makes an index of that
    inner = max(red.src[1:], key=lambda r: r.arg)
    found = indices(reads)
    if not kernels.in_order(found, column) or kernels.reduces_in_order(red, inner):
        return False
    return any(kernels.step(i, column) == 1 for i in found)
