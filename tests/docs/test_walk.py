"""Test the functions that one example calls: the list in docs/follow-one-example.md, and the length of each path."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.pages import walk
from tests.pages.walk import Size


def path(name: str) -> str:
    """Return the path of a call in a separate process, where no other test has filled a cache."""
    words = [sys.executable, "-m", "tests.pages.walk", "--path", name]
    return subprocess.run(words, capture_output=True, text=True, check=True, cwd=walk.ROOT.parent).stdout.strip()


def test_path_on_page_is_current() -> None:
    assert path("vmap").rpartition("\n")[0] == walk.said(), "python -m tests.pages.walk writes it anew"


def test_path_of_vmap_is_short() -> None:
    """People read this path, and each change of file costs them time."""
    assert len(walk.said().splitlines()) - 1 <= 21


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("grad", Size(files=6, changes=5, callables=2)),
        ("jit", Size(files=4, changes=3, callables=0)),
        ("scan", Size(files=5, changes=4, callables=6)),
        ("mypy", Size(files=12, changes=12, callables=10)),
    ],
)
def test_path_limits(name: str, most: Size) -> None:
    """With one change fewer than files, a path enters each file once.

    The path of mypy has one more: the checks of a body continue for each part that `walk` finds in it.
    """
    out = path(name)
    size = Size(*map(int, re.findall(r"=(\d+)", out.rpartition("\n")[2])))
    assert all(n <= limit for n, limit in zip(size, most, strict=True)), out
