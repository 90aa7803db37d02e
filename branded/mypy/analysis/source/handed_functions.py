"""Functions of tensors as arguments of generic functions, which call them with batched values.

def apply(f: Callable[[T], U], x: T) -> U: ...

vmap(lambda x: apply(norm, x))(X)       T is a Vec here, and `norm` is declared for Tensor
"""

from __future__ import annotations

from collections.abc import Sequence

from mypy.checker import TypeChecker
from mypy.nodes import Expression, FuncDef, LambdaExpr, Node, RefExpr
from mypy.plugin import FunctionSigContext, MethodSigContext
from mypy.subtypes import find_member
from mypy.types import (
    AnyType,
    CallableType,
    FunctionLike,
    Instance,
    Type,
    TypeVarLikeType,
    UnpackType,
    get_proper_type,
)

from branded.mypy.analysis.source.reads import certain_reads
from branded.mypy.analysis.untyped_modules import is_in_file, is_untyped_function
from branded.mypy.rows.algebra import Brand, add_brands, is_unbatched, rows_in
from branded.mypy.rows.operands import is_deep
from branded.mypy.rows.reporting import checker, trying


def tensor_function(t: Type) -> CallableType | None:
    """Return the type of a function from tensors to tensors; None for other types."""
    p = get_proper_type(t)
    return p if isinstance(p, CallableType) and is_unbatched(p.ret_type) and is_plain_function(p) else None


def with_brands(f: CallableType, brands: list[Brand]) -> CallableType:
    """Return the type of a function of tensors for arguments that vary over brands."""
    args = [add_brands(a, brands) for a in f.arg_types]
    return f.copy_modified(arg_types=args, ret_type=add_brands(f.ret_type, brands))


def accept_tensor_functions(ctx: FunctionSigContext | MethodSigContext) -> FunctionLike:
    """Let the functions of tensors among the arguments of a generic call accept its batched values."""
    sig, api = ctx.default_signature, checker(ctx)
    overrides = api.expr_checker.type_overrides
    for t, actuals in zip(sig.arg_types, ctx.args, strict=False):
        p = get_proper_type(t)
        if not isinstance(p, CallableType) or not p.arg_types or not any(map(_is_open, p.arg_types)):
            continue
        for e in actuals:
            if isinstance(e, LambdaExpr) or is_deep(e):
                continue
            overrides.pop(e, None)  # from a check with other brands
            with trying(api):
                f = tensor_function(api.get_expression_type(e))
            node = e.node if isinstance(e, RefExpr) else None
            if f is None or not is_untyped_function(node, api) or certain_reads(node, api):
                continue
            brands = [b for a in p.arg_types for b in rows_in(a)] or _brands_of_others(ctx, e, api)
            if brands:
                overrides[e] = with_brands(f, brands)
    return sig


def _is_open(t: Type) -> bool:
    """Return whether the call decides which brands a parameter of a function has."""
    return is_variable(t) or bool(rows_in(t))


def is_variable(t: Type) -> bool:
    """Return whether this is a type variable, a `ParamSpec`, or an unpacked `TypeVarTuple`."""
    p = get_proper_type(t)
    return isinstance(get_proper_type(p.type) if isinstance(p, UnpackType) else p, TypeVarLikeType)


def calls_with_variables(t: Type) -> bool:
    """Return whether this is a function that returns tensors, and the call decides which parameters it has."""
    f = tensor_function(t)
    return f is not None and any(map(is_variable, f.arg_types))


def _brands_of_others(ctx: FunctionSigContext | MethodSigContext, f: Expression, api: TypeChecker) -> list[Brand]:
    brands: list[Brand] = []
    for e in (e for actuals in ctx.args for e in actuals if e is not f):
        if not isinstance(e, LambdaExpr) and not is_deep(e):
            with trying(api):
                brands += rows_in(api.get_expression_type(e))
    return [b for b in dict.fromkeys(brands) if not isinstance(b, AnyType)]


def passed_readers(
    sig: CallableType, args: Sequence[Sequence[Expression]], node: Node | None, api: TypeChecker
) -> dict[int, CallableType]:
    """Return the functions that read a value and are passed for parameters that are functions, by position."""
    has_defaults = isinstance(node, FuncDef) and is_in_file(node, api)  # mypy's cache keeps none
    initializers = [a.initializer for a in node.arguments] if has_defaults and isinstance(node, FuncDef) else []
    found: dict[int, CallableType] = {}
    for i, (t, es) in enumerate(zip(sig.arg_types, args, strict=False)):
        p = get_proper_type(t)
        if isinstance(p, Instance) and p.type.is_protocol and (called := find_member("__call__", p, p)) is not None:
            p = get_proper_type(called)
        if not isinstance(p, CallableType) or not any(map(is_unbatched, p.arg_types)):
            continue
        default = initializers[i] if i < len(initializers) else None
        for e in es or ([default] if default is not None else []):
            f = e.node if isinstance(e, RefExpr) else None
            reader = (
                f.type if isinstance(f, FuncDef) and is_untyped_function(f, api) and certain_reads(f, api) else None
            )
            if isinstance(reader, CallableType):
                found[i] = reader
    return found


def accept_brands(formal: Type, actuals: Sequence[Expression], api: TypeChecker) -> None:
    """Let functions of tensors that depend on batched values, such as `scale_by(k)`, accept those of their parameter.

    `adapt(x, scale_by(k))`: the parameter of `adapt` calls its function with values that vary over `k` and `x`.
    """
    f = get_proper_type(formal)
    for e in actuals:
        if isinstance(f, CallableType) and not isinstance(e, LambdaExpr) and not is_deep(e):
            with trying(api):
                t = get_proper_type(api.get_expression_type(e))
            brands = [b for a in f.arg_types for b in rows_in(a)]
            if isinstance(t, CallableType) and is_plain_function(t) and brands:
                args = [add_brands(a, brands) for a in t.arg_types]
                api.expr_checker.type_overrides[e] = t.copy_modified(arg_types=args)


def is_plain_function(f: CallableType) -> bool:
    """Return whether no parameter has brands, and none is a type variable."""
    return not f.variables and not any(map(rows_in, f.arg_types))


def add_brands_to_function(t: Type, brands: Sequence[Brand]) -> CallableType | None:
    f = tensor_function(t)
    return with_brands(f, list(brands)) if f is not None else None
