"""The axes of tensors: from the values of a program, and as text."""

from __future__ import annotations

from collections.abc import Sequence

from mypy.types import Instance, Type, TypeVarType

from branded.mypy.axes.types import axis_length, known_length
from branded.mypy.rows.algebra import UNKNOWN as ANY_AXIS
from branded.mypy.shapes.state import FileState
from branded.mypy.shapes.values import Fact, Shaped, as_number, is_any_axis, is_int, items_of


def format_axes(axes: Sequence[Type]) -> str:
    """Format the axes of a tensor as a shape: `(4, Users)`."""
    inner = ", ".join(map(_describe_axis, axes))
    return f"({inner},)" if len(axes) == 1 else f"({inner})"


def _describe_axis(axis: Type) -> str:
    n, name = known_length(axis), format_axis(axis)
    return name if n is None or name == str(n) else f"{name}:{n}"


def format_axis(axis: Type) -> str:
    if is_any_axis(axis):
        return "?"
    if (n := axis_length(axis)) is not None:
        return str(n)
    return axis.type.name if isinstance(axis, Instance) else axis.name if isinstance(axis, TypeVarType) else str(axis)


def axis_of(run: FileState, n: int | None) -> Type:
    """Return the axis of a length; any axis if it is unknown or negative."""
    return ANY_AXIS if n is None or n < 0 else run.length(n)


def axis_of_value(run: FileState, value: Fact) -> Type:
    """Return the axis whose length is a value."""
    if isinstance(axis := getattr(value, "axis", None), Type):
        return axis
    n = as_number(value)
    if n is not None:
        return run.length(n)
    return ANY_AXIS


def shape_of(run: FileState, values: Sequence[Fact]) -> Shaped:
    """Return the array of a shape that is passed as `f(3, n)` or `f((3, n))`."""
    entries = items_of(values[0]) if len(values) == 1 and items_of(values[0]) is not None else list(values)
    if entries is None or any(not is_int(v) and len(values) == 1 for v in entries):
        return Shaped() if entries != [] else Shaped(())
    return Shaped(tuple(axis_of_value(run, v) for v in entries))
