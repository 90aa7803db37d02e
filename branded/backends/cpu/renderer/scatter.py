"""Reductions that select entries by comparing an index with a loop, computed from the selected entries alone.

tinygrad writes indexing (a gather) as a masked sum over the whole table.  It writes a scatter, or the derivative of
indexing, as a masked sum over all entries for each element of the result:

    gather     y[i] = Σⱼ where(index[i] == j, x[j], 0)
    scatter    y[j] = Σᵢ where(index[i] == j, x[i], 0)

The comparison determines `j` from `index[i]`.  If `j` is summed, its loop is dropped, and `x` is read at `index[i]`.
If `j` is a loop of the result, the result is filled with 0, and a loop over `i`, in order, adds `x[i]` at `index[i]`.
The same holds for products and maxima, for several indices, and for an index into several loops, such as `j * 8 + k`.

tinygrad itself finds a gather with one index, in `pm_load_collapse`, unless the sum has been split in two before.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tinygrad import dtypes
from tinygrad.uop.ops import Ops, UOp

from branded.backends.cpu.gemm.cost import Strides, elements, is_plain, size, strides

PLACES, STEPS = 8, 1 << 12
"""The minimum sizes for a scatter: the loops that it saves, and all loops.  Below, tinygrad's kernel vectorizes."""


class Selection(NamedTuple):
    """A reduction without the loops that its comparisons determine."""

    entry: UOp
    """The value for each step of the loops that are left."""
    is_selected: UOp
    """Whether the entry belongs to an element of the result."""
    places: dict[UOp, UOp]
    """The index of that element, or 0: the value of each determined loop of the result."""
    loops: tuple[UOp, ...]
    """The loops that are left, outermost first."""


def first_value(red: UOp) -> Any:
    """Return the initial value of a reduction."""
    return red.dtype.const({Ops.ADD: 0, Ops.MUL: 1, Ops.MAX: red.dtype.min}[red.arg[0]])


def selection(red: UOp, least: int = STEPS) -> Selection | None:
    """Return the reduction without the loops that its comparisons determine, or None to leave it unchanged.

    If there are no `places`, the entries are already reduced: it is a gather.  A scatter of fewer than `least` steps
    is left unchanged, and so is a gather that tinygrad finds.
    """
    found = _selection(red, least)
    return None if found is None or (not found.places and _is_found_by_tinygrad(red)) else found


def gathered_entry(red: UOp) -> UOp | None:
    """Return the entry that a reduction selects, or None for a scatter and for other reductions."""
    found = _selection(red, 0)
    return None if found is None or found.places else found.entry


def _selection(red: UOp, least: int) -> Selection | None:
    if red.op is not Ops.REDUCE or red.arg not in {(op, 0) for op in (Ops.ADD, Ops.MUL, Ops.MAX)}:
        return None
    summed, outer = red.src[1:], list(red.ranges)
    if not all(map(is_plain, (*summed, *outer))):
        return None
    conditions, entry = split_mask(red.src[0], first_value(red))
    determined, required = dict[UOp, UOp](), list[UOp]()
    for condition, is_true in conditions:
        found = determined_loops(condition, determined, summed) if is_true == (condition.op is Ops.CMPEQ) else None
        determined |= found.places if found is not None else {}
        otherwise = condition if is_true else condition.logical_not()
        required.append(found.is_valid if found is not None else otherwise)
    places = {r: place for r, place in determined.items() if r not in summed}
    if not determined:
        return None
    if places and (elements(places) < PLACES or elements((*summed, *outer)) < least):
        return None
    # a loop that does not change the index is reduced for each element: the sum so far is read once for all its steps
    by_index = UOp.sink(*places.values()).ranges
    within = [r for r in summed if r not in determined and r not in by_index]
    is_entry, is_selected = UOp.const(True), UOp.const(True)
    for u in (u.substitute(determined) for u in required):
        if not places or any(r in within for r in u.ranges):
            is_entry = is_entry & u
        else:
            is_selected = is_selected & u
    entry = is_entry.where(entry.substitute(determined), entry.const_like(first_value(red)))
    if within:
        entry = entry.reduce(*within, arg=red.arg)
    loops = [r for r in (*outer, *summed) if r not in determined and r not in within]
    # the loops that do not change the index are innermost, so that elements are added to adjacent ones
    order = sorted(loops, key=lambda r: (r not in by_index, r in summed, r.arg))
    return Selection(entry, is_selected, places, tuple(order))


def stored_value(found: Selection, before: UOp, new: UOp) -> UOp:
    """Return `new` for a selected entry, and the value before for others.

    clang does not vectorize conditional stores.  tinygrad would find one here, but not for the bits of the values.
    """
    bits = _BITS[before.dtype.itemsize][before.dtype in dtypes.uints]
    out: UOp = found.is_selected.where(new.bitcast(bits), before.bitcast(bits)).bitcast(before.dtype)
    return out


_BITS = {
    1: (dtypes.uint8, dtypes.int8),
    2: (dtypes.uint16, dtypes.int16),
    4: (dtypes.uint32, dtypes.int32),
    8: (dtypes.uint64, dtypes.int64),
}
"""The dtypes of the same size: for all dtypes but unsigned ints, and for these."""


def _is_found_by_tinygrad(red: UOp) -> bool:
    """Return whether it is a sum over one loop, of a mask itself: tinygrad does not look through a cast of a mask."""
    if red.arg[0] is not Ops.ADD or len(red.src) != 2 or red.src[0].op is Ops.CAST:
        return False
    return not any(u.op is Ops.REDUCE for u in red.src[0].toposort())


def split_mask(x: UOp, first: Any) -> tuple[list[tuple[UOp, bool]], UOp]:
    """Return an entry and the conditions, with their required values, without which `x` is `first`."""
    if x.op is Ops.WHERE:
        condition, yes, no = x.src
        for is_true, entry, other in ((True, yes, no), (False, no, yes)):
            if other.op is Ops.CONST and other.val == first:
                conditions, entry = split_mask(entry, first)
                return [*conjuncts(condition, is_true), *conditions], entry
    if first == 0 and x.dtype == dtypes.bool:
        return [*conjuncts(x, True)], x.const_like(True)
    if first == 0 and x.op is Ops.CAST:
        conditions, entry = split_mask(x.src[0], 0)
        return conditions, entry.cast(x.dtype)
    if first == 0 and x.op is Ops.MUL and dtypes.is_int(x.dtype):  # an infinite float times 0 is NaN
        (left, a), (right, b) = (split_mask(s, 0) for s in x.src)
        return [*left, *right], a * b
    if x.op in (Ops.MUL, Ops.XOR) and (before := _operand(x, first)) is not None:
        conditions, entry = split_mask(x.src[0], before)
        return conditions, x.replace(src=(entry, x.src[1]))
    return [], x


def _operand(x: UOp, result: Any) -> Any:
    """Return the value of the first operand for which a product with a number, or the inverse of ints, is `result`."""
    number = x.src[1].val if x.src[1].op is Ops.CONST else None
    if x.op is Ops.XOR:
        return ~result if number == -1 else None
    return -result if number == -1 else 0 if result == 0 and number is not None and math.isfinite(number) else None


def conjuncts(u: UOp, is_true: bool) -> Iterator[tuple[UOp, bool]]:
    """Yield the conditions, with their required values, that together are equivalent to `u` being `is_true`."""
    if u.op is (Ops.AND if is_true else Ops.OR) and u.dtype == dtypes.bool:
        for s in u.src:
            yield from conjuncts(s, is_true)
    elif u.op is Ops.CMPNE and u.src[1].op is Ops.CONST and u.src[1].val is True:
        yield from conjuncts(u.src[0], not is_true)
    else:
        yield u, is_true


class _Determined(NamedTuple):
    """The values of loops (0 if there are none), and whether there are any."""

    places: dict[UOp, UOp]
    is_valid: UOp


def determined_loops(equation: UOp, before: Mapping[UOp, UOp], summed: Sequence[UOp]) -> _Determined | None:
    """Return the loops that an equation of an index with loops determines, or None; `before` are determined already."""
    if equation.op not in (Ops.CMPEQ, Ops.CMPNE):
        return None
    used = UOp.sink(*before.values()).ranges
    for index, loops in (equation.src, equation.src[::-1]):
        if not dtypes.is_int(index.dtype) or (found := strides(loops)) is None or not all(map(is_plain, found.of)):
            continue
        if any(r in found.of or r in before for r in index.ranges) or any(r in used or r in before for r in found.of):
            continue
        if any(r in summed for r in (*index.ranges, *found.of)) and (determined := _places(index, found)) is not None:
            return determined
    return None


def _places(index: UOp, to: Strides) -> _Determined | None:
    """Return the value of each loop at an index; None unless each index has one at most."""
    loops, step = sorted(to.of, key=to.of.__getitem__), 0
    for r in loops:
        if to.of[r] < 1 or (step and to.of[r] != step):
            return None
        step = to.of[r] * size(r)
    if not loops:
        return None
    least, index = to.of[loops[0]], index.cast(dtypes.weakint)
    valid, place = (index >= to.offset) & (index < to.offset + step), index - to.offset if to.offset else index
    if least > 1:
        valid = valid & (place % least).eq(0)
    place = valid.where(place, 0)
    parts = {r: place // to.of[r] if r is loops[-1] else place // to.of[r] % size(r) for r in loops}
    return _Determined(parts, valid)
