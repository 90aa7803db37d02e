"""The programs of bench/plainbugs run, and checkers without the plugin accept them and find what the page lists."""

import runpy
from pathlib import Path

import pytest

from bench.brandbugs.__main__ import markdown
from bench.plainbugs import __main__ as plainbugs

PAGE = Path(plainbugs.__file__).parents[1] / "TYPECHECK.md"


def test_results_without_the_plugin() -> None:
    found = plainbugs.results()
    assert found.alarms.keys() == plainbugs.ALARMS.keys(), found.alarms
    section = PAGE.read_text().partition(plainbugs.HEADING)[2].partition("\n## ")[0]
    assert "\n".join(markdown(found.rows)) in section, "the table of python -m bench.plainbugs is another one"


def test_number_of_programs_and_mistakes() -> None:
    programs = plainbugs.everything()
    assert len(plainbugs.PROGRAMS) >= 24 and sum(m.kind is not None for m in programs) >= 140


@pytest.mark.by_numpy
@pytest.mark.parametrize("path", plainbugs.PROGRAMS, ids=lambda p: p.stem)
def test_programs_run(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(plainbugs.FOLDER))
    runpy.run_path(str(path))
