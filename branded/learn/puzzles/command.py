"""The command `branded puzzles`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from branded.errors import PuzzleError
from branded.learn.puzzles import CHAPTERS, PUZZLES, Puzzle, Status, Verdict, answers, find, hints
from branded.learn.puzzles.sheet import DOC, blank, wrap_text
from branded.learn.puzzles.truth import Unknown
from branded.tools.user_files import FAILED, OK, UsageError

FILE = "puzzles.py"
ACTIONS = ("start", "check", "hint", "solution")


def run(action: str | None, words: Sequence[str]) -> int:
    """Run `branded puzzles` with these command-line words.

    Args:
        action: One of `ACTIONS`; None lists the puzzles.
        words: A file, numbers, or both.

    Returns:
        The exit status: 0, or 1 if a checked puzzle is not solved or the file does not run.

    Raises:
        UsageError: The words are not a valid command.

    Example:
        >>> from branded.learn.puzzles.command import run
        >>> run("solution", ["3"])
        def norms(X):
            return vmap(lambda x: (x * x).sum().sqrt())(X)
        <BLANKLINE>
        ...
        0
    """
    if action is None:
        return _list()
    if action not in ACTIONS:
        raise UsageError(f"unknown action `{action}`: use one of {', '.join(ACTIONS)}, or nothing for the list")
    file, puzzles = _parse_words(action, words)
    if action == "start":
        return _start(file)
    if action == "check":
        return _check(file, puzzles or PUZZLES)
    return _hint(*puzzles) if action == "hint" else _solution(*puzzles)


def _parse_words(action: str, words: Sequence[str]) -> tuple[Path, list[Puzzle]]:
    """Return the file and the puzzles that the words name; raise UsageError for words that do not fit the action."""
    if "" in words:
        raise UsageError("'' is not the name of a file")
    numbers = [w for w in words if w.isdecimal()]
    files = [w for w in words if not w.isdecimal()]
    takes_file = action in ("start", "check")
    if files and not takes_file:
        raise UsageError(f"{files[0]} is not the number of a puzzle, 1 to {len(PUZZLES)}")
    if extra := [*files[1:], *(numbers if action == "start" else ())]:
        raise UsageError(f"{action} does not take {extra[0]}")
    if not takes_file and not numbers:
        raise UsageError(f"{action} needs the number of a puzzle, 1 to {len(PUZZLES)}")
    if not takes_file and len(numbers) > 1:
        raise UsageError(f"{action} takes one number at a time")
    if too_long := next((n for n in numbers if len(n) > 9), None):
        raise UsageError(f"there is no puzzle {too_long[:9]}...: they are 1 to {len(PUZZLES)}")
    try:
        return Path(files[0] if files else FILE), [find(n) for n in dict.fromkeys(map(int, numbers))]
    except PuzzleError as error:
        raise UsageError(str(error).partition("\n")[0].removeprefix("puzzles: ")) from None


def _list() -> int:
    """List all puzzles, by chapter, with the status of the answers in puzzles.py, if the file exists."""
    given = answers.run_answers(Path(FILE)) if (ours := _is_ours(Path(FILE))) else None
    if ours and given is None:
        return FAILED
    for chapter in CHAPTERS:
        print(f"{chapter.title}")
        for p in chapter.puzzles:
            print(_line(p, given.judge(p).status.value if given else ""))
    print()
    if given:
        print(f"details: python -m branded puzzles check {FILE}")
    else:
        print(f"python -m branded puzzles start    writes {FILE}, to fill in")
    return OK


def _start(file: Path) -> int:
    try:
        with file.open("x") as out:
            out.write(blank(str(file)))
    except FileExistsError:
        raise UsageError(f"{file} already exists: `start FILE` writes another file, `check {file}` checks it") from None
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}") from None
    print(f"{file} has {len(PUZZLES)} puzzles; when you have filled in some:")
    print(f"python -m branded puzzles check {file}")
    return OK


def _check(file: Path, puzzles: Sequence[Puzzle]) -> int:
    if not file.is_file():
        what = "is not a file" if file.exists() else "does not exist"
        raise UsageError(f"{file} {what}: `start {FILE}` writes a file to fill in")
    if (given := answers.run_answers(file)) is None:
        return FAILED
    found: list[Status] = []
    for p in puzzles:
        verdict = given.judge(p)
        _print_verdict(p, verdict)
        found.append(verdict.status)
    solved = found.count(Status.SOLVED)
    if len(puzzles) > 1:
        counts = [f"{found.count(s)} {s.value}" for s in Status if s is not Status.SOLVED and s in found]
        print(", ".join([f"{solved} of {len(puzzles)} solved", *counts]))
    return OK if solved == len(puzzles) else FAILED


def _hint(puzzle: Puzzle) -> int:
    count, at = len(puzzle.hints), hints.turn(puzzle)
    if at == count:
        print(f"There are no more hints. One answer: python -m branded puzzles solution {puzzle.number}")
        print(f"The next `hint {puzzle.number}` begins again with the first.")
    for i in range(count) if at is None else range(at, min(at + 1, count)):
        print(wrap_text(f"Hint {i + 1} of {count}: {puzzle.hints[i]}", indent="  "))
    return OK


def _solution(puzzle: Puzzle) -> int:
    try:
        print(puzzle.solved)
    except Unknown as reason:
        raise UsageError(str(reason)) from None
    print()
    print(wrap_text(puzzle.because))
    return OK


def _is_ours(file: Path) -> bool:
    """Return whether `start` wrote this file; the list does not run another file with the same name."""
    try:
        return file.read_text().startswith(DOC.partition("\n")[0])
    except (OSError, UnicodeDecodeError):
        return False


def _line(puzzle: Puzzle, status: str) -> str:
    return f"{puzzle.number:4}  {puzzle.title:<34}{status}".rstrip()


def _print_verdict(puzzle: Puzzle, verdict: Verdict) -> None:
    print(_line(puzzle, verdict.status.value), *(f"        {line}" for line in verdict.lines), sep="\n", flush=True)
