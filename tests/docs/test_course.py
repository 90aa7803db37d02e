"""Test the course: its recorded outputs of type checkers and other libraries are current, and it stays short.

Sybil runs the `python` blocks.  This module runs the `py` blocks.  Each is a complete program; the next `text` block
shows the output of `python -m branded check app.py`, or of the program itself if it imports torch or jax.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from branded.mypy.check import check
from tests.support.warm import warm

COURSE = Path(__file__).parents[2] / "docs" / "course"
PAIR = re.compile(r"^```py\n(.*?)^```\n((?:(?!^```).)*)^```text\n(.*?)^```", re.M | re.S)
PEERS = re.compile(r"^import (torch|jax)\b", re.M)
PAIRS = [
    pytest.param(program, said, id=f"{page.name}:{page.read_text().count(chr(10), 0, page.read_text().index(program))}")
    for page in sorted(COURSE.glob("*.md"))
    for program, _, said in PAIR.findall(page.read_text())
]
WORDS = 200
"""Words of text and code that a reader reads per minute; each prediction takes one more minute."""


@pytest.mark.parametrize(("program", "said"), PAIRS)
def test_output_on_page_is_current(program: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if (peer := PEERS.search(program)) is not None:
        if importlib.util.find_spec(peer[1]) is None:
            pytest.skip(f"{peer[1]} is not installed: the output was recorded")
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert done.stdout == said
        return
    monkeypatch.chdir(tmp_path)
    Path("app.py").write_text(program)
    warm(tmp_path / "cache")
    text, status = check(["--cache-dir", str(tmp_path / "cache"), "app.py"])
    assert text + "\n" == said
    assert status == int("brand error" in said)


def test_every_py_block_has_an_output() -> None:
    blocks = sum(len(re.findall(r"^```py\n", page.read_text(), re.M)) for page in COURSE.glob("*.md"))
    assert blocks == len(PAIRS) >= 4


def test_chapters_1_to_4_take_half_an_hour() -> None:
    pages = [p for p in COURSE.glob("*.md") if p.name[0] in "1234"]
    assert len(pages) == 4
    texts = [p.read_text() for p in pages]
    assert sum(len(t.split()) / WORDS + t.count("**Predict") for t in texts) <= 30


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
