"""Faster cotangents of overlapping windows, as in convolutions and pooling, on the CPU.

tinygrad forms windows by repeating the array.  The cotangent is then a sum over the repetitions, at indices with
quotients and remainders.  Fused into the gradient of a convolution, it computes many products several times.  Here the
cotangents of the windows are stored once.  Then one shifted copy for each place of a window is added:

    y = s * o + d * k               the place k of window o, in an array with the index y
    ct[y] = Σₖ pad(dilate(cts[k]))  for all o, at the index s * o + d * k
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tinygrad import dtypes
from tinygrad.uop.ops import GroupOp, Ops, UOp

from branded.backends.cpu.renderer.loops import cpu_codegen
from branded.tinygrad_compat.lazy_numpy import np
from branded.tinygrad_compat.private_api import apply_movement_op

MOST = 64
"""The maximum number of places in a window along one axis."""
TOGETHER = 9
"""The maximum number of places whose copies are added in one kernel."""
LARGEST = 1 << 18
"""The maximum number of elements whose indices are compared to recognize the windows of one axis."""
_FUNCTIONS = {
    Ops.ADD: operator.add,
    Ops.MUL: operator.mul,
    Ops.FLOORDIV: operator.floordiv,
    Ops.FLOORMOD: operator.mod,
    Ops.CMPLT: operator.lt,
    Ops.CMPNE: operator.ne,
    Ops.CMPEQ: operator.eq,
    Ops.AND: operator.and_,
    Ops.OR: operator.or_,
}


class _Windows(NamedTuple):
    """An axis of an array, and the two axes of its windows: the window o and the place k in it."""

    axis: int
    o: int
    k: int
    stride: int
    dilation: int
    offset: int


def window_cotangent(ct: UOp, n: int) -> UOp | None:
    """Return the sum of `ct` over its `n` leading axes if it holds the cotangents of windows, else None."""
    if not (cpu_codegen.value and str(ct.device).startswith("CPU") and ct.dtype in (dtypes.float32, dtypes.float64)):
        return None
    if not _is_known(ct.shape):
        return None
    ranges = tuple(UOp.range(s, i) if s > 1 else UOp.const(0) for i, s in enumerate(ct.shape))
    base, indices, valid, ops = ct, ranges, list[UOp](), set[Ops]()
    while base.op in GroupOp.Movement:
        if not _is_known(base.src[0].shape):
            return None
        indices = _operand_indices(base, indices)
        if base.op is Ops.PAD:
            valid += [i.get_valid() for i in indices]
            indices = tuple(i.get_idx() for i in indices)
        ops.add(base.op)
        base = base.src[0]
    if Ops.PAD not in ops or not ops <= {Ops.PAD, Ops.RESHAPE, Ops.PERMUTE}:
        return None
    if (axes := _axes(base, indices, valid, ranges, n)) is None:
        return None
    return _add_copies(base, axes, ct.shape[n:])


def _is_known(shape: Sequence[Any]) -> bool:
    """Return whether all sizes are numbers above 0."""
    return all(isinstance(s, int) and s > 0 for s in shape)


def _operand_indices(u: UOp, indices: tuple[UOp, ...]) -> tuple[UOp, ...]:
    """Return the indices in the operand of a movement operation; a reshape keeps independent axes apart."""
    old = u.src[0].shape
    if u.op is not Ops.RESHAPE:
        return tuple(apply_movement_op(u.op, old, u.marg, indices))
    out, i, j = list[UOp](), 0, 0
    a: Any
    b: Any
    while i < len(old) or j < len(u.shape):
        m, n = i + 1, j + 1
        while (a := math.prod(old[i:m])) != (b := math.prod(u.shape[j:n])):
            m, n = m + (a < b), n + (a > b)
        out += apply_movement_op(u.op, old[i:m], u.shape[j:n], indices[j:n])
        i, j = m, n
    return tuple(out)


def _axes(
    base: UOp, indices: Sequence[UOp], valid: Sequence[UOp], ranges: Sequence[UOp], n: int
) -> list[int | _Windows | None] | None:
    """Return for each axis of the result the same axis of `base`, its windows, or None for an axis of size 1."""
    found, used, conditions = list[int | _Windows | None](), set[int](), {v for v in valid if v.op is not Ops.CONST}
    for axis, r in enumerate(ranges[n:]):
        own = [j for j, i in enumerate(indices) if r in i.ranges]
        used.update(own)
        if r.op is Ops.CONST:
            found.append(None)
        elif len(own) == 1 and indices[own[0]] is r and base.shape[own[0]] == r.vmax + 1:
            found.append(own[0])
        elif len(own) == 2:
            inside = {x for j in own for x in indices[j].ranges}
            there = {v for v in conditions if not inside.isdisjoint(v.ranges)}
            if not inside.union(*(v.ranges for v in there)) <= {r, *ranges[:n]}:
                return None
            if (windows := _windows(base, axis, r, own, indices, there)) is None:
                return None
            conditions -= there
            found.append(windows)
        else:
            return None
    rest = [s for j, s in enumerate(base.shape) if j not in used]
    many = any(isinstance(x, _Windows) for x in found)
    return found if many and not conditions and all(s == 1 for s in rest) else None


def _windows(
    base: UOp, axis: int, r: UOp, own: Sequence[int], indices: Sequence[UOp], conditions: Iterable[UOp]
) -> _Windows | None:
    """Return the windows whose cotangents have the axes `own`, found by comparing the indices of all elements."""
    order = list(dict.fromkeys((r, *(x for u in (*conditions, *(indices[j] for j in own)) for x in u.ranges))))
    sizes = [int(x.vmax) + 1 for x in order]
    if math.prod(sizes) > LARGEST:
        return None
    values = dict(zip(order, np.indices(sizes).reshape(len(order), -1), strict=True))
    there = functools.reduce(operator.and_, (_evaluate(v, values) for v in conditions), np.ones(math.prod(sizes), bool))
    places = [np.broadcast_to(_evaluate(indices[j], values), there.shape)[there] for j in own]
    y = values[r][there]
    for o, k in ((0, 1), (1, 0)):
        at = np.full((base.shape[own[o]], base.shape[own[k]]), -1)
        at[places[o], places[k]] = y
        if len(y) != at.size or at.min() < 0 or at.shape[1] > MOST:
            continue
        offset = int(at[0, 0])
        stride = int(at[1, 0]) - offset if len(at) > 1 else 1
        dilation = int(at[0, 1]) - offset if at.shape[1] > 1 else 1
        expected = offset + stride * np.arange(at.shape[0])[:, None] + dilation * np.arange(at.shape[1])
        if stride > 0 and dilation > 0 and at.shape[1] <= max(at.shape[0], TOGETHER) and (at == expected).all():
            return _Windows(axis, own[o], own[k], stride, dilation, offset)
    return None


def _evaluate(u: UOp, values: Mapping[UOp, Any]) -> Any:
    if u in values:
        return values[u]
    if u.op is Ops.CONST:
        return u.val
    if u.op is Ops.CAST:
        return _evaluate(u.src[0], values)
    return _FUNCTIONS[u.op](*(_evaluate(s, values) for s in u.src))


def _add_copies(base: UOp, axes: Sequence[int | _Windows | None], shape: Sequence[Any]) -> UOp:
    """Add the copies of each place of the windows."""
    windows = [x for x in axes if isinstance(x, _Windows)]
    own = [x.o if isinstance(x, _Windows) else x for x in axes]
    first = windows[0].axis
    sizes = [1 if j is None else base.shape[j] for j in own]
    order = [j for j in (*own[:first], *(x.k for x in windows), *own[first:]) if j is not None]
    stored = base.permute((*order, *(j for j in range(len(base.shape)) if j not in order))).contiguous()
    stored = stored.reshape((*sizes[:first], *(base.shape[x.k] for x in windows), *sizes[first:]))
    n = len(windows)
    out: UOp = stored.permute((*range(first, first + n), *range(first), *range(first + n, len(stored.shape))))
    apart = math.prod(base.shape[x.k] for x in windows) > TOGETHER
    for i, x in enumerate(windows):
        if i and apart:
            out = out.contiguous()
        at = n - i - 1 + x.axis
        copies = [_copy(out[k], at, x, k, shape[x.axis]) for k in range(out.shape[0])]
        out = functools.reduce(operator.add, copies)
    return out


def _copy(x: UOp, at: int, windows: _Windows, k: int, size: int) -> UOp:
    """Return place `k` of all windows in an array of the whole axis, with 0 at the other indices."""
    n, s = x.shape[at], windows.stride
    before = windows.offset + windows.dilation * k
    if s > 1:
        x = x.reshape((*x.shape[: at + 1], 1, *x.shape[at + 1 :]))
        x = x.pad(tuple((0, s - 1 if i == at + 1 else 0) for i in range(len(x.shape))))
        x = x.reshape((*x.shape[:at], n * s, *x.shape[at + 2 :]))
        n = (n - 1) * s + 1
        x = x.shrink(tuple((0, n if i == at else m) for i, m in enumerate(x.shape)))
    out: UOp = x.pad(tuple((before, size - before - n) if i == at else (0, 0) for i in range(len(x.shape))))
    return out
