"""The formats of `branded check`: text for people, JSON, SARIF, and the annotations of GitHub."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from branded.mypy.rows.hints import VEC_TYPE, invariant_class

SARIF = "https://json.schemastore.org/sarif-2.1.0.json"
GITHUB_LEVELS = {"error": "error", "note": "notice"}


class Message(NamedTuple):
    """A message of mypy; `raw` is mypy's own text, and columns are counted from 1 (0: unknown)."""

    file: str
    line: int
    text: str
    raw: str
    notes: tuple[str, ...]
    code: str
    severity: str
    column: int = 0
    end_line: int = 0
    end_column: int = 0
    cell: int | None = None
    """The cell of a notebook in which the lines are counted."""
    line_in_file: int = 0
    """The line in the file of a notebook."""

    @property
    def is_about_brands(self) -> bool:
        is_ours = self.code.startswith("brand") or self.text.startswith("bool: ")
        return self.severity == "error" and (is_ours or bool(VEC_TYPE.search(self.text) or invariant_class(self.text)))

    @property
    def location(self) -> str:
        """The file and the line, as `app.py:3` or `notes.ipynb:cell 2:3`."""
        file = self.file if self.cell is None else f"{self.file}:cell {self.cell}"
        return f"{file}:{self.line}" if self.line > 0 else file


class CheckReport(NamedTuple):
    """All that a run found; `failures` are lines about files that could not be read."""

    messages: Sequence[Message]
    failures: Sequence[str]
    files: int
    skipped: Sequence[str]
    """Functions that were not checked, as `f (app.py:5)`."""
    version: str
    source: Callable[[Message], str | None] | None = None
    """The line of a message, for a text with columns and carets; None for a text without."""


def as_text(report: CheckReport) -> str:
    """Return the text for people: errors about brands first."""
    if report.failures and not report.messages:
        return "\n".join(report.failures)
    lines = format_report(report.messages, report.files, report.skipped, report.source)
    return "\n".join([*lines, *report.failures])


def format_report(
    messages: Sequence[Message],
    files: int,
    skipped: Sequence[str] = (),
    source: Callable[[Message], str | None] | None = None,
) -> list[str]:
    """Format the brand errors, then mypy's other messages, the functions not checked, and the counts."""
    brand = [m for m in messages if m.is_about_brands]
    rest = [m for m in messages if not m.is_about_brands]
    out: list[str] = []
    for m in brand:
        code = "" if m.code in ("brand", "") else f"  [{m.code}]"
        out += [f"{_place(m, source)}: {m.text}{code}", *_carets(m, source), *m.notes]
    if brand and rest:
        out.append("")
    for m in rest:
        code = f"  [{m.code}]" if m.severity == "error" and m.code else ""
        out += [f"{_place(m, source)}: {m.severity}: {m.text}{code}", *_carets(m, source)]
        out += [f"{m.location}: note: {note}" for note in m.notes]
    if skipped:
        out += [""] if out else []
        names = ", ".join(skipped[:5]) + (f" and {len(skipped) - 5} more" if len(skipped) > 5 else "")
        out += [
            f"not checked, for an argument without a type: {names}",
            "  try:   annotate x: Tensor, or x: Vec[S, Tensor]",
        ]
    return [*out, *([""] if out else []), _counts(messages, files)]


def _place(m: Message, source: Callable[[Message], str | None] | None) -> str:
    return f"{m.location}:{m.column}" if source is not None and m.column > 0 else m.location


def _carets(m: Message, source: Callable[[Message], str | None] | None) -> Iterator[str]:
    """Yield the line of a message, and carets below the columns."""
    line = source(m) if source is not None else None
    if line is None or not 0 < m.column <= len(line):
        return
    code = line.lstrip()
    start = m.column - 1 - (len(line) - len(code))
    end = m.end_column - 1 if m.end_line == m.line and m.end_column > m.column else len(line)
    width = max(1, min(end, len(line.rstrip())) - (m.column - 1))
    yield f"    {code.rstrip()}"
    yield f"    {' ' * max(start, 0)}{'^' * width}"


def _counts(messages: Sequence[Message], files: int) -> str:
    kinds = Counter(m.is_about_brands for m in messages if m.severity == "error")
    counts = [_plural(kinds[is_brand], f"{what} error") for is_brand, what in ((True, "brand"), (False, "other"))]
    return f"{', '.join(c for c in counts if c) or 'no errors'} (checked {_plural(files, 'file') or '0 files'})"


def _plural(n: int, what: str) -> str:
    return "" if n == 0 else f"{n} {what}" if n == 1 else f"{n} {what}s"


def as_json(report: CheckReport) -> str:
    """Return one JSON object with the messages."""
    document = {
        "version": 1,
        "files": report.files,
        "messages": [_json_message(m) for m in report.messages],
        "not_checked": list(report.skipped),
        "failures": list(report.failures),
    }
    return json.dumps(document, indent=2, ensure_ascii=False)


def _json_message(m: Message) -> dict[str, Any]:
    return {
        "file": m.file,
        "cell": m.cell,
        "line": m.line,
        "column": m.column,
        "end_line": m.end_line,
        "end_column": m.end_column,
        "severity": m.severity,
        "code": m.code or None,
        "about_brands": m.is_about_brands,
        "message": m.text,
        "notes": [note.strip() for note in m.notes],
    }


def as_github(report: CheckReport) -> str:
    """Return the workflow commands of GitHub, which it shows as annotations of the changed lines."""
    lines = [_annotation(m) for m in report.messages]
    lines += [
        f"::notice title=not checked::{_data(f'{name} has an argument without a type')}" for name in report.skipped
    ]
    lines += [f"::error::{_data(line)}" for line in report.failures]
    return "\n".join([*lines, _counts(report.messages, report.files)])


def _annotation(m: Message) -> str:
    properties: dict[str, object] = {"file": Path(m.file).as_posix()}
    if (line := m.line_in_file or m.line) > 0:
        properties["line"] = line
    if m.cell is None and m.column > 0:
        properties |= {"col": m.column, "endLine": m.end_line, "endColumn": m.end_column}
    properties["title"] = m.code or m.severity
    text = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
    return f"::{GITHUB_LEVELS[m.severity]} {text}::{_data(_full_text(m))}"


def _full_text(m: Message) -> str:
    where = f"{m.location}: " if m.cell is not None else ""
    return "\n".join([f"{where}{m.text}", *m.notes])


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def as_sarif(report: CheckReport) -> str:
    """Return a log in SARIF 2.1.0, which code scanning tools read."""
    rules = sorted({m.code or m.severity for m in report.messages})
    driver = {"name": "branded", "version": report.version, "rules": [_rule(code) for code in rules]}
    told = [*report.failures, *(f"{name} is not checked: it has an argument without a type" for name in report.skipped)]
    invocation = {
        "executionSuccessful": not report.failures,
        "toolExecutionNotifications": [
            {"level": "error" if i < len(report.failures) else "note", "message": {"text": text}}
            for i, text in enumerate(told)
        ],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [invocation],
        "results": [_sarif_result(m, rules) for m in report.messages],
    }
    return json.dumps({"$schema": SARIF, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False)


def _rule(code: str) -> dict[str, Any]:
    """Return the description of a code, with the fields that GitHub's code scanning requires."""
    kind = "An error about brands" if code.startswith("brand") else "An error of mypy"
    command = f"`python -m branded why {code.removeprefix('brand-')}` explains this error."
    fields = {
        "shortDescription": f"{kind}: {code}",
        "fullDescription": f"{kind} with the code {code}.",
        "help": command if code.startswith("brand") else f"The documentation of mypy explains the code {code}.",
    }
    return {"id": code, **{field: {"text": text} for field, text in fields.items()}}


def _sarif_result(m: Message, rules: list[str]) -> dict[str, Any]:
    path = Path(m.file)
    uri = path.as_uri() if path.is_absolute() else quote(path.as_posix())
    location: dict[str, Any] = {"artifactLocation": {"uri": uri}}
    if (line := m.line_in_file or m.line) > 0:
        region = {"startLine": line}
        if m.cell is None and m.column > 0:
            region |= {"startColumn": m.column, "endLine": m.end_line, "endColumn": m.end_column}
        location["region"] = region
    code = m.code or m.severity
    return {
        "ruleId": code,
        "ruleIndex": rules.index(code),
        "level": m.severity,
        "message": {"text": _full_text(m)},
        "locations": [{"physicalLocation": location}],
    }


FORMATS: dict[str, Callable[[CheckReport], str]] = {
    "text": as_text,
    "json": as_json,
    "sarif": as_sarif,
    "github": as_github,
}
