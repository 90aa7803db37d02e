"""The functions that one example calls: the list of docs/follow-one-example.md, and the size of each path."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.pages import walk
from tests.pages.walk import Size


def path(name: str) -> str:
    """Return the path of a call in a process of its own, in which no other test has filled a cache."""
    words = [sys.executable, "-m", "tests.pages.walk", "--path", name]
    return subprocess.run(words, capture_output=True, text=True, check=True, cwd=walk.ROOT.parent).stdout.strip()


def test_the_way_on_the_page_is_the_one_that_is_taken() -> None:
    assert path("vmap").rpartition("\n")[0] == walk.said(), "python -m tests.pages.walk writes it anew"


def test_the_way_does_not_grow() -> None:
    """It is read, so each change of file costs a reader: a new one needs to be worth it."""
    assert len(walk.said().splitlines()) - 1 <= 21


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("grad", Size(files=6, changes=5, callables=2)),
        ("jit", Size(files=4, changes=3, callables=0)),
        ("scan", Size(files=5, changes=4, callables=6)),
        ("mypy", Size(files=10, changes=10, callables=9)),
    ],
)
def test_a_path_reads_from_top_to_bottom(name: str, most: Size) -> None:
    """With one change less than files, each file is entered once.

    The rule of vmap has one more: the checks of a body continue for each part that `walk` finds in it.
    """
    out = path(name)
    size = Size(*map(int, re.findall(r"=(\d+)", out.rpartition("\n")[2])))
    assert all(n <= limit for n, limit in zip(size, most, strict=True)), out
