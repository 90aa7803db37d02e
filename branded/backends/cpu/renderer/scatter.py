"""Reductions that select entries by comparing an index with a loop, computed from the selected entries alone.

tinygrad writes indexing as a masked sum over the whole table, and a scatter or the derivative of indexing as a masked
sum over all entries for each element of the result:

    gather     y[i] = Σⱼ where(index[i] == j, x[j], 0)
    scatter    y[j] = Σᵢ where(index[i] == j, x[i], 0)

The comparison determines `j` from `index[i]`.  If `j` is summed, its loop is dropped, and `x` is read at `index[i]`.  If
`j` is a loop of the result, the result is filled with 0, and a loop over `i`, in order, adds `x[i]` at `index[i]`.  The
same holds for products and maxima, for several indices, and for an index into several loops, such as `j * 8 + k`.

tinygrad finds a gather with one index by itself, in `pm_load_collapse`, unless the sum has been split in two before.
"""

from __future__ import annotations

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
    """Whether there is an element of the result to which it belongs."""
    places: dict[UOp, UOp]
    """The index of that element: the value of each determined loop of the result."""
    loops: tuple[UOp, ...]
    """The loops that are left, outermost first."""


def first_value(red: UOp) -> Any:
    """Return the initial value of a reduction."""
    return red.dtype.const({Ops.ADD: 0, Ops.MUL: 1, Ops.MAX: red.dtype.min}[red.arg[0]])


def selection(red: UOp) -> Selection | None:
    """Return the reduction without the loops that its comparisons determine, or None to keep it as it is.

    If there are no `places`, the entries are already reduced: it is a gather.
    """
    if red.op is not Ops.REDUCE or red.arg not in {(op, 0) for op in (Ops.ADD, Ops.MUL, Ops.MAX)}:
        return None
    summed, outer = red.src[1:], [r for r in red.ranges]
    if not all(map(is_plain, (*summed, *outer))):
        return None
    conditions, entry = _masked(red.src[0], first_value(red))
    determined, rest = dict[UOp, UOp](), list[UOp]()
    for condition, is_true in conditions:
        found = _determined_loops(condition, determined, summed) if is_true == (condition.op is Ops.CMPEQ) else None
        if found is None:
            rest.append(condition if is_true else condition.logical_not())
        determined |= found or {}
    places = {r: place for r, place in determined.items() if r not in summed}
    if not determined or (not places and _is_found_by_tinygrad(red)):
        return None
    if places and (elements(places) < PLACES or elements((*summed, *outer)) < STEPS):
        return None
    is_selected = UOp.const(True)
    for u in (*(place.get_valid() for place in determined.values()), *(u.substitute(determined) for u in rest)):
        is_selected = is_selected & u
    by_place = UOp.sink(is_selected, *places.values()).ranges
    within = [r for r in summed if r not in determined and not (places and r in by_place)]
    entry = entry.substitute(determined)
    if not places:
        entry = is_selected.where(entry, entry.const_like(first_value(red)))
    if within:
        entry = entry.reduce(*within, arg=red.arg)
    loops = [r for r in (*outer, *summed) if r not in determined and r not in within]
    # the loops that do not change the index are innermost, so that elements are added to adjacent ones
    order = sorted(loops, key=lambda r: (r not in by_place, r in summed, r.arg))
    return Selection(entry, is_selected, {r: place.get_idx() for r, place in places.items()}, tuple(order))


def _is_found_by_tinygrad(red: UOp) -> bool:
    return red.arg[0] is Ops.ADD and len(red.src) == 2 and not any(u.op is Ops.REDUCE for u in red.src[0].toposort())


def _masked(x: UOp, first: Any) -> tuple[list[tuple[UOp, bool]], UOp]:
    """Return an entry and the conditions, with their required values, without which `x` is `first`."""
    if x.op is Ops.WHERE:
        condition, *branches = x.src
        for is_true, entry, other in ((True, *branches), (False, *reversed(branches))):
            if other.op is Ops.CONST and other.val == first:
                conditions, entry = _masked(entry, first)
                return [*_conjuncts(condition, is_true), *conditions], entry
    if first == 0 and x.dtype == dtypes.bool:
        return [*_conjuncts(x, True)], x.const_like(True)
    if first == 0 and x.op is Ops.CAST:
        conditions, entry = _masked(x.src[0], 0)
        return conditions, entry.cast(x.dtype)
    if first == 0 and x.op is Ops.MUL and dtypes.is_int(x.dtype):  # a float may be infinite, whose product with 0 is NaN
        (left, a), (right, b) = (_masked(s, 0) for s in x.src)
        return [*left, *right], a * b
    return [], x


def _conjuncts(u: UOp, is_true: bool) -> Iterator[tuple[UOp, bool]]:
    """Yield the conditions, with their required values, that together are equivalent to `u` being `is_true`."""
    if u.op is (Ops.AND if is_true else Ops.OR) and u.dtype == dtypes.bool:
        for s in u.src:
            yield from _conjuncts(s, is_true)
    elif u.op is Ops.CMPNE and u.src[1].op is Ops.CONST and u.src[1].val is True:
        yield from _conjuncts(u.src[0], not is_true)
    else:
        yield u, is_true


def _determined_loops(equation: UOp, before: Mapping[UOp, UOp], summed: Sequence[UOp]) -> dict[UOp, UOp] | None:
    """Return the loops that an equation of an index with loops determines, or None; `before` are determined already."""
    if equation.op not in (Ops.CMPEQ, Ops.CMPNE):
        return None
    used = UOp.sink(*before.values()).ranges
    for index, loops in (equation.src, equation.src[::-1]):
        if not dtypes.is_int(index.dtype) or (found := strides(loops)) is None or not all(map(is_plain, found.of)):
            continue
        if any(r in found.of or r in before for r in index.ranges) or any(r in used or r in before for r in found.of):
            continue
        if any(r in summed for r in (*index.ranges, *found.of)) and (places := _places(index, found)) is not None:
            return places
    return None


def _places(index: UOp, to: Strides) -> dict[UOp, UOp] | None:
    """Return the value of each loop at an index, Invalid if there is none; None unless each index has one at most."""
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
    return {r: (place // to.of[r] % size(r) if r is not loops[-1] else place // to.of[r]).valid(valid) for r in loops}
