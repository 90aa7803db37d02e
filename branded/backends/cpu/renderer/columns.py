"""Column reductions (sum, product, maximum) in stages: groups of rows first, then the partial results.

A kernel computes one column at a time, or four, and goes down it.  Consecutive rows are far apart in memory, so most of
each cache line is evicted before it is used.  Here a group of rows is reduced at the same time, with vectors
that run along the rows:

    x of 2048 x 1024    sums of 16 rows    128 x 1024    sums of 16 rows    8 x 1024    their sum

If no group size divides the number of rows, the rows after the last whole group are one smaller group.

The maximum ignores NaN, as tinygrad's sequential maximum does: NaN counts as the smallest value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from tinygrad import dtypes
from tinygrad.uop.ops import AxisType, GroupOp, Ops, UOp

from branded.backends.cpu.gemm.cost import elements, indices, is_plain, size
from branded.backends.cpu.renderer import loops as kernels
from branded.backends.cpu.renderer.scatter import gathered_entry

ROWS = 16
"""The number of rows in a group: more rows evict each other from the cache.  Each `exp` or similar counts."""
FEW, SHORT = 8, 32
"""The thresholds for another kernel: rows in a group, and total rows (fewer are unrolled in one kernel)."""
MANY_DEAR, MANY, MANY_PRODUCTS = 1 << 11, 1 << 13, 1 << 16
"""The thresholds in elements: of `exp` or similar; of others; of others that read elements for many columns."""
_REDUCED = {Ops.ADD, Ops.MUL, Ops.MAX}


class Part(NamedTuple):
    """The partial results of some groups, and where they are in the array of all partial results."""

    value: UOp
    loops: Sequence[UOp]
    """The loops over these partial results, outermost first."""
    places: dict[UOp, UOp]
    """For a loop over the array of partial results, its value for these groups."""


class FirstStage(NamedTuple):
    """The first stage of a reduction of all rows: a reduction of each group of rows."""

    parts: Sequence[Part]
    loops: Sequence[UOp]
    """The loops over the array of all partial results, outermost first."""
    left: Sequence[UOp]
    """The loops over which the partial results remain to be reduced."""


def some_rows(red: UOp, over: Sequence[UOp]) -> FirstStage | None:
    """Return the first stage of a reduction in a kernel with these loops, or None to leave it unchanged."""
    order = sorted(over, key=lambda r: r.arg)
    op, axes = red.arg
    if op not in _REDUCED or axes != 0 or not order or not all(map(is_plain, (*order, *red.src[1:]))):
        return None
    if elements(red.src[1:]) <= SHORT or not (least := _least_elements(red, order[-1])):
        return None
    if elements((*order, *red.src[1:])) < least:
        return None
    last = max(red.src[1:], key=lambda r: r.arg)
    dear = sum(u.op in kernels.DEAR for u in red.src[0].toposort())
    most = min(ROWS, kernels.WRITTEN_OUT // max(dear, 1))
    rows = next((n for n in range(most, FEW - 1, -1) if size(last) % n == 0), most)
    if rows < FEW:
        return None
    count, rest = divmod(size(last), rows)
    first = 1 + max(r.arg[0] for r in (*order, *red.src[1:]))
    others = [r for r in red.src[1:] if r is not last]

    def loop(name: int, n: int) -> list[UOp]:
        """Return a new loop, or none for one step."""
        return [last.replace(src=(UOp.const(n, last.dtype),), arg=(first + name, AxisType.REDUCE))] if n > 1 else []

    def part(groups: list[UOp], row: list[UOp], start: UOp, place: UOp) -> Part:
        term = red.src[0].substitute({last: sum(row, start)})
        if op is Ops.MAX and dtypes.is_float(red.dtype):
            term = term.ne(term).where(term.const_like(-math.inf), term)
        value = red.replace(src=(term, *row)) if row else term
        return Part(value, [*order[:-1], *others, *groups, order[-1]], dict.fromkeys(all_groups, place))

    zero = last.const_like(0)
    all_groups, groups, row, last_row = (loop(i, n) for i, n in enumerate((count + (rest > 0), count, rows, rest)))
    place = groups[0] if groups else zero
    parts = [part(groups, row, place * rows, place)]
    if rest:
        parts.append(part([], last_row, zero + count * rows, zero + count))
    remaining = [*others, *all_groups]
    return FirstStage(parts, [*order[:-1], *remaining, order[-1]], remaining)


def terms_order(red: UOp, over: Sequence[UOp]) -> list[UOp] | None:
    """Return the loops over the terms of a reduction, if a kernel of their own computes them faster, else None.

    Clang vectorizes reads at computed places in plain loops, but not in a reduction.
    """
    order, sums = sorted(over, key=lambda r: r.arg), sorted(red.src[1:], key=lambda r: r.arg)
    if red.arg[0] not in _REDUCED or red.arg[1] != 0 or not sums or not all(map(is_plain, (*order, *sums))):
        return None
    if elements(sums) < FEW or elements((*order, *sums)) < MANY_DEAR:
        return None
    term, entries = red.src[0], dict[UOp, UOp]()
    for u in term.toposort():
        if u.op is Ops.REDUCE:
            if (entry := gathered_entry(u)) is None:
                return None
            entries[u] = entry
    positions = indices([term.substitute(entries)])
    if order and kernels.in_order(positions, order[-1]):
        return None
    if kernels.are_gathers(positions, sums[-1]):
        return [*order, *sums]
    return [*order[:-1], *sums, order[-1]] if order and kernels.are_gathers(positions, order[-1]) else None


def memory_order(red: UOp, over: Sequence[UOp]) -> list[UOp] | None:
    """Return the loops of a kernel in the order of the memory that a reduction reads, if it is another order.

    For the sum over the middle axis of `x.permute(2, 1, 0)`, the innermost loop should run along the last axis of `x`.
    """
    order = sorted(over, key=lambda r: r.arg)
    if red.arg[0] not in _REDUCED or len(order) < 2 or not all(map(is_plain, (*order, *red.src[1:]))):
        return None
    if elements(red.src[1:]) < FEW or elements((*order, *red.src[1:])) < MANY or _least_elements(red, order[-1]):
        return None
    column = next((r for r in order[:-1] if _least_elements(red, r)), None)
    if column is None:
        return None
    positions = indices([red.src[0]])
    steps = {r: max(kernels.step(i, r) or 0 for i in positions) for r in order}
    return [*sorted((r for r in order if r is not column), key=steps.__getitem__, reverse=True), column]


def merge_loops(red: UOp, over: Sequence[UOp]) -> tuple[UOp, list[UOp], dict[UOp, UOp]]:
    """Return a reduction, its loops and their values, with the innermost loops merged where all reads allow it.

    For a sum over the first axis, the rows of `[509, 127, 7]` have 889 elements.
    """
    loops = sorted(over, key=lambda r: r.arg)
    if len(loops) < 2 or not all(map(is_plain, loops)):
        return red, loops, {}
    *first, outer, inner = loops
    count = size(inner)
    reads = [u for u in red.src[0].toposort() if u.op is Ops.INDEX]
    steps = [(kernels.step(i, outer), kernels.step(i, inner)) for i in indices(reads)]
    if not {outer, inner}.isdisjoint(_outside(red.src[0])) or any(b is None or a != count * b for a, b in steps):
        return red, loops, {}
    both = inner.replace(src=(UOp.const(size(outer) * count, inner.dtype),))
    red = red.substitute({outer: outer.const_like(0), inner: both})
    red, loops, values = merge_loops(red, [*first, both])
    parts = {both: outer * count + inner}
    return red, loops, parts | {r: value.substitute(parts) for r, value in values.items()}


def _outside(u: UOp) -> dict[UOp, None]:
    """Return the nodes that compute a value, without the index expressions of its reads."""
    nodes: dict[UOp, None] = u.toposort(gate=lambda v: v.op is not Ops.INDEX)
    return nodes


def _least_elements(red: UOp, column: UOp) -> int:
    """Return from how many elements on to use stages, or 0 unless rows are contiguous and reduced elements are not."""
    reads = [u for u in red.src[0].toposort() if u.op is Ops.INDEX]
    if any(len(u.src) < 2 or u.src[1].get_valid().op is not Ops.CONST for u in reads):
        return 0
    if any(u.op in GroupOp.Comparison and not {*red.src[1:]}.isdisjoint(_outside(u)) for u in _outside(red.src[0])):
        return 0  # rows are selected by their index: tinygrad turns that into an index expression
    inner = max(red.src[1:], key=lambda r: r.arg)
    positions = indices(reads)
    if not kernels.in_order(positions, column) or kernels.reduces_in_order(red, inner):
        return 0
    steps = {kernels.step(i, column) for i in positions}
    if 1 not in steps:
        return 0
    is_dear = any(u.op in kernels.DEAR for u in _outside(red.src[0]))
    return MANY_DEAR if is_dear else MANY_PRODUCTS if 0 in steps else MANY
