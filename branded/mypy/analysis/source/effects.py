"""The effects of a followed call: its reads, stores and result."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from branded.mypy.rows.batch_kinds import BatchKind, Made


class Read(NamedTuple):
    """A read in the source of a function."""

    what: str
    """The function or method that reads: `item`, `float`, `bool` for a truth value."""
    path: str
    line: int
    column: int
    function: str
    text: str

    def __str__(self) -> str:
        return f"{Path(self.path).name}:{self.line}, in `{self.function}`: {self.text}"


class Effects(NamedTuple):
    """The effects of a followed call."""

    reads: list[Read]
    """The first read, after the calls that lead to it."""
    stores: dict[str, list[Read]]
    """Where it stores a batched value, by the parameter that holds the value afterwards; "" for a global."""
    made: Made | None = None
    """The object that it returns."""
    changed: Collection[str] | None = None
    """The parameters whose attributes it replaces; None if they are unknown."""
    returned: BatchKind = BatchKind.HOLDS
