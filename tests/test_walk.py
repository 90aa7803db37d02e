"""The functions that one example calls: the list of docs/follow-one-example.md, and the size of each path."""

from __future__ import annotations

import subprocess
import sys

from tests import walk


def path(name: str) -> str:
    """Return the path of a call in a process of its own, in which no other test has filled a cache."""
    words = [sys.executable, "-m", "tests.walk", "--path", name]
    return subprocess.run(words, capture_output=True, text=True, check=True, cwd=walk.ROOT.parent).stdout.strip()


def test_the_way_on_the_page_is_the_one_that_is_taken() -> None:
    assert path("vmap").rpartition("\n")[0] == walk.said(), "python -m tests.walk writes it anew"


def test_the_way_does_not_grow() -> None:
    """It is read, so each change of file costs a reader: a new one needs to be worth it."""
    assert len(walk.said().splitlines()) - 1 <= 20
