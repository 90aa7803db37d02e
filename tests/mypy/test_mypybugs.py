"""The programs of bench/mypybugs run, and both mypys accept them and find the mistakes in them."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from bench.mypybugs import __main__ as mypybugs
from tests.explain.test_static import OLDEST, WITH_OLDEST
from tests.support.profiles import amount
from tests.support.warm import MYPY, STRICT, warm

EVERYTHING = mypybugs.everything()
SAMPLE = [m for i, m in enumerate(EVERYTHING) if m.kind is None or i % 9 == 0]
"""All programs, and a part of their mistakes: `python -m bench.mypybugs` checks all of them in less than a minute."""
PROGRAMS = [p for p in mypybugs.PROGRAMS if any(m.program == p.stem for m in mypybugs.readable(EVERYTHING))]


@pytest.mark.parametrize("mypy", amount([MYPY], [MYPY, WITH_OLDEST]), ids=amount(["newest"], ["newest", "oldest"]))
def test_mistakes_are_found(mypy: tuple[str, ...], tmp_path: Path) -> None:
    if mypy is WITH_OLDEST and not OLDEST.exists():
        pytest.skip("make test sets up the oldest mypy")
    env = {"PYTHONPATH": str(mypybugs.ROOT)} if mypy is WITH_OLDEST else {}
    warm(tmp_path, mypy, STRICT, **env)
    sample = SAMPLE if mypy is MYPY else mypybugs.readable(SAMPLE)
    found, missed, alarms = mypybugs.results(sample, mypybugs.check(sample, mypy, tmp_path))
    assert alarms.keys() <= mypybugs.ALARMS.keys(), alarms
    assert len(found) >= 20 and len(missed) <= 2, missed


def test_number_of_programs_and_mistakes() -> None:
    kinds = [m.kind for path in mypybugs.PROGRAMS for m in mypybugs.mutants(path, mypybugs.mistakes(mypybugs.KINDS))]
    assert kinds.count(None) >= 20 and len(kinds) - kinds.count(None) >= 230


@pytest.mark.by_numpy
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.stem)
def test_programs_run(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(mypybugs.FOLDER))
    runpy.run_path(str(path))
