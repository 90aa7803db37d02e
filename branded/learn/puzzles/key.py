"""What is right, as text: worked out where numpy is, and read where it is not, in a browser."""

from __future__ import annotations

import json
import sys
from types import FunctionType
from typing import Any

from branded import tree
from branded.learn.puzzles import PUZZLES, Write
from branded.learn.puzzles.outcome import Array, Outcome
from branded.learn.puzzles.puzzle import Case


def key() -> list[dict[str, Any]]:
    """For each puzzle what a page needs to ask it: its number; the code that a learner begins with, and what is right
    of it as text for `read`, where it asks for a function.  What is predicted stands in the page.

    Example:
        >>> from branded.learn.puzzles.key import key
        >>> puzzle = key()[3]
        >>> puzzle["number"], puzzle["start"].split("(")[0]
        (4, 'def dots')
    """
    return [
        {"number": p.number, "start": p.start, "right": written(p)} if isinstance(p, Write) else {"number": p.number}
        for p in PUZZLES
    ]


def written(puzzle: Write) -> str:
    """The cases that an answer is tried on."""
    return json.dumps([[_plain(args), _plain(wanted.value)] for args, wanted in puzzle.cases()])


def read(right: str) -> list[Case]:
    """The cases, from that text."""
    return [Case(_value(args), Outcome(_value(wanted))) for args, wanted in json.loads(right)]


def _plain(x: Any) -> Any:
    """A tree of arrays, numbers and functions in what JSON has: each container and each array says what it is."""
    if isinstance(x, Array):
        return {"array": x.cells, "shape": x.shape, "dtype": x.dtype}
    if isinstance(x, FunctionType):
        return {"function": x.__qualname__, "module": x.__module__}
    if isinstance(x, dict):
        return {"dict": [[k, _plain(v)] for k, v in x.items()]}
    if isinstance(x, tuple | list):
        return {type(x).__name__: [_plain(v) for v in x]}
    if x is None or isinstance(x, bool | int | float | str):
        return x
    raise TypeError(f"a puzzle is tried on trees of arrays, numbers and functions, not on {tree.describe(x)}")


def _value(x: Any) -> Any:
    if not isinstance(x, dict):
        return x
    if "array" in x:
        return Array(x["array"], tuple(x["shape"]), x["dtype"])
    if "function" in x:
        return getattr(sys.modules[x["module"]], x["function"])
    if "dict" in x:
        return {k: _value(v) for k, v in x["dict"]}
    return tuple(map(_value, x["tuple"])) if "tuple" in x else list(map(_value, x["list"]))
