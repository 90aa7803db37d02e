"""The expected results of puzzles as text: they are computed with numpy, and read in a browser without numpy."""

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
    """Return the data that a page needs for each puzzle.

    Each entry has the number of the puzzle.  If the puzzle asks for a function, the entry also has the starter code and
    the expected results as text.  The answers of predictions are on the page of solutions.

    Example:
        >>> from branded.learn.puzzles.expected import key
        >>> puzzle = key()[3]
        >>> puzzle["number"], puzzle["start"].split("(")[0]
        (4, 'def dots')
    """
    return [
        {"number": p.number, "start": p.start, "right": cases_to_text(p)}
        if isinstance(p, Write)
        else {"number": p.number}
        for p in PUZZLES
    ]


def cases_to_text(puzzle: Write) -> str:
    """Return the arguments on which an answer is tried, with the expected results, as text."""
    return json.dumps([[_plain(args), _plain(wanted.value)] for args, wanted in puzzle.cases()])


def cases_from_text(right: str) -> list[Case]:
    """Return the cases of a puzzle, parsed from text."""
    return [Case(_value(args), Outcome(_value(wanted))) for args, wanted in json.loads(right)]


def _plain(x: Any) -> Any:
    """Convert a tree of arrays, numbers and functions to JSON data, with a tag for each container and array."""
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
