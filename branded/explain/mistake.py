"""Explain a function that an error stops: show the steps before the error, and the step that fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from branded.core.tracing.recording import Call, Frame
from branded.errors import ShapeError
from branded.errors.source import Where, is_ours, line
from branded.explain.code import at, function_name
from branded.explain.steps import join_words
from branded.explain.terminal import Line, Span
from branded.graph.rows import type_text
from branded.graph.scope import Scope

_SHOWN = 16
"""The maximum number of steps shown."""


class Mistake(NamedTuple):
    """The frames recorded before the error, and the error."""

    frames: Sequence[Frame]
    error: ShapeError


def lines(mistake: Mistake, f: Callable[..., Any], code: Callable[[Where], str]) -> list[Line]:
    """Return a line for each successful step, followed by the failing one."""
    calls = [c for frame in mistake.frames for c in frame.calls]
    steps = [c for c in calls if c.op not in ("enter", "leave") and c.where is not None]
    brands = {b: None for c in calls if isinstance(b := c.params.get("brand"), Scope)}
    place, wrong = _place(mistake.error)
    opened = f"in {join_words([f'{b.name}:{b.size}' for b in brands])}" if brands else "where no brand is open"
    out: list[Line] = [
        [
            Span(function_name(f), "title"),
            Span(f": a mistake at {place}, {opened}" if place else f": a mistake, {opened}"),
        ],
        [],
    ]
    if len(steps) > _SHOWN:
        out.append([Span(f"  {len(steps) - _SHOWN} steps before", "quiet")])
    out += [_step(c, code) for c in steps[-_SHOWN:]]
    out.append([Span(f"  {place}  " if place else "  ", "quiet"), Span(wrong, "title")])
    return [*out, *([Span(f"      {line}", "warning")] for line in str(mistake.error).splitlines())]


def _step(c: Call, code: Callable[[Where], str]) -> Line:
    text = code(c.where) if c.where is not None else ""
    kinds = ", ".join(map(type_text, c.results))
    return [Span(f"  {at(c.where)}  ", "quiet"), Span(text or c.op), Span(f"   {kinds}", "quiet")]


def _place(error: ShapeError) -> tuple[str, str]:
    """Return the position and the code of the innermost line of the user in the error's traceback."""
    trace, innermost = error.__traceback__, None
    while trace is not None:
        if not is_ours(trace.tb_frame.f_code.co_filename):
            innermost = trace
        trace = trace.tb_next
    if innermost is None:
        return "", "here"
    file = innermost.tb_frame.f_code.co_filename
    return f"{Path(file).name}:{innermost.tb_lineno}", line(file, innermost.tb_lineno) or "here"
