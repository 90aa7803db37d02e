"""Run the programs of bench/brandbugs: correct versions run, and mypy finds the mistake in each incorrect one."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from tinygrad import Context

from bench.brandbugs import __main__ as brandbugs
from tests.support.warm import MYPY, STRICT, warm

PROGRAMS = brandbugs.programs()
NAMES = [p.name for p in PROGRAMS]


@pytest.fixture(scope="session")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, brandbugs.Verdict]:
    folder = tmp_path_factory.mktemp("brandbugs")
    brandbugs.write_versions("ours", NAMES, folder)
    warm(folder / ".mypy_cache", MYPY, STRICT)
    errors = brandbugs.mypy(folder, "ours")
    return {n: brandbugs.verdict(errors.get(f"{n}_right", []), errors.get(f"{n}_wrong", [])) for n in NAMES}


def test_mypy_finds_mistakes_visible_in_types(verdicts: dict[str, brandbugs.Verdict]) -> None:
    assert len(PROGRAMS) >= 60
    assert [p.name for p in PROGRAMS if verdicts[p.name].false_alarm] == []
    assert [p.name for p in PROGRAMS if not verdicts[p.name].found] == [p.name for p in PROGRAMS if p.unseen]


def test_table_is_current(verdicts: dict[str, brandbugs.Verdict]) -> None:
    text = (Path(brandbugs.HERE) / "RESULTS.md").read_text()
    for p in PROGRAMS:
        assert f"\n| {p.name} | {p.kind} | {verdicts[p.name]} | " in text, "python -m bench.brandbugs --markdown ..."


@pytest.mark.by_numpy
@pytest.mark.parametrize("name", NAMES)
def test_correct_version_runs(name: str) -> None:
    spec = importlib.util.spec_from_file_location(name, Path(brandbugs.HERE) / "ours" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with Context(NOOPT=1, PARALLEL=0):
        spec.loader.exec_module(module)
        module.main()
