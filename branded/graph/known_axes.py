"""Names of axes at run time: the names that `as_axes` declared, and the names of results.

Only the declarations are stored.  When a message or the user asks for the names of a value, its graph is walked to see
how operations moved the named axes:

X           as_axes(X, Users, Features)
X @ Y.T     with as_axes(Y, Items, Features), a sum of products with the axes `Users` and `Items`
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from tinygrad import Tensor
from tinygrad.uop.ops import GroupOp, Ops, UOp

Axis = type | int | None
"""A name, a length, or any axis."""
Names = tuple[type | None, ...]
"""For each axis its name, or None if its name is unknown."""

axes_by_id: dict[int, tuple[weakref.ref[Tensor], tuple[Axis, ...]]] = {}
"""The axes that `as_axes` declared for a tensor, by its id."""


def set_axes(x: Tensor, axes: tuple[Axis, ...]) -> None:
    """Remember the axes of a tensor, as long as the tensor is alive."""
    key = id(x)
    axes_by_id[key] = weakref.ref(x, lambda _: axes_by_id.pop(key, None)), axes


def names_of(x: Tensor | UOp) -> Names:
    """Return the names of the axes of one example of a value."""
    u = x.uop if isinstance(x, Tensor) else x
    if not axes_by_id:
        return (None,) * len(u.shape)
    if isinstance(x, Tensor) and (axes := axes_by_id.get(id(x))) is not None:
        return _only_names(axes[1])
    cached = _declared_names()
    for v in u.toposort(lambda v: v not in cached, enter_calls=False) if cached else ():
        cached[v] = _names(v, cached)
    return cached.get(u) or (None,) * len(u.shape)


def _only_names(axes: Sequence[Axis]) -> Names:
    return tuple(a if isinstance(a, type) else None for a in axes)


def _declared_names() -> dict[UOp, Names]:
    """Return the declared names by UOp, without constants, whose UOp unrelated tensors may share."""
    declared: dict[UOp, Names] = {}
    for ref, axes in list(axes_by_id.values()):
        if (x := ref()) is not None and any(v.op in _UNIQUE for v in x.uop.toposort()):
            names = _only_names(axes)
            declared[x.uop] = names if declared.get(x.uop, names) == names else (None,) * len(names)
    return declared


_UNIQUE = {Ops.BUFFER, Ops.PARAM, Ops.RANGE}
"""Operations that make a value unique: it does not equal the value of an unrelated tensor."""
_KEEPS = {Ops.COPY, Ops.CONTIGUOUS, Ops.CONTIGUOUS_BACKWARD, Ops.DETACH, Ops.AFTER, Ops.BITCAST, Ops.FLIP, Ops.SHRINK}
"""Operations whose result has the axes of their first operand: a slice of `Users` is still `Users`."""


def _names(u: UOp, declared: Mapping[UOp, Names]) -> Names:
    """Return the names of the axes of `u`, given the names of its operands."""
    operand_names = [declared.get(s, ()) for s in u.src]
    if not any(map(any, operand_names)):
        return ()
    if u.op in GroupOp.Elementwise:
        return _broadcast(operand_names, len(u.shape))
    if u.op is Ops.STACK:
        return (None, *_broadcast(operand_names, len(u.shape) - 1))
    x = operand_names[0]
    if u.op is Ops.PERMUTE:
        return tuple(x[i] for i in u.arg) if x else ()
    if u.op is Ops.EXPAND:
        return (None,) * (len(u.shape) - len(x)) + x
    if u.op is Ops.REDUCE:
        return x[u.arg[1] :]
    if u.op is Ops.INDEX and len(u.src) == 2:
        return x[1:]  # enters a brand
    if u.op is Ops.RESHAPE:
        return _names_after_reshape(x, u.src[0].shape, u.shape)
    if u.op is Ops.PAD:
        return tuple(name if n == m else None for name, n, m in zip(x, u.src[0].shape, u.shape, strict=bool(x)))
    if u.op in _KEEPS:
        return x
    return ()


def _broadcast(operand_names: Sequence[Names], rank: int) -> Names:
    """Align axes from the right; an axis with two different names gets None."""
    out: list[type | None] = []
    for k in range(rank, 0, -1):
        met = {n for names in operand_names if len(names) >= k and (n := names[-k]) is not None}
        out.append(met.pop() if len(met) == 1 else None)
    return tuple(out)


def _names_after_reshape(names: Names, old: Sequence[Any], new: Sequence[Any]) -> Names:
    """Keep the name of an axis that is neither split nor merged: the product of the sizes before it is unchanged.

    An axis of size 1 loses its name, because it cannot be told from other axes of size 1.
    """
    ends: dict[tuple[Any, Any], type | None] = {}
    before = 1
    for name, n in zip(names, old, strict=False):
        if n != 1:
            ends[before, n] = name
        before *= n
    out: list[type | None] = []
    before = 1
    for n in new:
        out.append(ends.get((before, n)) if n != 1 else None)
        before *= n
    return tuple(out)
