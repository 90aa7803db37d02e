"""The dtype and the shape of an operation, found by what it is.

tinygrad compares an operation with forty others, one after the other, until it comes to `ADD`: 5 us for the dtype and
6 for the shape, where the UOp itself takes half of one.  Here those that there are many of are looked up; what is rare,
and what is refused, goes to tinygrad's own functions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tinygrad import dtypes
from tinygrad.dtype import DType
from tinygrad.uop.ops import GroupOp, Ops, UOp

from branded.patches import tg

_Dtype = Callable[[tuple[UOp, ...], Any], DType | None]
_Shape = Callable[[UOp], Any]

_COMPARISONS = {Ops.CMPLT, Ops.CMPNE, Ops.CMPEQ}
_JOINED = GroupOp.Broadcastable - _COMPARISONS - {Ops.WHERE, Ops.SHL, Ops.SHR}
"""Their dtype is the one to which those of all operands are promoted."""
_SAME = {Ops.DETACH, Ops.CONTIGUOUS, Ops.CONTIGUOUS_BACKWARD, Ops.AFTER, Ops.LOAD, Ops.COPY}
"""They have the dtype and the shape of the first operand."""
_OF_FIRST = _SAME | GroupOp.Movement | {Ops.NEG, Ops.TRUNC, Ops.REDUCE, Ops.RANGE, Ops.STAGE}
_OF_ONE = GroupOp.Unary | {Ops.CAST}
_SHAPED_AS_FIRST = _SAME | _OF_ONE | {Ops.STORE, Ops.END}


def _dtype(original: Callable[..., DType | None]) -> Callable[..., DType | None]:
    promoted = tg.least_upper_dtype

    def joined(src: tuple[UOp, ...], arg: Any) -> DType | None:
        first = src[0].dtype
        for x in src:
            if x.dtype is not first:
                found: DType = promoted(*(y.dtype for y in src))
                return found
        return first

    def first(src: tuple[UOp, ...], arg: Any) -> DType | None:
        return src[0].dtype

    def compared(src: tuple[UOp, ...], arg: Any) -> DType | None:
        return dtypes.bool

    def cast(src: tuple[UOp, ...], arg: Any) -> DType | None:
        return arg if isinstance(arg, DType) else original(Ops.CAST, src, arg)

    def chosen(src: tuple[UOp, ...], arg: Any) -> DType | None:
        return joined(src[1:], arg) if src[0].dtype is dtypes.bool else original(Ops.WHERE, src, arg)

    ways: dict[Ops, _Dtype] = dict.fromkeys(_JOINED, joined)
    ways |= dict.fromkeys(_OF_FIRST, first) | dict.fromkeys(_COMPARISONS, compared)
    ways |= {Ops.CAST: cast, Ops.WHERE: chosen}

    @functools.wraps(original)
    def dtype_from_uop(op: Ops, src: tuple[UOp, ...], arg: Any) -> DType | None:
        return way(src, arg) if (way := ways.get(op)) is not None else original(op, src, arg)

    return dtype_from_uop


def _shape(original: _Shape, name: str) -> _Shape:
    """`name` is where each operand has its own, which is found before."""

    @functools.wraps(original)
    def shape(u: UOp) -> Any:
        if (op := u.op) in GroupOp.Broadcastable:
            first, *others = [x.__dict__[name] for x in u.src]
            if first is not None and others.count(first) == len(others):
                return first
        elif op in _SHAPED_AS_FIRST and (len(u.src) == 1 or (u.src and op not in _OF_ONE)):
            return u.src[0].__dict__[name]
        elif op is Ops.CONST:
            return ()
        return original(u)

    return shape


def _get(original: Callable[..., Any]) -> Callable[..., Any]:
    """A property that is worked out of those of the operands: without a walk, where these are there."""

    @functools.wraps(original)
    def get(self: Any, u: UOp | None, owner: Any = None) -> Any:
        if u is None:
            return self
        name, known = self.nm, u.__dict__
        if name in known:
            return known[name]
        for x in u.src:
            if name not in x.__dict__:
                return original(self, u, owner)
        out = known[name] = self.fxn(u)
        return out

    return get


def install() -> None:
    tg.ops.dtype_from_uop = _dtype(tg.ops.dtype_from_uop)
    shape, kind = UOp.__dict__[tg.SHAPE], tg.ops.recursive_property
    shape.fxn = _shape(shape.fxn, shape.nm)
    kind.__get__ = _get(kind.__get__)
