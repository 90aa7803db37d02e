"""The axes of tensors: their types for abstract values, and their texts for messages."""

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
    """Format an axis by its name or its length: `Users`, `4`, or `?` if it is unknown."""
    if is_any_axis(axis):
        return "?"
    if (n := axis_length(axis)) is not None:
        return str(n)
    return axis.type.name if isinstance(axis, Instance) else axis.name if isinstance(axis, TypeVarType) else str(axis)


def axis_of(run: FileState, n: int | None) -> Type:
    """Return the type of an axis with a length; if the length is unknown or negative, the type of any axis."""
    return ANY_AXIS if n is None or n < 0 else run.length(n)


def axis_of_value(run: FileState, value: Fact) -> Type:
    """Return the type of the axis whose length is an abstract value."""
    if isinstance(axis := getattr(value, "axis", None), Type):
        return axis
    n = as_number(value)
    if n is not None:
        return run.length(n)
    return ANY_AXIS


def shape_of(run: FileState, values: Sequence[Fact]) -> Shaped:
    """Return an array whose shape is given by the arguments of `f(3, n)` or `f((3, n))`."""
    entries = items_of(values[0]) if len(values) == 1 and items_of(values[0]) is not None else list(values)
    if entries is None or any(not is_int(v) and len(values) == 1 for v in entries):
        return Shaped() if entries != [] else Shaped(())
    return Shaped(tuple(axis_of_value(run, v) for v in entries))
