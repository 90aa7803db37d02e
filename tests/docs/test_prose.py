"""Test that the package and the docs keep the limits of `tests.docs.prose`, and that it counts correctly."""

from __future__ import annotations

from pathlib import Path

from tests.docs import prose


def test_package_is_within_limits() -> None:
    found = sum((prose.figures(f) for f in prose.files([prose.ROOT / "branded"])), prose.Figures()).rates()
    assert all(x <= limit for x, limit in zip(found, prose.LIMITS, strict=True)), found


def test_pages_are_within_limits() -> None:
    found = sum((prose.figures(f) for f in prose.pages()), prose.Figures()).rates()
    assert all(x <= limit for x, limit in zip(found, prose.PAGE_LIMITS, strict=True)), found


def test_each_figure_is_counted(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text('def f():\n    """What stands in it, of which none is mended."""\n\n\nx = 1  # as it is\n')
    assert prose.figures(file) == prose.Figures(words=12, whats=1, phrases=4, openers=1)
    page = tmp_path / "a.md"
    page.write_text("What `what` is:\n\n```python\nwhat\n```\n\n| what |\n")
    assert prose.figures(page) == prose.Figures(words=2, whats=1)
