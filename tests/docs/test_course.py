"""The course: what type checkers and peers say on its pages is what they say, and it stays short.

Sybil runs the `python` blocks.  Here are the `py` blocks: each is a whole program, with what is said of it in the next
`text` block, by `python -m branded check app.py`, or by the peer that it imports.
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
"""What a reader gets through in a minute, with the code; a prediction takes a minute of its own."""


@pytest.mark.parametrize(("program", "said"), PAIRS)
def test_a_program_is_told_what_the_page_shows(
    program: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_every_program_for_a_checker_has_its_answer() -> None:
    blocks = sum(len(re.findall(r"^```py\n", page.read_text(), re.M)) for page in COURSE.glob("*.md"))
    assert blocks == len(PAIRS) >= 4


def test_chapters_1_to_4_take_half_an_hour() -> None:
    pages = [p for p in COURSE.glob("*.md") if p.name[0] in "1234"]
    assert len(pages) == 4
    texts = [p.read_text() for p in pages]
    assert sum(len(t.split()) / WORDS + t.count("**Predict") for t in texts) <= 30


@pytest.mark.parametrize("page", sorted(COURSE.glob("*.md")), ids=lambda p: p.name)
def test_a_chapter_begins_with_code_asks_and_says_what_it_simplifies(page: Path) -> None:
    text = page.read_text()
    before = text[: text.index("```")]
    assert len(before.split()) <= 120
    assert text.count("<details>") == text.count("</details>") == text.count("<summary>")
    if page.name[0] in "1234":
        assert text.count("**Predict") >= 2
    assert "\n## Simplifications\n" in text
    assert "\nNext: " in text or "Next: [" in text
