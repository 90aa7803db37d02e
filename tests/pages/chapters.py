"""The chapters of the course as notebooks: `python -m tests.pages.chapters` writes them."""

from __future__ import annotations

import doctest
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

ROOT = Path(__file__).parents[2]
COURSE, FOLDER = ROOT / "docs" / "course", ROOT / "notebooks"
PAGES = sorted(COURSE.glob("*.md"))
BLOCK = re.compile(r"^```python\n(.*?)^```\n", re.M | re.S)
FOLD = re.compile(r"<details>\s*<summary>(.*?)</summary>(.*?)</details>", re.S)
LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)\s#]+)")
INTRODUCTION = (
    "Run the cells from the top: Shift+Enter runs one. The code of an answer is hidden; click its bar to see it."
)


def path_of(page: Path) -> Path:
    return FOLDER / f"course-{page.stem}.ipynb"


def notebook(page: Path) -> Any:
    """Return a chapter as a notebook: a cell for each text, and for each statement that shows a result."""
    text = re.sub(r"^<script .*\n", "", page.read_text(), flags=re.M)
    cells: list[Any] = []
    end = 0
    for fold in FOLD.finditer(text):
        cells += cells_of(text[end : fold.start()], page, "")
        cells += cells_of(fold[2], page, fold[1])
        end = fold.end()
    cells += cells_of(text[end:], page, "")
    title, _, rest = cells[0].source.partition("\n\n")
    cells[0].source = f"{title}\n\n*{INTRODUCTION}*\n\n{rest}"
    for i, cell in enumerate(cells):
        cell.id = f"cell-{i}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel, "language_info": {"name": "python"}})


def cells_of(text: str, page: Path, fold: str) -> Iterator[Any]:
    """Yield the cells of a part of a chapter; `fold` is the title of the fold that it is in."""
    parts = BLOCK.split(text)
    for i, part in enumerate(parts):
        if i % 2:
            yield from code_cells(part, is_hidden=bool(fold))
        elif words := LINK.sub(lambda link: moved(link[1], page), part).strip():
            if fold:
                words = f"<details>\n<summary>{fold}</summary>\n\n{words}\n\n</details>"
            yield new_markdown_cell(words)


def code_cells(block: str, *, is_hidden: bool) -> Iterator[Any]:
    """Yield a cell for each result of a session, since a notebook shows the last one of a cell."""
    metadata = {"jupyter": {"source_hidden": True}} if is_hidden else {}
    if not block.startswith(">>> "):
        yield new_code_cell(block.strip(), metadata=metadata)
        return
    source = ""
    for example in doctest.DocTestParser().get_examples(block):
        source += example.source
        if example.want or example.exc_msg:
            tags = {"tags": ["raises-exception"]} if example.exc_msg else {}
            yield new_code_cell(source.strip(), metadata={**metadata, **tags})
            source = ""
    if source:
        yield new_code_cell(source.strip(), metadata=metadata)


def moved(link: str, page: Path) -> str:
    """Return a link of the page as one of its notebook."""
    target = (page.parent / link).resolve()
    if target in PAGES:
        return path_of(target).name
    return Path(os.path.relpath(target, FOLDER)).as_posix()


def wanted(page: Path) -> list[tuple[str, str | None]]:
    """Return the results that a chapter shows: for each its text, and the message of the error if it is one."""
    sessions = [block for block in BLOCK.findall(page.read_text()) if block.startswith(">>> ")]
    examples = [e for block in sessions for e in doctest.DocTestParser().get_examples(block)]
    return [(e.want, e.exc_msg) for e in examples if e.want or e.exc_msg]


def text(page: Path) -> str:
    return str(nbformat.writes(notebook(page))) + "\n"


if __name__ == "__main__":
    for chapter in PAGES:
        path_of(chapter).write_text(text(chapter))
