"""Test that figures in README and docs that can be counted are correct."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

import pytest
from tinygrad import Tensor

from bench import pages
from bench.measure import kernels, shared
from bench.workloads import WORKLOADS, arrays
from branded import tinygrad_compat
from branded.learn.demo import digits
from branded.learn.puzzles import PUZZLES
from tests.pages.figures import ROOT, speeds


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def figures(name: str, pattern: str) -> set[str]:
    """Return all strings of a page that match the group of a pattern."""
    found = re.findall(pattern, " ".join(page(name).split()))
    assert found, f"{name} has no match for {pattern!r}"
    return set(found)


def test_speeds() -> None:
    """README and the first page show the speeds that the benchmarks recorded."""
    for name in ("README.md", "docs/index.md"):
        assert speeds() in page(name), "run python -m tests.pages.figures"


def stamp(name: str) -> re.Match[str]:
    found = pages.STAMP.search(page(f"bench/{name}"))
    assert found, f"bench/{name} has no stamp: python -m bench pages --stamp {name}"
    return found


def test_first_pages_date_the_speeds() -> None:
    day, _, machine, _ = stamp("JAX.md").groups()
    date = f"{datetime.fromisoformat(day):%-d %B %Y}"
    for name in ("README.md", "docs/index.md"):
        assert figures(name, r"((?:AMD|Intel)[^.]*?), CPU time on one core, (\d+ \w+ \d{4})") == {(machine, date)}


def test_every_benchmark_page_has_a_stamp() -> None:
    """Stamps may be old, since each change of the kernels outdates some: `python -m bench pages` lists those."""
    there = {path.relative_to(ROOT / "bench").as_posix() for path in (ROOT / "bench").rglob("*.md")}
    assert there == set(pages.PAGES)
    linked = set(re.findall(r"\]\(\.\./bench/([\w/]+\.md)\)", page("docs/benchmarks.md")))
    assert linked == there
    for name, about in pages.PAGES.items():
        day, _, machine, _ = stamp(name).groups()
        assert datetime.fromisoformat(day) and machine
        assert [source for source in about.sources if not (ROOT / source).exists()] == []


def test_digest_ignores_comments(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("x = 1\n")
    before = pages.digest(["a.py"], tmp_path)
    file.write_text('"""Text."""\n\n# A comment\nx = 1  # and one more\n')
    assert pages.digest(["a.py"], tmp_path) == before
    file.write_text('x = """Text."""\n')
    assert pages.digest(["a.py"], tmp_path) != before


def test_stamp_replaces_previous_stamp() -> None:
    line = pages.stamp_of("JAX.md", "a machine, 2 cores", "0123abcd", "2026-11-27")
    once = pages.stamped("# Title\n\ntext\n", line)
    assert once == f"# Title\n\n{line}\n\ntext\n" and pages.stamped(once, line) == once


@pytest.mark.enabled("cpu", "fixes")
def test_kernels_of_workloads() -> None:
    """The first page says how many workloads have the kernels of batching by hand."""
    as_many = identical = 0
    for w in WORKLOADS:
        inputs = [Tensor(a).realize() for a in arrays(w)]
        ours, hand = kernels(w.mapped(*inputs)), kernels(w.hand(*inputs))
        as_many += len(ours) == len(hand)
        identical += shared(ours, hand) == len(ours) == len(hand)
    found = figures("docs/index.md", r"(\d+) of \[(\d+) workloads\].*? and in (\d+) all kernels are identical")
    assert found == {(str(as_many), str(len(WORKLOADS)), str(identical))}


def test_count_of_exercises() -> None:
    for name in ("README.md", "docs/puzzles.md", "CHANGELOG.md"):
        assert figures(name, r"(\d+) exercises") == {str(len(PUZZLES))}


def test_count_of_gallery_mistakes() -> None:
    wrong = {str(sum(path.suffix == ".py" for path in (ROOT / "tests/gallery/wrong").iterdir()))}
    assert (
        figures("README.md", r"shows (\d+) mistakes") == figures("CHANGELOG.md", r"gallery of (\d+) mistakes") == wrong
    )
    assert {str(len(list((ROOT / "docs/gallery").iterdir())))} == wrong
    assert figures("docs/index.md", r"has (\d+) mistakes") == wrong


def test_counts_of_seeded_mistakes() -> None:
    """README and the pages show the counts of the measured table."""
    table = page("bench/brandbugs/RESULTS.md")
    rows = {
        of: re.search(rf"\| {of} [\w.+]+ \| mypy \| (\d+) \|.*\| (\d+) \|", table) for of in ("branded", "jax", "torch")
    }
    found = {of: row.groups() for of, row in rows.items() if row is not None}
    (ours, total), (jax, _), (torch, _) = (found[of] for of in ("branded", "jax", "torch"))
    assert figures("README.md", r"wrote (\d+) annotated programs with one") == {total}
    assert figures(
        "README.md", r"mypy finds (\d+) of them with the types of `branded`, (\d+) with JAX's and (\d+) with torch's"
    ) == {(ours, jax, torch)}
    assert figures("docs/reference/comparison.md", r"mypy finds, of (\d+) \| \*\*(\d+)\*\* \| (\d+) \| (\d+)") == {
        (total, ours, jax, torch)
    }
    assert figures("docs/reference/from-jax.md", r"Of (\d+) programs with one mistake each, it finds (\d+)") == {
        (total, ours)
    }
    assert figures("docs/gallery.md", r"of (\d+) larger programs") == {total}


def test_counts_of_mistakes_silent_in_jax() -> None:
    """README and the first page count the reported mistakes as the table of the gallery does."""
    rows = re.findall(r"^\| \[.*\]\(gallery/.*\) \|.*$", page("docs/gallery.md"), re.MULTILINE)
    verdicts = [[cell.strip() for cell in row.strip("|").split("|")][2:] for row in rows]
    silent = [(mypy, ours) for jax, _, _, mypy, _, ours in verdicts if jax == "**wrong**"]
    raised = sum(ours == "error" for _, ours in silent)
    found = sum(mypy == "error" != ours for mypy, ours in silent)
    counts = tuple(map(str, (len(silent), raised, found, len(silent) - raised - found)))
    for name in ("README.md", "docs/index.md"):
        wrong, error = r"(\d+) programs that are silently wrong in JAX", r"an error for (\d+) of them at run time"
        mypy, rest = r"mypy finds (\d+) more", r"(\d+) are not detected"
        assert figures(name, rf"has {wrong}\. `branded` raises {error}, {mypy}, and {rest}") == {counts}


def test_count_of_digits() -> None:
    n = f"{digits.load()[0].shape[0]:,}"
    assert figures("README.md", r"([\d,]+) handwritten digits") == {n}


def test_count_of_fixes() -> None:
    assert figures("CHANGELOG.md", r"Fixes for (\d+) faults") == {str(len(tinygrad_compat.PATCHES))}


def test_count_of_chapters() -> None:
    numbers = ("four", "five", "six", "seven", "eight")
    chapters = len(list((ROOT / "docs/course").glob("[0-9]-*.md")))
    assert figures("CHANGELOG.md", r"course in (\w+) chapters") == {numbers[chapters - 4]}


def test_time_that_the_plugin_adds() -> None:
    """At most a tenth for a whole program, and a quarter if mypy checks only the file that was edited."""
    cold, warm, edited = map(
        float, re.findall(r"\| ([\d.]+) \|$", page("bench/TYPECHECK.md").partition("\n## ")[0], re.MULTILINE)
    )
    assert max(cold, warm) <= 1.1 and edited <= 1.25


def test_count_of_applications() -> None:
    pages = [path for path in (ROOT / "docs/applications").glob("*.md") if path.stem != "index"]
    assert len(pages) == 12 and figures("README.md", r"(\w+) \[applications\]") == {"Twelve"}
