"""Test the course: its recorded outputs of type checkers and other libraries are current, and it stays short.

Sybil runs the `python` blocks, and test_outputs.py runs the `py` blocks.
"""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.docs.test_outputs import CHECKED
from tests.pages import chapters
from tests.support.profiles import amount
from tests.support.realized import BY_NUMPY

COURSE = Path(__file__).parents[2] / "docs" / "course"
BESIDE = [
    COURSE.parent / f"{name}.md" for name in ("cheatsheet", "glossary", "puzzles", "quickstart", "slides", "solutions")
]
PAIR = re.compile(r"^```py\n(.*?)^```\n((?:(?!^```).)*)^```text\n(.*?)^```", re.M | re.S)
WORDS = 200
"""Words of text and code that a reader reads per minute; each prediction takes one more minute."""

BRANDS_AS_ROW = re.compile(r"\b(empty row|its row|row variable|row of a (sum|value|result))\b", re.I)
"""Sentences in which `row` is a set of brands."""


def test_every_py_block_has_an_output() -> None:
    blocks = sum(len(re.findall(r"^```py\n", page.read_text(), re.M)) for page in COURSE.glob("*.md"))
    outputs = sum(len(CHECKED.findall(page.read_text())) for page in COURSE.glob("*.md"))
    assert blocks == outputs >= 4


def test_chapters_1_to_4_take_half_an_hour() -> None:
    pages = [p for p in COURSE.glob("*.md") if p.name[0] in "1234"]
    assert len(pages) == 4
    texts = [p.read_text() for p in pages]
    assert sum(len(t.split()) / WORDS + t.count("**Predict") for t in texts) <= 30


@pytest.mark.parametrize("page", [*sorted(COURSE.glob("*.md")), *BESIDE], ids=lambda p: p.stem)
def test_texts_for_learners_use_the_same_words(page: Path) -> None:
    text = page.read_text()
    assert not BRANDS_AS_ROW.search(text)
    assert "TypeVar" not in text, "import S and S1 from branded.typing"
    assert not re.search(r"(?<![.\w])stack\(\[", text), "tinygrad has Tensor.stack(*[...])"


# ---- the notebooks ----


@pytest.mark.parametrize("page", chapters.PAGES, ids=lambda p: p.stem)
def test_the_notebooks_are_current(page: Path) -> None:
    nbformat.validate(nbformat.read(chapters.path_of(page), as_version=4))
    assert chapters.text(page) == chapters.path_of(page).read_text(), "python -m tests.pages.chapters"
    assert {p.name for p in chapters.FOLDER.glob("course-*")} == {chapters.path_of(p).name for p in chapters.PAGES}
    links = re.findall(r"\]\((?![a-z]+:|#)([^)\s#]+)", chapters.path_of(page).read_text())
    assert links and [link for link in links if not (chapters.FOLDER / link).exists()] == []


@pytest.mark.parametrize("page", amount(chapters.PAGES[:1], chapters.PAGES), ids=lambda p: p.stem)
def test_the_notebooks_show_what_the_pages_show(page: Path, tmp_path: Path) -> None:
    """In `make test` only the first is run; sybil runs the blocks of all pages."""
    book = nbformat.read(chapters.path_of(page), as_version=4)
    if page != chapters.PAGES[0]:  # the first has its numbers as users have them
        book.cells.insert(0, nbformat.v4.new_code_cell(BY_NUMPY))
    NotebookClient(book, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [tuple(map(text_of, cell.outputs)) for cell in book.cells if cell.cell_type == "code" and cell.outputs]
    wanted = chapters.wanted(page)
    assert len(shown) == len(wanted)
    for outputs, (want, error) in zip(shown, wanted, strict=True):
        told = "".join(outputs)
        first = error.removeprefix("branded.errors.").partition("\n")[0] if error else want
        assert doctest.OutputChecker().check_output(first.strip(), told.strip(), doctest.ELLIPSIS), (first, told)


def text_of(output: Any) -> str:
    if output.output_type == "error":
        return f"{output.ename}: {output.evalue}".partition("\n")[0]
    return str(output.text if output.output_type == "stream" else output.data["text/plain"] + "\n")


@pytest.mark.parametrize("page", sorted(COURSE.glob("*.md")), ids=lambda p: p.name)
def test_chapter_structure(page: Path) -> None:
    text = page.read_text()
    before = text[: text.index("```")]
    assert len(before.split()) <= 120
    assert text.count("<details>") == text.count("</details>") == text.count("<summary>")
    if page.name[0] in "1234":
        assert text.count("**Predict") >= 2
    assert "\n## Simplifications\n" in text
    assert "\nNext: " in text or "Next: [" in text
