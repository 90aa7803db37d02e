"""The programs of bench/plainbugs run, and checkers without the plugin accept them and find what the page lists."""

import runpy
from pathlib import Path

import pytest

from bench.plainbugs import __main__ as plainbugs
from tests.support.by_numpy import COMPILE_ALL

PAGE = Path(plainbugs.__file__).parents[1] / "TYPECHECK.md"


def test_results_without_the_plugin() -> None:
    """pyright takes two thirds of the time: without `make test-all`, it checks the programs without a mistake."""
    checkers = [c for c in plainbugs.PLAIN if COMPILE_ALL or c.name != "pyright"]
    found = plainbugs.results(checkers)
    assert found.alarms.keys() == plainbugs.ALARMS.keys(), found.alarms
    section = PAGE.read_text().partition(plainbugs.HEADING)[2].partition("\n## ")[0]
    listed = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")]
    columns = [listed[0].index(name) for name in found.rows[0]]
    assert found.rows == [[row[i] for i in columns] for row in listed], "the table of python -m bench.plainbugs differs"


@pytest.mark.skipif(COMPILE_ALL, reason="the table above includes it")
def test_pyright_accepts_the_programs() -> None:
    (pyright,) = (c for c in plainbugs.PLAIN if c.name == "pyright")
    assert plainbugs.check(pyright, [m for m in plainbugs.everything() if m.kind is None]) == {}


def test_number_of_programs_and_mistakes() -> None:
    programs = plainbugs.everything()
    assert len(plainbugs.PROGRAMS) >= 24 and sum(m.kind is not None for m in programs) >= 140


@pytest.mark.by_numpy
@pytest.mark.parametrize("path", plainbugs.PROGRAMS, ids=lambda p: p.stem)
def test_programs_run(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(plainbugs.FOLDER))
    runpy.run_path(str(path))
