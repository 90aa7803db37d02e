"""Python's operators on values that are not tensors: numbers, strings, sequences and dicts."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import reduce

from branded.mypy.axes.types import is_size
from branded.mypy.shapes.rules.iterables import LONGEST
from branded.mypy.shapes.values import (
    NONE,
    NUMBER,
    UNKNOWN,
    Const,
    Fact,
    Mutable,
    Size,
    Stream,
    Tuple,
    as_number,
    is_int,
    is_number,
    items_of,
    join,
    list_of,
)

_ARITHMETIC: dict[str, Callable[..., object]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}
_COMPARED: dict[str, Callable[..., bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def truth_of(value: Fact) -> bool | None:
    if isinstance(value, Const):
        return bool(value.value)
    items = items_of(value)
    return bool(items) if items is not None else None


def compare(op: str, left: Fact, right: Fact) -> Fact:
    """Compare two values; UNKNOWN where the result is not certain."""
    if op in ("==", "!=") and isinstance(left, Tuple) and isinstance(right, Tuple):
        each = [compare("==", x, y) for x, y in zip(left.items, right.items, strict=False)]
        if len(left.items) != len(right.items) or any(c == Const(False) for c in each):
            return Const(op == "!=")
        return Const(op == "==") if all(c == Const(True) for c in each) else UNKNOWN
    if op in ("is", "is not") and (left is NONE or right is NONE or NONE in (left, right)):
        other = right if left == NONE else left
        if other == NONE:
            return Const(op == "is")
        return Const(op == "is not") if other is not UNKNOWN else UNKNOWN
    if isinstance(left, Const) and isinstance(right, Const) and op in _COMPARED:
        try:
            return Const(_COMPARED[op](left.value, right.value))
        except TypeError:
            return UNKNOWN
    if isinstance(left, Size) and isinstance(right, Size) and is_size(left.axis) and left.axis == right.axis:
        return Const(True) if op in ("==", "<=", ">=") else Const(False) if op in ("!=", "<", ">") else UNKNOWN
    return UNKNOWN


def compute(op: str, left: Fact, right: Fact) -> Fact:
    """Return the value of `left op right` for values that are not tensors."""
    if op == "|" and (merged := _merge(left, right)) is not None:
        return merged
    if isinstance(left, Const) and isinstance(right, Const) and op in _ARITHMETIC:
        return _compute_numbers(op, left.value, right.value)
    one, n = (right, as_number(left)) if as_number(left) is not None else (left, as_number(right))
    items = items_of(one)
    if op == "*" and items is not None and n is not None and len(items) * n <= LONGEST:
        return list_of(items * n) if isinstance(one, Mutable) else Tuple(tuple(items * n))
    if op == "+" and type(left) is type(right):
        xs, ys = items_of(left), items_of(right)
        if xs is not None and ys is not None:
            return list_of(xs + ys) if isinstance(left, Mutable) else Tuple((*xs, *ys))
    if is_int(left) and is_int(right) and op in ("+", "-", "*", "//", "%"):
        return Size()
    return NUMBER if is_number(left) and is_number(right) else UNKNOWN


def _merge(left: Fact, right: Fact) -> Fact | None:
    """Return the union of two dicts; None for other values."""
    if not isinstance(left, Mutable) or not isinstance(right, Mutable) or {left.kind, right.kind} != {"dict"}:
        return None
    return Mutable("dict", left.items | right.items if left.items is not None and right.items is not None else None)


def item_at(base: Fact, index: Fact) -> Fact:
    """Return `base[index]` of a sequence or a dict."""
    items = items_of(base)
    if items is not None and (i := as_number(index)) is not None:
        return items[i] if -len(items) <= i < len(items) else UNKNOWN
    if items:
        return reduce(join, items)
    if isinstance(base, Mutable) and base.kind == "dict" and base.items is not None and isinstance(index, Const):
        return base.items.get(index.value, UNKNOWN)
    return base.each if isinstance(base, Stream) else UNKNOWN


def slice_of(base: Fact, bounds: Sequence[Fact]) -> Fact:
    """Return `base[first:last:stride]` of a sequence; a bound that is not there is NONE."""
    items = items_of(base)
    if items is None or any(b != NONE and as_number(b) is None for b in bounds):
        return UNKNOWN
    first, last, stride = map(as_number, bounds)
    if stride == 0:
        return UNKNOWN
    chosen = items[first:last:stride]
    return list_of(chosen) if isinstance(base, Mutable) else Tuple(tuple(chosen))


def _compute_numbers(op: str, a: object, b: object) -> Fact:
    if any(isinstance(v, int | float) and abs(v) > 1e9 for v in (a, b)) or (isinstance(a, str) and op != "+"):
        return UNKNOWN
    try:
        return Const(_ARITHMETIC[op](a, b))
    except (TypeError, ValueError, ArithmeticError):
        return UNKNOWN
