"""The reporting of errors: each place once, also where mypy checks a body several times."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from mypy.checker import TypeChecker
from mypy.errorcodes import ErrorCode
from mypy.errors import ErrorInfo, Errors, ErrorWatcher
from mypy.messages import format_type_bare
from mypy.nodes import Context
from mypy.plugin import AttributeContext, FunctionContext, FunctionSigContext, MethodContext, MethodSigContext
from mypy.types import Type

from branded.mypy.codes import CARRY, ERROR, OPERAND, READ, SHAPE, WRITE, is_brand_code
from branded.mypy.rows.consequences import hide_consequences

AnyContext = AttributeContext | FunctionContext | FunctionSigContext | MethodContext | MethodSigContext


def checker(ctx: AnyContext) -> TypeChecker:
    """Return the type checker of a hook's context."""
    assert isinstance(ctx.api, TypeChecker)
    return ctx.api


def fail(api: TypeChecker, context: Context, code: ErrorCode, message: str, *notes: str) -> None:
    """Report an error, followed by notes with the facts and the suggested fix."""
    api.fail(message, context, code=code)
    for note in notes:
        api.note(f"  {note}", context, code=code)


_trials: list[ErrorWatcher] = []
times_told = [0]
"""The number of calls of `fail_at_once`, which mypy's error watchers do not see."""


class _Trial:
    """A block whose errors are suppressed; mypy's watcher collects them. `contextmanager` takes three times as long."""

    __slots__ = ("watcher",)

    def __init__(self, api: TypeChecker) -> None:
        self.watcher = api.msg.filter_errors(save_filtered_errors=True)

    def __enter__(self) -> ErrorWatcher:
        errors = self.watcher.__enter__()
        _trials.append(errors)
        return errors

    def __exit__(self, *raised: Any) -> None:
        _trials.pop()
        self.watcher.__exit__(*raised)


trying = _Trial


@contextmanager
def past_watchers(errors: Errors, first: int = 0) -> Iterator[None]:
    """Report errors inside the block past the watchers from `first` on."""
    watchers = errors._watchers
    passed = watchers[first:]
    del watchers[first:]
    try:
        yield
    finally:
        watchers.extend(passed)


ONE_PLACE = {CARRY, READ, OPERAND, SHAPE, WRITE}
"""The codes of errors about a value; a body that is checked for several calls reports each place once."""


ErrorPlace = tuple[int, int, ErrorCode | None, str]


def place_of(e: ErrorInfo) -> ErrorPlace:
    return _place(e.line, e.column, e.code, e.message)


def _place(line: int, column: int, code: ErrorCode | None, message: str) -> ErrorPlace:
    """Return the position of our errors: one that begins at the same position is about the same call, or a part of it.

    Errors of mypy at one position may be about several operands of an expression.
    """
    return (line, column, ERROR, "") if is_brand_code(code) else (line, column, code, message)


def new_errors(errors: Iterable[ErrorInfo], places: Container[ErrorPlace]) -> list[ErrorInfo]:
    """Return the errors at other places, each place once, with their notes."""
    found, kept, keeps = set[ErrorPlace](), list[ErrorInfo](), True
    for e in errors:
        if e.severity == "error":
            keeps = (place := place_of(e)) not in found and place not in places
            found.add(place)
        kept += [e] if keeps else []
    return kept


Replaceable = tuple[frozenset[int], list[ErrorInfo]]
"""An error with its notes, and the lines on which another error replaces it."""
_replaceable: dict[str, list[Replaceable]] = {}


def give_way(file: str, replaceable: list[Replaceable]) -> None:
    """Mark errors that later errors replace: mypy may check functions after the statements of a file."""
    _replaceable[file] = replaceable


def replace_errors(errors: Errors, file: str, line: int, message: str) -> None:
    """Remove the errors that an error on this line replaces, also those about the same operation there."""
    reported, operation = errors.error_info_map.get(file, []), message.partition(":")[0]
    for lines, replaced in _replaceable.get(file, ()):
        if line in lines or any(e.line == line and e.message.partition(":")[0] == operation for e in replaced):
            reported[:] = [e for e in reported if not any(e is r for r in replaced)]


def replace_reads(errors: Errors, file: str, note: str) -> None:
    """Remove the errors about the read that a later error names: `reads: layers.py:26, in ...`."""
    place = f"where: {note.strip().removeprefix('reads: ').partition(',')[0]},"
    for _, replaced in _replaceable.get(file, ()):
        if any(e.message.lstrip().startswith(place) for e in replaced):
            reported = errors.error_info_map.get(file, [])
            reported[:] = [e for e in reported if not any(e is r for r in replaced)]


def add_errors(api: TypeChecker, errors: Sequence[ErrorInfo]) -> None:
    """Report errors that were found in a trial, each place once."""
    if not errors:
        return
    kept = new_errors(errors, () if _trials else _reported_places(api, {e.line for e in errors}))
    times_told[0] += len(kept) < len(errors)
    if not _trials:
        _set_target(kept, api)
        hide_consequences(api.errors, [e for e in kept if e.code in ONE_PLACE and e.severity == "error"])
    api.msg.add_errors(kept)


def _target(api: TypeChecker) -> str | None:
    """Return the name of the unit that mypy's daemon checks: a function or a module; a lambda has no name."""
    return api.tscope.current_target() or api.tree.fullname


def _set_target(errors: Iterable[ErrorInfo], api: TypeChecker) -> None:
    """Let mypy's daemon report errors for the unit that it checks, not for a body that was checked or a lambda."""
    for e in errors:
        e.target = _target(api)


def _reported_places(api: TypeChecker, lines: Container[int]) -> set[ErrorPlace]:
    """Return the places of the errors in these lines that were reported for the current target."""
    reported, target = api.errors.error_info_map.get(api.errors.file, ()), _target(api)
    return {place_of(e) for e in reported if e.line in lines and e.severity == "error" and e.target == target}


def fail_at_once(api: TypeChecker, context: Context, code: ErrorCode, message: str, *notes: str) -> None:
    """Report an error even where mypy only tries an alternative, such as an operand of `0 < a`.

    Such an error holds for every alternative. In a trial of the plugin it is one of the errors of the trial.
    """
    times_told[0] += 1
    n = api.errors._watchers.index(_trials[-1]) + 1 if _trials else 0
    if _trials:
        api.binder.version += 1  # mypy must not cache the type without its error
    elif _place(context.line, context.column, code, message) in _reported_places(api, (context.line,)):
        return
    if not _trials:
        replace_errors(api.errors, api.errors.file, context.line, message)
    reported = api.errors.error_info_map.setdefault(api.errors.file, [])
    before = len(reported)
    with past_watchers(api.errors, n):
        fail(api, context, code, message, *notes)
        _set_target(reported[before:], api)
    if not _trials:
        _hide_repeated(reported, before)


def _hide_repeated(reported: Sequence[ErrorInfo], first: int) -> None:
    """Hide errors from `first` on, with their notes, if another function of the file has reported their place.

    A hidden error makes mypy's daemon check its function after each edit, so it is shown if the other one is gone.
    """
    places = {place_of(e) for e in reported[:first] if e.severity == "error" and not e.hidden}
    is_repeated = False
    for e in reported[first:]:
        is_repeated = place_of(e) in places if e.severity == "error" else is_repeated
        e.hidden = e.hidden or is_repeated


def show(t: Type, api: TypeChecker) -> str:
    return format_type_bare(t, api.options)
