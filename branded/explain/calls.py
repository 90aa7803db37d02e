"""One operation as Python writes it: `c[x] + d[y]` or `c[x].softmax(0)`, from the texts of its operands."""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from typing import Any

from tinygrad import Tensor

from branded.program.operators import arguments, function_of
from branded.program.terms import WEAK, Atom, BrandName, Dtype, Eqn, Literal, Type

_SYMBOLS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@",
    "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^", "xor": "^", "lshift": "<<", "rshift": ">>",
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=",
    "ADD": "+", "SUB": "-", "MUL": "*", "POW": "**", "FLOORDIV": "//", "FLOORMOD": "%",
    "CMPLT": "<", "CMPNE": "!=", "CMPEQ": "==", "XOR": "^", "OR": "|", "AND": "&", "SHR": ">>", "SHL": "<<",
}  # fmt: skip
_METHODS = {
    "EXP2": "exp2", "LOG2": "log2", "SIN": "sin", "SQRT": "sqrt", "RECIPROCAL": "reciprocal", "TRUNC": "trunc",
    "MAX": "maximum", "WHERE": "where", "DETACH": "detach", "CONTIGUOUS": "contiguous", "STORE": "clone",
    "CONTIGUOUS_BACKWARD": "contiguous_backward",
}  # fmt: skip
"""Primitives that a method of Tensor is."""
_REDUCTIONS = {"add": "sum", "mul": "prod", "max": "max"}
_LONG = {"f": "float", "i": "int", "u": "uint", "bf": "bfloat"}


class NoTextError(Exception):
    """There is no Python for an operation."""


class Text(str):
    """A piece of Python, which shows itself as it is among values that show themselves by `repr`."""

    def __repr__(self) -> str:
        return str(self)


def dtype(short: str) -> str:
    """`float32` for `f32`, as tinygrad takes it."""
    letters = short.rstrip("0123456789")
    return f"{_LONG[letters]}{short[len(letters) :]}" if letters in _LONG and letters != short else short


def number(a: Literal) -> str:
    """A number of a program: with its dtype, where another than Python's number has by itself."""
    v = a.value
    text = f'float("{v}")' if isinstance(v, float) and not math.isfinite(v) else repr(v)
    own = {float: "f32", int: "i32", bool: "bool"}[type(v)]
    return text if a.dtype in (*WEAK, own) else f'Tensor({text}, dtype="{dtype(a.dtype)}")'


def empty(t: Type, sizes: Sequence[int] = ()) -> str:
    """Memory for a value, with these sizes in front of its shape."""
    shape = ", ".join(map(str, (*sizes, *t.shape))) or "()"
    kind = "" if t.dtype == "f32" else f', dtype="{dtype(t.dtype)}"'
    return f"Tensor.empty({shape}{kind})"


def call(e: Eqn, given: Sequence[str]) -> str:
    """The right side of an operation that has no programs in it.

    Raises:
        NoTextError: There is no Python for it.
    """
    if e.op in _SYMBOLS and len(given) == 2 and not e.params:
        a, b = given
        if all(isinstance(x, Literal) for x in e.operands):
            a = f"Tensor({a})"
        return f"{_tight(a)} {_SYMBOLS[e.op]} {_tight(b)}"
    if e.op in ("neg", "NEG"):
        return f"-{given[0]}"
    if e.op == "bitwise_not":
        return f"~{given[0]}"
    if e.op.isupper():
        return _primitive(e, given)
    if (f := function_of(e.op)) is None:
        raise NoTextError(e.op)
    try:
        args, kwargs = arguments(f, {k: _value(v) for k, v in e.params.items()}, [Text(g) for g in given])
    except (StopIteration, TypeError):
        raise NoTextError(e.op) from None
    if e.op == "getitem":
        return f"{args[0]}[{_index(args[1])}]"
    if e.op.startswith("random."):
        return f"{e.op}({_inside(args, kwargs)})"
    static = inspect.getattr_static(Tensor, e.op, None)
    if isinstance(static, classmethod | staticmethod) or not given:
        return f"Tensor.{e.op}({_inside(args, kwargs)})"
    first = _object(e.operands[0], str(args[0]))
    return f"{first}.{e.op}({_inside(args[1:], kwargs)})"


def write(e: Eqn, given: Sequence[str], target: str) -> list[str]:
    """A write, which in a program gives a new value: a copy, and the write into it."""
    f = function_of(e.op)
    assert f is not None
    args, _ = arguments(f, {k: _value(v) for k, v in e.params.items()}, [Text(g) for g in given])
    written = f"{target}.assign({args[1]})" if e.op == "assign" else f"{target}[{_index(args[1])}] = {args[2]}"
    return [f"{target} = {args[0]}.clone()", written]


def _object(a: Atom, text: str) -> str:
    """What has methods: a number does not."""
    return f"Tensor({text})" if isinstance(a, Literal) else text


def _tight(text: str) -> str:
    return f"({text})" if text.startswith("-") else text


def _inside(args: Sequence[Any], kwargs: dict[str, Any]) -> str:
    return ", ".join([*map(repr, args), *(f"{k}={v!r}" for k, v in kwargs.items())])


def _value(v: Any) -> Any:
    if isinstance(v, Dtype):
        return dtype(v.name)
    if isinstance(v, BrandName):
        raise NoTextError(v.name)
    return type(v)(map(_value, v)) if type(v) in (tuple, list) else v


def _index(v: Any) -> str:
    """What stands between the brackets of `x[...]`."""
    if type(v) is tuple and v:
        return ", ".join(map(_index, v)) + ("," if len(v) == 1 else "")
    if isinstance(v, slice):
        parts = ["" if x is None else repr(x) for x in (v.start, v.stop, v.step)]
        return ":".join(parts if v.step is not None else parts[:2])
    return "..." if v is Ellipsis else repr(v)


def _primitive(e: Eqn, given: Sequence[str]) -> str:
    p = e.params
    if not e.operands:
        raise NoTextError(e.op)
    x = _object(e.operands[0], given[0])
    below = e.operands[0].type.shape if not isinstance(e.operands[0], Literal) else ()
    if e.op in _METHODS and not p:
        return f"{x}.{_METHODS[e.op]}({', '.join(given[1:])})"
    match e.op:
        case "CAST" | "BITCAST":
            return f'{x}.{e.op.lower()}("{dtype(e.results[0].type.dtype)}")'
        case "COPY":
            return f"{x}.to({p['device']!r})"
        case "RESHAPE":
            return f"{x}.reshape({p['shape']!r})"
        case "EXPAND":
            return f"{x}.expand({(*p['sizes'], *below)!r})"
        case "PERMUTE":
            return f"{x}.permute({p['order']!r})"
        case "FLIP":
            return f"{x}.flip({p['axes']!r})"
        case "PAD":
            sides = [(o, n - o - size) for o, n, size in zip(p["offset"], p["size"], below, strict=True)]
            return f"{x}.pad({tuple(sides)!r})"
        case "SHRINK":
            parts = [(o, o + n) for o, n in zip(p["offset"], p["size"], strict=True)]
            return f"{x}.shrink({tuple(parts)!r})"
        case "REDUCE":
            return f"{x}.{_REDUCTIONS[p['op'].name]}({tuple(range(p['leading']))!r})"
        case "STACK":
            return f"{x}.stack({', '.join(given[1:])})"
        case "CDIV":
            return f'{x}.div({given[1]}, rounding_mode="trunc")'
    raise NoTextError(e.op)
