"""The location and the text of the user's running code, for messages."""

from __future__ import annotations

import ast
import contextlib
import functools
import os
import sys
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple


class Where(NamedTuple):
    """The source range of an operation; lines count from 1, columns from 0."""

    file: str
    line: int
    end_line: int
    column: int
    end_column: int


_PACKAGE = Path(__file__).parents[1]
_OWN = (f"{_PACKAGE}{os.sep}", contextlib.__file__, functools.__file__)
_USERS = tuple(f"{_PACKAGE / folder}{os.sep}" for folder in ("learn/demo", "learn/explorer/examples", "learn/puzzles"))
"""Folders of this package whose files count as user code, except `_PUZZLES`, which raises errors of its own."""
_PUZZLES = str(_PACKAGE / "learn/puzzles/__init__.py")


_COMMAND = f"{_PACKAGE / 'cli'}{os.sep}"


@functools.cache
def _tinygrad() -> str:
    """Return the folder of tinygrad, looked up in `sys.modules` because the mypy plugin runs without tinygrad."""
    return f"{Path(sys.modules['tinygrad'].__path__[0])}{os.sep}" if "tinygrad" in sys.modules else "\0"


def is_ours(file: str) -> bool:
    """Return whether a file belongs to this package or to tinygrad rather than to the user."""
    return file.startswith((*_OWN, _tinygrad())) and (not file.startswith(_USERS) or file == _PUZZLES)


def frame() -> FrameType | None:
    """Return the innermost frame outside this package and tinygrad, or None if there is none, as in a command."""
    f: FrameType | None = sys._getframe(1)
    while f is not None and is_ours(f.f_code.co_filename):
        if f.f_code.co_filename.startswith(_COMMAND):
            return None
        f = f.f_back
    return None if f is None or f.f_code.co_filename.startswith("<frozen") else f


def asking(but: str) -> str | None:
    """Return the name of the tinygrad function that the user called, or None if the user called this package directly.

    Functions named `but` are skipped, because they only call others.
    """
    name: str | None = None
    f: FrameType | None = sys._getframe(1)
    while f is not None and is_ours(file := f.f_code.co_filename):
        if file.startswith(_tinygrad()) and f.f_code.co_name != but:
            name = f.f_code.co_name
        f = f.f_back
    return name


@functools.lru_cache(maxsize=64)
def _positions(code: CodeType) -> list[tuple[int | None, int | None, int | None, int | None]]:
    return list(code.co_positions())


def frames(until: int) -> list[FrameType]:
    """Return the user's frames, innermost first, up to the frame with the `id` `until`."""
    out: list[FrameType] = []
    f = frame()
    while f is not None and id(f) != until:
        if not is_ours(f.f_code.co_filename):
            out.append(f)
        f = f.f_back
    return out


def where(f: FrameType) -> Where:
    """Return the source range that runs in this frame."""
    line, end_line, column, end_column = _positions(f.f_code)[f.f_lasti // 2]
    line = line or f.f_lineno
    return Where(f.f_code.co_filename, line, end_line or line, column or 0, end_column or 0)


def here() -> Where | None:
    """Return the source range of the user's running call, or None if no user code runs."""
    f = frame()
    return None if f is None else where(f)


def place(file: str, line: int) -> str:
    """Return a location as `app.py:12`."""
    return f"{file.replace(chr(92), '/').rsplit('/', 1)[-1]}:{line}"


def lines(file: str, module_globals: dict[str, Any] | None = None) -> list[str]:
    """Return the lines of a file, or of the source of the module with these globals.

    `<string>` has no lines.  `exec` uses this name, and from Python 3.13 on `linecache` would return the source of
    `python -c` for it.
    """
    import linecache

    return [] if file == "<string>" else linecache.getlines(file, module_globals)


def line(file: str, number: int) -> str:
    """Return one line without surrounding whitespace, or an empty string if the line does not exist."""
    return file_lines[number - 1].strip() if 0 < number <= len(file_lines := lines(file)) else ""


def parse(file: str, module_globals: dict[str, Any] | None = None) -> ast.Module | None:
    """Return the syntax tree of a file, or of a module as in `lines`; None if it is not Python."""
    return parse_lines(tuple(lines(file, module_globals)))


@functools.lru_cache(maxsize=8)
def parse_lines(lines: tuple[str, ...]) -> ast.Module | None:
    try:
        return ast.parse("".join(lines))
    except (SyntaxError, ValueError):
        return None


def running(f: FrameType | None = None) -> list[ast.AST]:
    """Return the user's running AST nodes in this frame or the innermost one: the expression, then its ancestors.

    The list is empty if the source is unavailable, as for code typed at a prompt.
    """
    f = f or frame()
    if f is None or (tree := parse(f.f_code.co_filename, f.f_globals)) is None:
        return []
    w = where(f)
    start, end = (w.line, w.column), (w.end_line, w.end_column)
    nodes: list[ast.AST] = [tree]
    while inner := [x for x in ast.iter_child_nodes(nodes[-1]) if _holds(x, start, end)]:
        nodes.append(inner[-1])
    return nodes[::-1]


_PLACELESS = (ast.arguments, ast.comprehension, ast.match_case, ast.withitem)


def _holds(x: ast.AST, start: tuple[int, int], end: tuple[int, int]) -> bool:
    if isinstance(x, _PLACELESS):  # these nodes have no position, but their children do
        return any(_holds(y, start, end) for y in ast.iter_child_nodes(x))
    if not isinstance(x, ast.expr | ast.stmt | ast.keyword | ast.ExceptHandler):
        return False
    return (x.lineno, x.col_offset) <= start and end <= (x.end_lineno or 0, x.end_col_offset or 0)


def is_running(text: str) -> bool:
    """Return whether `text` is the user's running code, or a larger expression or statement that contains it."""
    try:
        written = ast.unparse(ast.parse(text))
    except (SyntaxError, ValueError):  # not code
        return False
    return any(ast.unparse(e) == written for e in running() if isinstance(e, ast.expr | ast.stmt))


def expression(f: FrameType | None = None) -> ast.expr | None:
    """Return the user's running expression in this frame or the innermost one, or None.

    Only its own text is parsed, so the expression has no positions in the file.
    """
    f = f or frame()
    if f is None:
        return None
    w = where(f)
    text = lines(w.file, f.f_globals)[w.line - 1 : w.end_line]
    if not text or w.end_column == 0:  # Python keeps no columns with -X no_debug_ranges
        return None
    ends = [*(len(t.encode()) for t in text[:-1]), w.end_column]
    starts = [w.column, *[0] * (len(text) - 1)]
    return _parse_expression(
        b"".join(t.encode()[a:b] for t, a, b in zip(text, starts, ends, strict=True)).decode(errors="replace")
    )


@functools.lru_cache(maxsize=1024)
def _parse_expression(text: str) -> ast.expr | None:
    try:
        return ast.parse(f"({text}\n)", mode="eval").body
    except (SyntaxError, ValueError):
        return None


def value_of(name: ast.expr) -> object:
    """Return the value of a name in the user's running frame, or None for any other expression."""
    f = frame()
    if f is None or not isinstance(name, ast.Name):
        return None
    return f.f_locals.get(name.id, f.f_globals.get(name.id))


def part(e: ast.expr) -> str:
    """Return the source of an expression, in parentheses if a larger expression would need them."""
    text = ast.unparse(e)
    return text if isinstance(e, ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.Constant) else f"({text})"
