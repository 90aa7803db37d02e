"""Test that the gallery shows the current results of its programs, and that the recorded results are current."""

from __future__ import annotations

import functools
import importlib.util
import re
import tomllib

import pytest

from branded import vmap
from branded.learn import why
from tests.gallery import mistakes as gallery
from tests.gallery import pages
from tests.gallery.programs import HERE, PEERS, SIDES, Outcome, agree, run, shown
from tests.support.realized import by_numpy

WORDS = [m for kind in tomllib.loads((HERE / "words.toml").read_text())["kinds"] for m in kind["mistakes"]]
FILES = [m["file"] for m in WORDS]


@pytest.fixture(scope="module")
def kinds() -> list[gallery.Kind]:
    with by_numpy():
        return gallery.kinds()


@pytest.fixture(scope="module")
def mistakes(kinds: list[gallery.Kind]) -> list[gallery.Mistake]:
    return [m for kind in kinds for m in kind.mistakes]


def programs(folder: str) -> set[str]:
    return {file.stem for file in (HERE / folder).glob("*.py")}


def test_gallery_pages_are_up_to_date(kinds: list[gallery.Kind]) -> None:
    made = pages.pages(kinds)
    assert {pages.INDEX, *pages.FOLDER.iterdir()} == set(made), "run python -m tests.gallery"
    assert {path.name for path, text in made.items() if path.read_text() != text} == set(), (
        "run python -m tests.gallery"
    )


def test_every_mistake_is_complete() -> None:
    assert len(FILES) == len(set(FILES)) >= 25
    assert programs("wrong") == programs("right") == set(FILES)
    assert set().union(*map(programs, PEERS)) <= set(FILES)
    for words in WORDS:
        assert set(words) - {"peers", "ours", "seen", "stricter"} == {"file", "title", "wanted", "words", "fix"}, words[
            "file"
        ]
        assert all(words.values()), words["file"]
        assert words["file"] in set().union(*map(programs, PEERS)) or "peers" in words, words["file"]


def test_fix_computes_expected_result(mistakes: list[gallery.Mistake]) -> None:
    assert {m.title: m.right for m in mistakes if m.verdict(m.right) != "right"} == {}
    assert {m.title: m.mypy_of_right for m in mistakes if m.mypy_of_right} == {}, "mypy accepts the fix"


def test_stricter_checks_match_the_page(mistakes: list[gallery.Mistake]) -> None:
    """Each has the mistake itself: without the check, the program does the same as the wrong one."""
    silent = [m for m in mistakes if m.is_silent]
    assert [m.title for m in mistakes if "stricter" in m.words] == [m.title for m in silent]
    assert programs("strict") | programs("typed") <= {m.words["file"] for m in silent}
    assert len(programs("strict")) == 5 and len(programs("typed")) == 7
    for m in silent:
        if m.strict:
            assert re.match(r"branded\.errors\.\w+Error: strict: ", m.strict.error), m.title
            loose = re.sub(r", strict=True", "", shown(HERE / "strict" / f"{m.words['file']}.py"))
            assert loose == m.wrong.source, m.title
        if m.typed:
            assert re.search(r"^app\.py:\d+: (?!note: )", m.mypy_of_typed, re.M), m.title
            assert m.typed.printed == m.wrong.printed, m.title


def test_no_right_program_is_rejected_strictly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("branded.vmap", functools.partial(vmap, strict=True))
    rejected = {file: run(shown(HERE / "right" / f"{file}.py")).error for file in FILES}
    assert {file: error for file, error in rejected.items() if error} == {}


def test_errors_are_those_of_branded(mistakes: list[gallery.Mistake]) -> None:
    errors = [m.wrong.error for m in mistakes if m.wrong.error]
    assert errors and [e for e in errors if not re.match(r"branded\.errors\.\w+Error: .+\n  ", e)] == []


def test_mypy_and_run_time_codes_agree(mistakes: list[gallery.Mistake]) -> None:
    """The code of a mypy error and the class of the run-time error lead to the same explanation."""
    seen = 0
    for m in mistakes:
        codes = re.findall(r"  \[(brand-[\w-]+|truthy-bool)\]$", m.mypy, re.M)
        if codes and (raised := re.match(r"branded\.errors\.(\w+)", m.wrong.error)):
            seen += 1
            assert why.code_of(raised[1]) in map(why.code_of, codes), m.title
    assert seen > 8


def test_every_mistake_fails_somewhere(mistakes: list[gallery.Mistake]) -> None:
    """If `branded` computes the expected result, the program fails under mypy or in another library."""
    fine = [m for m in mistakes if m.verdict(m.wrong) == "right" and not m.is_found_by_mypy]
    assert {m.title for m in fine if all(m.verdict(o) == "right" for o in m.peers.values())} == set()


@pytest.mark.parametrize("peer", PEERS)
def test_recorded_programs_are_current(peer: str) -> None:
    outcomes = gallery.recorded()[peer]["outcomes"]
    assert set(outcomes) == programs(peer), "python -m tests.gallery.record"
    for file, did in outcomes.items():
        source = shown(HERE / peer / f"{file}.py")
        assert source.startswith(did["source"]) if did["error"] else source == did["source"], file


@pytest.mark.parametrize("peer", PEERS)
def test_recorded_results_are_current(peer: str, mistakes: list[gallery.Mistake]) -> None:
    """numpy is always installed; a test of another library is skipped without it."""
    if importlib.util.find_spec(peer) is None:
        pytest.skip(f"{peer} is not installed")
    for m in mistakes:
        if peer in m.peers:
            now = run(shown(HERE / peer / f"{m.words['file']}.py"))
            assert m.verdict(now) == m.verdict(m.peers[peer]), m.title


def test_pyright_record_is_current() -> None:
    """Compare recorded sources only, since starting pyright takes seconds; tests/mypy/test_checkers.py runs it."""
    outcomes = gallery.recorded()["pyright"]["outcomes"]
    ours = {f"{side}_{file}": shown(HERE / side / f"{file}.py") for side in SIDES for file in FILES}
    assert {name: did["source"] for name, did in outcomes.items()} == ours, "python -m tests.gallery.record pyright"


def test_index_links_every_mistake(mistakes: list[gallery.Mistake]) -> None:
    index = pages.INDEX.read_text()
    assert re.findall(r"\[([^]]*)\]\(gallery/([\w-]+)\.md\)", index) == [(m.title, m.slug) for m in mistakes]
    kinds = re.findall(r"^## (.*)", index, re.M)
    for m in mistakes:
        page = (pages.FOLDER / f"{m.slug}.md").read_text()
        assert page.startswith(f"# {m.title}\n") and page.count("\n# ") <= len(m.peers), "one heading"
        assert any(f"../gallery.md#{pages.anchor(kind)})" in page for kind in kinds)


def test_records_contain_no_machine_paths() -> None:
    for peer in PEERS:
        for did in gallery.recorded()[peer]["outcomes"].values():
            assert not re.search(r"(?<![\w:/.])/\w+/|0x[0-9a-f]{6}", did["error"] + did["warning"])


@pytest.mark.parametrize(
    ("printed", "wanted", "same"),
    [
        ("[1.0, 2.0]", "[1, 2]", True),
        ("0.10000000149", "0.1", True),
        ("[1.0, 2.5]", "[1, 2]", False),
        ("[[1.0, 2.0]]", "[1.0, 2.0]", False),
        ("[1.0, 2.0, 3.0]", "[1.0, 2.0]", False),
        ("[0.25, nan]", "[0.25, 0.0]", False),
        ("[True]", "[1]", False),
        ("<function f>", "[1.0]", False),
        ("", "[1.0]", False),
    ],
)
def test_agree(printed: str, wanted: str, same: bool) -> None:
    assert agree(printed, wanted) is same


def test_run() -> None:
    assert run("a = 1\nprint(a)\n") == Outcome("a = 1\nprint(a)\n", "1")
    stopped = run("print(1)\nx = (\n  1 // 0)\nprint(2)\n")
    assert stopped == Outcome(
        "print(1)\nx = (\n  1 // 0)\n", "1", "ZeroDivisionError: integer division or modulo by zero"
    )
    warned = run("import warnings\nwarnings.warn('oh')\nprint(3)\n")
    assert (warned.printed, warned.error, warned.warning) == ("3", "", "UserWarning: oh")
