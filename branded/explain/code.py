"""Read the user's code: the text of a function, and the code at a position in a file."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from branded.errors import source
from branded.errors.source import Where

_CODE = 60


class Source(NamedTuple):
    """The text of a function, with its file and lines."""

    text: str
    file: str
    first_line: int

    @classmethod
    def of(cls, f: Callable[..., Any]) -> Source:
        function = inspect.unwrap(f)
        try:
            lines, first = inspect.getsourcelines(function)
            file = inspect.getsourcefile(function) or ""
        except (OSError, TypeError):  # typed at a prompt, or written in C
            return cls("", "", 1)
        if file and not source.lines(file):
            return cls("", "", 1)
        return cls("".join(lines), file, max(first, 1))

    def line(self, where: Where | None) -> int | None:
        """Return the line of the text, from 1, that contains an operation, or None."""
        if where is None or where.file != self.file:
            return None
        line = where.line - self.first_line + 1
        return line if 1 <= line <= self.text.count("\n") + 1 else None

    def code(self, where: Where) -> str:
        """Return the code at a position, on one line."""
        lines = source.lines(where.file)
        part = [line.encode() for line in lines[where.line - 1 : where.end_line]]
        if not part or where.end_column <= 0:
            return ""
        part[-1] = part[-1][: where.end_column]
        part[0] = part[0][where.column :]
        text = " ".join(b"".join(part).decode(errors="replace").split())
        return text if len(text) <= _CODE else text[: _CODE - 1] + "…"


def at(where: Where | None) -> str:
    """Return a position as `app.py:12`."""
    return "" if where is None else f"{Path(where.file).name}:{where.line}"


def function_name(f: Callable[..., Any]) -> str:
    return str(getattr(f, "__name__", type(f).__name__))
