"""Rows: the row of a value is the set of brands over which it varies and that are still open.

A brand is a fresh tinygrad `RANGE`.  A tensor enters it by `INDEX(X, RANGE)`, which has the per-example shape.
A value leaves it by `STAGE(y, RANGE)`, tinygrad's inverse of INDEX. The row of a value is the set of ranges that are
open in its graph. No other state describes a batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from tinygrad import Tensor
from tinygrad.dtype import DType
from tinygrad.uop.ops import Ops, UOp

from branded.errors import EscapeError
from branded.graph.known_axes import axes_by_id, names_of
from branded.graph.primitive import uses
from branded.graph.scope import Row, brand_of, union
from branded.graph.tags import is_leaf
from branded.tinygrad_compat.private_api import srender


@dataclass(frozen=True)
class Leaving:
    """The argument of a STAGE, the operation by which a value leaves a brand; tinygrad reads the device from it."""

    value: UOp

    @property
    def device(self) -> Any:
        return self.value.device


class Info(NamedTuple):
    """Cached facts about a graph."""

    row: Row
    has_pending: bool
    """Whether a value in the graph left a brand, by STAGE, and the batching pass has not run yet."""
    sharded: bool
    """Whether it may be sharded."""
    differentiated: bool
    """Whether it is computed from a leaf of a derivative."""
    sibling_varies: bool
    """Whether a brand occurs in its graph but not in its row, since only another result of a function varies over it:

        a, b = function(lambda x, y: (x + 1, y * 2))(x, y)      `x` varies over `i`, and `y` over nothing
        b                                                       its row is (); the call that makes it has `i` in it
    """

    has_brand: bool
    """Whether a brand occurs anywhere in the graph: open, left, or only in another result of a function."""


PLAIN = Info((), False, False, False, False, False)
"""The facts about a graph without brands, devices or derivatives."""
_KEY = "_branded"


def info_of(u: UOp) -> Info:
    """Return the facts about `u`, cached on the UOp itself, like tinygrad's own caches; operands are computed first.

    x = INDEX(X, RANGE i)       row (i,)
    y = x + W                   row (i,): the union of the rows of its operands
    STAGE(y, RANGE i)           row (), and `has_pending`: `i` is still in the graph, until a pass closes it
    """
    info: Info | None = u.__dict__.get(_KEY)
    if info is not None:
        return info
    stack = [u]
    while stack:
        v = stack[-1]
        if below := [s for s in v.src if _KEY not in s.__dict__]:
            stack += below
            continue
        stack.pop()
        v.__dict__[_KEY] = info = _of_operation(v, [cast("Info", s.__dict__[_KEY]) for s in v.src])
    return cast("Info", info)  # `u` is the last of the stack


def keep_info(u: UOp, operands: Iterable[UOp]) -> None:
    """Store the facts about a value that is computed from these operands by operations without facts of their own."""
    if _KEY not in u.__dict__:
        u.__dict__[_KEY] = _join_infos(map(info_of, operands))


def _of_operation(u: UOp, operands: Sequence[Info]) -> Info:
    """Return the facts about `u`, given the facts about its operands."""
    if u.op is Ops.GETTUPLE and u.src[0].op is Ops.FUNCTION:
        call = u.src[0]
        return _of_result(call, u.arg, [info_of(s) for s in call.src[1:]])
    info = _join_infos(operands)
    if u.op is Ops.RANGE and (b := brand_of(u)) is not None:
        return PLAIN._replace(row=(b,), has_brand=True, sharded=bool(b.devices))
    if u.op is Ops.STAGE and type(u.arg) is Leaving:
        # the facts about the operand, without the brand that STAGE leaves
        row = tuple(b for b in operands[0].row if b is not brand_of(u.src[1]))
        return operands[0]._replace(row=row, has_pending=True, has_brand=True)
    if u.op is Ops.UNSHARD or (u.op is Ops.PARAM and u.arg.axis is not None):
        return info._replace(sharded=True)
    return info._replace(differentiated=True) if u.op is Ops.CONTIGUOUS_BACKWARD and is_leaf(u) else info


def _join_infos(infos: Iterable[Info]) -> Info:
    out = PLAIN
    for info in infos:
        if info is PLAIN or info is out:
            continue
        if out is PLAIN:
            out = info
        elif info != out:
            out = Info(union(out.row, info.row), *(a or b for a, b in zip(out[1:], info[1:], strict=True)))
    return out


def _of_result(call: UOp, i: int, arguments: Sequence[Info]) -> Info:
    """Return the facts about a result of a function: its row joins the rows of the arguments that it uses.

    A brand that its body leaves is removed.
    """
    out = call.src[0].src[i]
    if (body_info := info_of(out)).has_pending:
        info = _in_body(out, arguments)
    else:
        info = _join_infos([body_info, *(arguments[slot] for slot in uses(call, i))])
    if any(x.has_brand for x in (info_of(call.src[0]), *arguments)):
        return info._replace(sibling_varies=True, has_brand=True)
    return info


def _in_body(out: UOp, arguments: Sequence[Info]) -> Info:
    """Return the facts about a value in a body, given the facts about the arguments of the call."""
    infos: dict[UOp, Info] = {}
    for u in out.toposort(enter_calls=False):
        if u.op is Ops.PARAM and u.arg.slot < len(arguments):
            infos[u] = arguments[u.arg.slot]
        elif u.op is Ops.GETTUPLE and u.src[0].op is Ops.FUNCTION:
            infos[u] = _of_result(u.src[0], u.arg, [infos[s] for s in u.src[0].src[1:]])
        else:
            infos[u] = _of_operation(u, [infos[s] if s in infos else info_of(s) for s in u.src])
    return infos[out]


def row_of(u: UOp) -> Row:
    """Return the brands that are open in a graph."""
    return info_of(u).row


def has_brand(u: UOp) -> bool:
    """Return whether a brand occurs anywhere in the graph, open or left."""
    return info_of(u).has_brand


def has_pending(u: UOp) -> bool:
    """Return whether a brand was left somewhere in the graph and is not yet closed."""
    return info_of(u).has_pending


_PLACE = "_branded_place"


def as_place(u: UOp) -> UOp:
    """Mark `u` as the placeholder of an argument of a loop's body while the body is traced."""
    u.__dict__[_PLACE] = True
    return u


def is_place(u: UOp) -> bool:
    """Return whether this is the placeholder of an argument of a loop's body while the body is traced."""
    return _PLACE in u.__dict__


def is_differentiated(u: UOp) -> bool:
    """Return whether this is computed from a leaf of a derivative."""
    return info_of(u).differentiated


def left_brands(us: Sequence[UOp], *, siblings: bool = False) -> Row:
    """Return the brands that were left somewhere in these graphs and are not yet closed there.

    With `siblings`, also search arguments that a function does not use for its result: a custom rule may have
    derivatives with respect to them.
    """
    if not any(has_pending(u) or (siblings and info_of(u).sibling_varies) for u in us):
        return ()
    nodes = UOp(Ops.SINK, src=tuple(us)).toposort(has_brand if siblings else has_pending)
    brands = (brand_of(u.src[1]) for u in nodes if u.op is Ops.STAGE)
    return tuple(dict.fromkeys(b for b in brands if b is not None))


def visible(row: Row) -> Row:
    """Return the brands of a row without the scopes of loops, since the steps of a loop are not examples."""
    return tuple(b for b in row if b.is_brand)


def check_live(u: UOp, api_name: str | Callable[[], str]) -> None:
    """Raise an error if a value belongs to a closed brand."""
    if not has_brand(u) or not (dead := [b for b in info_of(u).row if not b.is_open]):
        return
    where = api_name if isinstance(api_name, str) else api_name()
    for b in dead:
        if (error := b.refusal(u, where)) is not None:
            raise error
    names = ", ".join(f"`{b.name}`" for b in dead)
    raise EscapeError(
        f"{where}: this value belongs to {names}, which {'is' if len(dead) == 1 else 'are'} closed",
        ("value", type_text(u)),
        *((f"{b.name}", f"opened by {b.where}") for b in dead if b.where),
        fix=_BLOCK if all(b.where.startswith("brand ") for b in dead) else _RETURN,
    )


_RETURN = "return the value from the mapped function, and use the result"
_BLOCK = "b.unvec(value) at the end of `with brand(...) as b:`, and use the result"


def type_text(x: Tensor | UOp, row: Row | None = None) -> str:
    u = x.uop if isinstance(x, Tensor) else x
    sizes = [srender(s) for s in u.shape]
    if axes_by_id:
        sizes = [s if n is None else f"{n.__name__}:{s}" for n, s in zip(names_of(x), sizes, strict=True)]
    per_example = f"{dtype_text(u.dtype)}[{', '.join(sizes)}]"
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
