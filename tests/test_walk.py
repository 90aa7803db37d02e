"""The functions that one example calls, as docs/follow-one-example.md lists them."""

from __future__ import annotations

import subprocess
import sys

from tests import walk


def test_the_way_on_the_page_is_the_one_that_is_taken() -> None:
    """In a process of its own, in which no other test has had anything worked out."""
    code = "from tests import walk; print(walk.text(walk.walk()))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=walk.ROOT.parent
    )
    assert done.stdout.strip() == walk.said(), "python -m tests.walk writes it anew"


def test_the_way_does_not_grow() -> None:
    """It is read, so each change of file costs a reader: a new one needs to be worth it."""
    assert len(walk.said().splitlines()) - 1 <= 20
