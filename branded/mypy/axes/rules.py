"""Axes of elementwise operations and reductions."""

from __future__ import annotations

from collections.abc import Sequence

from mypy.nodes import Expression, ListExpr, NameExpr, TupleExpr
from mypy.types import Type

from branded.mypy.axes.calls import Axes, Known, MethodCall
from branded.mypy.axes.types import broadcast_axis, is_named, of_length
from branded.mypy.codes import AXIS_RANGE, ERROR
from branded.mypy.rows.algebra import UNKNOWN


def length_text(axes: Sequence[object], one: str = "axis", many: str = "axes") -> str:
    n = len(axes)
    return f"no {many}" if n == 0 else f"1 {one}" if n == 1 else f"{n} {many}"


def literal_position(call: MethodCall, n: int | None, axes: Axes, more: int = 0) -> int | None:
    """Return the non-negative position for a literal axis; report an error if it is out of range."""
    size = len(axes) + more
    if n is None or -max(size, 1) <= n < max(size, 1):  # tinygrad takes axis 0 of a scalar
        return n if n is None or n >= 0 else n + size
    call.fail(
        AXIS_RANGE, f"axis {n} of a tensor with {length_text(axes)}", f"value: {call.show(call.self_type or axes[0])}"
    )
    return None


def axis_positions(call: MethodCall, name: str, axes: Axes) -> list[int] | None:
    """Return the positions that `axis=` selects: all without an argument, None if unknown."""
    e = call.expression(name)
    if e is None or (isinstance(e, NameExpr) and e.name == "None"):
        return list(range(len(axes))) if not call.starred else None
    each: list[Expression] = list(e.items) if isinstance(e, TupleExpr | ListExpr) else [e]
    positions = [literal_position(call, call.literal(i), axes) for i in each]
    return [i for i in positions if i is not None] if None not in positions else None


def same_axes(call: MethodCall) -> Known:
    """Return the axes of an elementwise operation such as `x.exp()`: the axes of `x`."""
    return call.own


def bitcast_axes(call: MethodCall) -> Known:
    """Return the axes of `x.bitcast(dtype)`: a dtype of another size changes the length of the last axis."""
    return [*call.own[:-1], UNKNOWN] if call.own else call.own


def same_axes_along(call: MethodCall) -> Known:
    """Return the axes of `x.softmax(axis)`: the axes of `x`, after checking `axis`."""
    for name in ("axis", "dim", "dim0"):
        if call.own is not None and call.is_given(name) and axis_positions(call, name, call.own) is None:
            break
    return call.own


def two_results(call: MethodCall) -> list[Known]:
    """Return the axes of `x.sort()`: two tensors with the shape of `x`."""
    axes = same_axes_along(call)
    return [axes, axes]


def broadcast_operands(call: MethodCall) -> Known:
    """Return the axes of `x + y`, broadcast from the right."""
    axes = call.own
    for name in call.given:
        if name not in _NO_OPERANDS:
            for t in call.types(name):
                axes = broadcast_axes(call, axes, call.axes(name), t)
    return axes


_NO_OPERANDS = {"reverse", "rounding_mode", "dtype", "rtol", "atol", "equal_nan", "uops"}


def broadcast_axes(call: MethodCall, left: Known, right: Known, other: Type) -> Known:
    """Broadcast the axes of two operands; report an error if they are incompatible."""
    if left is None or right is None:
        return None
    n = max(len(left), len(right))
    padded = [[of_length(1, call.scope)] * (n - len(axes)) + axes for axes in (left, right)]
    result_axes = []
    for i, (a, b) in enumerate(zip(*padded, strict=True)):
        if (axis := broadcast_axis(a, b)) is None:
            met = f"{call.shown(a)} differs from {call.shown(b)} at axis {i - n}"
            call.fail(ERROR, met, *_sides(call, other), f"try:   {_alignment_advice(left, right)}")
            return None
        result_axes.append(axis)
    return result_axes


def _sides(call: MethodCall, other: Type) -> list[str]:
    left = [f"left:  {call.show(call.self_type)}"] if call.self_type is not None else []
    return [*left, f"right: {call.show(other)}"]


def _alignment_advice(left: Axes, right: Axes) -> str:
    """Return a suggestion that aligns the axes of the operands."""
    if sorted(map(str, left)) == sorted(map(str, right)) and len(left) == 2:
        return "transpose one of them"
    short, long = sorted((left, right), key=len)
    if len(short) == 1 and short[0] in long and is_named(short[0]):
        after = len(long) - 1 - long.index(short[0])
        return f"unsqueeze(-1) of the one with 1 axis{'' if after == 1 else f', {after} times'}"
    return "use the axes in one order, unsqueeze(i) for a missing axis, or nest two vmaps for all pairs"


def reduce_axes(call: MethodCall, keepdim: str = "keepdim") -> Known:
    """Return the axes of `x.sum(axis, keepdim)`: reduced axes are removed, or have length 1 with `keepdim`."""
    axes, keep = call.own, call.flag(keepdim)
    if axes is None or keep is None or (gone := axis_positions(call, "axis", axes)) is None:
        return None
    one = of_length(1, call.scope)
    return [one if i in gone else a for i, a in enumerate(axes) if keep or i not in gone]


def argmax_axes(call: MethodCall) -> Known:
    """Return the axes of `x.argmax(axis, keepdim)`; without `axis` the result is a scalar, whatever `keepdim` is."""
    e = call.expression("axis")
    if call.own is not None and not call.starred and (e is None or (isinstance(e, NameExpr) and e.name == "None")):
        return []
    return reduce_axes(call)


def reduce_axes_twice(call: MethodCall) -> list[Known]:
    """Return the axes of `x.var_mean()`: two reductions."""
    axes = reduce_axes(call)
    return [axes, axes]
