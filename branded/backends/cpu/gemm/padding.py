"""Windows of a padded array: the array is padded first, so that no window tests whether it is inside.

A padded array is read under conditions on an index such as `y + k`, and not on `y` and `k` apart:

    0 < y + k < 33 ? x[y + k - 1] : 0      for y < 32, k < 3
    p[i] = 0 < i < 33 ? x[i - 1] : 0       for i < 34; its windows are p[y + k]

With steps of 2, tinygrad tests `0 < y + k` and reads `x[2 * y + k - 1]`. The sum is 0 where `2 * y + k` is 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tinygrad.uop.ops import AxisType, Ops, UOp

from branded.backends.cpu.gemm.cost import Strides, elements, is_plain, strides

LEAST, OFTEN = 1 << 13, 2
"""The minimum number of reads, and of reads of each element, for which the padded array is stored."""
_FIRST = 1 << 20
"""The number of the first loop over a padded array."""


class Padded(NamedTuple):
    """A value as an array with one axis for each index that its conditions test."""

    value: UOp
    """The value of each element, over new loops."""
    place: dict[UOp, UOp]
    """The index that each loop stands for; the outermost loop is first."""


def padding_of(u: UOp) -> Padded | None:
    """Return the padded array whose windows `u` reads, or None if there is none or it does not pay."""
    if u.op is not Ops.WHERE or not all(map(is_plain, u.ranges)) or elements(u.ranges) < LEAST:
        return None
    inside = u.toposort()
    reads = [x for x in inside if x.op is Ops.INDEX]
    tests = [c for c in inside if c.op is Ops.CMPLT and len(c.src[0].ranges) > 1]
    if not tests or any(len(x.src) != 2 for x in reads):
        return None
    indices = {x.src[1].get_idx(): _unwrapped(x.src[1]) for x in reads}
    sums = {c.src[0]: _window(c, indices.values()) for c in tests}
    windows = {frozenset(s.of): s for s in sums.values() if s is not None}
    if any(s is None or s != windows[frozenset(s.of)] for s in sums.values()):
        return None
    summed = {r for ranges in windows for r in ranges}
    if len(summed) < sum(map(len, windows)):
        return None
    loops = {
        ranges: UOp.range(_largest(s) + 1, _FIRST + i, AxisType.WEAK) for i, (ranges, s) in enumerate(windows.items())
    }
    new = {sum_: loops[frozenset(s.of)] for sum_, s in sums.items() if s is not None}
    for idx, found in indices.items():
        if found is None or (index := _over(found, {loop: windows[ranges] for ranges, loop in loops.items()})) is None:
            return None
        new[idx] = index
    value = u.substitute(new)
    if not {*value.ranges} <= {*u.ranges, *loops.values()} or any(r in value.ranges for r in summed):
        return None
    if elements(value.ranges) * OFTEN > elements(u.ranges):
        return None
    places = [found.of for x in value.toposort() if x.op is Ops.INDEX and (found := strides(x.src[1].get_idx()))]
    # the index of a part of a concatenation, which no part reads, is outermost
    order = sorted(value.ranges, key=lambda r: [any(r in of for of in places), *(-of.get(r, 0) for of in places)])
    origin = {loop: _sum(windows[ranges]) for ranges, loop in loops.items()}
    return Padded(value, {r: origin.get(r, r) for r in order})


def _unwrapped(place: UOp) -> Strides | None:
    """Return the strides of a read, also if the index is modulo the size and wraps around in every valid read."""
    idx = place.get_idx()
    if idx.op is not Ops.FLOORMOD:
        return strides(idx)
    found, n = strides(idx.src[0]), idx.src[1].vmin
    is_known = found is not None and idx.src[1].op is Ops.CONST and n <= _least(found, place.get_valid())
    return found.plus(Strides(-int(n), {})) if found is not None and is_known and idx.src[0].vmax < 2 * n else None


def _least(index: Strides, valid: UOp) -> int:
    """Return a lower bound of an index under a condition, such as 33 for `y * 32 + k` where `y >= 1` and `k >= 1`."""
    least, seen = index.offset, set[UOp]()
    if any(n < 0 or r.vmin < 0 for r, n in index.of.items()):
        return 0
    for c in valid.split_uop(Ops.AND):
        if c.op is not Ops.CMPNE or c.src[0].op is not Ops.CMPLT or c.src[1].op is not Ops.CONST or not c.src[1].val:
            continue
        s, bound = strides(c.src[0].src[0]), c.src[0].src[1]
        if s is None or bound.op is not Ops.CONST or min(s.of.values(), default=0) <= 0 or seen & {*s.of}:
            continue
        seen |= {*s.of}
        least += max(min(index.of.get(r, 0) * (bound.val - s.offset) // n for r, n in s.of.items()), 0)
    return least


def _window(test: UOp, indices: Iterable[Strides | None]) -> Strides | None:
    """Return the sum that a test is about, with the factors of an index if the test is whether the sum is 0."""
    s = strides(test.src[0])
    if s is None or test.src[0].vmin < 0:
        return None
    is_zero = s.offset == 0 and min(s.of.values()) > 0 and test.src[1].op is Ops.CONST and test.src[1].val == 1
    of = next((i.of for i in indices if i is not None and all(i.of.get(r, 0) > 0 for r in s.of)), None)
    if not is_zero or of is None:
        return s
    factor = math.gcd(*(of[r] for r in s.of))
    return Strides(0, {r: of[r] // factor for r in s.of})


def _largest(s: Strides) -> int:
    return s.offset + sum(max(n * int(r.vmin), n * int(r.vmax)) for r, n in s.of.items())


def _sum(s: Strides) -> UOp:
    out: UOp = UOp.const(0).usum([*(r * n for r, n in s.of.items()), UOp.const(s.offset)]).simplify()
    return out


def _over(index: Strides, windows: Mapping[UOp, Strides]) -> UOp | None:
    """Return an affine index in terms of the new loops."""
    terms, left = [UOp.const(index.offset)], dict(index.of)
    for loop, part in windows.items():
        if not (factors := {_ratio(left.pop(r, 0), n) for r, n in part.of.items()}) or len(factors) > 1:
            return None
        if (factor := factors.pop()) is None:
            return None
        terms += [loop * factor, UOp.const(-part.offset * factor)]
    terms += [r * n for r, n in left.items()]
    out: UOp = UOp.const(0).usum(terms).simplify()
    return out


def _ratio(n: int, by: int) -> int | None:
    return n // by if n % by == 0 else None
