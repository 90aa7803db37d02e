"""Run the answers in a learner's file separately, so that one error does not affect the other answers."""

from __future__ import annotations

import ast
import re
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from branded.learn.puzzles import PUZZLES, Predict, Puzzle, Verdict
from branded.learn.puzzles.outcome import Outcome
from branded.learn.puzzles.puzzle import not_yet
from branded.tools.user_files import OK, UsageError, compile_file, run_guarded, surroundings

_TITLES = {(str(p.number), p.title) for p in PUZZLES}
_FUTURE = annotations.compiler_flag
"""The compiler flag that `from __future__ import annotations` sets for later statements."""
_HEADING = re.compile(r"^# (\d+)\. (.*)$")


class Answers(NamedTuple):
    """The names that a file defines, and the errors in its parts, by puzzle number."""

    file: str
    text: str
    names: dict[str, Any]
    mistakes: dict[int, Exception]

    def judge(self, puzzle: Puzzle) -> Verdict:
        """Return the verdict on the answer in the file, found by the name of the puzzle."""
        if puzzle.name in self.names:
            return puzzle.judge(self.names[puzzle.name])
        if (error := self.mistakes.get(puzzle.number)) is None:
            return not_yet(f"there is no `{puzzle.name}` in {self.file}")
        lines = str(Outcome(error=error)).splitlines()
        typed = re.search(rf"^{puzzle.name}\s*=\s*([A-Za-z][^'\"#\n]*)", self.text, re.M)
        if isinstance(puzzle, Predict) and isinstance(error, NameError | SyntaxError) and typed:
            lines.append(f'Text needs quotes: {puzzle.name} = "{typed[1].strip()}"')
        return not_yet(*lines)


def run_answers(path: Path) -> Answers | None:
    """Run a learner's file part by part.  If the part before the puzzles fails, print the error and return None.

    Raises:
        UsageError: The file cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not Python: {error}") from None
    module = types.ModuleType("puzzles")
    module.__dict__["__file__"] = str(path)
    found = Answers(str(path), text, module.__dict__, {})
    statements = list(_statements(text, str(path)))
    if any(number == 0 and isinstance(s, Exception) for number, s in statements):
        compile_file(path)  # prints the error
        return None
    with surroundings(module, path, []):
        status = run_guarded(lambda: _run(statements, found), path)
    return found if status == OK else None


def _run(statements: list[tuple[int, ast.stmt | Exception]], found: Answers) -> None:
    flags = 0
    for number, statement in statements:
        try:
            if isinstance(statement, Exception):
                raise statement
            code = compile(ast.Module([statement], []), found.file, "exec", flags, dont_inherit=True)
            flags |= code.co_flags & _FUTURE
            exec(code, found.names)
        except Exception as error:  # any error of the learner's code
            if number == 0:
                raise
            found.mistakes.setdefault(number, error)


def _statements(text: str, file: str) -> Iterator[tuple[int, ast.stmt | Exception]]:
    """Yield each statement, or the syntax error of a part, with the number of its puzzle (0: before the first)."""
    lines = text.splitlines(keepends=True)
    matches = ((i, m) for i, line in enumerate(lines) if (m := _HEADING.match(line.rstrip())))
    begins = [(0, 0), *((i, int(m[1])) for i, m in matches if m.groups() in _TITLES)]
    try:
        for s in ast.parse(text, file).body:
            yield next(number for i, number in reversed(begins) if i < s.lineno), s
        return
    except (SyntaxError, ValueError):
        pass
    for (first, number), (end, _) in zip(begins, [*begins[1:], (len(lines), 0)], strict=True):
        try:
            yield from ((number, s) for s in ast.parse("\n" * first + "".join(lines[first:end]), file).body)
        except (SyntaxError, ValueError) as error:
            yield number, error
