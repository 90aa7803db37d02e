"""Narrowing of batched values: `isinstance(x, Tensor)` and `case Tensor()` keep the brands of `x`."""

from __future__ import annotations

from mypy.checker import TypeChecker
from mypy.nodes import CallExpr, Expression, OpExpr, RefExpr, TupleExpr, TypeInfo
from mypy.plugin import ClassDefContext, FunctionContext
from mypy.type_visitor import TypeQuery
from mypy.types import (
    AnyType,
    CallableType,
    Instance,
    Overloaded,
    TupleType,
    Type,
    TypedDictType,
    TypeOfAny,
    TypeVarType,
    UnionType,
    get_proper_type,
)

from branded.mypy.analysis import reads
from branded.mypy.rows.algebra import ANY_ROW, TENSOR, VEC, add_brands, as_vec, rows_in
from branded.mypy.rows.brand_env import OpenBrands
from branded.mypy.rows.injected_calls import tested_operands
from branded.mypy.rows.reporting import checker

ASKED = "builtins.isinstance"


def narrow_isinstance(ctx: FunctionContext) -> Type:
    """Make `isinstance(x, Tensor)` narrow `x` to a Vec, if `x` is a Vec.

    mypy looks up the type of the second argument when it narrows the first. This hook stores Vec there.

        x: Vec[S, Tensor] | float
        isinstance(x, Tensor)       then Vec[S, Tensor], and float in the other branch
    """
    if len(ctx.args) == 2 and ctx.args[0] and ctx.args[1] and any(_is_vec(t) for t in ctx.arg_types[0]):
        _store_vec_class(ctx.args[1][0], checker(ctx))
    return ctx.default_return_type


def narrow_guards(ctx: FunctionContext, is_tested: bool = True) -> Type:
    """Check tested values, and make a `TypeIs` or `TypeGuard` function narrow its argument to a type with its brands.

    The call that triggers this hook was injected before the statement. mypy reads the type when it narrows.

        x: Vec[S, Tensor] | float
        is_tensor(x)                then Vec[S, Tensor], and float in the other branch
    """
    api = checker(ctx)
    for e in tested_operands(ctx.args[0][0], is_tested):
        if not isinstance(e, CallExpr) or not e.args or not isinstance(f := e.callee, RefExpr):
            continue
        api.expr_checker.type_overrides.pop(f, None)
        t, given = api.lookup_type_or_none(f), api.lookup_type_or_none(e.args[0])
        row = rows_in(given) if given is not None and (f.type_is or f.type_guard) is not None else []
        if row and t is not None and isinstance(t := get_proper_type(t), CallableType):
            f.type_is, f.type_guard = (u and add_brands(u, row) for u in (f.type_is, f.type_guard))
            api.expr_checker.type_overrides[f] = t.copy_modified(type_is=f.type_is, type_guard=f.type_guard)
    return reads.reject_test(ctx, is_tested)


def narrow_match(ctx: FunctionContext, scope: OpenBrands) -> Type:
    """Make `Tensor()` patterns match any Vec, if a part of the subject of `match x` is batched.

    The call that triggers this hook was injected before the `match` statement.

        x: Vec[S, Tensor] | float
        case Tensor() as y          y: Vec[S, Tensor], and float is left for the other patterns
    """
    (arg_types,), (expressions,), overrides = ctx.arg_types, ctx.args, checker(ctx).expr_checker.type_overrides
    subject, varies = get_proper_type(arg_types[0]), bool(rows_in(arg_types[0]))
    wide = None if subject.accept(_HasWider()) else scope.instance(ANY_ROW)
    # a subject that is not a dict has no entries, so mypy gives an entry the type Any
    are_dicts = all(map(_is_dict, subject.items if isinstance(subject, UnionType) else [subject]))
    for classes, t, what in zip(expressions[1:], arg_types[1:], (wide, wide if are_dicts else None), strict=True):
        types = get_proper_type(t)
        assert isinstance(classes, TupleExpr)
        if not isinstance(types, TupleType):  # Any: mypy does not check this function
            continue
        for e, class_type in zip(classes.items, types.items, strict=True):
            overrides.pop(e, None)
            if varies:
                overrides[e] = _vec_class(class_type, what)
    return ctx.default_return_type


def _is_dict(t: Type) -> bool:
    t = get_proper_type(t)
    return isinstance(t, TypedDictType) or (isinstance(t, Instance) and t.type.fullname == "builtins.dict")


class _HasWider(TypeQuery[bool]):
    """A query for parts of a type that can be more than a Vec: Any or object."""

    def strategy(self, items: list[bool]) -> bool:
        return any(items)

    def visit_any(self, t: AnyType) -> bool:
        return True

    def visit_type_var(self, t: TypeVarType) -> bool:
        return False  # without a declared default, mypy's default is Any

    def visit_tuple_type(self, t: TupleType) -> bool:
        return any(i.accept(self) for i in t.items)

    def visit_instance(self, t: Instance) -> bool:
        return t.type.fullname == "builtins.object" or super().visit_instance(t)


def open_vec(ctx: ClassDefContext) -> None:
    """Prepare `Vec` for the plugin: allow reads on every row, and make it a subclass of `AnyRow`.

    Class patterns need a class without type arguments, such as `AnyRow`. It is added to the MRO only, so that messages
    do not mention it.
    """
    reads.open_reads(ctx)
    symbol = ctx.api.lookup_fully_qualified_or_none(ANY_ROW)
    if symbol is not None and isinstance(symbol.node, TypeInfo) and symbol.node not in ctx.cls.info.mro:
        ctx.cls.info.mro.insert(-1, symbol.node)


def _is_vec(t: Type) -> bool:
    t = get_proper_type(t)
    if isinstance(t, UnionType):
        return any(map(_is_vec, t.items))
    return isinstance(t, Instance) and t.type.fullname == VEC


def _store_vec_class(e: Expression, api: TypeChecker) -> None:
    """Store Vec as the type of each `Tensor` in `Tensor`, `(Tensor, float)` and `Tensor | float`."""
    match e:
        case TupleExpr():
            for item in e.items:
                _store_vec_class(item, api)
        case OpExpr(op="|"):
            _store_vec_class(e.left, api)
            _store_vec_class(e.right, api)
    t = api.lookup_type_or_none(e)
    if t is not None:
        api.store_type(e, _vec_class(t))


def _vec_class(t: Type, wide: Instance | None = None) -> Type:
    """Replace the class Tensor with the class Vec, or with `wide` if it is given."""
    t = get_proper_type(t)
    if isinstance(t, TupleType):
        return t.copy_modified(items=[_vec_class(i) for i in t.items])
    first = t.items[0] if isinstance(t, Overloaded) else t
    if (
        isinstance(first, CallableType)
        and first.is_type_obj()
        and first.type_object().fullname in (TENSOR, VEC, ANY_ROW)
    ):
        unknown = AnyType(TypeOfAny.special_form)
        instance = get_proper_type(first.ret_type)
        assert isinstance(instance, Instance)
        vec = wide or as_vec(instance).copy_modified(args=[unknown, unknown])
        return first.copy_modified(ret_type=vec, instance_type=vec)
    return t
