"""Test that `conftest.py` can run every code block of the docs, and that names and links in the docs exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import branded

ROOT = Path(__file__).parents[2]
LANGUAGES = {"python", "py", "haskell", "text", "console", "mermaid", "ini", "toml", "yaml", "json", "diff"}
"""Sybil does not run `py` blocks: test_course.py checks them with mypy, or runs them with torch or jax."""

CODE = re.compile(r"^ *(```+).*?^ *\1|`[^`\n]+`", re.MULTILINE | re.DOTALL)


def test_every_block_has_a_language() -> None:
    """Sybil skips a block without a language."""
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        fences = re.findall(r"^```(\w*)", page.read_text(), re.MULTILINE)
        assert all(fences[::2]), f"{page.name}: a block has no language"
        assert set(fences[::2]) <= LANGUAGES, page.name


def test_every_example_of_a_docstring_is_collected(request: pytest.FixtureRequest) -> None:
    """A pattern of `conftest.py` that matches too few folders would leave examples without a test."""
    modules = [p for p in sorted((ROOT / "branded").rglob("*.py")) if ">>> " in p.read_text()]
    collect = request.session.ihook.pytest_collect_file
    assert [str(p) for p in modules if not collect(file_path=p, parent=request.session)] == []


def test_pages_import_branded_before_they_compute() -> None:
    """It finds a C compiler, without which tinygrad alone computes nothing where there is no clang."""
    late = []
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
        first = next((b for b in blocks if "import" in b), "")
        if re.search(r"^(>>> )?from tinygrad", first, re.MULTILINE) and "import branded" not in first:
            late += [page.name] if not re.search(r"^(>>> )?from branded", first, re.MULTILINE) else []
    assert late == []


def test_every_public_name_is_documented() -> None:
    for name in branded.__all__:
        doc = getattr(branded, name).__doc__
        assert doc and doc[0] != " ", name
        if name not in {"Brand", "BrandedError"}:
            assert ">>>" in doc and "Source:" in doc, name


def test_files_in_contributing_exist() -> None:
    """Accept paths from the root and their last one or two parts, such as `dispatch.py` for a file in `branded/`."""
    text = re.sub(r"^```.*?^```", "", (ROOT / "CONTRIBUTING.md").read_text(), flags=re.MULTILINE | re.DOTALL)
    named = set(re.findall(r"`([\w./-]+(?:/|\.(?:pyi?|md|js|yml|ini)))`", text)) - {"site/", "dist/"}
    named |= set(re.findall(r"`((?:branded|tests|docs|stubs|bench)/[\w./-]+)`", text))
    there = [p for top in ("branded", "tests", "docs", "stubs", "bench") for p in (ROOT / top).rglob("*")]
    ends = {"/".join(p.parts[-n:]) for p in there for n in (1, 2)}
    assert len(named) > 30
    assert sorted(n for n in named if not (ROOT / n).exists() and n not in ends) == []


def test_links_are_not_broken() -> None:
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        for link in re.findall(r"\]\((?!https?:)([^)#]+)", CODE.sub("", page.read_text())):
            assert (page.parent / link).exists(), f"{page.name}: {link}"
