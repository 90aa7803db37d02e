"""Rows: which brands are open in a graph.

A brand is one fresh tinygrad `RANGE`.  A tensor enters it as `INDEX(X, RANGE)`, of per-example shape, and leaves it
as `STAGE(y, RANGE)`, tinygrad's own opposite of INDEX.  The row of a value is the set of ranges that are open in its
graph.  Nothing else is kept about a batch.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from tinygrad.dtype import DType
from tinygrad.uop.ops import Ops, UOp, srender

from branded.primitive import primitive_of, slots

if TYPE_CHECKING:
    from branded.brand import Brand

Row = tuple["Brand", ...]
"""The open brands of a value, outermost (first opened) first."""


@dataclass(frozen=True)
class _Left:
    """The argument of the STAGE by which a value left a brand: tinygrad reads its device there."""

    value: UOp

    @property
    def device(self) -> Any:
        return self.value.device


class _Info(NamedTuple):
    """What is kept about a graph."""

    row: Row
    left: bool
    """Was a brand left below, and not yet closed?"""
    sharded: bool
    differentiated: bool
    """Is it made from a leaf of a derivative?"""
    beside: bool
    """Is it a result of a function of which it does not use an argument that varies?"""


_PLAIN = _Info((), False, False, False, False)
_KEY = "_branded"
SHAPE = "_RECURSIVE_PROPERTY__shape"
"""Where tinygrad keeps the shape of a UOp once it is worked out, which takes ten times as long as to make the UOp."""


def union(a: Row, b: Row) -> Row:
    if a is b or not b:
        return a
    if not a:
        return b
    return a if (both := {*a, *b}) == set(a) else tuple(sorted(both, key=lambda brand: brand.number))


def _info(u: UOp) -> _Info:
    """What is kept about `u`, on the UOp itself, as tinygrad keeps its own."""
    stack = [u]
    while _KEY not in u.__dict__:
        v = stack[-1]
        if below := [s for s in v.src if _KEY not in s.__dict__]:
            stack += below
            continue
        stack.pop()
        info = _PLAIN
        for s in v.src:
            if (new := s.__dict__[_KEY]) is not _PLAIN and new is not info:
                if info is _PLAIN:
                    info = new
                elif new != info:
                    info = _Info(union(info.row, new.row), *(a or b for a, b in zip(info[1:], new[1:], strict=True)))
        if v.op is Ops.GETTUPLE and v.src[0].op is Ops.FUNCTION:
            info = _of_function(v.src[0], v.arg)
        elif v.op is Ops.RANGE and (b := v.__dict__.get("_brand")) is not None:
            info = _PLAIN._replace(row=(b,))
        elif v.op is Ops.STAGE and type(v.arg) is _Left:
            # what the value itself had, without the brand that it left
            info = v.src[0].__dict__[_KEY]
            row = tuple(b for b in info.row if b is not v.src[1].__dict__["_brand"])
            info = info._replace(row=row, left=True)
        elif v.op is Ops.UNSHARD or (v.op is Ops.PARAM and v.arg.axis is not None):
            info = info._replace(sharded=True)
        elif is_leaf(v):
            info = info._replace(differentiated=True)
        v.__dict__[_KEY] = info
    return cast("_Info", u.__dict__[_KEY])


def _of_function(call: UOp, i: int) -> _Info:
    """A result of a @function varies over what those arguments do that it uses."""
    body, *arguments = call.src
    used = p.uses(call, i) if (p := primitive_of(call)) is not None else slots(body.src[i])
    below = [cast("_Info", s.__dict__[_KEY]) for s in (body.src[i], *(arguments[slot] for slot in used))]
    if any(is_touched(x) for x in arguments):
        below.append(_PLAIN._replace(beside=True))
    if all(info is _PLAIN for info in below):
        return _PLAIN
    row: Row = functools.reduce(union, (info.row for info in below), ())
    return _Info(row, *(any(flags) for flags in zip(*(info[1:] for info in below), strict=True)))


def row_of(u: UOp) -> Row:
    """The brands that are open in a graph."""
    return _info(u).row


def is_touched(u: UOp) -> bool:
    """Does a brand occur anywhere in the graph, open or left?"""
    info = u.__dict__.get(_KEY) or _info(u)
    return info is not _PLAIN and (info.left or info.beside or bool(info.row))


def has_left(u: UOp) -> bool:
    """Was a brand left somewhere in the graph, and not yet closed?"""
    return _info(u).left


def is_leaf(u: UOp) -> bool:
    """Is this what a derivative is taken with respect to?  An identity, which its argument tells from every other."""
    return u.op is Ops.CONTIGUOUS_BACKWARD and u.arg is not None


PLACE = "_branded_place"


def is_place(u: UOp) -> bool:
    """Does this stand for the argument of a loop's body while the body is traced?"""
    return PLACE in u.__dict__


def is_differentiated(u: UOp) -> bool:
    """Is this made from a leaf of a derivative?"""
    return _info(u).differentiated


def left_brands(us: Sequence[UOp]) -> Row:
    """The brands that were left somewhere in these graphs, and are not yet closed there."""
    if not any(map(has_left, us)):
        return ()
    nodes = UOp(Ops.SINK, src=tuple(us)).toposort(has_left)
    return tuple(dict.fromkeys(u.src[1].__dict__["_brand"] for u in nodes if u.op is Ops.STAGE))


def stage(y: UOp, brand: Brand) -> UOp:
    """`y` with the examples of `brand` as its leading axis, not yet worked out: an outer brand is still open in it."""
    return keep_shards(y, UOp(Ops.STAGE, y.dtype, (y, brand.range), _Left(y)), 1)


def keep_shards(x: UOp, out: UOp, gained: int) -> UOp:
    """Tell tinygrad the axis of `out` over which `x` is sharded, where `out` has gained or lost a leading axis."""
    if _info(x).sharded and (axis := x.axis) is not None:
        out.__dict__["axis"] = axis + gained if axis + gained >= 0 else None
    return out


def visible(row: Row) -> Row:
    """The brands of a row, without the scopes of loops: from step to step is not from example to example."""
    return tuple(b for b in row if not b.is_loop)


# ---- as text ----


def type_text(u: UOp, row: Row | None = None) -> str:
    per_example = f"{dtype_text(u.dtype)}[{', '.join(map(srender, u.shape))}]"
    row = visible(row_of(u) if row is None else row)
    return f"Vec[{' | '.join(map(repr, row))}, {per_example}]" if row else per_example


SHORT = {
    "float": "f32", "double": "f64", "half": "f16", "__bf16": "bf16", "bool": "bool",
    "weakint": "int", "weakfloat": "float",
    "signed char": "i8", "short": "i16", "int": "i32", "long": "i64",
    "unsigned char": "u8", "unsigned short": "u16", "unsigned int": "u32", "unsigned long": "u64",
}  # fmt: skip


def dtype_text(dtype: DType) -> str:
    return SHORT.get(dtype.name, str(dtype).removeprefix("dtypes."))
