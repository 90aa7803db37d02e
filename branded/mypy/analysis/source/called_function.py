"""The function that a call runs: behind decorators, variables, Protocols and partials."""

from __future__ import annotations

from collections.abc import Sequence

from mypy.checker import TypeChecker
from mypy.expandtype import expand_type
from mypy.nodes import (
    CallExpr,
    Decorator,
    DictExpr,
    Expression,
    FuncDef,
    IndexExpr,
    IntExpr,
    ListExpr,
    MemberExpr,
    NameExpr,
    Node,
    RefExpr,
    StrExpr,
    TempNode,
    TupleExpr,
    TypeInfo,
    Var,
)
from mypy.plugin import FunctionSigContext, MethodSigContext
from mypy.types import CallableType, Instance, Type, TypeVarType, get_proper_type

from branded.mypy.analysis.function_source import bound_count, decorators_of, without_decorator
from branded.mypy.analysis.untyped_modules import assigned_to, is_untyped_function
from branded.mypy.rows.algebra import is_unbatched
from branded.mypy.rows.brand_env import OpenBrands
from branded.mypy.rows.callables import is_plain_subtype
from branded.mypy.rows.operands import is_deep
from branded.mypy.rows.reporting import trying

CUSTOM = {f"branded.autodiff.custom_rules.custom_derivatives.{name}" for name in ("custom_jvp", "custom_vjp")}
CUSTOM |= {"branded.control_flow.custom_vmap.sequential_vmap"}
"""Decorators of branded whose function runs with batched values."""


def body_of(node: Node | None, sig: CallableType, api: TypeChecker) -> FuncDef | None:
    """Return the function whose body runs in a call: `f` itself, or `f` in a decorator that keeps its signature.

    A decorator of branded may run it outside of the batch, as a callback.
    """
    if not isinstance(node, Decorator):
        return node if isinstance(node, FuncDef) else None
    names, t = decorators_of(node, api), node.func.type
    is_kept = isinstance(t, CallableType) and t.arg_types == sig.arg_types and t.ret_type == sig.ret_type
    is_plain = names is not None and all(n and (not n.startswith("branded.") or n in CUSTOM) for n in names)
    return node.func if is_kept and is_plain else None


def held_function(
    ctx: FunctionSigContext | MethodSigContext, sig: CallableType, api: TypeChecker
) -> FuncDef | Decorator | None:
    """Return the function behind a variable or a Protocol: `h: Callable[[Tensor], Tensor] = norm`, then `h(x)`."""
    callee = getattr(ctx.context, "callee", None)
    node: Node | None = None
    match callee:
        case NameExpr(node=Var() as v):
            value = assigned_to(v, api)
            node = value.node if isinstance(value, RefExpr) else None
        case MemberExpr(expr=NameExpr(node=Var() as v), name=name):
            made = assigned_to(v, api)
            info = made.callee.node if isinstance(made, CallExpr) and isinstance(made.callee, RefExpr) else None
            symbol = info.get(name) if isinstance(info, TypeInfo) else None
            node = symbol.node if symbol is not None else None
    f = without_decorator(node, api)
    is_same = isinstance(f, FuncDef) and isinstance(f.type, CallableType)
    if not is_same or not isinstance(node, FuncDef | Decorator) or not isinstance(f, FuncDef):
        return None
    return node if len(f.arg_names) - bound_count(f) == len(sig.arg_types) else None


def entries_called(ctx: FunctionSigContext | MethodSigContext, sig: CallableType, api: TypeChecker) -> list[FuncDef]:
    """Return the bodies that an entry of a display may run: `OPS = {"unit": unit}`, then `f = OPS[key]` and `f(x)`."""
    callee: Expression | None = getattr(ctx.context, "callee", None)
    match _written(assigned_to(callee.node, api) if isinstance(callee, NameExpr) else callee):
        case IndexExpr(base=NameExpr(node=node), index=key):
            entries = _entries(_written(assigned_to(node, api)), key)
        case CallExpr(callee=MemberExpr(expr=NameExpr(node=node), name="get"), args=[key, *others]):
            entries = [*_entries(_written(assigned_to(node, api)), key), *others]
        case _:
            return []
    found = [body_of(e.node, sig, api) for e in entries if isinstance(e, RefExpr)]
    return [
        f for f in found if f is not None and len(f.arg_names) == len(sig.arg_types) and is_untyped_function(f, api)
    ]


def _written(e: Expression | None) -> Expression | None:
    """Return an expression without the injected call around it."""
    is_injected = isinstance(e, CallExpr) and isinstance(e.callee, TempNode) and len(e.args) == 1
    return e.args[0] if is_injected and isinstance(e, CallExpr) else e


def _entries(display: Expression | None, key: Expression) -> list[Expression]:
    """Return the entry of a display for a literal key, and all entries for another key."""
    if isinstance(display, DictExpr):
        every = [v for k, v in display.items if k is not None]
        return [v for k, v in display.items if _is_same(k, key)] or every
    return display.items if isinstance(display, ListExpr | TupleExpr) else []


def _is_same(e: Expression | None, key: Expression) -> bool:
    match e, key:
        case (StrExpr(value=a), StrExpr(value=b)) | (IntExpr(value=a), IntExpr(value=b)):
            return a == b
        case RefExpr(node=Var() as v), RefExpr(node=w):  # an entry of an enum
            return v is w
    return False


def initializer(info: TypeInfo) -> FuncDef | None:
    symbol = info.get("__init__")
    return symbol.node if symbol is not None and isinstance(symbol.node, FuncDef) else None


def owner_of(ctx: FunctionSigContext | MethodSigContext) -> TypeInfo | None:
    """Return the class of the object whose method is called."""
    t = get_proper_type(ctx.type) if isinstance(ctx, MethodSigContext) else None
    return t.type if isinstance(t, Instance) else None


def at_bounds(
    sig: CallableType, args: Sequence[Sequence[Expression]], scope: OpenBrands, api: TypeChecker
) -> CallableType:
    """Return a signature with the bounds of its type variables: with Tensor for `T = TypeVar("T", bound=Tensor)`.

    For `TypeVar("T", Tensor, float)` it is Tensor, too, which is the only one of the types that can be batched. For
    `TypeVar("T", Tensor, tuple[Tensor, Tensor])` it is the first type with which the signature fits the arguments.
    """
    for v in sig.variables:
        tensors = [t for t in getattr(v, "values", ()) or (v.upper_bound,) if is_unbatched(t)]
        if isinstance(v, TypeVarType) and tensors:
            rest = [w for w in sig.variables if w.id != v.id]
            each = [expand_type(sig.copy_modified(variables=rest), {v.id: t}) for t in tensors]
            sig = each[0] if len(each) == 1 else next((one for one in each if _fits(one, args, scope, api)), sig)
    return sig


def _fits(sig: CallableType, args: Sequence[Sequence[Expression]], scope: OpenBrands, api: TypeChecker) -> bool:
    """Return whether arguments have the types of the parameters, apart from brands."""
    pairs = [(e, t) for t, es in zip(sig.arg_types, args, strict=False) for e in es if not is_deep(e)]
    with trying(api):
        return all(is_plain_subtype(api.get_expression_type(e), t, scope) for e, t in pairs)


def partial_signature(t: Type) -> CallableType | None:
    """Return the signature of a `functools.partial` as mypy keeps it; None for other types."""
    p = get_proper_type(t)
    f = p.extra_attrs.attrs.get("__mypy_partial") if isinstance(p, Instance) and p.extra_attrs else None
    f = get_proper_type(f) if f is not None else None
    return f if isinstance(f, CallableType) else None
