"""The rows of a call's operands, where mypy would take what they have in common."""

from __future__ import annotations

from collections.abc import Sequence

from mypy.checker import TypeChecker
from mypy.expandtype import expand_type
from mypy.nodes import CallExpr, Expression
from mypy.plugin import FunctionSigContext, MethodSigContext
from mypy.subtypes import is_same_type
from mypy.types import AnyType, CallableType, Instance, Type, TypeVarId, TypeVarType, get_proper_type

from branded.mypy.axes_types import names_axis
from branded.mypy.opening import checker, trying
from branded.mypy.remembering import keep_in_body
from branded.mypy.rows import (
    CONTAINERS,
    TENSOR,
    VEC,
    Brand,
    has_rows,
    is_a,
    occurs,
    row_of,
    row_variables,
    rows_in,
    union,
)
from branded.mypy.widening import accepting, entries

UNITED = {f"{TENSOR}.{name}" for name in ("stack", "cat", "einsum", "gradient", "meshgrid", "where")}
"""The methods of Tensor that take several operands at once."""

ARRAY = "branded.functions.arrays.array"

DEEPEST = 5
"""How many calls in the arguments of calls are looked into: each doubles what there is to look at."""


def operands(ctx: FunctionSigContext | MethodSigContext, any_is_plain: bool = False) -> CallableType:
    """The signature of a call with its row variables solved: each is the union of the rows that are given for it.

    So `f(a, b)`, where both are `Vec[S]` for f, has the row of `a` and that of `b`; and `a + b` has the row that its
    operands give it, whatever row is wanted of it: an error is then about that, and not about an operand.
    `any_is_plain` takes operands of type Any for numbers, which they are to methods: `x.clip(0, cfg["most"])`.
    """
    sig, api = ctx.default_signature, checker(ctx)
    keep_in_body(api)
    known: dict[TypeVarId, Type] = {}
    for v in row_variables(sig):
        if names_axis(v, sig):
            continue
        formals = [(t, given) for t, given in zip(sig.arg_types, ctx.args, strict=False) if occurs(v, t)]
        taken = [e for _, given in formals for e in entries(given)]
        if not all(_stands_alone(v, t) for t, _ in formals) or any(map(is_deep, taken)):
            continue
        if (types := _types(taken, api, any_is_plain)) is None:
            continue
        rows = [_rows(t) for t in types]
        united = union(b for row in rows for b in row)
        if sig.is_type_obj() and (not rows or any(is_same_type(union(row), united) for row in rows)):
            continue  # mypy can tell, by what is wanted too: an object may be declared to have more rows than its parts
        known[v.id] = united
    return accepting(_solved(sig, known), ctx) if known and not sig.is_type_obj() else _solved(sig, known)


def of_method(ctx: MethodSigContext) -> CallableType:
    """The same of a method of Vec or Tensor."""
    return operands(ctx, any_is_plain=True)


def nested(ctx: FunctionSigContext) -> CallableType:
    """The signature of `array([[a, 0], [b, 1]])`: the rows of all that stands in the lists."""
    sig, api = ctx.default_signature, checker(ctx)
    found = [e for given in ctx.args[:1] for e in entries(given)]
    if any(map(is_deep, found)) or (types := _types(found, api)) is None:
        return sig
    united = union(b for t in types for b in _rows(t))
    return _solved(sig, {v.id: united for v in row_variables(sig)})


def _solved(sig: CallableType, known: dict[TypeVarId, Type]) -> CallableType:
    """The signature with what is known of its variables."""
    if not known:
        return sig
    solved = expand_type(sig.copy_modified(variables=[v for v in sig.variables if v.id not in known]), known)
    assert isinstance(solved, CallableType)
    return solved


def _stands_alone(v: TypeVarType, formal: Type) -> bool:
    """Is `v` all of the rows of this parameter, as in `Vec[S]`, and not one of several or in a function?"""
    if is_a(formal, VEC):
        return get_proper_type(formal.args[0]) == v
    rows = rows_in(formal)
    return bool(rows) and all(b == v for b in rows)


def _rows(t: Type) -> list[Brand]:
    """The brands of an argument; of a star-argument, which may be any iterable, those of its items."""
    t = get_proper_type(t)
    if isinstance(t, Instance) and not has_rows(t.type) and t.type.fullname not in CONTAINERS and row_of(t) is None:
        return [b for a in t.args for b in _rows(a)]
    return rows_in(t)


def is_deep(e: Expression, left: int = DEEPEST) -> bool:
    if isinstance(e, CallExpr):
        return left == 0 or any(is_deep(a, left - 1) for a in e.args)
    return False


def _types(expressions: Sequence[Expression], api: TypeChecker, any_is_plain: bool = False) -> list[Type] | None:
    with trying(api):
        types = [api.get_expression_type(e) for e in expressions]
    if any_is_plain:
        return types
    return None if any(isinstance(get_proper_type(t), AnyType) for t in types) else types
