"""Check the puzzles: correct answers are accepted, incorrect ones get a reason, page and notebooks are current."""

from __future__ import annotations

import ast
import json
import re
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from tinygrad import Tensor

from branded import cli, vmap
from branded.learn import puzzles
from branded.learn.puzzles import (
    PUZZLES,
    Predict,
    Puzzle,
    Status,
    Verdict,
    Write,
    check,
    expected,
    find,
    outcome,
    sheet,
    truth,
)
from tests.docs.test_course import BRANDS_AS_ROW
from tests.pages import puzzles as made
from tests.support.by_numpy import read
from tests.support.profiles import amount
from tests.support.realized import BY_NUMPY
from tests.support.warm import warm

WRITES = [p for p in PUZZLES if isinstance(p, Write)]
PREDICTS = [p for p in PUZZLES if isinstance(p, Predict)]
ASK_MYPY = [p for p in PREDICTS if p.truth in (truth.rejected_by_mypy, truth.revealed_by_mypy)]


@pytest.fixture(scope="module", autouse=True)
def known(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Fill mypy's cache of tinygrad for all puzzles, including those in notebooks, if it is empty."""
    cache = truth._cache(str(tmp_path_factory.mktemp("mypy")))
    if not (cache / "branded").exists():
        warm(cache)


@pytest.fixture
def by_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compute the values of answers by numpy, from their graphs."""
    monkeypatch.setattr(outcome, "_array", lambda x: compiled(read(x) if isinstance(x, Tensor) else x))


compiled = outcome._array


def title(p: object) -> str | None:
    return p.title if isinstance(p, Puzzle) else None


def judged(puzzle: Puzzle, code: str) -> Verdict:
    return puzzle.judge(truth.run_source(code)[puzzle.name])


# ---- each puzzle ----


def test_number_of_puzzles() -> None:
    assert len(PUZZLES) >= 30 and len(WRITES) >= 15 and len(PREDICTS) >= 15
    assert [p.number for p in PUZZLES] == list(range(1, len(PUZZLES) + 1))
    assert len({p.title for p in PUZZLES}) == len({p.name for p in PUZZLES}) == len(PUZZLES)


@pytest.mark.by_numpy
@pytest.mark.parametrize("puzzle", PUZZLES, ids=title)
def test_solution_is_accepted(puzzle: Puzzle) -> None:
    assert judged(puzzle, puzzle.solved) == Verdict(Status.SOLVED)
    assert puzzle.hints and all(hint and hint not in puzzle.solved for hint in puzzle.hints)
    assert puzzle.because.endswith(".")


@pytest.mark.usefixtures("by_graphs")
@pytest.mark.parametrize("puzzle", PUZZLES, ids=title)
def test_starter_is_untouched(puzzle: Puzzle) -> None:
    assert judged(puzzle, puzzle.start).status is Status.UNTOUCHED
    assert judged(puzzle, puzzle.start.replace("...", "0 + 0")).status is not Status.SOLVED


@pytest.mark.usefixtures("by_graphs")
@pytest.mark.parametrize("puzzle", PUZZLES, ids=title)
def test_typical_mistakes_get_a_reason(puzzle: Puzzle) -> None:
    assert puzzle.wrong
    for wrong, why in puzzle.wrong.items():
        verdict = judged(puzzle, wrong) if isinstance(puzzle, Write) else puzzle.judge(wrong)
        assert verdict.status is Status.NOT_YET, wrong
        assert any(why in line for line in verdict.lines), verdict


@pytest.mark.parametrize("puzzle", WRITES, ids=title)
def test_inputs_have_different_sizes(puzzle: Write) -> None:
    shapes = [tuple(getattr(x, "shape", None) for x in args) for args in puzzle.inputs()]
    assert len(set(shapes)) == len(shapes) >= 2


@pytest.mark.usefixtures("by_graphs")
@pytest.mark.parametrize("puzzle", WRITES, ids=title)
def test_python_loop_is_rejected(puzzle: Write) -> None:
    """The oracle computes the right values by a Python loop, so it is rejected as an answer."""

    def by_loop(*args: Any) -> Any:
        arrays = [{k: v.numpy() for k, v in x.items()} if isinstance(x, dict) else x for x in args]
        out = puzzle.loop(*(x.numpy() if isinstance(x, Tensor) else x for x in arrays))
        return Tensor(out)

    verdict = puzzle.judge(by_loop)
    if puzzle.brands == 0:  # a loop over chunks is allowed here; `also` rejects the others
        assert verdict.status is Status.NOT_YET
    else:
        assert verdict.lines[0].startswith("The values are right, but it opened")


# ---- other answers ----


def test_equivalent_predictions_are_accepted() -> None:
    row = find(12)
    assert isinstance(row, Predict) and row.truth(row) == "Vec[x:3 | y:2, f32[4]]"
    for said in ("Vec[y:2|x:3, f32[4]]", "`Vec[x | y, f32[4]]`", "Vec[x:3 | y, F32[4]]"):
        assert row.judge(said).status is Status.SOLVED, said
    assert find(18).judge("Line D ").status is Status.SOLVED
    assert (
        find(1).judge((3,)) == find(1).judge(3) == find(1).judge([3]) == find(1).judge("(3,)") == Verdict(Status.SOLVED)
    )
    assert find(32).judge(Tensor([128, 150, 192])).status is Status.SOLVED


def test_partly_correct_type() -> None:
    assert find(12).judge("Vec[x:3 | y:2, f32[5]]").lines == (
        "it is not Vec[x:3 | y:2, f32[5]]",
        "The brands are right; the type of one example is not.",
    )
    one, names = "The type of one example is right; ", "The names of the brands are right; "
    for said, why in (
        ("Vec[z:3 | y:2, f32[4]]", f"{one}the brands are not."),
        ("Vec[x:3 | y:3, f32[4]]", f"{one}the size of `y` is not."),
        ("Vec[x:4 | y, f32[4]]", f"{one}the size of `x` is not."),
        ("Vec[x:2 | y:3, f32[4]]", f"{one}the size of `x` and `y` is not."),
        ("Vec[x:3 | y:4, f32[2]]", f"{names}the size of `y` and the type of one example are not."),
        ("Vec[x:3 | y:2, f32[4]", "A `]` is missing."),
        ("Vec[x:3 | y:2, f32[4]]]", "There is one `]` too many."),
        ("Vec[x:3 | y:2 f32[4]]", "A type is written as in `Vec[i:3 | j:2, f32[4]]`."),
    ):
        assert find(12).judge(said).lines[1:] == (why,), said
    assert find(13).judge("Vec[c:9 | a, f32[]]").lines[1] == f"{one}the size of `c` is not."
    assert find(1).judge("(5, 3").lines[1] == "A `)` is missing."
    assert find(12).judge("something else").lines == ("it is not something else",)


@pytest.mark.parametrize("puzzle", PREDICTS, ids=title)
def test_spelling_of_predictions_does_not_matter(puzzle: Predict) -> None:
    truth = puzzle.truth(puzzle)
    spellings: list[Any] = [truth, f'"{truth}"', [truth]]
    if (value := ast_value(truth)) is not None:
        parts = [*value] if isinstance(value, tuple | list) else [value]
        words = [str(x) for x in parts]
        spellings += [parts, tuple(parts), Tensor(parts), f"Tensor({parts})", f"({', '.join(words)},)"]
        spellings += [joint.join(words) for joint in (" ", ", ", ",", "; ")]
    elif len(truth) == 1:
        spellings += [f"({truth})", f"line {truth}", truth.lower(), (truth,), f"# {truth}", f"Line {truth}."]
    for said in spellings:
        assert puzzle.judge(said).status is Status.SOLVED, said


def ast_value(text: str) -> Any:
    """Return the numbers in a result that a program prints, such as `2 3` or `(3, 2)`."""
    try:
        return ast.literal_eval(text.replace(" ", ", ") if text.replace(" ", "").isdecimal() else text)
    except (ValueError, SyntaxError):
        return None


def test_prediction_without_quotes() -> None:
    assert find(15).judge(Tensor).status is Status.SOLVED
    for said in (len, object()):
        assert find(15).judge(said).lines[1] == "Write the prediction as text, in quotes."
    for number in (16, 17, 18, 19):
        assert find(number).judge("the second").lines[1] == "Answer with the letter of a line."


# ---- answers with correct values that are not solutions ----


def solution_of(puzzle: Write) -> Any:
    return truth.run_source(puzzle.solved)[puzzle.name]


@pytest.mark.usefixtures("by_graphs")
@pytest.mark.parametrize("puzzle", WRITES, ids=title)
def test_idle_vmaps_are_rejected(puzzle: Write) -> None:
    """Values that are computed by hand do not count, though the answer opens the brands and runs the solution."""
    solution = solution_of(puzzle)
    values = [case.wanted.value for case in puzzle.cases()]

    def idle(*args: Any) -> Any:
        shape = solution(*args).shape
        return next(v.tensor() for v in values if v.shape == shape)

    verdict = puzzle._missing(idle, puzzle.cases()[0].args)
    if puzzle.brands:
        assert verdict == f"The values are right, but they are computed outside of the vmap: write it with {puzzle.by}."


@pytest.mark.usefixtures("by_graphs")
@pytest.mark.parametrize("puzzle", WRITES, ids=title)
def test_small_errors_are_rejected(puzzle: Write) -> None:
    solution = solution_of(puzzle)
    verdict = puzzle.judge(lambda *args: solution(*args) + 1e-4)
    assert verdict.status is Status.NOT_YET and verdict.difference is not None
    assert str(verdict.difference.wanted) != str(verdict.difference.got)


@pytest.mark.parametrize("puzzle", WRITES, ids=title)
def test_functions_vary(puzzle: Write) -> None:
    """An answer that ignores its function `f` is wrong for one of the inputs."""
    for position, values in enumerate(zip(*puzzle.inputs(), strict=True)):
        if callable(values[0]):
            assert len(set(values)) > 1, position


@pytest.mark.parametrize("puzzle", PUZZLES, ids=title)
def test_row_is_a_row_of_a_table(puzzle: Puzzle) -> None:
    """Texts say "the brands of a value": a row is a part of a table to readers who know numpy."""
    texts = [puzzle.title, puzzle.text, *puzzle.hints, puzzle.because, *puzzle.wrong.values()]
    in_types = puzzle.number in range(12, 20)  # they have no tables
    word = re.compile(r"\brows?\b", re.I) if in_types else BRANDS_AS_ROW
    assert not [text for text in texts if word.search(text)]


@pytest.mark.parametrize("puzzle", WRITES, ids=title)
def test_text_asks_for_each_requirement(puzzle: Write) -> None:
    assert "vmap" in puzzle.text
    assert puzzle.only_one == ("one `vmap`" in puzzle.text)
    assert all(name.removesuffix("=1") in puzzle.text for name in puzzle.uses)


WITH = (
    "3. The norm of each row: not yet\n"
    "  with:     X = [[3.0, 4.0], [0.0, 2.0], [6.0, 8.0]], shape (3, 2)\n"
    "  expected: [5.0, 2.0, 10.0], shape (3,)\n"
    "  got:      "
)


def reads(xs: Tensor) -> Tensor:
    return vmap(lambda x: x.item())(xs)


def raises(xs: Tensor) -> Tensor:
    raise KeyError(xs.shape[0])


HERE = f"{Path(__file__).name}:{reads.__code__.co_firstlineno + 1}"
ITEM = (
    f"ReadError: item: a value that varies over `x` has no single value to read (line {HERE.partition(':')[2]})\n"
    "            value: Vec[x:3, f32[2]]\n"
    f"            x:     opened by vmap at {HERE}\n"
    "            try:   leave out .item(), or return it from the mapped function and read the result\n"
)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (Tensor([1.0]), "3. The norm of each row: not yet\n  `norms` is to be a function, and it is f32[1]\n"),
        (lambda xs: xs if xs is None else None, WITH + "None\n  `norms` returns None: is a `return` missing?\n"),
        (lambda xs: "text", WITH + "text\n"),
        (lambda xs: [1, 2], WITH + "[1.0, 2.0]\n  Return a tensor, not a list.\n"),
        (lambda xs: (xs * xs).sum(1).sqrt().tolist(), WITH + "[5.0, 2.0, 10.0]\n  Return a tensor, not a list.\n"),
        (reads, WITH + ITEM),
        (raises, WITH + f"KeyError: 3 (line {raises.__code__.co_firstlineno + 1})\n"),
    ],
    ids=["no function", "None", "text", "a list", "a result as a list", "a read", "an error"],
)
def test_useless_answers(answer: Any, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    check(3, answer)
    assert capsys.readouterr().out.startswith(text)


def test_invalid_puzzle_number() -> None:
    for number in (0, 99, "3", True):
        with pytest.raises(LookupError, match="there is no puzzle"):
            check(number, None)  # type: ignore[arg-type]


def test_puzzles_without_mypy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "branded.mypy.check", None)
    truth._mypy.cache_clear()
    assert 3 <= len(ASK_MYPY) <= 6
    for p in PREDICTS:
        verdict = p.judge("x")
        if p in ASK_MYPY:
            needed = "mypy answers this one, and is not here: pip install 'branded[mypy]'"
            assert verdict == Verdict(Status.UNKNOWN, (needed,))
        else:
            assert verdict.status is Status.NOT_YET


# ---- the command ----


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = cli.main(["puzzles", *words])
    return status, *capsys.readouterr()


def test_start_check_and_solve(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = said(capsys)
    assert status == 0 and list(folder.iterdir()) == []
    assert out.splitlines()[:3] == ["One vmap", "   1  What the function sees", "   2  The type of one example"]
    assert out.endswith("\npython -m branded puzzles start    writes puzzles.py, to fill in\n")

    n = len(PUZZLES)
    assert said(capsys, "start") == (
        0,
        f"puzzles.py has {n} puzzles; when you have filled in some:\npython -m branded puzzles check puzzles.py\n",
        "",
    )
    status, out, _ = said(capsys, "check")
    assert status == 1 and out.count("untouched\n") == n + 1 and out.endswith(f"0 of {n} solved, {n} untouched\n")

    text = (folder / "puzzles.py").read_text()
    text = text.replace("answer_1 = ...", 'answer_1 = "(3,)"').replace("answer_7 = ...", 'answer_7 = "2 2"')
    (folder / "puzzles.py").write_text(text)
    assert said(capsys, "check", "1") == (0, "   1  What the function sees            solved\n", "")
    status, out, _ = said(capsys, "check", "3", "1", "3")
    assert status == 1 and [line.split()[0] for line in out.splitlines()] == ["3", "1", "1"]
    assert out.endswith("\n1 of 2 solved, 1 untouched\n")
    assert said(capsys, "check", "puzzles.py", "7") == (
        1,
        "   7  Two vmaps: how many brands?       not yet\n"
        "        it is not 2 2\n"
        "        Two brands are open there, but `c.exp()` does not change with `r`. Its operand has one brand.\n",
        "",
    )
    status, out, _ = said(capsys, "check")
    assert status == 1 and out.endswith(f"\n1 of {n} solved, 1 not yet, {n - 2} untouched\n")
    status, out, _ = said(capsys)
    assert status == 0 and out.splitlines()[1] == "   1  What the function sees            solved"
    assert out.endswith("\ndetails: python -m branded puzzles check puzzles.py\n")

    (folder / "mine.py").write_text(sheet.PREAMBLE + sheet.body({p.number: p.solved for p in PUZZLES}))
    status, out, _ = said(capsys, "check", "mine.py")
    assert status == 0 and out.endswith(f"\n{n} of {n} solved\n")


def test_key_round_trip() -> None:
    puzzle = find(4)
    assert isinstance(puzzle, Write)
    cases, read = puzzle.cases(), expected.cases_from_text(expected.cases_to_text(puzzle))
    assert [c.wanted for c in read] == [c.wanted for c in cases]
    assert [outcome.Outcome(c.args) for c in read] == [outcome.Outcome(c.args) for c in cases]


def test_hints_are_shown_one_at_a_time(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = "Hint 1 of 2: A mapped function may have two arguments.\n"
    second = "Hint 2 of 2: Arguments of one vmap share one brand, so their examples are paired.\n"
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    assert [said(capsys, "hint", "4") for _ in range(2)] == [(0, first, ""), (0, second, "")]
    assert said(capsys, "hint", "9")[1].startswith("Hint 1 of ")  # each puzzle has its own hints
    end = (
        "There are no more hints. One answer: python -m branded puzzles solution 4\n"
        "The next `hint 4` begins again with the first.\n"
    )
    assert [said(capsys, "hint", "4")[1] for _ in range(2)] == [end, first]
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")  # hints are counted per folder
    assert said(capsys, "hint", "4")[1] == first
    kept = folder / "cache" / "branded" / "hints.json"
    for text in ("nonsense", "[]", json.dumps({str(Path.cwd()): 3})):
        kept.write_text(text)
        assert said(capsys, "hint", "4")[1] in (first, first + second)
    (folder / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "file"))  # nothing can be written there
    assert said(capsys, "hint", "4") == (0, first + second, "")


def test_solution(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "solution", "4") == (
        0,
        "def dots(X, Y):\n"
        "    return vmap(lambda x, y: (x * y).sum())(X, Y)\n\n"
        "Both arguments enter with one brand. That is the zip.\n",
        "",
    )
    assert said(capsys, "solution", "13")[1].startswith("answer_13 = 'Vec[a:2 | c:4, f32[]]'\n\n`b` is open")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nope"], "unknown action `nope`: use one of start, check, hint, solution, or nothing for the list"),
        (["hint"], f"hint needs the number of a puzzle, 1 to {len(PUZZLES)}"),
        (["hint", "0"], f"there is no puzzle 0: they are 1 to {len(PUZZLES)}"),
        (["solution", "99"], f"there is no puzzle 99: they are 1 to {len(PUZZLES)}"),
        (["solution", "x"], f"x is not the number of a puzzle, 1 to {len(PUZZLES)}"),
        (["hint", "3", "4"], "hint takes one number at a time"),
        (["solution", "3", "3"], "solution takes one number at a time"),
        (["check", "3", "99"], f"there is no puzzle 99: they are 1 to {len(PUZZLES)}"),
        (["check", "a.py", "b.py"], "check does not take b.py"),
        (["start", "7"], "start does not take 7"),
        (["check"], "puzzles.py does not exist: `start puzzles.py` writes a file to fill in"),
        (["check", "mine.py"], "mine.py does not exist: `start puzzles.py` writes a file to fill in"),
        (["check", "."], ". is not a file: `start puzzles.py` writes a file to fill in"),
        (
            ["start", "there.py"],
            "there.py already exists: `start FILE` writes another file, `check there.py` checks it",
        ),
        (["start", "no/where.py"], "cannot write no/where.py: No such file or directory"),
    ],
    ids=lambda x: " ".join(x) if isinstance(x, list) else "",
)
def test_misuse_is_one_line(words: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "there.py").write_text("# mine\n")
    assert said(capsys, *words) == (2, "", f"branded puzzles: {message}\n")
    assert (folder / "there.py").read_text() == "# mine\n"


def test_file_with_an_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mine.py").write_text("answer_1 = (3,\n")
    status, out, err = said(capsys, "check", "mine.py")
    assert (status, out) == (1, "") and "mine.py" in err and err.endswith("SyntaxError: '(' was never closed\n")
    (folder / "mine.py").write_text("answer_1 = 1 / 0\n")
    status, out, err = said(capsys, "check", "mine.py")
    assert (status, out) == (1, "")
    assert err.startswith("Traceback") and 'mine.py", line 1' in err and err.endswith("division by zero\n")
    assert "cli.py" not in err


def test_one_mistake_does_not_stop_the_others(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An undefined name, a division by zero and invalid Python are reported under their own puzzles."""
    text = "from __future__ import annotations\n" + sheet.blank("puzzles.py")
    comment = "# 9. a comment in a function"
    norms = f"def norms(X: Nothing):\n{comment}\n    return vmap(lambda x: (x * x).sum().sqrt())(X)"
    text = text.replace("answer_1 = ...", 'answer_1 = "(3,)"').replace("answer_2 = ...", "answer_2 = outer")
    text = text.replace("def norms(X):\n    ...", norms).replace("answer_10 = ...", "answer_10 = 1 / 0")
    text = text.replace("answer_14 = ...", "answer_14 = Vec[a | b, Tensor]")
    line = {n: text[: text.index(f"answer_{n} = ")].count("\n") + 1 for n in (2, 10, 12)}
    for broken in ("", "answer_12 = (3"):
        (folder / "puzzles.py").write_text(text.replace("answer_12 = ...", broken or "answer_12 = ..."))
        status, out, err = said(capsys, "check")
        assert (status, err) == (1, "") and "   1  What the function sees            solved\n" in out
        assert f"        NameError: name 'outer' is not defined (line {line[2]})\n" in out
        assert '        Text needs quotes: answer_2 = "outer"\n' in out
        assert '        Text needs quotes: answer_14 = "Vec[a | b, Tensor]"\n' in out
        assert f"        ZeroDivisionError: division by zero (line {line[10]})\n" in out
        if not broken:  # the comment is inside a function, so it does not end the puzzle
            assert "   3  The norm of each row              solved\n" in out
            assert out.endswith(f"\n2 of {len(PUZZLES)} solved, 3 not yet, {len(PUZZLES) - 5} untouched\n")
        else:
            assert f"        SyntaxError: '(' was never closed (puzzles.py, line {line[12]})\n" in out
            assert "   4  Two lists of vectors              untouched\n" in out
    assert said(capsys, "check", "1")[0] == 0 and said(capsys)[0] == 0


def test_missing_answer(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mine.py").write_text("answer_1 = (3,)\n")
    assert said(capsys, "check", "mine.py", "3") == (
        1,
        "   3  The norm of each row              not yet\n        there is no `norms` in mine.py\n",
        "",
    )


def test_list_does_not_run_another_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "puzzles.py").write_text("raise SystemExit('run')\n")
    assert said(capsys)[0] == 0


# ---- the page and the notebooks ----


def test_page_is_current() -> None:
    assert made.page() == made.PAGE.read_text(), "python -m tests.pages.puzzles"
    assert made.solutions() == made.SOLUTIONS.read_text(), "python -m tests.pages.puzzles"
    for p in PUZZLES:  # the sheet does not tell them
        sheets = [made.PAGE.read_text(), *(path.read_text() for path in made.NOTEBOOKS)]
        assert not any(p.because in text.replace("\n", " ") for text in sheets), p.title
    for p in PREDICTS:  # the site reads the correct answer from there
        assert not {"\n", "`"} & {*p.truth(p)}, p.title


@pytest.mark.parametrize(("path", "chapters"), made.NOTEBOOKS.items(), ids=lambda x: getattr(x, "stem", ""))
def test_notebooks_are_current(path: Path, chapters: Any) -> None:
    nbformat.validate(nbformat.read(path, as_version=4))
    assert made.text(chapters) == path.read_text(), "python -m tests.pages.puzzles"


def test_every_puzzle_is_in_one_notebook() -> None:
    assert tuple(p for chapters in made.NOTEBOOKS.values() for c in chapters for p in c.puzzles) == PUZZLES


@pytest.mark.parametrize(
    ("path", "chapters"), [*made.NOTEBOOKS.items()][: amount(1, None)], ids=lambda x: getattr(x, "stem", "")
)
def test_notebooks_run(path: Path, chapters: Any, tmp_path: Path) -> None:
    """Run each notebook unchanged, then with the solutions, in one kernel; only the first one compiles its kernels."""
    book = nbformat.read(path, as_version=4)
    if path != next(iter(made.NOTEBOOKS)):
        book.cells.insert(0, nbformat.v4.new_code_cell(BY_NUMPY))
    for p in (p for c in chapters for p in c.puzzles):
        for source in (p.solved, made.checking(p)):
            book.cells.append(nbformat.v4.new_code_cell(source))
    NotebookClient(book, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    printed = ["".join(o.text for o in cell.outputs) for cell in book.cells if cell.source.startswith("check(")]
    numbers = [p for c in chapters for p in c.puzzles]
    assert printed == [f"{p.number}. {p.title}: {s}\n" for s in ("untouched", "solved") for p in numbers]


def test_module_imported_by_notebooks() -> None:
    import branded.puzzles

    assert all(getattr(branded.puzzles, name) is getattr(puzzles, name) for name in puzzles.__all__)


def test_wrap_text_keeps_words_whole() -> None:
    assert sheet.wrap_text("one well-known `a b`", width=12) == "one\nwell-known\n`a b`"
