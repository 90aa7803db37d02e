"""Whether modules are of one kind, so that their states can be stacked: they differ in the values of tensors alone."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import Any

from tinygrad import Tensor
from tinygrad.uop.ops import UOp

from branded import tree
from branded.core.values import vec_type
from branded.errors import StateError
from branded.graph.rows import check_live
from branded.tinygrad_compat.lazy_numpy import np
from branded.tinygrad_compat.private_api import _TinyJit


def check_alike(modules: Sequence[object], states: Sequence[dict[str, Tensor]], i: int) -> None:
    """Raise StateError if module `i` differs from the first one in more than the values of its tensors."""
    api_name, first, other = f"stack_module_state: modules 1 and {i + 1}", states[0], states[i]
    if type(modules[i]) is not type(modules[0]):
        raise StateError(
            f"{api_name} are of different classes",
            ("module 1", tree.describe(modules[0])),
            (f"module {i + 1}", tree.describe(modules[i])),
            fix="stack each class by itself",
        )
    if missing := next((name for name in (*first, *other) if name not in first or name not in other), None):
        has, lacks = (0, i) if missing in first else (i, 0)
        raise StateError(
            f"{api_name} have different tensors: module {lacks + 1} has no `{missing}`, and module {has + 1} has one"
        )
    for name, x in first.items():
        y = other[name]
        check_live(x.uop, f"stack_module_state: `{name}`")
        if x.shape != y.shape or x.dtype != y.dtype:
            raise StateError(
                f"{api_name} differ in `{name}`", ("module 1", vec_type(x)), (f"module {i + 1}", vec_type(y))
            )
    for name, one, two in zip(first, _first_names(first), _first_names(other), strict=True):
        if one != two:
            pair = f"`{one if one != name else two}` and `{name}`"
            raise StateError(
                f"{api_name} differ in which tensors they share",
                ("module 1", f"{pair} are {'one' if one != name else 'two'}"),
                (f"module {i + 1}", f"{pair} are {'one' if two != name else 'two'}"),
            )
    mine, theirs = _constants(modules[0]), _constants(modules[i])
    for name in {**mine, **theirs}:
        both = mine.get(name, _NONE), theirs.get(name, _NONE)
        if not _is_same(*both):
            raise StateError(
                f"{api_name} differ in `{name}`, and only tensors are stacked",
                ("module 1", _constant(both[0])),
                (f"module {i + 1}", _constant(both[1])),
                fix="store the number as a Tensor, or call the modules one by one",
            )


_NONE = object()


def _constants(module: object) -> dict[str, Any]:
    """Return the numbers and functions of a module by name, in the places that `get_state_dict` searches."""
    constants: dict[str, Any] = {}
    waiting: list[tuple[str, Any]] = [("", module)]
    while waiting:
        name, x = waiting.pop()
        if isinstance(x, Tensor | UOp | _TinyJit | type):
            continue
        if isinstance(x, int | float | complex | np.generic | np.ndarray | FunctionType):
            constants[name] = x
            continue
        x = x._asdict() if hasattr(x, "_asdict") else x if isinstance(x, dict) else getattr(x, "__dict__", x)
        parts = enumerate(x) if isinstance(x, list | tuple) else x.items() if isinstance(x, dict) else ()
        waiting.extend((f"{name}.{key}" if name else str(key), part) for key, part in parts)
    return constants


def _is_same(x: Any, y: Any) -> bool:
    """Return whether these are equal numbers, or functions with the same code."""
    if isinstance(x, FunctionType) and isinstance(y, FunctionType):
        x, y = inspect.unwrap(x), inspect.unwrap(y)
        return x is y or (hasattr(x, "__code__") and hasattr(y, "__code__") and x.__code__ is y.__code__)
    if x is _NONE or y is _NONE or isinstance(x, FunctionType) or isinstance(y, FunctionType):
        return False
    return np.array_equal(x, y, equal_nan=all(np.asarray(v).dtype.kind in "fc" for v in (x, y)))


def _constant(x: Any) -> str:
    if x is _NONE:
        return "none"
    return x.__qualname__ if isinstance(x, FunctionType) else tree.describe(x)


def _first_names(state: Mapping[str, Tensor]) -> list[str]:
    """Return for each name the first name of the same tensor."""
    first: dict[int, str] = {}
    return [first.setdefault(id(x), name) for name, x in state.items()]
