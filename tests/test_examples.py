"""The examples run; mypy checks them with the package itself (mypy.ini)."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))
PRINTED = {
    "attention": "2 heads, 5 queries; largest difference from tinygrad's own: ",
    "recommender": "user 0 may like film 0\nuser 1 may like film 1\nuser 2 may like film 0\nuser 3 may like film 1\n",
    "springs": "stiffness 1: +0.536 after 1 s, exactly +0.540\nstiffness 4: -0.425 after 1 s, exactly -0.416\n",
}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda p: p.stem)
def test_example(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out.startswith(PRINTED[example.stem])
