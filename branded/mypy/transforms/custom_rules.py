"""Functions with custom rules, such as `custom_jvp(f)`: a call has the type of a call of `f`, and its rules fit `f`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mypy.checker import TypeChecker
from mypy.errorcodes import CALL_ARG
from mypy.nodes import CallExpr, Context, Decorator, Expression, LambdaExpr, RefExpr
from mypy.plugin import FunctionContext, MethodContext, MethodSigContext
from mypy.types import (
    CallableType,
    ExtraAttrs,
    FunctionLike,
    Instance,
    LiteralType,
    NoneType,
    Overloaded,
    ProperType,
    TupleType,
    Type,
    TypedDictType,
    get_proper_type,
)

from branded.mypy.analysis.memoize import type_of_call
from branded.mypy.codes import DERIVATIVE
from branded.mypy.rows import operands
from branded.mypy.rows.algebra import row_of
from branded.mypy.rows.brand_env import OpenBrands
from branded.mypy.rows.callables import CALLED, Arg, signatures_of, synthetic_call, type_of_lambda
from branded.mypy.rows.reporting import add_errors, checker
from branded.mypy.transforms.derivatives import argnums_of
from branded.mypy.transforms.function_calls import TransformCall, join_trees, result_type
from branded.mypy.transforms.in_axes import plural, tuple_type

DERIVATIVES, BATCHING = "branded.autodiff.custom_rules.custom_derivatives", "branded.control_flow.custom_vmap"
MAKERS = {
    f"{DERIVATIVES}.custom_jvp",
    f"{DERIVATIVES}.custom_vjp",
    f"{BATCHING}.custom_vmap",
    f"{BATCHING}.sequential_vmap",
}
CALLS = {f"{maker}.__call__" for maker in MAKERS}
STATIC = "__branded_static"
"""The attribute in which the type of `custom_vjp(f, nondiff_argnums)` keeps these positions."""


@dataclass(eq=False, repr=False, match_args=False)
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
    number, static = api.named_generic_type("builtins.int", []), _static_positions(ctx)
    kept = {} if static is None else {STATIC: tuple_type([LiteralType(i, number) for i in static], api)}
    out.extra_attrs = ExtraAttrs({CALLED: signature, **kept}, set(), None)
    return out


def _static_positions(ctx: FunctionContext) -> list[int] | None:
    """Return `nondiff_argnums`, also of `@partial(custom_vjp, nondiff_argnums=(1,))`; None if it is unknown."""
    given = [e for es in ctx.args[1:] for e in es]
    calls = ctx.context.original_decorators if isinstance(ctx.context, Decorator) else [ctx.context]
    for call in (c for c in calls if isinstance(c, CallExpr) and not given):
        if not isinstance(call.callee, RefExpr) or call.callee.fullname not in MAKERS:
            given = [e for e, name in zip(call.args, call.arg_names, strict=True) if name == "nondiff_argnums"]
    static = argnums_of(given[0]) if given else []
    return static if isinstance(static, list) else None


def custom_rule_signature(ctx: MethodSigContext, scope: OpenBrands) -> FunctionLike:
    """Return the signature of `custom_jvp(f)`."""
    attrs = ctx.type.extra_attrs if isinstance(ctx.type, Instance) else None
    f = get_proper_type(attrs.attrs.get(CALLED)) if attrs is not None else None
    if isinstance(f, CallableType):  # the arguments match the parameters of f, which has as many
        ctx = ctx._replace(default_signature=f)
        node = getattr(getattr(ctx.context, "callee", None), "node", None)
        return scope.plain_call(ctx, node) or operands.operand_signature(ctx)
    return f if isinstance(f, Overloaded) else ctx.default_signature


class RuleCheck(NamedTuple):
    """A rule given to `defvjp` or `defjvp`, with the types of the function that it is for."""

    call: TransformCall
    which: str
    """The name of the rule in messages."""

    def result(self, f: Expression, types: Sequence[Type]) -> ProperType | None:
        """Return the result type of the rule for arguments of these types; None if it rejects them."""
        api = self.call.api
        with api.msg.filter_errors(save_filtered_errors=True) as errors:
            out = result_type(f, [Arg(t) for t in types], self.call.at, api)
        told = [e for e in errors.filtered_errors() if e.severity == "error"]
        if (wrong := next((e for e in told if e.code is CALL_ARG), None)) is not None:
            given = ", ".join(self.call.show(t) for t in types)
            self.call.fail(DERIVATIVE, f"{self.which} does not take its arguments: {wrong.message}", f"given: {given}")
            return None
        add_errors(api, errors.filtered_errors())
        return None if told else get_proper_type(out)

    def items(self, t: ProperType, n: int, wanted: str) -> list[Type] | None:
        """Return the items of a tuple that a rule returned; report an error if it has another number of them."""
        items = list(t.items) if isinstance(t, TupleType) else None
        is_other = isinstance(t, NoneType | TypedDictType) or row_of(t) is not None
        if is_other or (items is not None and len(items) != n):
            text = f"{self.which} returned {self.call.show(t)}, not {wanted.partition(':')[0].partition(',')[0]}"
            self.call.fail(DERIVATIVE, text, f"try:   return {wanted}")
            return None
        return items

    def check_tree(self, t: Type, like: Type, what: str, of: str) -> None:
        """Report an error if a part of the rule's result certainly has the wrong tree."""
        if join_trees(self.call.tensors(like), self.call.tensors(t)) is None:
            shown = f"{what}: {self.call.show(t)}", f"wanted: {self.call.show(like)}, like {of}"
            self.call.fail(DERIVATIVE, f"{self.which} returned another structure for the {what}", *shown)


DEFINERS = {f"{DERIVATIVES}.custom_vjp.defvjp", f"{DERIVATIVES}.custom_jvp.defjvp"}


def check_rules(ctx: MethodContext, scope: OpenBrands) -> Type:
    """Check the rules in `f.defvjp(fwd, bwd)` and `f.defjvp(rule)` against the signature of `f`."""
    t, api = get_proper_type(ctx.type), checker(ctx)
    attrs = t.extra_attrs.attrs if isinstance(t, Instance) and t.extra_attrs else {}
    f, static = get_proper_type(attrs.get(CALLED)), get_proper_type(attrs.get(STATIC))
    rules = [es[0] for es in ctx.args if es]
    if not isinstance(f, CallableType) or not isinstance(static, TupleType) or any(k.is_star() for k in f.arg_kinds):
        return ctx.default_return_type
    positions = {i.value for i in static.items if isinstance(i, LiteralType)}
    in_front = [t for i, t in enumerate(f.arg_types) if i in positions]
    primals = [t for i, t in enumerate(f.arg_types) if i not in positions]
    call = TransformCall("defvjp" if len(rules) == 2 else "defjvp", ctx.context, api, scope, {})
    if len(rules) == 2:
        _check_vjp(call, f, rules, in_front, primals)
    elif len(rules) == 1:
        _check_jvp(call, f, rules[0], in_front, primals)
    return ctx.default_return_type


def _check_vjp(
    call: TransformCall, f: CallableType, rules: Sequence[Expression], static: Sequence[Type], primals: Sequence[Type]
) -> None:
    forward, backward = RuleCheck(call, "the forward rule"), RuleCheck(call, "the backward rule")
    out = forward.result(rules[0], f.arg_types)
    wanted = "a pair: (value, residuals)"
    if out is None or (pair := forward.items(out, 2, wanted)) is None:
        return
    forward.check_tree(pair[0], f.ret_type, "value", "the result of the function")
    grads = backward.result(rules[1], [*static, pair[1], call.tensors(f.ret_type)])
    n = plural(len(primals), "argument", "arguments")
    wanted = f"a tuple with one cotangent for each of the {n}, None for zero"
    items = backward.items(grads, len(primals), wanted) if grads is not None else None
    for i, (item, primal) in enumerate(zip(items or (), primals, strict=False), 1):
        if not isinstance(get_proper_type(item), NoneType):
            backward.check_tree(item, primal, "cotangent", f"argument {i}")


def _check_jvp(
    call: TransformCall, f: CallableType, rule: Expression, static: Sequence[Type], primals: Sequence[Type]
) -> None:
    forward, tree = RuleCheck(call, "the rule"), tuple_type([call.tensors(t) for t in primals], call.api)
    out = forward.result(rule, [*static, tree, tree])
    pair = forward.items(out, 2, "a pair: (value, tangent)") if out is not None else None
    for item, what in zip(pair or (), ("value", "tangent"), strict=False):
        forward.check_tree(item, f.ret_type, what, "the result of the function")
