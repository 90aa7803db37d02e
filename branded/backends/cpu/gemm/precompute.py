"""The slow parts of a kernel that a kernel of their own computes faster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tinygrad import dtypes
from tinygrad.uop.ops import AxisType, GroupOp, Ops, UOp

from branded.backends.cpu.gemm.cost import (
    ALONE,
    ELEMENT_AGAIN,
    FAR,
    LAUNCH,
    LEAST,
    NEAR,
    TOGETHER,
    elements,
    is_plain,
    slow_operations,
    strides,
    transfer_cost,
)


def recomputed_values(value: UOp, over: Iterable[UOp], limit: int) -> list[UOp]:
    """Return the slow parts of a kernel that it recomputes in each turn of an enclosing loop.

    In `x * b.exp()`, where `b` is the same for each row of `x`, `b.exp()` is recomputed for every row.
    """
    around = {*over, *(r for r in value.toposort() if r.op is Ops.RANGE)}
    return _largest(value, lambda u: _pays(u, around, limit))


def values_of_scatter(value: UOp, loops: Sequence[UOp]) -> list[UOp]:
    """Return the slow parts of a value that a scatter adds: clang vectorizes no scatter, but a kernel of its own."""
    return _largest(value, lambda u: _pays_in_scatter(u, loops))


def _largest(value: UOp, pays: Callable[[UOp], bool]) -> list[UOp]:
    found, seen, left = list[UOp](), set[UOp](), [value]
    while left:
        if (u := left.pop()) in seen:
            continue
        seen.add(u)
        if u.op in _ARITHMETIC and not any(u in v.backward_slice for v in found) and pays(u):
            found.append(u)
        else:
            left += u.src
    return found


_ARITHMETIC = GroupOp.Elementwise - {Ops.RECIPROCAL, Ops.FDIV, Ops.MUL}
"""The operations that can be precomputed without changing bits.

`x / b` and `x + b * c` are rounded once; with `1 / b` or `b * c` precomputed they would be rounded twice.
"""


def _pays(u: UOp, around: Iterable[UOp], limit: int) -> bool:
    """Return whether precomputing each element once is cheaper."""
    ranges = u.ranges
    if not ranges or u.dtype not in (dtypes.float32, dtypes.float64) or not all(map(is_plain, ranges)):
        return False
    last = max(map(_depth, ranges))
    turns, n = elements(r for r in around if r not in ranges and _depth(r) < last), elements(ranges)
    if turns == 1 or turns * n < LEAST or n * u.dtype.itemsize > limit:
        return False
    again = ELEMENT_AGAIN * n + FAR * max(n - NEAR, 0)
    if slow_operations(u) * TOGETHER * n * (turns - 1) <= LAUNCH + transfer_cost(ranges) + again * turns:
        return False
    return _is_computed(u)


def _pays_in_scatter(u: UOp, loops: Sequence[UOp]) -> bool:
    ranges = u.ranges
    if u.dtype not in (dtypes.float32, dtypes.float64) or not all(r in loops and is_plain(r) for r in ranges):
        return False
    alone = slow_operations(u) * (ALONE * elements(loops) - TOGETHER * elements(ranges))
    copying = LAUNCH + transfer_cost(ranges) + ELEMENT_AGAIN * elements(loops)
    return bool(ranges) and alone > copying and _is_computed(u)


def _is_computed(u: UOp) -> bool:
    """Return whether a value has no sums and reads arrays at known places."""
    return all(x.op is not Ops.REDUCE and (x.op is not Ops.INDEX or _is_inside(x)) for x in u.toposort())


def _depth(r: UOp) -> tuple[Any, ...]:
    """Return the nesting depth of a loop, as a sort key: reductions are inside the other loops."""
    return r.arg[-1] is AxisType.REDUCE, r.arg[:-1]


def _is_inside(u: UOp) -> bool:
    """Return whether the read is always within the buffer, regardless of conditions other than its own."""
    if len(u.src) != 2:
        return False
    index, valid = u.src[1].get_idx(), u.src[1].get_valid()
    if strides(index) is None:
        return False
    if valid.op is Ops.CONST:
        return 0 <= index.vmin <= index.vmax < u.src[0].max_numel()
    return all(x.op is not Ops.INDEX for x in valid.toposort())
