"""Write one operation as a Python expression of its operands' texts: `c[x] + d[y]` or `c[x].softmax(0)`."""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from typing import Any

from tinygrad import Tensor

from branded.core.tracing.recorded_calls import arguments
from branded.ir.operators import function_of
from branded.ir.primitives import PRIMITIVES, Operand, infix
from branded.ir.terms import WEAK, Atom, BrandName, Dtype, Eqn, Literal, Type

_SYMBOLS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@",
    "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^", "xor": "^", "lshift": "<<", "rshift": ">>",
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=",
}  # fmt: skip


class NoTextError(Exception):
    """Raised for an operation that has no Python expression."""


class Text(str):
    """A piece of Python whose `repr` is the text itself."""

    def __repr__(self) -> str:
        return str(self)


def number(a: Literal) -> str:
    """Return a number as Python text, with its dtype unless Python numbers have this dtype by default."""
    v = a.value
    text = f'float("{v}")' if isinstance(v, float) and not math.isfinite(v) else repr(v)
    default = {float: "f32", int: "i32", bool: "bool"}[type(v)]
    return text if a.dtype in (*WEAK, default) else f'Tensor({text}, dtype="{Dtype(a.dtype).long}")'


def empty(t: Type, sizes: Sequence[int] = ()) -> str:
    """Return an expression that allocates a value; `sizes` are additional leading axes."""
    shape = ", ".join(map(str, (*sizes, *t.shape))) or "()"
    kind = "" if t.dtype == "f32" else f', dtype="{Dtype(t.dtype).long}"'
    return f"Tensor.empty({shape}{kind})"


def call_text(e: Eqn, texts: Sequence[str]) -> str:
    """Return the expression that computes an operation without inner programs.

    Raises:
        NoTextError: The operation has no Python expression.
    """
    operands = [_operand(a, text) for a, text in zip(e.operands, texts, strict=True)]
    if e.op in _SYMBOLS and len(texts) == 2 and not e.params:
        return infix(_SYMBOLS[e.op], *operands)
    if e.op in ("neg", "bitwise_not"):
        return f"{'-' if e.op == 'neg' else '~'}{texts[0]}"
    if e.op.isupper():
        return _primitive(e, operands)
    if (f := function_of(e.op)) is None:
        raise NoTextError(e.op)
    try:
        args, kwargs = arguments(f, {k: _value(v) for k, v in e.params.items()}, [Text(g) for g in texts])
    except (StopIteration, TypeError):
        raise NoTextError(e.op) from None
    if e.op == "getitem":
        return f"{args[0]}[{_index(args[1])}]"
    if "." in e.op:  # a function of a package, such as random.normal
        return f"{e.op}({_inside(args, kwargs)})"
    static = inspect.getattr_static(Tensor, e.op, None)
    if isinstance(static, classmethod | staticmethod) or not texts:
        return f"Tensor.{e.op}({_inside(args, kwargs)})"
    first = _operand(e.operands[0], str(args[0])).tensor
    return f"{first}.{e.op}({_inside(args[1:], kwargs)})"


def write(e: Eqn, texts: Sequence[str], target: str) -> list[str]:
    """Return the lines of a write.  In a program the result of a write is a new value: a copy that is written into."""
    f = function_of(e.op)
    assert f is not None
    args, _ = arguments(f, {k: _value(v) for k, v in e.params.items()}, [Text(g) for g in texts])
    statement = f"{target}.assign({args[1]})" if e.op == "assign" else f"{target}[{_index(args[1])}] = {args[2]}"
    return [f"{target} = {args[0]}.clone()", statement]


def _operand(a: Atom, text: str) -> Operand:
    return Operand(text, is_number=True) if isinstance(a, Literal) else Operand(text, a.type.shape)


def _inside(args: Sequence[Any], kwargs: dict[str, Any]) -> str:
    return ", ".join([*map(repr, args), *(f"{k}={v!r}" for k, v in kwargs.items())])


def _value(v: Any) -> Any:
    if isinstance(v, Dtype):
        return v.long
    if isinstance(v, BrandName):
        raise NoTextError(v.name)
    return type(v)(map(_value, v)) if type(v) in (tuple, list) else v


def _index(v: Any) -> str:
    """Return the text between the brackets of `x[...]`."""
    if type(v) is tuple and v:
        return ", ".join(map(_index, v)) + ("," if len(v) == 1 else "")
    if isinstance(v, slice):
        parts = ["" if x is None else repr(x) for x in (v.start, v.stop, v.step)]
        return ":".join(parts if v.step is not None else parts[:2])
    return "..." if v is Ellipsis else repr(v)


def _primitive(e: Eqn, operands: Sequence[Operand]) -> str:
    if e.op == "STORE" and not e.params:  # a write of the whole value: a copy
        return f"{operands[0].tensor}.clone()"
    row = PRIMITIVES.get(e.op)
    if row is None or row.python is None or not operands:
        raise NoTextError(e.op)
    try:
        return row.python(*operands, **e.params)
    except (TypeError, LookupError, ValueError):
        raise NoTextError(e.op) from None
