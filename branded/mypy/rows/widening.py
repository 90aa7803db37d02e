"""Containers with narrower rows as arguments: a `dict[str, Tensor]` for a parameter `dict[str, Vec[S]]`.

dict and list are invariant, since they are mutable; Vec is covariant, since broadcasting is subtyping. In a call, a
container is accepted as if the function only reads it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mypy.nodes import DictExpr, Expression, ListExpr, SetExpr, TupleExpr
from mypy.plugin import FunctionSigContext, MethodSigContext
from mypy.subtypes import is_same_type
from mypy.types import CallableType, Instance, TupleType, Type, get_proper_type

from branded.mypy.rows.algebra import CONTAINERS, Brand, add_brands, as_vec, change, holds_tensors, rows_in
from branded.mypy.rows.reporting import checker, trying

Call = FunctionSigContext | MethodSigContext


def flat_entries(expressions: Sequence[Expression]) -> Iterator[Expression]:
    """Find the entries of nested displays; mypy alone would join their types."""
    for e in expressions:
        match e:
            case ListExpr() | TupleExpr() | SetExpr():
                yield from flat_entries(e.items)
            case DictExpr():
                yield from flat_entries([value for _, value in e.items])
            case _:
                yield e


def accept_narrower(sig: CallableType, ctx: Call) -> CallableType:
    """Return the signature of a call that also accepts containers with narrower rows than declared."""
    types = list(sig.arg_types)
    is_changed = False
    for i, (wanted, actuals) in enumerate(zip(sig.arg_types, ctx.args, strict=False)):
        if len(actuals) == 1 and is_container(wanted) and not isinstance(actuals[0], ListExpr | TupleExpr | DictExpr):
            with trying(checker(ctx)):
                t = checker(ctx).get_expression_type(actuals[0])
            if is_narrower(t, wanted):
                types[i], is_changed = t, True
    return sig.copy_modified(arg_types=types) if is_changed else sig


def is_container(t: Type) -> bool:
    """Return whether this is a container of tensors."""
    t = get_proper_type(t)
    if isinstance(t, TupleType):
        return any(map(is_container, t.items))
    return isinstance(t, Instance) and t.type.fullname in CONTAINERS and holds_tensors(t)


def is_narrower(t: Type, wanted: Type) -> bool:
    """Return whether two trees differ only in rows, and the brands of the first are among the brands of the second."""
    rows = rows_in(wanted)
    return all(b in rows for b in rows_in(t)) and is_same_type(_without_rows(t), _without_rows(wanted))


def _without_rows(t: Type) -> Type:
    return change(t, lambda row: [], end=as_vec)


def replace_signature(ctx: Call) -> CallableType:
    """Type `p._replace(position=x)` and `replace(p, position=x)`: the result has the brands of `x` too."""
    sig, api = ctx.default_signature, checker(ctx)
    rows: list[Brand] = []
    types = list(sig.arg_types)
    for i, actuals in enumerate(ctx.args):
        with trying(api):
            brands = [b for e in actuals for b in rows_in(api.get_expression_type(e))]
        types[i] = add_brands(types[i], brands)
        rows += brands
    return sig.copy_modified(arg_types=types, ret_type=add_brands(sig.ret_type, rows))
