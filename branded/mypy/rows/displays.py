"""Types of displays: `[a, b]` has the brands of `a` and `b`, not `Vec[Brand, Tensor]`; and of calls of TypedDicts."""

from __future__ import annotations

from collections.abc import Sequence

from mypy.checker import TypeChecker
from mypy.erasetype import remove_instance_last_known_values
from mypy.expandtype import expand_type
from mypy.join import join_type_list
from mypy.nodes import CallExpr, DictExpr, Expression, SetExpr, TempNode, TupleExpr
from mypy.plugin import FunctionContext
from mypy.typeops import make_simplified_union
from mypy.types import (
    AnyType,
    CallableType,
    Instance,
    NoneType,
    TupleType,
    Type,
    TypedDictType,
    UninhabitedType,
    get_proper_type,
    has_recursive_types,
)

from branded.mypy.axes.types import erase_axes, has_axes
from branded.mypy.rows.algebra import (
    TENSOR,
    Brand,
    as_vec,
    change,
    each_row,
    is_a,
    is_row,
    keep_row,
    row_of,
    rows_in,
)
from branded.mypy.rows.brand_env import OpenBrands
from branded.mypy.rows.callables import is_plain_subtype, signatures_of, type_for
from branded.mypy.rows.injected_values import display_entries
from branded.mypy.rows.leaves import NUMBERS
from branded.mypy.rows.operands import without_name
from branded.mypy.rows.reporting import checker


def display_type(ctx: FunctionContext, scope: OpenBrands) -> Type:
    """Return the type of a display that has no type context."""
    api = checker(ctx)
    return _united_type(ctx.args[0][0], api, scope) if _has_no_context(api) else ctx.default_return_type


def typed_dict_type(ctx: FunctionContext, scope: OpenBrands) -> Type:
    """Return the type of `Point(x=a, y=b)`; its items may vary over brands that the declared items do not have."""
    api, call, declared = checker(ctx), ctx.context, get_proper_type(ctx.default_return_type)
    assert isinstance(call, CallExpr) and isinstance(declared, TypedDictType)
    items, checked = dict(declared.items), list(call.args)
    for name, args, types in zip(ctx.callee_arg_names, ctx.args, ctx.arg_types, strict=True):
        if name is not None and args:
            t = type_for(items[name], args[0], scope, api) if isinstance(args[0], DictExpr) else types[0]
            if is_plain_subtype(t, items[name], scope):
                checked[call.args.index(args[0])] = TempNode(items[name], context=args[0])
                items[name] = remove_instance_last_known_values(t)
    # mypy checks the arguments that are wrong, and those that have another type in the context of their item
    t = api.expr_checker.check_typeddict_call(declared, call.arg_kinds, call.arg_names, checked, call, None)
    rows = [b for item in items.values() for b in rows_in(item)]
    return without_name(declared.copy_modified(item_types=[*items.values()]), rows, api) if rows else t


def _has_no_context(api: TypeChecker) -> bool:
    """Return whether the type context accepts any object."""
    wanted = api.expr_checker.type_context[-1]
    return wanted is None or isinstance(get_proper_type(wanted), AnyType) or is_a(wanted, "builtins.object")


def _united_type(e: Expression, api: TypeChecker, scope: OpenBrands) -> Type:
    """Return the type of a checked expression, in which each display has the rows of all its entries."""
    t = get_proper_type(api.lookup_type(e))
    if isinstance(e, TupleExpr) and isinstance(t, TupleType) and len(t.items) == len(e.items):
        return t.copy_modified(items=[_united_type(i, api, scope) for i in e.items])
    held = display_entries(e)
    if not held or not isinstance(t, Instance):
        return t
    types = [_united_type(i, api, scope) for i in held]
    one = _common_function(types, scope, api) if is_a(t.args[-1], "builtins.function") else _unite_rows(types, scope)
    if one is None:
        return t
    if isinstance(e, DictExpr):
        keys = t.args[0] if len(t.args) == 2 else api.named_generic_type("builtins.object", [])
        return api.named_generic_type("builtins.dict", [keys, one])
    return api.named_generic_type("builtins.set" if isinstance(e, SetExpr) else "builtins.list", [one])


def _unite_rows(types: Sequence[Type], scope: OpenBrands) -> Type | None:
    """Return the common type, with the rows of all; None where mypy's join is correct or the types differ in more."""
    non_none = [t for t in types if not isinstance(get_proper_type(t), NoneType)]
    if len(set(non_none)) < 2 or not any(rows_in(t) or has_axes(t) for t in non_none):
        return None
    numbers = [t for t in map(remove_instance_last_known_values, non_none) if _is_number(t)]
    each = [erase_axes(t, scope) for t in non_none if not _is_number(t)]
    rows = [each_row(t) for t in each]
    if len({len(r) for r in rows}) > 1 or any(map(has_recursive_types, each)):  # which have no order of rows
        return None
    united = [[b for row in at_one_place for b in row] for at_one_place in zip(*rows, strict=True)]
    wider = [_replace_rows(t, united) for t in each]
    if any(t != wider[0] for t in wider):
        return None
    one = change(wider[0], keep_row)
    others = [*numbers, *([NoneType()] if len(non_none) < len(types) else [])]
    return make_simplified_union([one, *others]) if others else one


def _common_function(types: Sequence[Type], scope: OpenBrands, api: TypeChecker) -> Type | None:
    """Return the common type of functions of tensors; mypy's join of functions that are generic in rows is `function`.

    [vmap(lambda x: x * 2), vmap(Tensor.relu)]      list[Callable[[Tensor], Tensor]]
    """
    each = [signatures_of(t, api)[:1] for t in types]
    plain = [_of_tensors(f, scope) for one in each for f in one]
    joined = get_proper_type(join_type_list(plain)) if len(plain) == len(types) else None
    return joined if isinstance(joined, CallableType) else None


def _of_tensors(f: CallableType, scope: OpenBrands) -> CallableType:
    """Return a signature with an empty row for each row, and with Tensor for a type variable of tensors."""
    tensor = scope.instance(TENSOR)
    known = [v for v in f.variables if is_row(v) or row_of(v) is not None]
    plain = {v.id: UninhabitedType() if is_row(v) else tensor for v in known}
    f = expand_type(f.copy_modified(variables=[v for v in f.variables if v not in known]), plain)
    return f.copy_modified(arg_types=[change(t, keep_row) for t in f.arg_types], ret_type=change(f.ret_type, keep_row))


def _is_number(t: Type) -> bool:
    p = get_proper_type(t)
    return isinstance(p, Instance) and p.type.fullname in NUMBERS


def _replace_rows(t: Type, rows: Sequence[list[Brand]]) -> Type:
    """Replace the rows of a tree, in order."""
    each = iter(rows)
    return change(t, lambda _: next(each), end=as_vec)
