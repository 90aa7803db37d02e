"""Recorded output of `explain` for a few functions: `python -m tests.explained` writes it.

Functions in `programs.py` have the full output; those in `real.py` have the story, and its number of lines.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from branded.explain import explain
from branded.explain.story import story
from branded.explain.terminal import text as plain
from tests.explained.programs import PROGRAMS
from tests.explained.real import REAL, named_axes, pairwise

FOLDER = Path(__file__).parent
LINES = FOLDER / "lines.txt"


def path(f: Callable[..., Any]) -> Path:
    return FOLDER / f"{f.__name__}.txt"


def text(f: Callable[..., Any]) -> str:
    return f"{explain(f, full=True)}\n"


def told(f: Callable[..., Any]) -> str:
    """Return the story, which contains no times, of a function."""
    args = named_axes() if f is pairwise else ()
    return f"{plain(story(explain(f, *args)._explained.outline))}\n"


def lines() -> str:
    """Return the number of lines of each story."""
    return "".join(f"{f.__name__:<12}{len(path(f).read_text().splitlines()):>3}\n" for f in REAL)


def write() -> None:
    for f in PROGRAMS:
        path(f).write_text(text(f))
    for f in REAL:
        path(f).write_text(told(f))
    LINES.write_text(lines())
