"""The user's code that runs: its place, and its text, for messages."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple


class Where(NamedTuple):
    """The part of a source file that an operation stands in; lines from 1, columns from 0."""

    file: str
    line: int
    end_line: int
    column: int
    end_column: int


_PACKAGE = Path(__file__).parent
_OWN = (f"{_PACKAGE}{os.sep}", contextlib.__file__, functools.__file__)
_USERS = tuple(f"{_PACKAGE / folder}{os.sep}" for folder in ("learn/demo", "learn/explorer", "learn/puzzles"))
"""Parts of this package that use it as anyone would."""


@functools.cache
def _tinygrad() -> str:
    """Its folder; it is found by its name, for the plugin is imported without it."""
    return f"{Path(sys.modules['tinygrad'].__path__[0])}{os.sep}" if "tinygrad" in sys.modules else "\0"


def is_ours(file: str) -> bool:
    """Is this a file of this package or of tinygrad, and not of who uses them?"""
    return file.startswith((*_OWN, _tinygrad())) and not file.startswith(_USERS)


def frame() -> FrameType | None:
    """The innermost frame that is neither of this package nor of tinygrad; None if there is none."""
    f: FrameType | None = sys._getframe(1)
    while f is not None and is_ours(f.f_code.co_filename):
        f = f.f_back
    return None if f is None or f.f_code.co_filename.startswith("<frozen") else f


@functools.lru_cache(maxsize=64)
def _positions(code: CodeType) -> list[tuple[int | None, int | None, int | None, int | None]]:
    return list(code.co_positions())


def where(f: FrameType) -> Where:
    """What runs in this frame."""
    line, end_line, column, end_column = _positions(f.f_code)[f.f_lasti // 2]
    line = line or f.f_lineno
    return Where(f.f_code.co_filename, line, end_line or line, column or 0, end_column or 0)


def here() -> Where | None:
    """Where the user called this."""
    f = frame()
    return None if f is None else where(f)


def place(file: str, line: int) -> str:
    """`app.py:12`."""
    return f"{file.replace(chr(92), '/').rsplit('/', 1)[-1]}:{line}"


def text() -> str | None:
    """The expression of the user that runs: `x + Tensor.ones(3)`; None where its source is not there, or is long."""
    import linecache

    f = frame()
    if f is None:
        return None
    w = where(f)
    lines = linecache.getlines(w.file, f.f_globals)[w.line - 1 : w.end_line]
    if len(lines) != 1 or w.end_column <= w.column:
        return None
    # columns are counted in bytes
    found = lines[0].encode()[w.column : w.end_column].decode(errors="replace")
    return found if len(found) <= 60 and found.isprintable() else None
