"""Malformed calls, each with what becomes of it: a mistake that is said in our form, a usage error, or the right value.

A module of this package is a table of calls of some public functions, `ROWS`; that of the commands is `COMMANDS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from branded.errors import BrandedError


class Row(NamedTuple):
    """A call, and the class and first line of its error; or its value, where there is no error."""

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
    """The words behind `python -m branded`, the exit status, and how the one line that is said begins."""

    words: Sequence[str]
    status: int
    says: str
