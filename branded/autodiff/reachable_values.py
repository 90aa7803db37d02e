"""Search all values that a function may use when it is called later, through its closure."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterable
from typing import Any

from tinygrad import Tensor

_PLAIN = (Tensor, type, types.ModuleType, types.BuiltinFunctionType, str, bytes, int, float, complex, type(None))

_MANY = 1000


def reaches(xs: Iterable[Any], is_it: Callable[[Any], bool]) -> bool:
    """Return whether any value reachable from `xs` satisfies `is_it`; True if a value cannot be inspected."""
    visited, todo = set[int](), list(xs)
    while todo:
        x = todo.pop()
        if id(x) in visited:
            continue
        visited.add(id(x))
        if is_it(x) or len(visited) > _MANY:
            return True
        if isinstance(x, _PLAIN):
            continue
        if (held := _references(x)) is None:
            return True
        todo += held
    return False


def _references(x: Any) -> list[Any] | None:
    """Return the values that `x` holds, or None if they are unknown."""
    if isinstance(x, types.FunctionType):
        cells = [c.cell_contents for c in x.__closure__ or () if not _is_empty(c)]
        return [*cells, *(x.__defaults__ or ()), *(x.__kwdefaults__ or {}).values()]
    if isinstance(x, types.MethodType):
        return [x.__func__, x.__self__]
    if isinstance(x, functools.partial):
        return [x.func, *x.args, *x.keywords.values()]
    attributes = [*vars(x).values()] if hasattr(x, "__dict__") else []
    if isinstance(x, tuple | list | set | frozenset):
        return [*x, *attributes]
    if isinstance(x, dict):
        return [*x.values(), *attributes]
    return attributes or None


def _is_empty(cell: types.CellType) -> bool:
    """Return whether this is the cell of a name without a value."""
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return True
    return False
