"""The programs of bench/plainbugs run, and checkers without the plugin accept them and find what the page lists."""

import runpy
from pathlib import Path

import pytest

from bench.plainbugs import __main__ as plainbugs

PAGE = Path(plainbugs.__file__).parents[1] / "TYPECHECK.md"


@pytest.mark.exhaustive
def test_results_without_the_plugin() -> None:
    found = plainbugs.results(plainbugs.PLAIN)
    assert found.alarms.keys() == plainbugs.ALARMS.keys(), found.alarms
    section = PAGE.read_text().partition(plainbugs.HEADING)[2].partition("\n## ")[0]
    listed = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")]
    columns = [listed[0].index(name) for name in found.rows[0]]
    assert found.rows == [[row[i] for i in columns] for row in listed], "the table of python -m bench.plainbugs differs"


def test_number_of_programs_and_mistakes() -> None:
    programs = plainbugs.everything()
    assert len(plainbugs.PROGRAMS) >= 24 and sum(m.kind is not None for m in programs) >= 140


@pytest.mark.by_numpy
@pytest.mark.parametrize("path", plainbugs.PROGRAMS, ids=lambda p: p.stem)
def test_programs_run(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(plainbugs.FOLDER))
    runpy.run_path(str(path))
