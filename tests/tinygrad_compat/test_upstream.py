"""The reports for tinygrad in docs/upstream are complete, and their changes fit the installed tinygrad."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from branded.tinygrad_compat import PATCHES
from tests.docs import prose
from tests.tinygrad_compat import upstream
from tests.tinygrad_compat.upstream import Page

ROOT = Path(__file__).resolve().parents[2]
PAGES = [pytest.param(page, id=page.path.stem) for page in upstream.pages()]


@pytest.mark.parametrize("page", PAGES)
def test_report_names_its_fix(page: Page) -> None:
    owner = upstream.OWNER.fullmatch(page.owner)
    assert owner is not None
    assert owner["name"] in PATCHES if owner["kind"] == "patch" else (ROOT / owner["name"]).is_file()


def test_every_fault_has_a_report() -> None:
    owners = {upstream.OWNER.fullmatch(page.owner)["name"] for page in upstream.pages()}  # type: ignore[index]
    assert {name for name in PATCHES if name not in owners} == set(upstream.ELSEWHERE)


def test_reports_are_numbered_and_listed() -> None:
    paths = [page.path for page in upstream.pages()]
    assert [path.name.split("-", 1)[0] for path in paths] == [f"{i + 1:03}" for i in range(len(paths))]
    assert (upstream.FOLDER / "index.md").read_text(encoding="utf-8") == upstream.index()


@pytest.mark.parametrize("page", PAGES)
def test_program_and_change_of_a_report_fit(page: Page) -> None:
    ast.parse(page.program)
    assert page.plain != page.right
    assert page.diff or page.why  # a fault without a short change needs a description
    for path, text in upstream.apply(page.diff, upstream.INSTALLED.parent).items():
        assert text != path.read_text(encoding="utf-8")
        ast.parse(text)


@pytest.mark.parametrize("page", [pytest.param(upstream.FOLDER / "index.md", id="index"), *PAGES])
def test_report_is_plain_english(page: Page | Path) -> None:
    path = page if isinstance(page, Path) else page.path
    found = prose.figures(path)
    assert (found.whats, found.phrases) == (0, 0)
    words = r"without a word|in silence|in place of|\bbeside\b|\bmend|worked out|of one's own|\banew\b|is none|nobody"
    assert re.findall(words, prose.prose_of(path.read_text(encoding="utf-8")), re.IGNORECASE) == []


DIFF = "--- a/tinygrad/f.py\n+++ b/tinygrad/f.py\n@@ -1,2 +1,3 @@\n a\n-b\n+c\n+d\n@@ -4 +5 @@\n-e\n+f"


def test_apply_diff(tmp_path: Path) -> None:
    (file := tmp_path / "tinygrad" / "f.py").parent.mkdir()
    file.write_text("a\nb\nx\ne\n")
    assert upstream.apply(DIFF, tmp_path) == {file: "a\nc\nd\nx\nf\n"}
    assert upstream.apply("", tmp_path) == {}


@pytest.mark.parametrize(
    ("diff", "message"),
    [
        (DIFF.replace(" a", " z"), "line 1: the lines of the diff are not there"),
        (DIFF.replace("+d\n", ""), "the header counts"),
        (DIFF.replace("-e", "e"), "not a line of a diff"),
    ],
)
def test_mismatched_diff_is_rejected(tmp_path: Path, diff: str, message: str) -> None:
    (file := tmp_path / "tinygrad" / "f.py").parent.mkdir()
    file.write_text("a\nb\nx\ne\n")
    with pytest.raises(ValueError, match=message):
        upstream.apply(diff, tmp_path)
