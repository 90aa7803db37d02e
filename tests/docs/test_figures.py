"""The figures that README and docs claim and that can be counted are true."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

from bench import pages
from branded import tinygrad_compat
from branded.learn.demo import digits
from branded.learn.puzzles import PUZZLES
from tests.pages.figures import ROOT, speeds


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def figures(name: str, pattern: str) -> set[str]:
    """All that a page says in the place of the group of the pattern."""
    found = re.findall(pattern, " ".join(page(name).split()))
    assert found, f"{name} says nothing of this"
    return set(found)


def test_speeds() -> None:
    """Those of the first pages are those that bench wrote."""
    for name in ("README.md", "docs/index.md"):
        assert speeds() in page(name), "python -m tests.pages.figures writes them anew"


def stamp(name: str) -> re.Match[str]:
    found = pages.STAMP.search(page(f"bench/{name}"))
    assert found, f"bench/{name} has no stamp: python -m bench pages --stamp {name}"
    return found


def test_the_first_pages_say_when_the_speeds_were_measured() -> None:
    day, _, machine, _ = stamp("JAX.md").groups()
    date = f"{datetime.fromisoformat(day):%-d %B %Y}"
    for name in ("README.md", "docs/index.md"):
        assert figures(name, r"(AMD EPYC, .*?), CPU time, (\d+ \w+ \d{4})") == {(machine, date)}


def test_every_page_of_figures_has_a_stamp() -> None:
    """A stale page is not an error, since each change of the kernels makes some: `python -m bench pages` lists them."""
    there = {path.relative_to(ROOT / "bench").as_posix() for path in (ROOT / "bench").rglob("*.md")}
    assert there == set(pages.PAGES)
    linked = set(re.findall(r"\]\(\.\./bench/([\w/]+\.md)\)", page("docs/benchmarks.md")))
    assert linked == there
    for name, about in pages.PAGES.items():
        day, _, machine, _ = stamp(name).groups()
        assert datetime.fromisoformat(day) and machine
        assert [source for source in about.sources if not (ROOT / source).exists()] == []


def test_a_digest_is_of_code_alone(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("x = 1\n")
    before = pages.digest(["a.py"], tmp_path)
    file.write_text('"""Text."""\n\n# A comment\nx = 1  # and one more\n')
    assert pages.digest(["a.py"], tmp_path) == before
    file.write_text('x = """Text."""\n')
    assert pages.digest(["a.py"], tmp_path) != before


def test_a_stamp_replaces_another() -> None:
    line = pages.stamp_of("JAX.md", "a machine, 2 cores", "0123abcd", "2026-11-27")
    once = pages.stamped("# Title\n\ntext\n", line)
    assert once == f"# Title\n\n{line}\n\ntext\n" and pages.stamped(once, line) == once


def test_exercises() -> None:
    for name in ("README.md", "docs/puzzles.md", "CHANGELOG.md"):
        assert figures(name, r"(\d+) exercises") == {str(len(PUZZLES))}


def test_mistakes_of_the_gallery() -> None:
    wrong = {str(sum(path.suffix == ".py" for path in (ROOT / "tests/gallery/wrong").iterdir()))}
    assert (
        figures("README.md", r"shows (\d+) mistakes") == figures("CHANGELOG.md", r"gallery of (\d+) mistakes") == wrong
    )
    assert {str(len(list((ROOT / "docs/gallery").iterdir())))} == wrong
    assert figures("docs/index.md", r"has (\d+) mistakes") == wrong


def test_seeded_mistakes() -> None:
    """Those of README and of the pages are those of the table that is measured."""
    table = page("bench/brandbugs/RESULTS.md")
    rows = {
        of: re.search(rf"\| {of} [\w.+]+ \| mypy \| (\d+) \|.*\| (\d+) \|", table) for of in ("branded", "jax", "torch")
    }
    found = {of: row.groups() for of, row in rows.items() if row is not None}
    (ours, total), (jax, _), (torch, _) = (found[of] for of in ("branded", "jax", "torch"))
    assert figures("README.md", r"Of (\d+) programs with one seeded") == {total}
    assert figures("README.md", r"mypy finds (\d+) in our types, (\d+) in JAX's and (\d+) in torch's") == {
        (ours, jax, torch)
    }
    assert figures("docs/reference/comparison.md", r"mypy finds, of (\d+) \| \*\*(\d+)\*\* \| (\d+) \| (\d+)") == {
        (total, ours, jax, torch)
    }
    assert figures("docs/reference/from-jax.md", r"Of (\d+) programs with one mistake each, it finds (\d+)") == {
        (total, ours)
    }
    assert figures("docs/gallery.md", r"of (\d+) larger programs") == {total}


def test_mistakes_that_are_silent_in_jax() -> None:
    """README and the first page say how many of them we report; the table of the gallery has each."""
    rows = re.findall(r"^\| \[.*\]\(gallery/.*\) \|.*$", page("docs/gallery.md"), re.MULTILINE)
    verdicts = [[cell.strip() for cell in row.strip("|").split("|")][2:] for row in rows]
    silent = [(mypy, ours) for jax, _, _, mypy, _, ours in verdicts if jax == "**wrong**"]
    raised = sum(ours == "error" for _, ours in silent)
    found = sum(mypy == "error" != ours for mypy, ours in silent)
    counts = tuple(map(str, (len(silent), raised, found, len(silent) - raised - found)))
    for name in ("README.md", "docs/index.md"):
        pattern = r"Of the (\d+) programs .*? silently wrong in JAX, `branded` raises an error for (\d+) at run time, "
        assert figures(name, pattern + r"mypy finds (\d+) more, and (\d+) stay silent") == {counts}


def test_digits() -> None:
    n = f"{digits.load()[0].shape[0]:,}"
    assert figures("README.md", r"([\d,]+) handwritten digits") == {n}


def test_fixes() -> None:
    assert figures("CHANGELOG.md", r"Fixes for (\d+) faults") == {str(len(tinygrad_compat.PATCHES))}


def test_chapters() -> None:
    numbers = ("four", "five", "six", "seven", "eight")
    chapters = len(list((ROOT / "docs/course").glob("[0-9]-*.md")))
    assert figures("CHANGELOG.md", r"course in (\w+) chapters") == {numbers[chapters - 4]}


def test_what_the_plugin_costs() -> None:
    ratios = re.findall(r"\| ([\d.]+) \|$", page("bench/TYPECHECK.md").partition("\n## ")[0], re.MULTILINE)
    assert len(ratios) == 3 and max(map(float, ratios)) <= 1.1


def test_applications() -> None:
    pages = [path for path in (ROOT / "docs/applications").glob("*.md") if path.stem != "index"]
    assert len(pages) == 12 and figures("README.md", r"(\w+) \[applications\]") == {"Twelve"}
