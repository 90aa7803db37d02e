"""Fixes for conditions that vary over a brand: the user's code, rewritten for tensors as at run time.

`branded.hooks.error_translation.suggestions` has the rules for run time, where dtypes are known. Here `x` may be a
float, so it becomes `x != 0`.
"""

from __future__ import annotations

import ast
import linecache

from mypy.errors import ErrorInfo
from mypy.nodes import Context

from branded.mypy.analysis.source.syntax import nodes_of
from branded.mypy.analysis.source_digest import file_version, parse

GENERAL = "condition.where(a, b) instead of `if condition`"
MOST = 90
"""The maximum length of a fix, in characters."""
_BOOLS = {"all", "any", "isclose", "isfinite", "isinf", "isnan", "logical_not", "eq", "ne"}
"""Methods of tensors whose result is a bool."""


def truth_fix(file: str, at: Context | ErrorInfo, is_optional: bool = False) -> str:
    """Return the fix for code that needs the truth value of the expression at a position.

    Args:
        file: The file with the expression.
        at: The position of the expression.
        is_optional: Whether the value may be None.
    """
    if not (around := _nodes_around(file, at)):
        return GENERAL
    if is_optional:
        return _rewrite_optional(*around[:2])
    while len(around) > 1 and (_is_not(around[1]) or _is_choice(around[1])):
        around = around[1:]
    fix = _rewrite_test(around[0], around[1:])
    return fix if fix is not None and len(fix) <= MOST else GENERAL


def call_fix(file: str, at: Context) -> str | None:
    """Return the fix for `float(x)`, `int(x)`, `range(n)`, `bool(x)`, `any(xs)` or `x in [a, b]`; None for others."""
    around = _nodes_around(file, at)
    match around:
        case [ast.Call(func=ast.Name(id="float" | "int" as name), args=[x]), *_]:
            fix = f"{_operand(x)}.{name}()"
        case [ast.Call(func=ast.Name(id="range"), args=[n]), *_]:
            fix = f"fori_loop(0, {ast.unparse(n)}, body, start)"
        case [ast.Call(func=ast.Name(id="range"), args=[first, last]), *_]:
            fix = f"fori_loop({ast.unparse(first)}, {ast.unparse(last)}, body, start)"
        case [ast.Call(func=ast.Name(id="bool" | "any" | "all")) | ast.Compare(), *_]:
            return truth_fix(file, at)
        case _:
            return None
    return fix if len(fix) <= MOST else None


def _nodes_around(file: str, at: Context | ErrorInfo) -> list[ast.AST]:
    """Return the expression at a position and the nodes around it, from the inside out; empty if it is not found."""
    tree = parse(file, file_version(file))
    linecache.checkcache(file)
    # in lines with other characters, the columns of mypy's parser are wrong
    if tree is None or at.end_line is None or not linecache.getline(file, at.line).isascii():
        return []
    start, end = (at.line, at.column), (at.end_line, at.end_column or 0)
    nodes = [n for n in nodes_of(tree) if isinstance(n, ast.expr | ast.stmt) and n.end_lineno is not None]
    holding = [
        n for n in nodes if (n.lineno, n.col_offset) <= start and end <= (n.end_lineno or 0, n.end_col_offset or 0)
    ]
    holding.reverse()
    # an expression whose parts begin and end with it, as `x` in `return x`
    found = [n for n in holding if isinstance(n, ast.expr) and (n.lineno, n.col_offset) == start]
    exact = [n for n in found if (n.end_lineno, n.end_col_offset) == end]
    return list(holding[holding.index(exact[-1]) :]) if exact else []


def _is_not(e: ast.AST) -> bool:
    return isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.Not)


def _is_choice(e: ast.AST) -> bool:
    """Return whether this is `a and b` or `a or b` whose operands can all be tensors."""
    return isinstance(e, ast.BoolOp) and not any(map(_is_python_test, e.values))


def _is_python_test(e: ast.expr) -> bool:
    """Return whether this is `x is None` or `isinstance(x, C)`, which decides whether the other operands can run."""
    tested = e.operand if isinstance(e, ast.UnaryOp) else e
    is_identity = isinstance(tested, ast.Compare) and isinstance(tested.ops[0], ast.Is | ast.IsNot)
    return is_identity or _is_call_of(tested, "isinstance", "callable", "hasattr")


def _rewrite_optional(e: ast.AST, outer: ast.AST | None = None) -> str:
    code = ast.unparse(e)
    if isinstance(outer, ast.BoolOp) and len(outer.values) == 2 and outer.values[0] is e:
        other = ast.unparse(outer.values[1])
        chosen = (other, code) if isinstance(outer.op, ast.Or) else ("None", other)
        return f"{chosen[0]} if {code} is None else {chosen[1]}"
    return f"{code} is None" if outer is not None and _is_not(outer) else f"{code} is not None"


def _rewrite_test(e: ast.AST, around: list[ast.AST]) -> str | None:
    """Rewrite `a if e else b`, `if e:`, `while e:`, `assert e` or `bool(e)`; None if there is no rewrite."""
    if not isinstance(e, ast.expr) or _is_lookup(e):
        return None
    code, condition = ast.unparse(e), _condition(e)
    match around:
        case [ast.IfExp(test=test, body=body, orelse=other), *_] if test is e:
            return f"{_operand(condition)}.where({ast.unparse(body)}, {ast.unparse(other)})"
        case [ast.While(test=test, body=statements), *_] if test is e:
            return _rewrite_while(e, condition, statements)
        case [ast.Assert(test=test), *_] if test is e:
            return f"return {condition} too, and assert it of the result"
        case [ast.If(test=test), *_] if test is e:
            return f"{_operand(condition)}.where(a, b) instead of `if {code}`"
        case [ast.Match(subject=subject, cases=cases), *_] if any(_is_value_of(c.pattern, e) for c in cases):
            return f"({ast.unparse(subject)} == {code}).where(a, b) instead of `case {code}`"
        case [ast.Match(cases=cases), *_] if any(_is_value_of(p, e) for c in cases for p in nodes_of(c.pattern)):
            return None
    if isinstance(e, ast.BoolOp) and not all(map(_is_bool, e.values)):
        if len(e.values) != 2:
            return None
        first, second = map(ast.unparse, e.values)
        if _is_bool(e.values[0]):
            first = "0" if isinstance(e.op, ast.And) else "1"
        chosen = f"{second}, {first}" if isinstance(e.op, ast.And) else f"{first}, {second}"
        return f"{_operand(_condition(e.values[0]))}.where({chosen})"
    if condition.replace(" != 0", "") == code:
        return f"{_operand(condition)}.where(a, b) instead of `if {code}`"
    return f"{condition} instead of `{code}`" if _is_call_of(e, "bool") else condition


def _is_value_of(pattern: ast.AST, e: ast.expr) -> bool:
    return isinstance(pattern, ast.MatchValue) and pattern.value is e


def _is_call_of(e: ast.AST, *names: str) -> bool:
    return isinstance(e, ast.Call) and isinstance(e.func, ast.Name) and e.func.id in names


def _is_lookup(e: ast.expr) -> bool:
    """Return whether this is `x in xs`, where `xs` may be a list, a dict or a tensor."""
    if not isinstance(e, ast.Compare) or not isinstance(e.ops[0], ast.In | ast.NotIn):
        return False
    return not isinstance(e.comparators[0], ast.List | ast.Tuple)


def _rewrite_while(e: ast.expr, condition: str, body: list[ast.stmt]) -> str:
    stored = {n.id for s in body for n in nodes_of(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    changed = {n.id for n in nodes_of(e) if isinstance(n, ast.Name)} & stored
    carry = changed.pop() if len(changed) == 1 else None
    return f"while_loop(lambda {carry or 'c'}: {condition}, body, {carry or 'start'})"


def _condition(e: ast.expr) -> str:
    """Return a test as an expression of bool tensors."""
    match e:
        case ast.BoolOp(op=op, values=values):
            return (" & " if isinstance(op, ast.And) else " | ").join(f"({_condition(v)})" for v in values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            is_condition = _is_bool(operand) or isinstance(operand, ast.BoolOp)
            return f"{_operand(_condition(operand) if is_condition else operand)}.logical_not()"
        case ast.Call(func=ast.Name(id="bool"), args=[x]):
            return ast.unparse(x) if not _is_test(x) else _condition(x)
        case ast.Call(func=ast.Name(id="any" | "all" as name), args=[ast.Compare() as x]):
            return f"({ast.unparse(x)}).{name}()"
        case ast.Call(func=ast.Name(id="any" | "all" as name), args=[ast.List() | ast.Tuple() as display]):
            return f"Tensor.stack({', '.join(map(ast.unparse, display.elts))}).{name}()"
        case ast.Call(func=ast.Name(id="any" | "all" as name), args=[xs]):
            stacked = ast.ListComp(xs.elt, xs.generators) if isinstance(xs, ast.GeneratorExp) else xs
            return f"Tensor.stack(*{_operand(stacked)}).{name}()"
        case ast.Compare(left=x, ops=[ast.In() | ast.NotIn() as op], comparators=[ast.List() | ast.Tuple() as display]):
            text = " | ".join(f"({ast.unparse(x)} == {ast.unparse(y)})" for y in display.elts)
            return text if isinstance(op, ast.In) else f"({text}).logical_not()"
        case ast.Compare(left=left, ops=ops, comparators=others) if len(ops) > 1:
            pairs = zip([left, *others], ops, others, strict=False)
            return " & ".join(f"({ast.unparse(ast.Compare(a, [op], [b]))})" for a, op, b in pairs)
    return ast.unparse(e) if _is_bool(e) else f"{ast.unparse(e)} != 0"


def _is_test(e: ast.expr) -> bool:
    return isinstance(e, ast.BoolOp | ast.Compare) or _is_not(e)


def _is_bool(e: ast.expr) -> bool:
    """Return whether an expression is certain to be a bool."""
    if isinstance(e, ast.BoolOp):
        return all(map(_is_bool, e.values))
    is_method = isinstance(e, ast.Call) and isinstance(e.func, ast.Attribute) and e.func.attr in _BOOLS
    if is_method or _is_call_of(e, "bool", "any", "all"):
        return True
    return _is_test(e) or (isinstance(e, ast.Constant) and isinstance(e.value, bool))


def _operand(e: ast.expr | str) -> str:
    """Return code to call a method of, in parentheses where needed."""
    parsed = ast.parse(e, mode="eval").body if isinstance(e, str) else e
    is_atom = isinstance(parsed, ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.ListComp)
    return ast.unparse(parsed) if is_atom else f"({ast.unparse(parsed)})"
