"""Axes of products: `@`, dot, linear and einsum."""

from __future__ import annotations

from mypy.types import TupleType, Type, get_proper_type

from branded.mypy.axes.calls import Axes, Known, MethodCall, axes_of_operand
from branded.mypy.axes.rules import broadcast_axes, length_text
from branded.mypy.axes.types import unify_axes
from branded.mypy.codes import ERROR
from branded.mypy.rows.algebra import UNKNOWN


def dot(call: MethodCall) -> Known:
    """Return the axes of `x @ y`, which contracts the last axis of x with axis -2 of y (axis -1 of a vector)."""
    name = "w" if call.is_given("w") else "weight" if call.is_given("weight") else "x"
    types, left, right = call.types(name), call.own, call.axes(name)
    if not types or left is None or right is None:
        return None
    if call.is_given("reverse"):
        return None
    return product_axes(call, call.self_type or UNKNOWN, left, types[0], right)


def reversed_dot(call: MethodCall) -> Known:
    """Return unknown axes for `y @ x` called through `x.__rmatmul__`."""
    return None


def product_axes(call: MethodCall, x: Type, left: Axes, y: Type, right: Axes) -> Known:
    sides = f"left:  {call.show(x)}", f"right: {call.show(y)}"
    if not left or not right:
        call.fail(ERROR, "a matrix product of a 0-d tensor", *sides, "try:   x * y")
        return None
    inner = right[-2] if len(right) > 1 else right[-1]
    if unify_axes(left[-1], inner) is None:
        call.fail(
            ERROR,
            f"the inner axes are {call.shown(left[-1])} and {call.shown(inner)}",
            *sides,
            f"try:   {_transpose_advice(left, right)}",
        )
        return None
    if len(left) > 2 and len(right) > 2:
        batch = broadcast_axes(call, left[:-2], right[:-2], y)
        return None if batch is None else [*batch, left[-2], right[-1]]
    outer = right[:-2] if len(right) > 2 else left[:-2]
    return [*outer, *(left[-2:-1]), *(right[-1:] if len(right) > 1 else [])]


def _transpose_advice(left: Axes, right: Axes) -> str:
    """Return a suggestion for the axis mismatch: transpose one operand if that fixes it, else einsum."""
    if len(right) > 1 and unify_axes(left[-1], right[-1]) is not None:
        return "transpose the right one with .transpose(-2, -1)"
    inner = right[-2] if len(right) > 1 else right[-1]
    if len(left) > 1 and unify_axes(left[-2], inner) is not None:
        return "transpose the left one with .transpose(-2, -1)"
    return "use einsum, which names the axis to sum over"


def linear(call: MethodCall) -> Known:
    """Return the axes of `x.linear(weight, bias)`."""
    weight = call.axes("weight")
    if weight is None or len(weight) < 2:
        return None
    axes, bias = dot(call), call.types("bias")
    return axes if not bias else broadcast_axes(call, axes, call.axes("bias"), bias[0])


def einsum(call: MethodCall) -> Known:
    """Return the axes of `Tensor.einsum("ui,i->u", x, w)`: a letter denotes the same axis everywhere."""
    formula, types = call.text("formula"), call.types("operands")
    if len(types) == 1 and isinstance(items := get_proper_type(types[0]), TupleType):
        types = list(items.items)
    if formula is None or call.starred or "." in formula:
        return None
    left, arrow, right = formula.replace(" ", "").partition("->")
    words = left.split(",")
    if len(words) != len(types):
        return None
    letters: dict[str, tuple[Type, Type]] = {}
    for word, t in zip(words, types, strict=True):
        if not _bind_letters(call, word, t, letters):
            return None
    out = right if arrow else "".join(sorted(c for c in left if left.count(c) == 1 and c.isalpha()))
    return [letters[c][0] if c in letters else UNKNOWN for c in out]


def _bind_letters(call: MethodCall, word: str, t: Type, letters: dict[str, tuple[Type, Type]]) -> bool:
    """Bind the letters of an operand to its axes; return False if they conflict."""
    axes = axes_of_operand(t)
    if axes is None:
        return True
    if len(axes) != len(word):
        call.fail(
            ERROR,
            f"`{word}` is for a tensor with {length_text(word)}, and this one has {length_text(axes)}",
            f"value: {call.show(t)}",
        )
        return False
    for letter, axis in zip(word, axes, strict=True):
        before, where = letters.get(letter, (axis, t))
        if (common_axis := unify_axes(before, axis)) is None:
            call.fail(
                ERROR,
                f"`{letter}` is {call.shown(before)} and {call.shown(axis)}",
                f"left:  {call.show(where)}",
                f"right: {call.show(t)}",
                f"try:   use another letter for one of them, or move `{letter}` in `{word}`",
            )
            return False
        letters[letter] = common_axis, where
    return True
