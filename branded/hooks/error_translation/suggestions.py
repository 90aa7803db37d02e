"""Suggestions for code that would read a per-example value: the user's expression, rewritten for tinygrad.

If the source is missing or the expression has another form, the suggestion is general, without the user's names.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from tinygrad import Tensor, dtypes

from branded.errors import source
from branded.hooks.error_translation.slices import suggest_index

MOST = 90
"""The maximum length of a suggested expression, in characters."""


def truth(x: Tensor) -> str:
    """Return a replacement for `if x`."""
    around = source.running()
    if around and isinstance(around[0], _TESTS):  # Python reports the statement as the place of a test that is a name
        around.insert(0, around[0].test)
    while len(around) > 1 and _asks(around[1]):
        around.pop(0)
    if not around or not isinstance(e := around[0], ast.expr):
        return _TRUTH
    return _short(_rewrite_call(e) or _rewrite_test(e, around[1:], x)) or _TRUTH


_TRUTH = "condition.where(a, b) instead of `if condition`"
_TESTS = (ast.IfExp, ast.If, ast.While, ast.Assert)


def whole(x: Tensor) -> str:
    """Return a replacement for a conversion to int."""
    around = source.running()
    calls = [e for e in around if isinstance(e, ast.Call) and isinstance(e.func, ast.Name)]
    for call in calls:
        if _name(call) == "range" and len(call.args) in (1, 2):
            first, *rest = map(_not_int, call.args)
            return _short(f"fori_loop({', '.join([first, *rest] if rest else ['0', first])}, body, start)") or _INT
    for e in around:
        if isinstance(e, ast.Subscript) and (text := _short(suggest_index(e, x))):
            return text
    if calls and _name(calls[0]) == "int" and len(calls[0].args) == 1:
        return _short(f"{source.part(calls[0].args[0])}.int()") or _INT
    return _INT


def _not_int(e: ast.expr) -> str:
    """Return the text of `n` for `n` or `int(n)`."""
    return ast.unparse(e.args[0] if isinstance(e, ast.Call) and _name(e) == "int" and len(e.args) == 1 else e)


def method_of(name: str) -> str:
    """Return a method call such as `x.abs()` as a replacement for `abs(x)`."""
    e = source.expression()
    called = (e.func.attr if isinstance(e.func, ast.Attribute) else _name(e)) if isinstance(e, ast.Call) else ""
    operand = source.part(e.args[0]) if isinstance(e, ast.Call) and called == name and e.args else None
    return _short(operand and f"{operand}.{name}()") or f"use the method .{name}() of the tensor"


_INT = "index with the tensor itself, or use where"


def real(x: Tensor) -> str:
    """Return a replacement for a conversion to float."""
    e = source.expression()
    if isinstance(e, ast.Call) and isinstance(e.func, ast.Attribute) and isinstance(e.func.value, ast.Name):
        name = {"fabs": "abs"}.get(e.func.attr, e.func.attr)
        if e.func.value.id == "math" and e.args and callable(getattr(Tensor, name, None)):
            rest = ", ".join(map(ast.unparse, e.args[1:]))
            return _short(f"{source.part(e.args[0])}.{name}({rest})") or _FLOAT
    if isinstance(e, ast.Call) and _name(e) == "float" and len(e.args) == 1:
        return _short(f"{source.part(e.args[0])}.float()") or _FLOAT
    if isinstance(e, ast.BinOp) and isinstance(e.op, ast.Mod) and isinstance(e.left, ast.Constant):
        return suggestion_text(x)
    return _FLOAT


_FLOAT = "use the methods of Tensor instead of math"


def suggestion_text(x: Tensor) -> str:
    """Return a `debug.print` call as a replacement for a formatted number."""
    shown = [v for e in source.running() if isinstance(e, ast.expr) for v in ast.walk(e)]
    value = next((v for v in shown if isinstance(v, ast.FormattedValue)), None)
    if value is None:
        e = next((e for e in shown if isinstance(e, ast.BinOp)), None)
        is_one = e is not None and isinstance(e.op, ast.Mod) and not isinstance(e.right, ast.Tuple | ast.Dict)
        return (_short(f'debug.print("{{x}}", x={ast.unparse(e.right)})') if e and is_one else None) or _TEXT
    spec = value.format_spec.values if isinstance(value.format_spec, ast.JoinedStr) else []
    spec_text = "".join(str(v.value) for v in spec if isinstance(v, ast.Constant))
    return _short(f'debug.print("{{x{":" + spec_text if spec_text else ""}}}", x={ast.unparse(value.value)})') or _TEXT


_TEXT = 'debug.print("{x}", x=value)'


def suggest_stack() -> str:
    """Return `Tensor.stack(x, Tensor(1.0))` as a replacement for `Tensor([x, 1.0])`."""
    e = source.expression()
    entries = e.args[0] if isinstance(e, ast.Call) and _name(e) == "Tensor" and e.args else None
    return _short(_stacked(entries) if entries is not None else None) or "stack the entries with Tensor.stack(a, b)"


_METHODS = {"max": "maximum", "min": "minimum"}


def _name(e: ast.Call) -> str:
    return e.func.id if isinstance(e.func, ast.Name) else ""


def _rewrite_call(e: ast.expr) -> str | None:
    """Rewrite `max(a, b)`, `sorted(x)` or `any(x)`, Python functions that test their arguments."""
    if not isinstance(e, ast.Call) or not e.args or e.keywords or any(isinstance(a, ast.Starred) for a in e.args):
        return None
    name, (first, *rest) = _name(e), e.args
    if name in _METHODS and rest:
        if isinstance(first, ast.Constant):  # a number has no methods
            first, rest = rest[0], [first, *rest[1:]]
        return source.part(first) + "".join(f".{_METHODS[name]}({ast.unparse(a)})" for a in rest)
    if name in ("max", "min", "any", "all", "sorted"):
        method = "sort()[0]" if name == "sorted" else f"{name}()"
        return f"{_stacked(first) or source.part(first)}.{method}"
    return None


def _stacked(e: ast.expr) -> str | None:
    """Return the stack of the entries of a list or a generator; None for other expressions."""
    if isinstance(e, ast.GeneratorExp | ast.ListComp):
        return f"Tensor.stack(*{ast.unparse(ast.ListComp(e.elt, e.generators))})"
    if not isinstance(e, ast.List | ast.Tuple) or any(isinstance(v, ast.List | ast.Tuple) for v in e.elts):
        return None
    parts = [f"Tensor({ast.unparse(v)})" if isinstance(v, ast.Constant) else ast.unparse(v) for v in e.elts]
    return f"Tensor.stack({', '.join(parts)})"


def _asks(e: ast.AST) -> bool:
    """Return whether this is `and`, `or` or `not`, which test their operands."""
    return isinstance(e, ast.BoolOp) or (isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.Not))


def _condition(e: ast.expr, is_bool: bool = True) -> str | None:
    """Return a condition as a boolean tensor expression, or None if no rewrite is needed.

    `is_bool` tells whether values of unknown type, such as names, are taken for bools.
    """
    if isinstance(e, ast.BoolOp):
        symbol = " & " if isinstance(e.op, ast.And) else " | "
        return symbol.join(_part(v, is_bool) for v in e.values)
    if isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.Not):
        inner = _condition(e.operand, is_bool)
        return f"{source.part(e.operand) if inner is None else f'({inner})'}.logical_not()"
    if isinstance(e, ast.Call) and _name(e) == "bool" and len(e.args) == 1:
        return ast.unparse(e.args[0])
    return _rewrite_comparison(e) if isinstance(e, ast.Compare) else None


def _part(e: ast.expr, is_bool: bool) -> str:
    if (text := _condition(e, is_bool)) is not None:
        return f"({text})"
    return source.part(e) if _is_bool(e, is_bool) else f"({source.part(e)} != 0)"


def _is_bool(e: ast.expr, unknown: bool) -> bool:
    """Return whether an expression is a bool; `unknown` is the answer for calls and other names than local ones."""
    if isinstance(e, ast.Name) and (frame := source.frame()) is not None and e.id in frame.f_locals:
        value = frame.f_locals[e.id]
        return value.dtype == dtypes.bool if isinstance(value, Tensor) else isinstance(value, bool)
    if isinstance(e, ast.BoolOp):
        return all(_is_bool(v, unknown) for v in e.values)
    if isinstance(e, ast.Constant):
        return isinstance(e.value, bool)
    return isinstance(e, ast.Compare) or (isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.Not)) or unknown


def _rewrite_choice(e: ast.BoolOp, is_bool: bool) -> str | None:
    """Rewrite `a and b`, which is `b if a else a`, and `a or b`, if they are not both bools."""
    if len(e.values) != 2:
        return None
    first, second = e.values
    condition, other = _part(first, is_bool), ast.unparse(second)
    if not condition.startswith("("):
        condition = f"({condition})"
    is_and = isinstance(e.op, ast.And)
    kept = ("0" if is_and else "1") if _is_bool(first, is_bool) else ast.unparse(first)
    return f"{condition}.where({other}, {kept})" if is_and else f"{condition}.where({kept}, {other})"


def _rewrite_comparison(e: ast.Compare) -> str | None:
    """Rewrite `a in b`, or `a < b < c`, which is two comparisons."""
    (op, *more), (right, *_) = e.ops, e.comparators
    if isinstance(op, ast.In | ast.NotIn) and not more:
        if isinstance(right, ast.List | ast.Tuple | ast.Set):
            text = " | ".join(f"({ast.unparse(e.left)} == {ast.unparse(x)})" for x in right.elts)
        else:
            text = f"({source.part(right)} == {ast.unparse(e.left)}).any()"
        return f"({text}).logical_not()" if isinstance(op, ast.NotIn) else text
    if not more:
        return None
    sides = [e.left, *e.comparators]
    pairs = zip(sides, e.ops, sides[1:], strict=False)
    return " & ".join(f"({ast.unparse(ast.Compare(a, [op], [b]))})" for a, op, b in pairs)


def _rewrite_test(e: ast.expr, around: list[ast.AST], x: Tensor) -> str | None:
    """Rewrite `a if e else b`, `if e:`, `while e:` or `assert e`; any other condition becomes a tensor."""
    if isinstance(e, ast.Compare) and _is_of_displays(e):
        return None
    is_bool = x.dtype == dtypes.bool
    code = _condition(e, is_bool)
    outer = around[0] if around else None
    condition = f"({code})" if code else f"({ast.unparse(e)})" if is_bool else f"({source.part(e)} != 0)"
    if isinstance(outer, ast.IfExp) and outer.test is e:
        return f"{condition}.where({ast.unparse(outer.body)}, {ast.unparse(outer.orelse)})"
    if isinstance(outer, ast.While) and outer.test is e:
        changed = {
            n.id for b in outer.body for n in ast.walk(b) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }
        named = [n.id for n in ast.walk(e) if isinstance(n, ast.Name) and n.id in changed]
        carry = named[0] if len({*named}) == 1 else "start"
        return f"while_loop(lambda {named[0] if carry in named else 'c'}: {code or ast.unparse(e)}, body, {carry})"
    if isinstance(outer, ast.Assert) and outer.test is e:
        return f"return {code or ast.unparse(e)} too, and assert it of the result"
    if isinstance(outer, ast.If) and outer.test is e:
        return f"{condition}.where(a, b) instead of `if {ast.unparse(e)}`"
    if isinstance(e, ast.BoolOp) and not _is_bool(e, is_bool):
        return _rewrite_choice(e, is_bool)
    return code


def _is_of_displays(e: ast.Compare) -> bool:
    """Return whether this is a comparison like `[a] == [b]`, in which Python compares the elements in turn."""
    sides = [e.left, *e.comparators]
    return (
        len(e.ops) == 1
        and not isinstance(e.ops[0], ast.In | ast.NotIn)
        and any(isinstance(x, _DISPLAYS) for x in sides)
    )


_DISPLAYS = (ast.List, ast.Tuple, ast.Dict, ast.Set)


def _short(text: str | None) -> str | None:
    """Return the suggestion, or None if it is too long, or is the code that failed."""
    if text is None or len(text) > MOST or not text.isprintable() or source.is_running(text):
        return None
    return text


ADVICE: dict[str, Callable[[Tensor], str]] = {"bool": truth, "int": whole, "float": real, "format": suggestion_text}
"""The suggestion functions, by the requested conversion."""
