"""A learner's file: the questions as comments, and the code to change."""

from __future__ import annotations

import re
import textwrap
from textwrap import dedent

from branded.learn.puzzles import CHAPTERS, Predict, Puzzle
from branded.learn.puzzles.truth import PREAMBLE

DOC = '''"""Puzzles of branded.

Fill in the functions, and replace each `...` by your prediction, for example "Vec[x:3, f32[2]]" or (3, 2).

    python -m branded puzzles check {file}       lists solved puzzles
    python -m branded puzzles check {file} 4 5   some puzzles
    python -m branded puzzles hint 4                the first hint, and again for the next
    python -m branded puzzles solution 4
"""

'''


def blank(file: str) -> str:
    """Return the text of the file to fill in, for the file name `file`."""
    return DOC.format(file=file) + PREAMBLE + body({p.number: p.start for c in CHAPTERS for p in c.puzzles})


def question_text(puzzle: Puzzle) -> str:
    """Return the question of a puzzle as plain text in 88 columns."""
    program = f"\n\n{textwrap.indent(puzzle.given, '    ')}" if puzzle.given else ""
    return wrap_text(puzzle.text) + program


def wrap_text(text: str, indent: str = "", width: int = 88) -> str:
    """Wrap text without breaking code in backticks."""
    kept = re.sub(r"`[^`]+`", lambda code: code[0].replace(" ", "\0"), text)
    return textwrap.fill(kept, width, subsequent_indent=indent, break_on_hyphens=False).replace("\0", " ")


def body(code: dict[int, str]) -> str:
    parts = []
    for chapter in CHAPTERS:
        parts.append(f"# {chapter.title.upper()}\n")
        for p in chapter.puzzles:
            question = textwrap.indent(question_text(p), "# ", lambda line: True)
            comment = "\n".join(line.rstrip() for line in question.splitlines())
            gap = "\n" if isinstance(p, Predict) else "\n\n"
            parts.append(f"# {p.number}. {p.title}\n#\n{comment}\n{gap[1:]}\n{dedent(code[p.number]).strip()}\n")
    return "\n\n" + "\n\n".join(parts)
