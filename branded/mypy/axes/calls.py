"""Calls of tensor methods with known axes: the signature without axes, and the result with them.

mypy infers the row of a result from a signature without axes. Then the operation's rule computes the axes of the
result. If there is no rule, or the rule is not certain, the result is a Tensor with unknown axes.
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

from branded.mypy.axes.types import axes_of, erase_axes, has_axes, with_axes
from branded.mypy.rows.algebra import change, keep_row
from branded.mypy.rows.brand_env import OpenBrands
from branded.mypy.rows.reporting import checker, fail, fail_at_once, show

Axes = list[Type]
Known = Axes | None
"""The axes of a tensor; None if they are unknown."""

NUMBERS = {"builtins.int", "builtins.float", "builtins.bool"}


@dataclass(eq=False, repr=False, match_args=False)
class MethodCall:
    """A call of a method: the tensor, and the arguments by parameter."""

    what: str
    at: Context
    api: TypeChecker
    scope: OpenBrands
    self_type: Type | None
    given: dict[str, list[tuple[Expression, Type]]]
    starred: bool

    @property
    def own(self) -> Known:
        """The axes of the tensor whose method is called."""
        return axes_of(self.self_type) if self.self_type is not None else None

    def axes(self, name: str) -> Known:
        """Return the axes of an argument; a number has an empty list."""
        actuals = self.given.get(name, [])
        return axes_of_operand(actuals[0][1]) if len(actuals) == 1 else None

    def types(self, name: str) -> list[Type]:
        return [t for _, t in self.given.get(name, [])]

    def is_given(self, name: str) -> bool:
        return bool(self.given.get(name))

    def expression(self, name: str) -> Expression | None:
        actuals = self.given.get(name, [])
        return actuals[0][0] if len(actuals) == 1 else None

    def number(self, name: str, default: int) -> int | None:
        """Return an int argument that is a literal; None if it is unknown."""
        if not self.is_given(name):
            return default
        return self.literal(self.expression(name))

    def type_of(self, e: Expression) -> Type:
        """Return the type of an argument."""
        return self.api.get_expression_type(e)

    def literal(self, e: Expression | None) -> int | None:
        """Return the int value of an expression; None if it is unknown."""
        match e:
            case None:
                return None
            case IntExpr():
                return e.value
            case UnaryExpr(op="-", expr=IntExpr() as n):
                return -n.value
        t = get_proper_type(self.type_of(e))
        t = t.last_known_value if isinstance(t, Instance) and t.last_known_value else t
        value = t.value if isinstance(t, LiteralType) else None
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def entries(self, name: str) -> list[Expression] | None:
        """Return the entries of a shape: `f(1, 2)`, `f((1, 2))` or `f([1, 2])`; None if their number is unknown."""
        if self.starred:
            return None
        entries = [e for n in (name, "args") for e, _ in self.given.get(n, [])]
        if len(entries) == 1 and isinstance(entries[0], TupleExpr | ListExpr):
            entries = list(entries[0].items)
        elif len(entries) == 1 and not self.is_size(entries[0]):
            return None
        return None if any(not is_single_entry(e) for e in entries) else entries

    def is_size(self, e: Expression) -> bool:
        """Return whether a single argument is a size, and not a shape."""
        t = get_proper_type(self.type_of(e))
        return isinstance(t, Instance) and t.type.fullname in NUMBERS

    def flag(self, name: str) -> bool | None:
        """Return a bool argument, False by default; None if its value is unknown."""
        match self.expression(name):
            case None if not self.is_given(name):
                return False
            case NameExpr(name="True" | "False" as which):
                return which == "True"
        return None

    def text(self, name: str) -> str | None:
        e = self.expression(name)
        return e.value if isinstance(e, StrExpr) else None

    def fail(self, code: ErrorCode, message: str, *notes: str) -> None:
        # if `x.__matmul__(y)` fails, mypy tries `y.__rmatmul__(x)`, which would be Any
        tell = fail if isinstance(self.at, CallExpr) else fail_at_once
        tell(self.api, self.at, code, f"{self.what}: {message}", *notes)

    def show(self, t: Type) -> str:
        return f'"{show(t, self.api)}"'

    def shown(self, axis: Type) -> str:
        return f"`{show(axis, self.api)}`"


def is_single_entry(e: Expression) -> bool:
    """Return whether an expression is a single entry, not a star expression."""
    return type(e).__name__ != "StarExpr"


def axes_of_operand(t: Type) -> Known:
    """Return the axes of an operand: empty for a number or None, unknown for a Tensor."""
    p = get_proper_type(t)
    p = p.fallback if isinstance(p, LiteralType) else p
    is_number = isinstance(p, NoneType) or (isinstance(p, Instance) and p.type.fullname in NUMBERS)
    return [] if is_number else axes_of(t)


Rule = Callable[[MethodCall], "Known | list[Known]"]
"""A function from a call to the axes of its result; a list of them if the result is a tuple."""


def has_own_axes(ctx: MethodContext | MethodSigContext) -> bool:
    """Return whether the tensor whose method is called has known axes."""
    return isinstance(ctx.type, Instance) and has_axes(ctx.type)


def has_operand_axes(ctx: MethodContext) -> bool:
    """Return whether the tensor whose method is called, or an argument, has known axes."""
    return has_own_axes(ctx) or any(has_axes(t) for types in ctx.arg_types for t in types)


def result_without_axes(ctx: MethodContext) -> Type | None:
    """Return the result of a tensor method without a hook for its row; None if an operand has axes."""
    return None if has_operand_axes(ctx) else change(ctx.default_return_type, keep_row)


def without_axes(ctx: MethodSigContext, scope: OpenBrands) -> MethodSigContext:
    """Erase the axes from a method's signature, for hooks that infer its row."""
    if not has_own_axes(ctx):
        return ctx
    sig = ctx.default_signature
    plain_sig = sig.copy_modified(
        arg_types=[erase_axes(t, scope) for t in sig.arg_types], ret_type=erase_axes(sig.ret_type, scope)
    )
    return ctx._replace(default_signature=plain_sig)


def method_result(ctx: MethodContext, scope: OpenBrands, what: str, rule: Rule | None) -> Type:
    """Return the result type of a method, with the axes that its rule computes."""
    if not has_operand_axes(ctx):
        return ctx.default_return_type
    axes = rule(read_method_call(ctx, scope, what)) if rule is not None else None
    return place_axes(change(erase_axes(ctx.default_return_type, scope), keep_row), axes, scope)


def attribute_type(ctx: AttributeContext, scope: OpenBrands, what: str, rule: Rule) -> Type:
    """Return the type of the attribute `x.T`."""
    if not has_axes(ctx.type):
        return ctx.default_attr_type
    assert isinstance(ctx.api, TypeChecker)
    self_type = ctx.type if isinstance(ctx.type, Instance) else None
    call = MethodCall(what, ctx.context, ctx.api, scope, self_type, {}, starred=False)
    return place_axes(change(erase_axes(ctx.default_attr_type, scope), keep_row), rule(call), scope)


def place_axes(t: Type, axes: Known | list[Known], scope: OpenBrands) -> Type:
    """Put axes on a result type; on each item if it is a tuple."""
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


def read_method_call(ctx: MethodContext | FunctionContext, scope: OpenBrands, what: str) -> MethodCall:
    """Return the arguments of a method call by parameter name."""
    args_by_name: dict[str, list[tuple[Expression, Type]]] = {}
    for name, es, ts in zip(ctx.callee_arg_names, ctx.args, ctx.arg_types, strict=False):
        if es:  # mypy drops the names of the parameters of operators
            args_by_name[name or ("indices" if what == "[]" else "x")] = list(zip(es, ts, strict=False))
    self_type: Type | None = ctx.type if isinstance(ctx, MethodContext) and isinstance(ctx.type, Instance) else None
    if self_type is None and (self_args := args_by_name.pop("self", None)):  # Tensor.stack(x, y)
        self_type = self_args[0][1]
    kinds = ctx.context.arg_kinds if isinstance(ctx.context, CallExpr) else []
    starred = any(k in (ARG_STAR, ARG_STAR2) for k in kinds)
    return MethodCall(what, ctx.context, checker(ctx), scope, self_type, args_by_name, starred)
