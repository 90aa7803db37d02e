"""Malformed calls, each with the expected error in our form, usage error or correct value.

Each module of this package has a table `ROWS` of calls of some public functions; the module of commands has `COMMANDS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from branded.errors import BrandedError


class Row(NamedTuple):
    """A call with the class and the first line of its error, or with its value if it succeeds."""

    name: str
    call: Callable[[], Any]
    error: type[BrandedError] | None
    says: str
    value: Any


def refused(name: str, call: Callable[[], Any], error: type[BrandedError], says: str) -> Row:
    return Row(name, call, error, says, None)


def right(name: str, call: Callable[[], Any], value: Any) -> Row:
    return Row(name, call, None, "", value)


class Command(NamedTuple):
    """The arguments of `python -m branded`, the exit status, and the beginning of the only line of output."""

    words: Sequence[str]
    status: int
    says: str
