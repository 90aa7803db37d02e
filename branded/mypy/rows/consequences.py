"""Errors of mypy that follow from errors of the plugin: they are hidden, so that one mistake gives one error.

float(x)     "float: a value that varies over x has no single float", and mypy's error about the argument
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from mypy.errors import ErrorInfo, Errors

from branded.mypy.codes import is_brand_code

_ARGUMENT = re.compile(r'Argument (?:\d+|"\w+") to "(\w+)"')


def is_consequence(info: ErrorInfo, ours: Sequence[ErrorInfo]) -> bool:
    """Return whether we have rejected a part of the expression of mypy's error, or the call whose argument it is.

    Then mypy's type of the whole is a guess, and its error about the argument says the same as ours.
    """
    first, last = (info.line, info.column), end_of(info)
    called = _ARGUMENT.match(info.message)
    calls = [e for e in ours if called and e.message.partition(":")[0].rpartition(".")[2] == called[1]]
    return any(first <= (e.line, e.column) < last for e in ours) or any(
        (e.line, e.column) <= first and last <= end_of(e) for e in calls
    )


def end_of(e: ErrorInfo) -> tuple[int, int]:
    return e.end_line or e.line, e.end_column or e.column


def hide(errors: Errors, file: str, info: ErrorInfo) -> None:
    """Record an error that mypy does not print: its daemon checks the function again after each edit.

    If the error that is its cause is gone, mypy then prints it.
    """
    info.hidden = True
    errors.error_info_map[file].append(info)


def hide_consequences(errors: Errors, ours: Sequence[ErrorInfo]) -> None:
    """Hide the errors of mypy in the current file that follow from ours; mypy may have checked a body before."""
    for e in errors.error_info_map.get(errors.file, ()) if ours else ():
        e.hidden = e.hidden or (not is_brand_code(e.code) and is_consequence(e, ours))
