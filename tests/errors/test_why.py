"""Test that each error has a code, and each code a page: in the package, in docs/errors.md and in the gallery."""

from __future__ import annotations

import ast
import copy
import pickle
import re
import traceback
from pathlib import Path

import pytest
from mypy.errorcodes import TRUTHY_BOOL, ErrorCode

from branded import cli, errors
from branded.errors import BrandedError
from branded.learn import why
from branded.mypy import codes
from branded.mypy.codes import CODES, is_brand_code
from tests.pages import why as pages

ROOT = Path(__file__).parents[2]
ERRORS = [
    x for x in vars(errors).values() if isinstance(x, type) and issubclass(x, BrandedError) and x is not BrandedError
]
WITHOUT_PROGRAM = {"compiler", "memory-limit", "out-of-memory", "saved", "tinygrad"}
"""Codes that need another machine or files: their pages have no program."""


def test_every_error_has_unique_code_and_page() -> None:
    codes = [cls.__dict__["code"] for cls in ERRORS]
    assert len(set(codes)) == len(codes) >= 37
    assert set(codes) == {file.stem for file in Path(why.__file__).parent.glob("*.md")} == set(why.classes())
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", code) for code in codes)


@pytest.mark.parametrize("cls", ERRORS)
def test_every_error_has_note_with_code(cls: type[BrandedError]) -> None:
    error = cls("f: it is wrong", ("left", "f32[3]"), fix="another")
    told = "".join(traceback.format_exception_only(error))
    assert told.endswith(f"  try:  another\n  why:  python -m branded why {cls.code}\n")
    assert str(error) == "f: it is wrong\n  left: f32[3]\n  try:  another"  # the note does not change the message
    for same in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert same.__notes__ == error.__notes__ and len(same.__notes__) == 1
    assert f"`{cls.__name__}`" in pages.section(cls.code)


@pytest.mark.parametrize("code", [code for code in why.classes() if code not in WITHOUT_PROGRAM])
def test_page_shows_error_of_its_code(code: str) -> None:
    """The test of docs/errors.md runs these programs; here, each page shows the class of its code."""
    page = why.page(code)
    raised = re.findall(r"^branded\.errors\.(\w+): ", page, re.M)
    assert raised == [why.classes()[code].__name__]
    assert page.count("**Instead:**") == 1 and page.split("\n", 1)[0].endswith(".")


def test_errors_page_is_up_to_date() -> None:
    assert pages.PAGE.read_text(encoding="utf-8") == pages.text(), "run python -m tests.pages.why"


def test_gallery_and_errors_page_link() -> None:
    names = {cls.__name__: code for code, cls in why.classes().items()}
    seen = set()
    for file, mistake in pages.mistakes().items():
        raised = {names[name] for name in re.findall(r"^branded\.errors\.(\w+): ", mistake, re.M)}
        assert set(re.findall(r"\]\(\.\./errors\.md#([\w-]+)\)", mistake)) == raised, file
        seen |= raised
        for code in raised:
            assert f"]({file})" in pages.section(code)
    assert len(seen) > 10 and pages.GALLERY.read_text(encoding="utf-8").count("](errors.md)") == 1


def test_plugin_codes_are_error_codes() -> None:
    """The plugin's codes are codes of errors too; tests/docs/test_gallery.py compares them for each mistake."""
    assert set(CODES) <= set(why.classes())
    assert (
        is_brand_code(codes.READ)
        and is_brand_code(codes.ERROR)
        and not is_brand_code(TRUTHY_BOOL)
        and not is_brand_code(None)
    )
    assert why.code_of("brand-read") == why.code_of("truthy-bool") == "read" and why.code_of("brand") is None


def test_plugin_messages_pass_a_code() -> None:
    """Calls that report errors or notes pass one constant of codes.py, or their own `code`; every constant is used."""
    names = {name for name, x in vars(codes).items() if isinstance(x, ErrorCode)}
    assert len(names) == len(CODES) + 1
    used = set()
    for file in sorted((ROOT / "branded" / "mypy").rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        if file.name != "codes.py":
            used |= {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} & names
        for call in (n for n in ast.walk(tree) if isinstance(n, ast.Call)):
            what = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
            if what in {"fail", "_fail", "fail_at_once", "refuse", "are_tensors", "note"}:
                given = [*call.args, *(k.value for k in call.keywords)]
                words = {n.attr if isinstance(n, ast.Attribute) else getattr(n, "id", "") for n in given}
                said = words & (names | {"code"})
                own = file.name == "derivatives.py" and ast.unparse(call.func) in {"self.fail", "by.fail"}  # DERIVATIVE
                assert len(said) == 1 or own, f"{file.name}:{call.lineno}"
    assert used == names, names - used


# ---- the command ----


def test_command_prints_page(capsys: pytest.CaptureFixture[str]) -> None:
    for word in ("size", "SizeError", "branded.errors.SizeError", "SIZE"):
        assert cli.main(["why", word]) == 0
        said = capsys.readouterr().out
        assert said.startswith(
            "size (SizeError): Two mapped arguments have different batch sizes.\n\nOne `vmap` pairs "
        )
        assert "    branded.errors.SizeError: vmap: mapped sizes differ" in said
        assert "```" not in said and "](" not in said and "**" not in said


def test_command_explains_code_of_mypy_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["why", "brand"]) == 0
    assert "no counterpart at run time" in capsys.readouterr().out


def test_command_lists_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["why"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(why.classes()) and all(len(line) <= 120 for line in lines)


@pytest.mark.parametrize(("word", "fix"), [("sise", "size"), ("nonsense", None), ("", None), ("reads\n", "read")])
def test_command_rejects_unknown_code(word: str, fix: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["why", word]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and said.startswith("branded why: there is no code ")
    assert said.endswith("; `branded why` lists them\n")
    assert (f"did you mean {fix}?" in said) is (fix is not None)


def test_run_command_names_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "app.py"
    file.write_text("from tinygrad import Tensor\nfrom branded import vmap\nvmap(lambda x: x, 3)(Tensor([1.0]))\n")
    assert cli.main(["run", str(file)]) == 1
    assert capsys.readouterr().err.endswith("\n  why: python -m branded why axis-range\n")
