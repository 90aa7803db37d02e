"""Plain tinygrad programs behave the same after `import branded`; `python -m tests.fuzz.plain` runs more of them."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.plain import compare, state, suite
from tests.plain.compare import Difference
from tests.plain.programs import KINDS, program
from tests.support.profiles import amount

SAMPLE = range(amount(1, 2) * len(KINDS))
NAMES = 40
"""At most this number of names of tinygrad are replaced."""


def test_programs_give_the_same_bytes_and_kernels(tmp_path: Path) -> None:
    report = compare.programs(SAMPLE, 0, ("used", *amount((), ("beside",))), tmp_path)
    assert not compare.by_program(report.differences, 0)


def test_names_and_process_state_are_unchanged(tmp_path: Path) -> None:
    changes = compare.state(tmp_path)
    assert not changes.facts
    assert sum(map(len, changes.names.values())) <= NAMES


def test_each_range_has_all_kinds() -> None:
    assert {program(n).kind for n in SAMPLE} == set(KINDS)
    texts = [program(n).text for n in range(200)]
    assert len(set(texts)) > 170 and texts == [program(n).text for n in range(200)]
    assert program(0, seed=1).text != program(0).text
    for n in range(200):
        compile(program(n).text, str(n), "exec")


def test_differences_of_outcomes_are_found() -> None:
    plain: compare.Outcomes = {
        1: {"result": "a", "sources": ["f", "g"], "warnings": [], "output": "", "kernels run": 2},
        2: {"error": "E: a", "sources": []},
    }
    assert not compare.differences("used", plain, plain)
    others = {1: plain[1] | {"sources": ["f", "h"], "kernels run": 3}, 2: {"result": "b", "sources": []}}
    assert compare.differences("used", plain, others) == [
        Difference(1, "used", "kernels run", 2, 3),
        Difference(1, "used", "sources", ["g"], ["h"]),
        Difference(2, "used", "result", None, "b"),
        Difference(2, "used", "error", "E: a", None),
    ]
    # the other thread compiles kernels too
    more = {1: plain[1] | {"sources": ["f", "g", "h"], "kernels run": 7}, 2: plain[2]}
    assert not compare.differences("beside", plain, more)
    assert compare.differences("beside", plain, others)[0] == Difference(1, "beside", "sources", ["g"], [])


def test_outcome_of_a_crashing_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = 'import os, sys; print(\'{"number": 4, "sources": []}\', flush=True); os.kill(os.getpid(), 8)'
    monkeypatch.setattr(compare, "command", lambda condition, seed, numbers: [sys.executable, "-c", code])
    done, raised = compare.collect("plain", [4, 5], 0, tmp_path)
    assert not raised
    assert [done[n].get("error") for n in (4, 5)] == [None, "the process ended by SIGFPE"]


def test_changes_of_names_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("tinygrad.example")

    class Example:
        def same(self) -> None: ...
        def changed(self) -> int:
            return 1

        def replaced(self) -> None: ...

    Example.__module__, Example.__qualname__ = module.__name__, "Example"
    vars(module).update(Example=Example, table=[1], number=1, removed=1)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    before = state.names()
    parts = {name: state.inside(value) for name, value in before.items()}
    assert not list(state.changes(before, parts, state.names()))
    Example.changed.__code__ = (lambda self: 2).__code__
    monkeypatch.setattr(Example, "replaced", lambda self: None)
    module.table.append(2)
    vars(module).update(number=2, added=1)
    del module.removed
    assert sorted(state.changes(before, parts, state.names())) == [
        ("added", (module.__name__, "added")),
        ("changed inside", (module.__name__, "Example.changed")),
        ("changed inside", (module.__name__, "table")),
        ("removed", (module.__name__, "removed")),
        ("replaced", (module.__name__, "Example.replaced")),
        ("replaced", (module.__name__, "number")),
    ]


TESTS = """
import os, sys, pytest
def test_passes(): pass
def test_fails(): assert False
def test_import(): assert "branded" not in sys.modules
@pytest.mark.skip
def test_skipped(): pass
@pytest.mark.xfail
def test_expected(): assert False
@pytest.fixture
def broken():
    yield
    assert False
def test_teardown(broken): pass
"""


@pytest.mark.exhaustive
def test_outcomes_of_tests_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tests, table = tmp_path / "test", tmp_path / "table.toml"
    for name, text in {"test_all.py": TESTS, "unit/test_end.py": "import os\ndef test_end(): os._exit(7)"}.items():
        (tests / name).parent.mkdir(parents=True, exist_ok=True)
        (tests / name).write_text(text)
    assert suite.main(["--tests", str(tests)], table) == 1
    assert capsys.readouterr().out.splitlines() == [
        "test_all.py::test_import: passed plain, failed after import branded",
        "2 files, 7 tests, 2 pass plain, 1 differ",
    ]
    entries = suite.read(table)
    assert entries["test_all.py"] == {
        "passed": 2,
        "failed": ["test_fails", "test_teardown"],
        "skipped": ["test_skipped"],
        "xskipped": ["test_expected"],
    }
    assert entries["unit/test_end.py"] == {"passed": 0, "ended": [""]}
    (tests / "unit" / "test_end.py").write_text("def test_end(): pass")
    assert suite.main(["--tests", str(tests), "--only", "end"], table) == 0
    assert "unit/test_end.py: plain 1 passed; the table has 0 passed, 1 ended" in capsys.readouterr().out
    assert suite.read(table) == entries
