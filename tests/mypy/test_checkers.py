"""The page about type checkers is current, and the checkers report everything that is promised."""

import runpy

import pytest

import branded  # noqa: F401  chooses the compiler
from tests.pages import checkers
from tests.pages.checkers import ALARMS, CHECKERS, FILES, PLAIN, PROGRAMS, PROMISED, UNFOUND, Place
from tests.support.profiles import amount

NAMES = {c.name for c in CHECKERS} - amount({"basedpyright"}, set())
"""The checkers that run. `make test` leaves out basedpyright, which reports the same as pyright here."""
PROMISED_FILES = {f"rejected/{kind}.py" for kind in PROMISED}


@pytest.fixture(scope="module")
def errors() -> dict[str, set[Place]]:
    return checkers.run(NAMES)


def test_checkers(errors: dict[str, set[Place]]) -> None:
    """A single test, so that the checkers run only once even if tests are spread over processes."""
    failing = [(p, {name for name in NAMES if not p.passes(errors[name])}) for p in PROGRAMS]
    alarms = {p.title: names for p, names in failing if p.is_right and names}
    missed = {(p.file, p.title): names for p, names in failing if not p.is_right and names}
    known_alarms = {title: names & NAMES for title, (names, _) in ALARMS.items() if names & NAMES}
    assert alarms == known_alarms, "the known false alarms, and no others"
    assert {at for at, names in missed.items() if "mypy + plugin" in names} == set(), "the plugin finds every mistake"
    promised = {at[1]: names for at, names in missed.items() if at[0] in PROMISED_FILES}
    assert promised == UNFOUND, "all find what is promised"
    known = {place for p in PROGRAMS for place in p.places}
    assert {name: found for name in NAMES if (found := errors[name] - known)} == {}, "errors beside the marked lines"
    page = checkers.page({c.name: set() for c in CHECKERS} | errors)
    assert columns(checkers.PAGE.read_text()) == columns(page), "run python -m tests.pages.checkers"


def columns(page: str) -> list[list[str]]:
    """Return the lines of the page, without the columns of checkers that did not run."""
    found = [line.split("|") if line.startswith("|") else [line] for line in page.splitlines()]
    left_out = [i - len(CHECKERS) - 1 for i, c in enumerate(CHECKERS) if c.name not in NAMES]
    for cells in found:
        for i in left_out if len(cells) > 1 else ():
            cells[i] = ""
    return found


@pytest.mark.parametrize(
    "checker", [c for c in CHECKERS if c.name in {"pyrefly", "ty", *amount((), ("pyright",))}], ids=lambda c: c.name
)
def test_whole_programs_are_clean(checker: checkers.Checker) -> None:
    """The examples with `Vec` types, and programs with plain `Tensor` in every signature.

    pyright takes seven times as long as each of the two others, so only `make test-all` runs it here.
    """
    root = PLAIN.parents[2]
    own = ("bench/plainbugs/programs",) if checker.name == "pyright" else ()  # the others check these in their table
    tops = ("examples", "tests/types/naive", *own)
    files = [str(p.relative_to(root)) for top in tops for p in root.glob(f"{top}/*.py")]
    assert len(files) >= 26
    assert list(checker.errors(root, files)) == []


def test_number_of_programs() -> None:
    assert sum(p.is_right for p in PROGRAMS) >= 25
    assert sum(not p.is_right for p in PROGRAMS) >= 30
    assert {p.file for p in PROGRAMS} == set(FILES)
    assert set(FILES) >= PROMISED_FILES
    assert len({(p.file, p.title) for p in PROGRAMS}) == len(PROGRAMS)


def test_only_incorrect_programs_are_marked() -> None:
    assert [p for p in PROGRAMS if not p.places] == []
    assert [file for file in FILES if file.startswith("accepted") and "# E\n" in (PLAIN / file).read_text()] == []


@pytest.mark.by_numpy
@pytest.mark.parametrize("file", [file for file in FILES if file.startswith("accepted")])
def test_correct_programs_run(file: str) -> None:
    runpy.run_path(str(PLAIN / file))
