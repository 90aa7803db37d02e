"""A call of a method of a tensor whose axes are known: its signature without axes, and its result with them.

mypy finds the rows of a result by signatures from which the axes are gone; then the rule of the operation says what
axes the result has.  Where there is no rule, or it is not sure, the result is a Tensor, of which nothing is known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mypy.checker import TypeChecker
from mypy.errorcodes import ErrorCode
from mypy.nodes import (
    ARG_STAR,
    ARG_STAR2,
    CallExpr,
    Context,
    Expression,
    IntExpr,
    ListExpr,
    NameExpr,
    StrExpr,
    TupleExpr,
    UnaryExpr,
)
from mypy.plugin import AttributeContext, FunctionContext, MethodContext, MethodSigContext
from mypy.types import Instance, LiteralType, NoneType, TupleType, Type, get_proper_type

from branded.mypy.axes_types import axes_of, erased, has_axes, with_axes
from branded.mypy.opening import OpenBrands, checker, fail, fail_at_once, show
from branded.mypy.rows import change, same

Axes = list[Type]
Known = Axes | None
"""The axes of a tensor; None if nothing is known of them."""

NUMBERS = {"builtins.int", "builtins.float", "builtins.bool"}


@dataclass
class MethodCall:
    """A call of a method: the tensor, and what is given for each parameter."""

    what: str
    at: Context
    api: TypeChecker
    scope: OpenBrands
    self_type: Type | None
    given: dict[str, list[tuple[Expression, Type]]]
    starred: bool

    # ---- the tensors ----

    @property
    def own(self) -> Known:
        """The axes of the tensor whose method is called."""
        return axes_of(self.self_type) if self.self_type is not None else None

    def axes(self, name: str) -> Known:
        """The axes of what is given for a parameter; a number has none."""
        found = self.given.get(name, [])
        return axes_of_operand(found[0][1]) if len(found) == 1 else None

    def types(self, name: str) -> list[Type]:
        return [t for _, t in self.given.get(name, [])]

    # ---- the literals ----

    def is_given(self, name: str) -> bool:
        return bool(self.given.get(name))

    def expression(self, name: str) -> Expression | None:
        found = self.given.get(name, [])
        return found[0][0] if len(found) == 1 else None

    def number(self, name: str, default: int) -> int | None:
        """An int that is given as a literal; None if it is not known."""
        if not self.is_given(name):
            return default
        return self.literal(self.expression(name))

    def literal(self, e: Expression | None) -> int | None:
        """The int that an expression is, if that is known."""
        match e:
            case None:
                return None
            case IntExpr():
                return e.value
            case UnaryExpr(op="-", expr=IntExpr() as n):
                return -n.value
        t = get_proper_type(self.api.get_expression_type(e))
        t = t.last_known_value if isinstance(t, Instance) and t.last_known_value else t
        value = t.value if isinstance(t, LiteralType) else None
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def entries(self, name: str) -> list[Expression] | None:
        """The entries of a shape or an order: `f(1, 2)`, `f((1, 2))`, `f([1, 2])`; None if not known how many."""
        if self.starred:
            return None
        given = [e for n in (name, "args") for e, _ in self.given.get(n, [])]
        if len(given) == 1 and isinstance(given[0], TupleExpr | ListExpr):
            given = list(given[0].items)
        elif len(given) == 1:
            t = get_proper_type(self.api.get_expression_type(given[0]))
            if not (isinstance(t, Instance) and t.type.fullname in NUMBERS):
                return None
        return None if any(not is_one(e) for e in given) else given

    def flag(self, name: str) -> bool | None:
        """A bool that is off unless given; None if it is not known here."""
        match self.expression(name):
            case None if not self.is_given(name):
                return False
            case NameExpr(name="True" | "False" as which):
                return which == "True"
        return None

    def text(self, name: str) -> str | None:
        e = self.expression(name)
        return e.value if isinstance(e, StrExpr) else None

    # ---- what is wrong ----

    def fail(self, code: ErrorCode, message: str, *notes: str) -> None:
        # of `x @ y` mypy tries `y.__rmatmul__(x)` where `x.__matmul__(y)` is wrong, and then it is Any
        tell = fail if isinstance(self.at, CallExpr) else fail_at_once
        tell(self.api, self.at, code, f"{self.what}: {message}", *notes)

    def show(self, t: Type) -> str:
        return f'"{show(t, self.api)}"'

    def shown(self, axis: Type) -> str:
        return f"`{show(axis, self.api)}`"


def is_one(e: Expression) -> bool:
    """Is this one entry, and not a star with several?"""
    return type(e).__name__ != "StarExpr"


def axes_of_operand(t: Type) -> Known:
    """The axes of an operand: none for a number or None, unknown for a Tensor."""
    p = get_proper_type(t)
    p = p.fallback if isinstance(p, LiteralType) else p
    is_number = isinstance(p, NoneType) or (isinstance(p, Instance) and p.type.fullname in NUMBERS)
    return [] if is_number else axes_of(t)


Rule = Callable[[MethodCall], "Known | list[Known]"]
"""The axes of the result; a list of them where the result is a tuple."""


def bare(ctx: MethodSigContext, scope: OpenBrands) -> MethodSigContext:
    """The signature of a method without axes, for what looks at its rows."""
    if not isinstance(ctx.type, Instance) or not has_axes(ctx.type):
        return ctx
    sig = ctx.default_signature
    own = sig.copy_modified(arg_types=[erased(t, scope) for t in sig.arg_types], ret_type=erased(sig.ret_type, scope))
    return ctx._replace(default_signature=own)


def result(ctx: MethodContext, scope: OpenBrands, what: str, rule: Rule | None) -> Type:
    """The result of a method, with the axes that its rule knows."""
    own = isinstance(ctx.type, Instance) and has_axes(ctx.type)
    if not own and not any(has_axes(t) for given in ctx.arg_types for t in given):
        return ctx.default_return_type
    found = rule(call_of(ctx, scope, what)) if rule is not None else None
    return placed(change(erased(ctx.default_return_type, scope), same), found, scope)


def attribute(ctx: AttributeContext, scope: OpenBrands, what: str, rule: Rule) -> Type:
    """`x.T`"""
    if not has_axes(ctx.type):
        return ctx.default_attr_type
    assert isinstance(ctx.api, TypeChecker)
    own = ctx.type if isinstance(ctx.type, Instance) else None
    call = MethodCall(what, ctx.context, ctx.api, scope, own, {}, starred=False)
    return placed(change(erased(ctx.default_attr_type, scope), same), rule(call), scope)


def placed(t: Type, axes: Known | list[Known], scope: OpenBrands) -> Type:
    """A result with its axes; where that is a tuple, each of its items with its own."""
    p = get_proper_type(t)
    if axes is None:
        return t
    if isinstance(p, TupleType):
        each = [a if isinstance(a, list) else None for a in axes]
        return p.copy_modified(items=[with_axes(i, a, scope) for i, a in zip(p.items, each, strict=False)])
    one = [a for a in axes if isinstance(a, Type)]
    if isinstance(p, Instance) and p.type.fullname == "typing.Iterator":
        return p.copy_modified(args=[with_axes(p.args[0], one, scope)])
    return with_axes(p, one, scope)


def call_of(ctx: MethodContext | FunctionContext, scope: OpenBrands, what: str) -> MethodCall:
    """What a method was called with, by the names of its parameters."""
    given: dict[str, list[tuple[Expression, Type]]] = {}
    for name, es, ts in zip(ctx.callee_arg_names, ctx.args, ctx.arg_types, strict=False):
        if es:  # mypy forgets how operators call their parameter
            given[name or ("indices" if what == "[]" else "x")] = list(zip(es, ts, strict=False))
    own: Type | None = ctx.type if isinstance(ctx, MethodContext) and isinstance(ctx.type, Instance) else None
    if own is None and (found := given.pop("self", None)):  # Tensor.stack(x, y)
        own = found[0][1]
    kinds = ctx.context.arg_kinds if isinstance(ctx.context, CallExpr) else []
    starred = any(k in (ARG_STAR, ARG_STAR2) for k in kinds)
    return MethodCall(what, ctx.context, checker(ctx), scope, own, given, starred)
