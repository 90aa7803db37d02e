"""Signatures in which each row variable is the union of the rows that the operands of a call have.

mypy alone would join the types of the operands to `Vec[Brand, Tensor]`.
"""

from __future__ import annotations

from collections.abc import Sequence

from mypy.checker import TypeChecker
from mypy.expandtype import expand_type
from mypy.nodes import CallExpr, DictExpr, Expression
from mypy.plugin import FunctionSigContext, MethodSigContext
from mypy.subtypes import is_same_type
from mypy.types import (
    AnyType,
    CallableType,
    FunctionLike,
    Instance,
    TupleType,
    Type,
    TypedDictType,
    TypeOfAny,
    TypeVarId,
    TypeVarType,
    UnionType,
    flatten_nested_unions,
    get_proper_type,
)

from branded.mypy.analysis.memoize import cache_in_body
from branded.mypy.axes.types import has_axes
from branded.mypy.rows.algebra import (
    CONTAINERS,
    TENSOR,
    VEC,
    Brand,
    has_rows,
    is_a,
    is_row,
    occurs,
    row_of,
    row_variables,
    rows_in,
    union_row,
)
from branded.mypy.rows.brand_env import OpenBrands
from branded.mypy.rows.callables import is_plain_subtype, type_for
from branded.mypy.rows.reporting import checker, trying
from branded.mypy.rows.widening import accept_narrower, flat_entries

UNITED = {f"{TENSOR}.{name}" for name in ("stack", "cat", "einsum", "gradient", "meshgrid", "where")}
"""Methods of Tensor that take several operands."""

ARRAY = "branded.functions.arrays.array"

DEEPEST = 5
"""The maximum nesting of calls in arguments: each level doubles the work."""


def operand_signature(ctx: FunctionSigContext | MethodSigContext, any_is_plain: bool = False) -> CallableType:
    """Solve the row variables of a call's signature: each is the union of the rows passed for it.

    For `f(a, b)` with two parameters `Vec[S]`, the result has the brands of `a` and `b`. The type context does not
    change the row of `a + b`, so an error is about the result instead of an operand. `any_is_plain` treats operands of
    type Any as numbers, for methods such as `x.clip(0, cfg["most"])`.
    """
    sig, api = ctx.default_signature, checker(ctx)
    cache_in_body(api)
    solution: dict[TypeVarId, Type] = {}
    for v in sig.variables:
        if not isinstance(v, TypeVarType) or not is_row(v):
            continue
        formals = [(t, actuals) for t, actuals in zip(sig.arg_types, ctx.args, strict=False) if occurs(v, t)]
        if not formals and not occurs(v, sig.ret_type):
            continue  # a variable that occurs in `Axes` alone is the name of an axis
        entries = [e for _, actuals in formals for e in flat_entries(actuals)]
        if not all(_is_whole_row(v, t) for t, _ in formals) or any(map(is_deep, entries)):
            continue
        if (types := _operand_types(entries, api, any_is_plain)) is None:
            continue
        rows = [_argument_brands(t) for t in types]
        united = union_row(b for row in rows for b in row)
        if (
            sig.is_type_obj()
            and (not rows or any(is_same_type(union_row(row), united) for row in rows))
            and not _is_unpacked(api)
        ):
            continue  # mypy infers the row from the context too: an object may have more brands than its parts
        solution[v.id] = united
    return (
        accept_narrower(_substitute_variables(sig, solution), ctx)
        if solution and not sig.is_type_obj()
        else _substitute_variables(sig, solution)
    )


def _is_unpacked(api: TypeChecker) -> bool:
    """Return whether the call is unpacked, as in `a, b = State(x, y)`: its context would have the row Any."""
    t = get_proper_type(api.expr_checker.type_context[-1])
    return isinstance(t, TupleType) and t.partial_fallback.type.fullname == "builtins.tuple"


def method_signature(ctx: MethodSigContext) -> CallableType:
    """Solve the row variables of a call of a method of Vec or Tensor."""
    return accept_arrays(ctx, operand_signature(ctx, any_is_plain=True))


def accept_arrays(ctx: MethodSigContext, sig: CallableType) -> CallableType:
    """Accept arrays and numbers of numpy as operands of a batched value, which `branded` converts."""
    if not row_of(ctx.type) or not any(_accepts_number(t) for t in sig.arg_types):
        return sig
    api = checker(ctx)
    with trying(api):
        given = [[api.get_expression_type(e) for e in actuals[:1]] for actuals in ctx.args]
    anything = AnyType(TypeOfAny.special_form)
    pairs = zip(sig.arg_types, given, strict=False)
    types = [anything if any(map(_is_array, types)) and _accepts_number(t) else t for t, types in pairs]
    return sig.copy_modified(arg_types=types) if anything in types else sig


def _accepts_number(t: Type) -> bool:
    p = get_proper_type(t)
    return isinstance(p, UnionType) and any(is_a(i, "builtins.float") for i in flatten_nested_unions([p]))


def _is_array(t: Type) -> bool:
    p = get_proper_type(t)
    return isinstance(p, Instance) and any(c.fullname in _ARRAYS for c in p.type.mro)


_ARRAYS = "numpy.ndarray", "numpy.generic"


def fixed_signature(ctx: MethodSigContext) -> FunctionLike | None:
    """Return the signature of a tensor method that has no variables, and no axes to erase; None for others."""
    if ctx.default_signature.variables or has_axes(ctx.type):
        return None
    cache_in_body(checker(ctx))
    return accept_arrays(ctx, ctx.default_signature)


def array_signature(ctx: FunctionSigContext) -> CallableType:
    """Return the signature of `array([[a, 0], [b, 1]])`: the row is the union over all entries of the lists."""
    sig, api = ctx.default_signature, checker(ctx)
    entries = [e for actuals in ctx.args[:1] for e in flat_entries(actuals)]
    if any(map(is_deep, entries)) or (types := _operand_types(entries, api)) is None:
        return sig
    united = union_row(b for t in types for b in _argument_brands(t))
    return _substitute_variables(sig, {v.id: united for v in row_variables(sig)})


def _substitute_variables(sig: CallableType, solution: dict[TypeVarId, Type]) -> CallableType:
    """Substitute the known variables in a signature."""
    if not solution:
        return sig
    solved = expand_type(sig.copy_modified(variables=[v for v in sig.variables if v.id not in solution]), solution)
    assert isinstance(solved, CallableType)
    return solved


def _is_whole_row(v: TypeVarType, formal: Type) -> bool:
    """Return whether `v` is the whole row of a parameter, as in `Vec[S]`, and not a part of it or in a function."""
    if is_a(formal, VEC):
        return get_proper_type(formal.args[0]) == v
    rows = rows_in(formal)
    return bool(rows) and all(b == v for b in rows)


def _argument_brands(t: Type) -> list[Brand]:
    """Return the brands of an argument. A star-argument may be any iterable; its brands are the brands of its items."""
    t = get_proper_type(t)
    if isinstance(t, Instance) and not has_rows(t.type) and t.type.fullname not in CONTAINERS and row_of(t) is None:
        return [b for a in t.args for b in _argument_brands(a)]
    return rows_in(t)


def is_deep(e: Expression, remaining: int = DEEPEST) -> bool:
    if isinstance(e, CallExpr):
        return remaining == 0 or any(is_deep(a, remaining - 1) for a in e.args)
    return False


def _operand_types(
    expressions: Sequence[Expression], api: TypeChecker, any_is_plain: bool = False
) -> list[Type] | None:
    with trying(api):
        types = [api.get_expression_type(e) for e in expressions]
    if any_is_plain:
        return types
    return None if any(isinstance(get_proper_type(t), AnyType) for t in types) else types


def without_name(t: Type, row: Sequence[Brand], api: TypeChecker) -> Type:
    """Return a TypedDict with brands as one without a name: mypy reads the items of one with a name in its class."""
    p = get_proper_type(t)
    if not row or not isinstance(p, TypedDictType):
        return t
    items = [without_name(i, rows_in(i), api) for i in p.items.values()]
    return p.copy_modified(item_types=items, fallback=api.named_generic_type("typing._TypedDict", []))


def partly_batched_dict(
    declared: Type, args: Sequence[Expression], scope: OpenBrands, api: TypeChecker
) -> TypedDictType | None:
    """Return the type of an argument that is the declared TypedDict, whose items vary over brands of their own.

    The dict of one example of `vmap(lambda p: f(p))({"x": x, "y": y})` has the items of a TypedDict, and no class.
    A display has the items that it shows, also the display of an item.
    """
    p = get_proper_type(declared)
    if not isinstance(p, TypedDictType) or len(args) != 1 or is_deep(args[0]):
        return None
    with trying(api):
        t = get_proper_type(type_for(p, args[0], scope, api))
    if not isinstance(t, TypedDictType) or not rows_in(t):
        return None
    if isinstance(args[0], DictExpr):
        shown = get_proper_type(without_name(t, rows_in(t), api))
        return shown if isinstance(shown, TypedDictType) else None
    if t.fallback.type is p.fallback.type:
        return t
    has_items = t.is_anonymous() and p.required_keys <= t.items.keys() <= p.items.keys()
    return t if has_items and all(is_plain_subtype(i, p.items[n], scope) for n, i in t.items.items()) else None
