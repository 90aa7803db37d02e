"""Calls whose stubs return Any or forget the arguments: `operator.add(x, y)`, and functions in a cache."""

from __future__ import annotations

from keyword import iskeyword

from mypy.nodes import ComparisonExpr, Expression, IndexExpr, OpExpr, TempNode, UnaryExpr
from mypy.plugin import FunctionContext, MethodContext
from mypy.types import Type

from branded.mypy.axes.table import SYMBOLS
from branded.mypy.rows.algebra import add_brands, row_of, rows_in
from branded.mypy.rows.reporting import checker

_COMPARISONS = {"lt", "le", "eq", "ne", "ge", "gt"}
_UNARY = {"neg": "-", "pos": "+", "inv": "~", "invert": "~"}
_BINARY = {f"{name}_" if iskeyword(name) else name: symbol for name, symbol in SYMBOLS.items()}
OPERATORS = {f"_operator.{name}": name for name in (*_BINARY, *_UNARY, "getitem")}
"""Functions of the module `operator` by their full names."""

KEEPERS = "functools._lru_cache_wrapper.__call__", "functools._SingleDispatchCallable.__call__"
"""Calls of functions in a cache, and of functions that dispatch on the class of an argument."""


def operator_result(ctx: FunctionContext) -> Type:
    """Return the type of `operator.add(x, y)`, which is the type of `x + y`, if an operand is a tensor."""
    types = [t for types in ctx.arg_types for t in types]
    if not any(row_of(t) is not None for t in types):
        return ctx.default_return_type
    name = getattr(getattr(ctx.context, "callee", None), "fullname", "").rpartition(".")[2]
    e = _expression(name, [TempNode(t, context=ctx.context) for t in types])
    if e is None:
        return ctx.default_return_type
    e.set_line(ctx.context)
    return checker(ctx).get_expression_type(e)


def _expression(name: str, operands: list[TempNode]) -> Expression | None:
    """Return the expression that a function of the module `operator` computes."""
    match operands:
        case [x] if name in _UNARY:
            return UnaryExpr(_UNARY[name], x)
        case [x, y] if name in _COMPARISONS:
            return ComparisonExpr([_BINARY[name]], [x, y])
        case [x, y] if name in _BINARY:
            return OpExpr(_BINARY[name], x, y)
        case [x, y] if name == "getitem":
            return IndexExpr(x, y)
    return None


def with_brands_of_arguments(ctx: MethodContext) -> Type:
    """Return the result of a function that a decorator of `functools` wraps, with the brands of all arguments."""
    rows = dict.fromkeys(b for types in ctx.arg_types for t in types for b in rows_in(t))
    return add_brands(ctx.default_return_type, list(rows))
