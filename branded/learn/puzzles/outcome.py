"""What a function gives for some arguments: a tree of arrays, or an error."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tinygrad
from tinygrad import Tensor

import branded
from branded import tree

WIDTH = 88
"""Longer values are cut, so that a verdict stays readable."""


class Outcome:
    """A result, or the error in place of it; equal to another if their values agree to 4 digits.

    Args:
        value: A tree of arrays.
        error: What was raised.
    """

    def __init__(self, value: Any = None, error: Exception | None = None) -> None:
        self.value, self.error = value, error

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Outcome):
            return NotImplemented
        if self.error is not None or other.error is not None:
            return type(self.error) is type(other.error) and _what(self.error) == _what(other.error)
        ours, theirs = tree.leaves(self.value), tree.leaves(other.value)
        return _form(self.value) == _form(other.value) and all(map(_close, ours, theirs))

    def __str__(self) -> str:
        if self.error is None:
            return shown(self.value)
        where = traceback.extract_tb(self.error.__traceback__)
        users = [f for f in where if not f.filename.startswith(_PACKAGES)]
        at = f" (line {users[-1].lineno})" if users else ""
        first, *rest = str(self.error).splitlines() or [""]
        return "\n".join([f"{type(self.error).__name__}: {first}{at}", *rest])


_PACKAGES = tuple(str(Path(str(m.__file__)).parent) + os.sep for m in (branded, tinygrad, os))
"""Where the code is that is not the learner's: branded, tinygrad, and Python's library with all that is installed."""


def outcome(f: Callable[..., Any], args: tuple[Any, ...], *, as_arrays: bool = False) -> Outcome:
    """Call `f` on fresh tensors of these arrays, or on the arrays."""
    own = args if as_arrays else tuple(map(_tensors, args))
    try:
        out = f(*own)
        values = [_array(x) for x in tree.leaves(out)]
    except Exception as error:  # the learner's, of any kind
        return Outcome(error=error)
    return Outcome(tree.rebuild(out, iter(values)))


def shown(x: Any) -> str:
    """A value for a message: `[[1.0, 2.0]], shape (1, 2)`; a function by its docstring."""
    if callable(x) and not isinstance(x, Tensor):
        return str(x.__doc__)
    leaves = [_plain(v) for v in tree.leaves(x)]
    text = " ".join(str(tree.rebuild(x, iter(leaves))).split())
    text = text if len(text) <= WIDTH else text[:WIDTH] + " ..."
    return f"{text}, shape {x.shape}" if isinstance(x, np.ndarray) else text


def _tensors(x: Any) -> Any:
    new = [Tensor(v) if isinstance(v, np.ndarray) else v for v in tree.leaves(x)]
    return tree.rebuild(x, iter(new))


def _array(x: Any) -> Any:
    if isinstance(x, Tensor):
        return x.numpy()
    return np.asarray(x) if isinstance(x, np.ndarray | np.generic | int | float) else x


def _plain(x: Any) -> Any:
    return (np.round(np.asarray(x, float), 4) + 0.0).tolist() if isinstance(x, np.ndarray) else x


def _form(x: Any) -> Any:
    """The containers of a tree, in which a list is as good as a tuple."""
    if (n := tree.node(x)) is None:
        return None
    return "dict" if isinstance(x, dict) else "tuple", n.keys, tuple(map(_form, n.children))


def _close(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.shape == b.shape and np.allclose(a, b, rtol=1e-4, atol=1e-4, equal_nan=True)
    return type(a) is type(b) and not isinstance(a, np.ndarray) and bool(a == b)


def _what(error: Exception | None) -> str:
    return str(error).partition("\n")[0]
