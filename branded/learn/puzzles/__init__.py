"""Self-checking puzzles about vmap and brands.

`python -m branded puzzles` lists them, `start` writes a file to fill in, and `check` reports the solved puzzles.  In a
notebook, `check(4, dots)` checks one puzzle.

A puzzle is one entry of a chapter.  It has a text, a starter, hints, a solution, typical wrong answers, and the code
that judges an answer.  The learner's file, the page of the docs and the notebooks are generated from the puzzles.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

from branded.errors import PuzzleError
from branded.learn.puzzles import (
    axes,
    brands_in_types,
    collectives,
    control,
    derivatives,
    one_brand,
    truth,
    zip_or_outer,
)
from branded.learn.puzzles.puzzle import Predict, Puzzle, Status, Verdict, Write
from branded.tree import short_repr

__all__ = ["CHAPTERS", "PUZZLES", "Chapter", "Predict", "Puzzle", "Status", "Verdict", "Write", "check", "find"]


class Chapter(NamedTuple):
    """Puzzles about one topic."""

    title: str
    puzzles: tuple[Puzzle, ...]


def _chapters() -> tuple[Chapter, ...]:
    chapters, number = [], 0
    for module in (one_brand, zip_or_outer, brands_in_types, axes, derivatives, control, collectives):
        numbered: list[Puzzle] = []
        for puzzle in module.PUZZLES:
            number += 1
            numbered.append(dataclasses.replace(puzzle, number=number))
        chapters.append(Chapter(module.TITLE, tuple(numbered)))
    return tuple(chapters)


CHAPTERS = _chapters()
PUZZLES = tuple(p for chapter in CHAPTERS for p in chapter.puzzles)
_BY_MYPY = (truth.rejected_by_mypy, truth.revealed_by_mypy)
truth.ABOUT_MYPY += [p for p in PUZZLES if isinstance(p, Predict) and p.truth in _BY_MYPY]


def find(number: object) -> Puzzle:
    """Return the puzzle with a number.

    Raises:
        PuzzleError: There is no puzzle with this number.
    """
    for puzzle in PUZZLES:
        if type(number) is int and puzzle.number == number:
            return puzzle
    raise PuzzleError(f"puzzles: there is no puzzle {short_repr(number)}: they are 1 to {len(PUZZLES)}")


def check(number: int, answer: Any) -> None:
    """Print whether an answer solves a puzzle; if not, print the mistake.

    Args:
        number: The number of the puzzle.
        answer: A function, or a prediction: a text, a number, a shape.

    Raises:
        PuzzleError: There is no puzzle with this number.

    Example:
        >>> from branded import vmap
        >>> from branded.learn.puzzles import check
        >>> check(4, lambda X, Y: vmap(lambda x, y: (x * y).sum())(X, Y))
        4. Two lists of vectors: solved
        >>> check(1, (5, 3))
        1. What the function sees: not yet
          it is not (5, 3)
          That is the argument of `vmap(look)`. `look` itself sees one example of it.
    """
    puzzle = find(number)
    verdict = puzzle.judge(answer)
    print(
        f"{puzzle.number}. {puzzle.title}: {verdict.status.value}", *(f"  {line}" for line in verdict.lines), sep="\n"
    )
