"""Notes under mypy's own errors about rows, so that editors and mypy itself show them.

mypy asks its error watchers about each error. The plugin's watcher is the last one, so it sees only the errors that
will be printed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from mypy.errorcodes import ErrorCode
from mypy.errors import ErrorInfo, Errors, ErrorWatcher

from branded.mypy.codes import READ, is_brand_code
from branded.mypy.late_modules import LateModule
from branded.mypy.rows.consequences import end_of, hide, is_consequence
from branded.mypy.rows.reporting import past_watchers, place_of, replace_errors, replace_reads

if TYPE_CHECKING:
    from branded.mypy.analysis.source import conditions
    from branded.mypy.rows import hints
else:
    conditions = LateModule("branded.mypy.analysis.source.conditions")
    hints = LateModule("branded.mypy.rows.hints")

_CODES = {"list-item", "dict-item", "arg-type"}
"""The codes of errors that mypy reports for each item of a display or argument of a call; the first one is enough."""


class _Notes:
    """The filter of a watcher: it reports an error again, in our words and with our notes."""

    def __init__(self, errors: Errors) -> None:
        self.errors = errors
        self.watcher = ErrorWatcher(errors, filter_errors=self.filter)
        self.argument: tuple[str, hints.Argument, ErrorInfo] | None = None
        """The file of the last error about an argument, that argument, and the error."""
        self.is_hidden = False
        """Whether the last error of the plugin was at the place of an earlier one; its notes are hidden too."""

    def filter(self, file: str, info: ErrorInfo) -> bool:
        if info.severity != "error":
            if info.message.startswith("  reads: "):
                replace_reads(self.errors, file, info.message)
            return self.is_hidden and info.message.startswith("  ")
        self.is_hidden = False
        if file in self.errors.ignored_files:
            return False
        is_ours, is_shown = is_brand_code(info.code), info.code is None or self.errors.is_error_code_enabled(info.code)
        asked = hints.truth_of(info.message) if not is_ours else None
        if is_shown or asked is not None:
            replace_errors(self.errors, file, info.line, info.message)
        told = self.errors.error_info_map.get(file, ())
        if info.blocker or is_ours:
            same = (e for e in told if e.severity == "error" and not e.hidden)
            first = next((e for e in same if is_ours and place_of(e) == place_of(info)), None)
            if first is not None:  # either may know only the beginning of the expression
                first.end_line, first.end_column = max(end_of(first), end_of(info))
                if first.target != info.target:
                    hide(self.errors, file, info)
            self.is_hidden = first is not None
            return self.is_hidden
        code = info.code.code if info.code is not None else ""
        is_any = code == "no-any-return"  # an expression with an error is Any, whatever the error is
        causes = [e for e in told if e.severity == "error" and not e.hidden and (is_any or is_brand_code(e.code))]
        # a value that the function computes from such an expression is Any too
        if is_consequence(info, causes) or (is_any and any(e.target == info.target for e in causes)):
            hide(self.errors, file, info)
            return True
        if hints.is_own_self(info.message) or self._is_swapped(file, info):
            return True
        if asked is not None:
            message, notes = asked[0], [asked[1], f"try:   {conditions.truth_fix(file, info)}"]
        else:
            message, notes = info.message, hints.notes_for(info.message)
        if not notes:
            return False
        if code in _CODES and (first := self._first(file, info)) is not None:
            self._note(first, [] if hints.notes_for(first.message) else notes)
            return True
        if is_shown:
            info.message = message
            self._report(info, notes)
        else:  # mypy's `truthy-bool` is optional, but a batched `if x` is always an error
            self._report_as(info, READ, message, notes)
        return True

    def _first(self, file: str, info: ErrorInfo) -> ErrorInfo | None:
        """Return the same error about another item of the display, or another argument of the call."""
        told = (e for e in self.errors.error_info_map.get(file, ()) if e.line == info.line and e.code is info.code)
        same = (e for e in told if hints.without_position(e.message) == hints.without_position(info.message))
        return next((e for e in same if e.message != info.message and e.severity == "error"), None)

    def _is_swapped(self, file: str, info: ErrorInfo) -> bool:
        """Return whether an argument and the one of the last error have each other's types, after a note about both."""
        argument = hints.argument_of(info.message)
        before, self.argument = self.argument, (file, argument, info) if argument else None
        if argument is None or before is None or before[0] != file or not argument.is_swapped_with(before[1]):
            return False
        _, other, first = before
        self.argument = None  # mypy may check the call again
        with past_watchers(self.errors):
            fix = f"swap the arguments {other.position} and {argument.position}"
            self._add(first, first.code, f"  try:   {fix}", "note")
        return True

    def _report(self, info: ErrorInfo, notes: list[str]) -> None:
        """Report an error and its notes; the other watchers have seen it."""
        with past_watchers(self.errors):
            self.errors.add_error_info(info)
        self._note(info, notes)

    def _note(self, info: ErrorInfo, notes: list[str]) -> None:
        with past_watchers(self.errors):
            for note in notes:
                self._add(info, info.code, f"  {note}", "note")

    def _report_as(self, info: ErrorInfo, code: ErrorCode, message: str, notes: list[str]) -> None:
        """Report an error with another code, once for each place; the error itself may be reported again."""
        told = self.errors.error_info_map.get(self.errors.file, ())
        if any((e.line, e.column, e.code) == (info.line, info.column, code) for e in told):
            return
        with past_watchers(self.errors):
            self._add(info, code, message, "error")
            for note in notes:
                self._add(info, code, f"  {note}", "note")

    def _add(self, info: ErrorInfo, code: ErrorCode | None, message: str, severity: Literal["error", "note"]) -> None:
        self.errors.report(
            info.line,
            info.column,
            message,
            code,
            severity=severity,
            origin_span=info.origin_span,
            end_line=info.end_line,
            end_column=info.end_column,
        )


_notes: list[_Notes] = []
"""The filter of the current `Errors` object of mypy."""


def add_notes(errors: Errors) -> None:
    """Add our notes to the errors that mypy reports from now on; `Errors.reset` forgets its watchers."""
    if not _notes or _notes[0].errors is not errors:
        _notes[:] = [_Notes(errors)]
    watchers = errors._watchers
    if not watchers or watchers[0] is not _notes[0].watcher:
        watchers.insert(0, _notes[0].watcher)
