"""`isinstance(x, Tensor)`: a value that varies stays so, where mypy would take it for a Tensor that does not."""

from __future__ import annotations

from mypy.checker import TypeChecker
from mypy.nodes import Expression, OpExpr, TupleExpr
from mypy.plugin import FunctionContext
from mypy.types import (
    AnyType,
    CallableType,
    Instance,
    Overloaded,
    TupleType,
    Type,
    TypeOfAny,
    UnionType,
    get_proper_type,
)

from branded.mypy.opening import checker
from branded.mypy.rows import TENSOR, VEC, as_vec

ASKED = "builtins.isinstance"


def asked(ctx: FunctionContext) -> Type:
    """`isinstance(x, Tensor)`, where `x` is a Vec, asks whether it is a Vec.

    mypy looks up the type of the second argument when it narrows the first; it gets that of Vec there.

        x: Vec[S, Tensor] | float
        isinstance(x, Tensor)       then Vec[S, Tensor], and float in the other branch
    """
    if len(ctx.args) == 2 and ctx.args[0] and ctx.args[1] and any(_is_vec(t) for t in ctx.arg_types[0]):
        _widen(ctx.args[1][0], checker(ctx))
    return ctx.default_return_type


def _is_vec(t: Type) -> bool:
    t = get_proper_type(t)
    if isinstance(t, UnionType):
        return any(map(_is_vec, t.items))
    return isinstance(t, Instance) and t.type.fullname == VEC


def _widen(e: Expression, api: TypeChecker) -> None:
    """Store Vec as the type of each `Tensor` in `Tensor`, `(Tensor, float)` and `Tensor | float`."""
    match e:
        case TupleExpr():
            for item in e.items:
                _widen(item, api)
        case OpExpr(op="|"):
            _widen(e.left, api)
            _widen(e.right, api)
    t = api.lookup_type_or_none(e)
    if t is not None:
        api.store_type(e, _wider(t))


def _wider(t: Type) -> Type:
    """The class Vec in the place of the class Tensor."""
    t = get_proper_type(t)
    if isinstance(t, TupleType):
        return t.copy_modified(items=[_wider(i) for i in t.items])
    first = t.items[0] if isinstance(t, Overloaded) else t
    if isinstance(first, CallableType) and first.is_type_obj() and first.type_object().fullname == TENSOR:
        unknown = AnyType(TypeOfAny.special_form)
        made = get_proper_type(first.ret_type)
        assert isinstance(made, Instance)
        vec = as_vec(made).copy_modified(args=[unknown, unknown])
        return first.copy_modified(ret_type=vec, instance_type=vec)
    return t
