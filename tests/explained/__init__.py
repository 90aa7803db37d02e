"""What `explain` says of a few functions, kept as text: `python -m tests.explained` writes it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from branded.explain import explain
from tests.explained.programs import PROGRAMS

FOLDER = Path(__file__).parent


def path(f: Callable[..., Any]) -> Path:
    return FOLDER / f"{f.__name__}.txt"


def text(f: Callable[..., Any]) -> str:
    return f"{explain(f)}\n"


def write() -> None:
    for f in PROGRAMS:
        path(f).write_text(text(f))
