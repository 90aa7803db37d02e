"""The programs in the pages of the documentation."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["README.md", *sorted(p.relative_to(ROOT).as_posix() for p in (ROOT / "docs").rglob("*.md"))]
PAGES = [
    page for page in PAGES if not page.startswith("docs/gallery/")
]  # tests/docs/test_gallery.py runs mypy on each of them
PAGES = [
    page for page in PAGES if not page.startswith("docs/upstream/")
]  # `tests/tinygrad_compat/upstream.py` runs them
PAGES.remove("docs/errors.md")  # many programs, half of them incorrect


def page_code(page: str) -> str:
    """Join the Python blocks of a page into one program, without the examples that show an error."""
    blocks: list[str] = []
    for block in re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S):
        session = doctest.DocTestParser().get_examples(block)
        blocks += [example.source for example in session if not example.exc_msg] if session else [block]
    return "\n".join(blocks)
