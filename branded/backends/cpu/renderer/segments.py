"""Kernels in segments: one for each piece of a concatenation.

In `a.exp().cat(b.tanh())` each step of the loop would compute both values and select one.  Divided at the conditions on
its loop, each kernel computes the values of its own piece alone:

    for i in range(64): i < 32 ? exp(a[i]) : tanh(b[i - 32])

    for i in range(32): exp(a[i])
    for i in range(32): tanh(b[i])
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from tinygrad.uop.ops import GroupOp, Ops, UOp

from branded.backends.cpu.gemm.cost import LAUNCH, TOGETHER, elements, is_plain, size, strides
from branded.backends.cpu.renderer import loops as kernels

MOST = 8
"""The maximum number of segments."""
SHARE = 4
"""Segments save at least the part `1 / SHARE` of the slow operations.

The borders of a padded value save less where its windows are read: they are short loops, and clang compiles each.
"""


class Segment(NamedTuple):
    """A kernel that stores a part of the elements."""

    to: UOp
    value: UOp
    over: Sequence[UOp]


def segments(to: UOp, value: UOp, over: Sequence[UOp]) -> list[Segment]:
    """Return the segments of a kernel, or an empty list to keep it whole."""
    nodes = value.toposort()
    total = _slow(nodes)
    if total < 2 or any(u.op is Ops.REDUCE for u in nodes) or not all(map(is_plain, over)):
        return []
    for r in over:
        cuts = sorted({cut for u in nodes if u.op in GroupOp.Comparison for cut in _cuts(u, r)})
        if not 0 < len(cuts) < MOST:
            continue
        found = [_segment(to, value, over, r, a, b) for a, b in zip([0, *cuts], [*cuts, size(r)], strict=True)]
        saved = sum((total - _slow(x.value.toposort())) * elements(x.over) for x in found)
        if saved * TOGETHER > LAUNCH * len(cuts) and saved * SHARE >= total * elements(over):
            return found
    return []


def _slow(nodes: Iterable[UOp]) -> int:
    return sum(u.op in kernels.DEAR for u in nodes)


def _cuts(condition: UOp, r: UOp) -> Iterator[int]:
    """Yield the steps of a loop at which a condition on this loop alone changes."""
    left, right = map(strides, condition.src)
    if left is None or right is None:
        return
    offset, of = left.plus(right.times(-1))
    if of.keys() == {r} and abs(of[r]) == 1:
        zero = -offset * of[r]
        steps = (zero, zero + 1) if condition.op is not Ops.CMPLT else (zero if of[r] == 1 else zero + 1,)
        yield from (n for n in steps if 0 < n < size(r))


def _segment(to: UOp, value: UOp, over: Sequence[UOp], r: UOp, start: int, end: int) -> Segment:
    loop = r.replace(src=(r.src[0].const_like(end - start),)) if end > start + 1 else None
    at = {r: r.const_like(start) if loop is None else loop + start}
    loops = [loop if x is r else x for x in over]
    return Segment(
        to.substitute(at, walk=True), value.substitute(at, walk=True).simplify(), [x for x in loops if x is not None]
    )
