"""The programs by name, and the form in which their results are stored and compared."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

KINDS = (
    "derivatives",
    "operations",
    "branches",
    "loops",
    "collectives",
    "custom",
    "nesting",
    "functions",
    "linalg",
    "draws",
)


class Program(NamedTuple):
    run: Callable[[Any], Any]
    finite: bool  # if true, a NaN or an infinity in the result is an error


PROGRAMS: dict[str, Program] = {}


def program(f: Callable[[Any], Any] | None = None, *, finite: bool = True) -> Any:
    """Register `f(m)`, a program for a module `m`: `with_jax` or `with_branded`."""
    if f is None:
        return lambda f: program(f, finite=finite)
    name = f"{f.__module__.rpartition('.')[2]}.{f.__name__}"
    if name in PROGRAMS:
        raise ValueError(f"two programs have the name {name}")
    PROGRAMS[name] = Program(f, finite)
    return f


def load() -> dict[str, Program]:
    for kind in KINDS:
        importlib.import_module(f"tests.golden.{kind}")
    return PROGRAMS


def some(*shape: int) -> np.ndarray:
    """Return float32 elements in [-1, 1), all different."""
    n = np.arange(np.prod(shape, dtype=int))
    return ((n * 37 + 20) % 101 / 50.5 - 1).astype(np.float32).reshape(shape)


def array(x: Any) -> np.ndarray:
    """Convert to bool, int32 or float32, according to the kind of `x`."""
    a = np.asarray(x)
    return a.astype({"b": np.bool_, "i": np.int32}.get(a.dtype.kind, np.float32))


def flat(x: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the leaves of a result with their paths: indices for tuples and lists, keys for dicts."""
    items = x.items() if isinstance(x, dict) else enumerate(x) if isinstance(x, tuple | list) else None
    if items is None:
        yield path, x
    else:
        for key, value in sorted(items):
            yield from flat(value, f"{path}.{key}" if path else str(key))
