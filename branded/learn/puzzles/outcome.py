"""The outcome of a call: a tree of arrays, or an error.

Arrays are compared as lists of numbers, so that puzzles can be judged in a browser, where numpy is missing.
"""

from __future__ import annotations

import math
import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tinygrad
from tinygrad import Tensor, dtypes

import branded
from branded import tree
from branded.tinygrad_compat.lazy_numpy import np

WIDTH = 88
"""The length at which values are cut, so that a verdict stays readable."""


class Array:
    """The elements of an array.

    Args:
        cells: Nested lists of numbers, or one number.
        shape: The shape.
        dtype: The dtype, by its name in tinygrad.
    """

    def __init__(self, cells: Any, shape: tuple[int, ...], dtype: str) -> None:
        self.cells, self.shape, self.dtype = cells, shape, dtype

    @classmethod
    def of(cls, x: Any) -> Array:
        """Convert a numpy array or a number."""
        x = np.asarray(x)
        return cls(x.tolist(), x.shape, x.dtype.name)

    def flat(self) -> list[Any]:
        found = [self.cells]
        for _ in self.shape:
            found = [x for part in found for x in part]
        return found

    def tensor(self) -> Tensor:
        return Tensor(self.cells, dtype=getattr(dtypes, self.dtype)).reshape(self.shape)


class Outcome:
    """The result of a call, or its error.  Two outcomes are equal if their values agree to 5 digits.

    Args:
        value: A tree of arrays.
        error: The exception that was raised.
    """

    def __init__(self, value: Any = None, error: Exception | None = None) -> None:
        self.value, self.error = value, error

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Outcome):
            return NotImplemented
        if self.error is not None or other.error is not None:
            return type(self.error) is type(other.error) and _first_line(self.error) == _first_line(other.error)
        ours, theirs = tree.leaves(self.value), tree.leaves(other.value)
        return _form(self.value) == _form(other.value) and all(map(_close, ours, theirs))

    def __str__(self) -> str:
        if self.error is None:
            return value_text(self.value)
        where = traceback.extract_tb(self.error.__traceback__)
        users = [f for f in where if not f.filename.startswith(_PACKAGES)]
        at = f" (line {users[-1].lineno})" if users else ""
        first, *rest = str(self.error).splitlines() or [""]
        return "\n".join([f"{type(self.error).__name__}: {first}{at}", *rest])


_PACKAGES = tuple(str(Path(str(m.__file__)).parent) + os.sep for m in (branded, tinygrad, os))
"""Folders of code that is not the learner's: branded, tinygrad, and Python's library with all installed packages."""


def outcome(f: Callable[..., Any], args: tuple[Any, ...], *, as_tensors: bool = True) -> Outcome:
    """Call `f` on new tensors of these arrays, or on the arguments unchanged."""
    own = tree.map(lambda x: x.tensor() if isinstance(x, Array) else x, args) if as_tensors else args
    try:
        out = f(*own)
        values = [_array(x) for x in tree.leaves(out)]
    except Exception as error:  # any error of the learner's code
        return Outcome(error=error)
    return Outcome(tree.rebuild(out, iter(values)))


def arrays(x: Any) -> Any:
    """Convert the numpy arrays of a tree to `Array`."""
    return tree.map(lambda v: Array.of(v) if isinstance(v, np.ndarray) else v, x)


def value_text(x: Any) -> str:
    """Return a value as text for a message: `[[1.0, 2.0]], shape (1, 2)`; a function is shown by its docstring."""
    if callable(x) and not isinstance(x, Tensor):
        return str(x.__doc__)
    leaves = [_round_cells(v.cells) if isinstance(v, Array) else v for v in tree.leaves(x)]
    text = " ".join(str(tree.rebuild(x, iter(leaves))).split())
    text = text if len(text) <= WIDTH else text[:WIDTH] + " ..."
    return f"{text}, shape {x.shape}" if isinstance(x, Array) else text


def _array(x: Any) -> Any:
    if isinstance(x, Tensor):
        return Array(x.tolist(), x.shape, x.dtype.name)
    if isinstance(x, bool | int | float):
        return Array(x, (), type(x).__name__)
    return Array.of(x) if isinstance(x, np.ndarray | np.generic) else x


def _round_cells(x: Any) -> Any:
    return list(map(_round_cells, x)) if isinstance(x, list) else float(f"{x:.6g}") + 0.0


def _form(x: Any) -> Any:
    """Return the containers of a tree; lists and tuples count as the same."""
    if (n := tree.node(x)) is None:
        return None
    return "dict" if isinstance(x, dict) else "tuple", n.keys, tuple(map(_form, n.children))


def _close(a: Any, b: Any) -> bool:
    if isinstance(a, Array) and isinstance(b, Array):
        return tuple(a.shape) == tuple(b.shape) and all(map(near, a.flat(), b.flat()))
    return type(a) is type(b) and not isinstance(a, Array) and bool(a == b)


def near(a: float, b: float) -> bool:
    """Return whether two numbers agree to 5 digits, the precision of the sums in the puzzles in float32."""
    if math.isfinite(a) and math.isfinite(b):
        return abs(a - b) <= 1e-6 + 1e-5 * abs(b)
    return a == b or (a != a and b != b)


def _first_line(error: Exception | None) -> str:
    return str(error).partition("\n")[0]
