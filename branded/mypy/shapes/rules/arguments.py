"""Functions that the rules share: the axes of arguments, the comparison of lengths, and reductions over axes."""

from __future__ import annotations

from collections.abc import Callable

from mypy.nodes import Context
from mypy.types import Type

from branded.mypy.axes.types import known_length
from branded.mypy.shapes.state import FileState
from branded.mypy.shapes.values import NONE, Arguments, Const, Fact, Shaped, as_number, is_number, items_of

Axes = tuple[Type, ...]
Rule = Callable[[FileState, Arguments, Context], Fact]


def axes_of_argument(given: Arguments, position: int, name: str) -> Axes | None:
    """Return the axes of an argument; None if they are unknown."""
    value = given.get(position, name)
    if isinstance(value, Shaped):
        return value.axes
    return () if value is not None and is_number(value) else None


def differ(a: Type, b: Type) -> bool:
    """Return whether two lengths are known and different."""
    m, n = known_length(a), known_length(b)
    return m is not None and n is not None and m != n


def reduction(position: int, name: str = "a", quantile: bool = False) -> Rule:
    """Return the rule of a reduction whose argument `axis` is at this position, followed by `keepdims`."""

    def rule(run: FileState, given: Arguments, at: Context) -> Fact:
        axes, axis = axes_of_argument(given, 0, name), given.get(position, "axis") or NONE
        kept = given.get(position + 1, "keepdims")
        if axes is None or (quantile and axes_of_argument(given, 1, "q") != ()):
            return Shaped()
        entries = items_of(axis)
        chosen = list(range(len(axes))) if axis == NONE else [as_number(i) for i in entries or [axis]]
        if any(i is None or not -len(axes) <= i < len(axes) for i in chosen):
            return Shaped()
        dropped = {i % len(axes) for i in chosen if i is not None} if axes else set()
        if kept is None or kept == Const(False):
            return Shaped(tuple(a for i, a in enumerate(axes) if i not in dropped))
        ones = tuple(run.length(1) if i in dropped else a for i, a in enumerate(axes))
        return Shaped(ones if kept == Const(True) else None)

    return rule
