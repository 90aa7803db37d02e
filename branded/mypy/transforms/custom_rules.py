"""Functions with custom rules, such as `custom_jvp(f)`: a call has the type of a call of `f`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mypy.checker import TypeChecker
from mypy.nodes import Context, Expression, LambdaExpr
from mypy.plugin import FunctionContext, MethodSigContext
from mypy.types import CallableType, ExtraAttrs, FunctionLike, Instance, Overloaded, Type, get_proper_type

from branded.mypy.analysis.memoize import type_of_call
from branded.mypy.rows import operands
from branded.mypy.rows.brand_env import OpenBrands, checker
from branded.mypy.rows.callables import CALLED, Arg, signatures_of, synthetic_call, type_of_lambda

DERIVATIVES, BATCHING = "branded.autodiff.custom_rules.custom_derivatives", "branded.control_flow.custom_vmap"
MAKERS = {
    f"{DERIVATIVES}.custom_jvp",
    f"{DERIVATIVES}.custom_vjp",
    f"{BATCHING}.custom_vmap",
    f"{BATCHING}.sequential_vmap",
}
CALLS = {f"{maker}.__call__" for maker in MAKERS}


@dataclass
class Same:
    """The identity transform."""

    at: Context
    api: TypeChecker
    scope: OpenBrands

    def apply(self, f: Expression, args: Sequence[Arg]) -> Type:
        return type_of_call(synthetic_call(f, [a.type for a in args], args, self.at), self.api)


def custom_rule_type(ctx: FunctionContext, scope: OpenBrands) -> Type:
    """Return the type of `custom_jvp(f)`, which keeps the generic type of `f` in an attribute.

    The type parameters of a class cannot be generic themselves.
    """
    instance, api = get_proper_type(ctx.default_return_type), checker(ctx)
    if not isinstance(instance, Instance) or not ctx.args[0]:
        return instance
    f = ctx.args[0][0]
    function_type = (
        type_of_lambda(Same(ctx.context, api, scope), f) if isinstance(f, LambdaExpr) else api.get_expression_type(f)
    )
    items = signatures_of(function_type, api) if function_type is not None else []
    if not items:
        return instance
    signature = items[0] if len(items) == 1 else Overloaded(items)
    out = instance.copy_modified()
    out.extra_attrs = ExtraAttrs({CALLED: signature}, set(), None)
    return out


def custom_rule_signature(ctx: MethodSigContext) -> FunctionLike:
    """Return the signature of `custom_jvp(f)`."""
    attrs = ctx.type.extra_attrs if isinstance(ctx.type, Instance) else None
    f = get_proper_type(attrs.attrs.get(CALLED)) if attrs is not None else None
    if isinstance(f, CallableType):  # the arguments match the parameters of f, which has as many
        return operands.operand_signature(ctx._replace(default_signature=f))
    return f if isinstance(f, Overloaded) else ctx.default_signature
