"""The programs of bench/axesbugs: the right versions run, and mypy finds what the table says."""

from __future__ import annotations

import re
import sys

import pytest

from bench.axesbugs import __main__ as axesbugs
from tests.warm import MYPY, STRICT, warm

OURS = axesbugs.sections("ours")
NAMES = list(OURS)
UNSEEN = {
    "softmax_over_the_other_axis": "both axes stay what they are",
    "joined_along_the_other_axis": "what is joined has no name, and goes for any",
}
"""The mistakes that names of axes do not show."""


@pytest.fixture(scope="module")
def typed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    cache = tmp_path_factory.mktemp("cache")
    warm(cache, MYPY, STRICT)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("MYPY_CACHE_DIR", str(cache))
        return axesbugs.typed(NAMES, OURS)


def test_mypy_finds_every_mistake_that_names_show(typed: dict[str, str]) -> None:
    assert len(NAMES) >= 20 and list(axesbugs.sections("jax")) == NAMES
    assert {n: said for n, said in typed.items() if said != "found"} == dict.fromkeys(UNSEEN, "missed")


def test_the_table_is_of_these_programs(typed: dict[str, str]) -> None:
    text = (axesbugs.HERE / "RESULTS.md").read_text().partition("| mistake |")[2]
    rows = dict(re.findall(r"^\| ([^|]+) \| (found|missed) \|", text, re.MULTILINE))
    assert rows == {n.replace("_", " "): said for n, said in typed.items()}, "python -m bench.axesbugs --markdown ..."


def test_the_right_versions_run() -> None:
    said = axesbugs.run(sys.executable, NAMES, OURS, "lengths differ")
    assert [n for n, verdict in said.items() if verdict == "false alarm"] == []
