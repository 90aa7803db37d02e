"""Windows of a padded array: the array is padded first, so that no window tests whether it is inside.

A padded array is read under conditions on an index such as `y + k`, and not on `y` and `k` apart:

    0 < y + k < 33 ? x[y + k - 1] : 0      for y < 32, k < 3
    p[i] = 0 < i < 33 ? x[i - 1] : 0       for i < 34; its windows are p[y + k]
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tinygrad.uop.ops import AxisType, Ops, UOp

from branded.backends.cpu.gemm.cost import elements, is_plain, strides

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
    sums = dict.fromkeys(s for c in inside if c.op is Ops.CMPLT and len((s := c.src[0]).ranges) > 1)
    if not sums or any(s.vmin < 0 or strides(s) is None for s in sums):
        return None
    if len({r for s in sums for r in s.ranges}) < sum(len(s.ranges) for s in sums):
        return None
    loops = {s: UOp.range(int(s.vmax) + 1, _FIRST + i, AxisType.WEAK) for i, s in enumerate(sums)}
    new = dict[UOp, UOp](loops)
    for read in (x for x in inside if x.op is Ops.INDEX):
        if len(read.src) != 2:
            return None
        idx = read.src[1].get_idx()
        if (index := _over(idx, loops)) is None:
            return None
        new[idx] = index
    value = u.substitute(new)
    if not {*value.ranges} <= {*u.ranges, *loops.values()} or any(r in value.ranges for s in sums for r in s.ranges):
        return None
    if elements(value.ranges) * OFTEN > elements(u.ranges):
        return None
    reads = [found.of for x in value.toposort() if x.op is Ops.INDEX and (found := strides(x.src[1].get_idx()))]
    # the index of a part of a concatenation, which no part reads, is outermost
    order = sorted(value.ranges, key=lambda r: [any(r in of for of in reads), *(-of.get(r, 0) for of in reads)])
    origin = {loop: s for s, loop in loops.items()}
    return Padded(value, {r: origin.get(r, r) for r in order})


def _over(index: UOp, loops: Mapping[UOp, UOp]) -> UOp | None:
    """Return an affine index in terms of the new loops."""
    if (found := strides(index)) is None:
        return None
    terms, left = [UOp.const(found.offset)], dict(found.of)
    for s, loop in loops.items():
        part = strides(s)
        if part is None:
            return None
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
