"""The user's functions that the explained function calls and that contain some of its steps."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from branded.errors import source
from branded.errors.source import Where


class Called(NamedTuple):
    """A function, or a statement of a module, that contains some of the steps: its name, file and lines."""

    name: str
    file: str
    first: int
    last: int

    def data(self, caller: tuple[int | None, int] | None) -> dict[str, Any]:
        lines = source.lines(self.file)[self.first - 1 : self.last]
        return {
            "name": self.name,
            "file": Path(self.file).name,
            "first_line": self.first,
            "source": textwrap.dedent("".join(lines)).rstrip(),
            "caller": caller,
        }


class Functions:
    """The called functions found so far.

    A place is the index of a function and a line of its text, counted from 1.
    """

    def __init__(self, file: str, first: int, last: int) -> None:
        self.explained = Called("", file, first, last)
        self.found: list[Called] = []

    def place(self, where: Where | None) -> tuple[int, int] | None:
        """Return the place of an operation in a called function, or None.

        None means that the operation is in the explained function, or that its file is unknown.
        """
        if where is None or (function := _enclosing(where.file, where.line)) is None:
            return None
        if (
            self.explained.file == function.file
            and self.explained.first <= function.first
            and function.last <= self.explained.last
        ):
            return None
        if function not in self.found:
            self.found.append(function)
        return self.found.index(function), where.line - function.first + 1

    def data(self) -> list[dict[str, Any]]:
        """Return the functions, each with its text and the place of its call (index None: the explained function)."""
        callers = []
        for f in self.found:  # the loop appends to the list: a caller may not contain a step
            callers.append(self._caller(f))
        return [f.data(caller) for f, caller in zip(self.found, callers, strict=True)]

    def _caller(self, called: Called) -> tuple[int | None, int] | None:
        for i, f in ((None, self.explained), *enumerate(self.found)):
            if f is not called and (line := _first_mention(f, called.name)) is not None:
                return i, line - f.first + 1
        if (other := _mentioning_function(called)) is None or other in self.found:
            return None
        self.found.append(other)
        return len(self.found) - 1, (_first_mention(other, called.name) or other.first) - other.first + 1


def _mentioning_function(called: Called) -> Called | None:
    """Return the first other function of the file that mentions this function."""
    module = source.parse(called.file)
    for x in () if module is None else _uses_of(module, called.name):
        f = _enclosing(called.file, x.lineno)
        if f is not None and f != called and _is_function(f):
            return f
    return None


def _is_function(f: Called) -> bool:
    module = source.parse(f.file)
    return module is not None and any(
        isinstance(x, ast.FunctionDef) and _first_line(x) == f.first for x in ast.walk(module)
    )


def _enclosing(file: str, line: int) -> Called | None:
    """Return the innermost function that contains a line, else the statement of the module."""
    if (module := source.parse(file)) is None:
        return None
    body = [x for x in module.body if x.lineno <= line <= (x.end_lineno or 0)]
    defs = [
        x for x in ast.walk(module) if isinstance(x, ast.FunctionDef) and _first_line(x) <= line <= (x.end_lineno or 0)
    ]
    if defs:
        f = max(defs, key=lambda x: x.lineno)
        return Called(f.name, file, _first_line(f), f.end_lineno or line)
    if not body:
        return None
    name = next((x.id for x in ast.walk(body[0]) if isinstance(x, ast.Name)), "")
    return Called(name, file, body[0].lineno, body[0].end_lineno or line)


def _first_line(f: ast.FunctionDef) -> int:
    return min((f.lineno, *(d.lineno for d in f.decorator_list)))


def _first_mention(f: Called, name: str) -> int | None:
    """Return the first line of a function that mentions another one."""
    module = source.parse(f.file)
    if module is None or not name:
        return None
    lines = [x.lineno for x in _uses_of(module, name) if f.first <= x.lineno <= f.last]
    return min(lines, default=None)


def _uses_of(module: ast.Module, name: str) -> Iterator[ast.Name | ast.Attribute]:
    for x in ast.walk(module):
        if (isinstance(x, ast.Name) and x.id == name) or (isinstance(x, ast.Attribute) and x.attr == name):
            yield x
