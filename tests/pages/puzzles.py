"""Write the pages of the puzzles and solutions, and the notebooks: `python -m tests.pages.puzzles`."""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from branded.learn.puzzles import CHAPTERS, PUZZLES, Chapter, Predict, Puzzle, Write, sheet
from branded.learn.puzzles.truth import PREAMBLE, program_output, run_source

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "puzzles.md"
SOLUTIONS = ROOT / "docs" / "solutions.md"
NOTEBOOKS = {
    ROOT / "notebooks" / "puzzles-1-vmap.ipynb": CHAPTERS[:2],
    ROOT / "notebooks" / "puzzles-2-types-and-axes.ipynb": CHAPTERS[2:4],
    ROOT / "notebooks" / "puzzles-3-transforms.ipynb": CHAPTERS[4:],
}
MORE = (
    "[From loops to vmap](course/1-map-and-vmap.md)",
    "[Zip or outer](course/2-zip-or-outer.md)",
    "[Brands in types](course/4-types.md)",
    "[Axes, pytrees, nesting](course/3-axes-trees-nesting.md)",
    "[Gradients](course/5-transforms.md#gradients)",
    "[Loops and branches](course/5-transforms.md#loops-and-branches), [Random numbers](random.md)",
    "[Collectives](course/5-transforms.md#collectives)",
)
"""The pages to read before each chapter."""


def fence(language: str, code: str) -> str:
    return f"```{language}\n{code}\n```"


def fold(title: str, *parts: str) -> str:
    """Format parts that the reader opens on demand."""
    return "\n\n".join([f"<details>\n<summary>{title}</summary>", *parts, "</details>"])


def question(puzzle: Puzzle) -> str:
    """Format the question; a program that runs to its end without type errors is tested with the page."""
    is_right = isinstance(puzzle, Predict) and puzzle.truth is program_output
    program = [fence("python" if is_right else "text", puzzle.given)] if puzzle.given else []
    return "\n\n".join([f"### {puzzle.number}. {puzzle.title}", sheet.wrap_text(puzzle.text, width=120), *program])


def hints(puzzle: Puzzle) -> str:
    listed = "\n".join(sheet.wrap_text(f"- {hint}", "  ", 120) for hint in puzzle.hints)
    return fold("Hint" if len(puzzle.hints) == 1 else "Hints", listed)


def solution(puzzle: Puzzle) -> str:
    """The answer, apart from the sheet; hooks.py of the site reads that of a prediction from here."""
    answer = f"`{puzzle.truth(puzzle)}`" if isinstance(puzzle, Predict) else fence("python", puzzle.solved)
    head = f"### {puzzle.number}. {puzzle.title}"
    return "\n\n".join([head, answer, sheet.wrap_text(puzzle.because, width=120)])


# ---- the page ----


def example() -> str:
    """Format the output of `check` for an incorrect answer."""
    puzzle = next(p for p in PUZZLES if isinstance(p, Write) and p.title == "The table of products")
    verdict = puzzle.judge(run_source(next(iter(puzzle.wrong)))[puzzle.name])
    said = [f"   {puzzle.number}  {puzzle.title:<34}{verdict.status.value}", *(f"        {x}" for x in verdict.lines)]
    return fence("console", "\n".join([f"$ python -m branded puzzles check {puzzle.number}", *said]))


def page() -> str:
    links = ", ".join(f"[{path.stem}](../notebooks/{path.name})" for path in NOTEBOOKS)
    head = f"""\
# Puzzles

{len(PUZZLES)} exercises that check themselves, from the first `vmap` to attention. In some you write a function, and in
others you predict the output of a program. They need only `branded`; the puzzles about mypy need the extra `mypy`.

On the site you solve them in this page. Each has a field for the answer and hints that open one by one, and shows the
expected result next to yours. Answers stay in your browser. On your machine:

```console
$ python -m branded puzzles start       # writes puzzles.py, to fill in
$ python -m branded puzzles check       # lists solved puzzles
$ python -m branded puzzles check 3 4   # only these
$ python -m branded puzzles hint 9      # the first hint; again, the next
$ python -m branded puzzles solution 9
$ python -m branded puzzles             # the list
```

`check` compares a function with a loop over the examples, on batches of several sizes. It shows the first input for
which they differ, and names the mistake if it is a common one:

{example()}

`check` compares a prediction with the result: it runs the program or gives it to mypy. The order of the brands in a
type does not matter, and you may leave out sizes. Numbers may be written as `2 3`, `2, 3`, `(2, 3)` or `[2, 3]`.

{sheet.wrap_text(f"As notebooks: {links}. There, `check(9, products)` checks an answer.", width=120)}

The [solutions](solutions.md) are on a page of their own.

These names are defined in every puzzle:

{fence("python", PREAMBLE.strip())}

A function is solved if its values are correct on the inputs that `check` tries, and if it computes them as the text
asks. The operations have to run inside the vmap, so the batched version by hand and a Python loop over the examples do
not count.

The puzzles are not in the order of the chapters: puzzles 20 to 26 belong to chapter 3, and 12 to 19 to chapter 4."""
    parts = [head]
    for chapter, more in zip(CHAPTERS, MORE, strict=True):
        parts += [f"## {chapter.title}", f"Read first: {more}."]
        for puzzle in chapter.puzzles:
            parts += [question(puzzle), hints(puzzle)]
    return "\n\n".join(parts) + "\n"


def solutions() -> str:
    head = f"""\
# Solutions of the puzzles

One answer to each of [the puzzles](puzzles.md), and the reason. The functions use the names that are defined in every
puzzle:

{fence("python", PREAMBLE.strip())}"""
    parts = [head]
    for chapter in CHAPTERS:
        parts += [f"## {chapter.title}", *map(solution, chapter.puzzles)]
    return "\n\n".join(parts) + "\n"


# ---- the notebooks ----


def notebook(chapters: tuple[Chapter, ...]) -> NotebookNode:
    """Create a notebook of some chapters: for each puzzle its text, a cell to fill in, its check, and hints."""
    first, last = chapters[0].puzzles[0].number, chapters[-1].puzzles[-1].number
    title = f"# Puzzles {first} to {last}\n\nFill in the cells and run them. The cell below each checks the answer."
    cells = [
        new_markdown_cell(title, id="title"),
        new_code_cell(f"{PREAMBLE}from branded.puzzles import check", id="names"),
    ]
    for chapter in chapters:
        cells.append(new_markdown_cell(f"## {chapter.title}", id=f"chapter-{chapter.puzzles[0].number}"))
        for p in chapter.puzzles:
            cells += [
                new_markdown_cell(question(p), id=f"question-{p.number}"),
                new_code_cell(p.start, id=f"answer-{p.number}"),
                new_code_cell(checking(p), id=f"check-{p.number}"),
                new_markdown_cell(hints(p), id=f"hints-{p.number}"),
            ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel, "language_info": {"name": "python"}})


def checking(puzzle: Puzzle) -> str:
    return f"check({puzzle.number}, {puzzle.name})"


def text(chapters: tuple[Chapter, ...]) -> str:
    return nbformat.writes(notebook(chapters)) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
    SOLUTIONS.write_text(solutions())
    for path, chapters in NOTEBOOKS.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text(chapters))
