"""Judge the answers to puzzles in the browser."""

from __future__ import annotations

import contextlib
import io
import json
from typing import Any

from branded import tree
from branded.errors import BrandedError
from branded.explain.data import plain
from branded.learn.explorer.blocks import mistake
from branded.learn.explorer.mistakes import write_source
from branded.learn.puzzles import Puzzle, Status, Verdict, Write, expected, find
from branded.learn.puzzles.outcome import Array, Outcome
from branded.learn.puzzles.puzzle import not_yet
from branded.learn.puzzles.truth import run_source
from branded.tree.paths import paths


def judge(number: int, answer: str, right: str) -> str:
    """Judge the text of an answer.

    Args:
        number: The number of the puzzle.
        answer: The code of a function, or a prediction.
        right: The correct answer, as written by `branded.learn.puzzles.expected`, or the outcome of the program.

    Returns:
        JSON with the status, the verdict, the printed output, and, if values differ, the expected and the actual value.
    """
    puzzle, out = find(number), io.StringIO()
    with contextlib.redirect_stdout(out):
        verdict, failure = _verdict(puzzle, answer, right)
    found = verdict.difference
    return json.dumps(
        {
            "status": verdict.status.value,
            "lines": verdict.lines if found is None else [found.why] if found.why else [],
            "difference": found
            and {"given": found.given, "wanted": _describe_outcome(found.wanted), "got": _describe_outcome(found.got)},
            "out": out.getvalue(),
            "failure": failure,
        }
    )


def _verdict(puzzle: Puzzle, answer: str, right: str) -> tuple[Verdict, dict[str, Any] | None]:
    """Return the verdict, and the error if the code did not define a function to judge."""
    if not isinstance(puzzle, Write):
        return puzzle.judge(answer.strip() or ..., right), None
    path = write_source(answer, f"answer_{puzzle.number}.py")
    names = run_source("")
    try:
        exec(compile(answer, path, "exec", dont_inherit=True), names)
    except (Exception, SystemExit) as error:  # any error comes from the learner's code, so show it
        return Verdict(Status.NOT_YET), mistake(error, answer, path)
    if puzzle.name not in names:
        return not_yet(f"there is no `{puzzle.name}`"), None
    return puzzle.judge(names[puzzle.name], expected.cases_from_text(right)), None


def _describe_outcome(outcome: Outcome) -> dict[str, Any]:
    """Describe a result for the page: its full text and, for a tree of arrays, each array by its path."""
    error = outcome.error
    leaves = [] if error is not None else tree.leaves(outcome.value)
    places = paths(outcome.value, "") if leaves else []
    tables = [
        {"path": path, "sizes": x.shape, "cells": list(map(plain, x.flat()))}
        for path, x in zip(places, leaves, strict=True)
        if isinstance(x, Array)
    ]
    return {
        "text": str(outcome),
        "tables": tables if len(tables) == len(leaves) else [],
        "code": error.code if isinstance(error, BrandedError) else None,
    }
