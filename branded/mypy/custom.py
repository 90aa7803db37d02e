"""Functions with rules of their own, `custom_jvp(f)` and its like: to call one is to call `f`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mypy.checker import TypeChecker
from mypy.nodes import Context, Expression, LambdaExpr
from mypy.plugin import FunctionContext, MethodSigContext
from mypy.types import CallableType, ExtraAttrs, FunctionLike, Instance, Overloaded, Type, get_proper_type

from branded.mypy import operands
from branded.mypy.callables import CALLED, Arg, call_of, items_of, of_lambda
from branded.mypy.opening import OpenBrands, checker
from branded.mypy.remembering import type_of_call

MODULE = "branded.derivatives"
MAKERS = {
    f"{MODULE}.{n}"
    for n in ("custom.custom_jvp", "custom.custom_vjp", "custom_vmap.custom_vmap", "custom_vmap.sequential_vmap")
}
CALLS = {f"{maker}.__call__" for maker in MAKERS}


@dataclass
class Same:
    """The transform that leaves a function as it is."""

    at: Context
    api: TypeChecker
    scope: OpenBrands

    def apply(self, f: Expression, args: Sequence[Arg]) -> Type:
        return type_of_call(call_of(f, [a.type for a in args], args, self.at), self.api)


def made(ctx: FunctionContext, scope: OpenBrands) -> Type:
    """`custom_jvp(f)` keeps the type of `f`, which is generic, where a class's own parameters cannot be."""
    given, api = get_proper_type(ctx.default_return_type), checker(ctx)
    if not isinstance(given, Instance) or not ctx.args[0]:
        return given
    f = ctx.args[0][0]
    own = of_lambda(Same(ctx.context, api, scope), f) if isinstance(f, LambdaExpr) else api.get_expression_type(f)
    items = items_of(own, api) if own is not None else []
    if not items:
        return given
    kept = items[0] if len(items) == 1 else Overloaded(items)
    out = given.copy_modified()
    out.extra_attrs = ExtraAttrs({CALLED: kept}, set(), None)
    return out


def called(ctx: MethodSigContext) -> FunctionLike:
    """The signature of `custom_jvp(f)`."""
    attrs = ctx.type.extra_attrs if isinstance(ctx.type, Instance) else None
    f = get_proper_type(attrs.attrs.get(CALLED)) if attrs is not None else None
    if isinstance(f, CallableType):  # the arguments as the parameters of f have them, which are the same in number
        return operands.operands(ctx._replace(default_signature=f))
    return f if isinstance(f, Overloaded) else ctx.default_signature
