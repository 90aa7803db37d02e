"""Run programs with mistakes: the page explains each one, and shows nothing of an earlier program."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from branded.explain import html
from branded.learn import why
from branded.learn.explorer import browser as in_browser
from branded.learn.explorer import catalog, write
from tests.learn.explorer.reading import ENTRIES, MISTAKES, Reader, access, contrast, data

ROOT = Path(__file__).parents[3]

BODY = """\
from tinygrad import Tensor
from branded import vmap

A, B = Tensor([1.0, 2.0, 3.0]), Tensor([1.0, 2.0])


def f(a: Tensor = A, b: Tensor = B):
    return BODY
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the program is written there
    for name in ("mypy", "mypy.build", "mypy.main"):  # the browser has no mypy
        monkeypatch.setitem(sys.modules, name, None)


def ran(body: str) -> dict[str, Any]:
    (found,) = json.loads(in_browser.run(BODY.replace("BODY", body), []))
    return dict(found)


# ---- the messages ----


def test_failure_has_line_brand_and_fix() -> None:
    found = ran("vmap(lambda x: x if x > 2 else -x)(a)")
    assert found["brands"] == [{"name": "x", "size": 3, "where": "opened by vmap at program.py:8"}]
    assert found["source"].split("\n")[found["failure"]["line"] - 1].startswith("    return vmap")
    assert found["failure"] == {
        "error": "ReadError",
        "code": "read",
        "what": "bool: a value that varies over `x` has no single truth value",
        "more": [],
        "facts": [["value", "Vec[x:3, bool[]]"], ["x", "opened by vmap at program.py:8"]],
        "fix": "(x > 2).where(x, -x)",
        "line": 8,
    }
    assert found["steps"] == [] and found["result"] is None


INTERNAL_NAMES = ("make_expr", "--args", "explain(", "explorer:", "browser.py")
"""Names that a user of the page never wrote."""


@pytest.mark.parametrize(
    ("program", "what", "line"),
    [
        (BODY.replace("BODY", "{'a': a, 'b': 's'}"), "`f`: the result['b'] is the str 's'", 7),
        (BODY.replace("BODY", "lambda: a"), "`f`: the result is a function", 7),
        (BODY.replace("BODY", "a.tolist()"), "tolist: in `f`, which is written down step by step, there is", 8),
        (BODY.replace("BODY", "a.repeat(9) + 1"), "an axis of 27 is too large for the browser", 7),
        (BODY.replace("BODY", "1 / 0"), "ZeroDivisionError: division by zero", 8),
        (BODY.replace("BODY", "a +"), "SyntaxError: invalid syntax", 8),
        ("def f(x, *, y): ...", "there is no default for `x`, `y`", 1),
        ("x = 1", "the program has no function", None),
        ("raise SystemExit('no')", "SystemExit: no", 1),
    ],
)
def test_messages_do_not_mention_internals(program: str, what: str, line: int | None) -> None:
    (found,) = json.loads(in_browser.run(program, []))
    assert found["failure"]["what"].startswith(what) and found["failure"]["line"] == line
    assert not [word for word in INTERNAL_NAMES if word in json.dumps(found["failure"])]


def test_traceback_has_only_lines_of_the_program() -> None:
    more = "\n".join(ran("(lambda: 1 / 0)()")["failure"]["more"])
    assert more.count("program.py") == 2 and "browser" not in more


# ---- the page ----

WORKER = """\
onmessage = ({ data }) =>
  postMessage(data.kind === "start" ? { kind: "ready" } : { kind: "said", text: ANSWERS[data.words[0]] });
"""
"""Replaces the worker with Python by canned answers for some programs."""


@pytest.fixture
def editing(reader: Callable[..., Reader], tmp_path: Path) -> Iterator[Callable[..., Reader]]:
    """Open a page with `edit` that can run programs with these bodies."""

    def read(*bodies: str, **options: Any) -> Reader:
        answers = {p: in_browser.run(p, []) for p in (BODY.replace("BODY", body) for body in bodies)}
        worker = f"const ANSWERS = {json.dumps(answers)};\n{WORKER}"
        page = tmp_path / "index.html"
        page.write_text(html.document(catalog.load()[:2], {"folder": "edit", "assets": [], "worker": worker}))
        here = reader(page.as_uri(), **options)
        here.page.click("#edit")
        return here

    yield read


def run(here: Reader, body: str) -> None:
    here.page.fill("#program", BODY.replace("BODY", body))
    here.page.click("#run")
    expect(here.page.locator("#run")).to_be_enabled()


GOOD, BAD = "vmap(lambda x: x * 2)(a)", "vmap(lambda x, y: x + y)(a, b)"


def test_failure_clears_the_previous_program(editing: Callable[..., Reader]) -> None:
    here = editing(GOOD, BAD, "1 / 0")
    run(here, GOOD)
    assert json.loads(here.text("#result")) == [2, 4, 6] and not here.page.locator("#view-mistake").is_visible()
    run(here, BAD)
    assert here.text("h1") == "Your program"
    for gone in ("bar", "loop", "view-step", "view-memory", "view-program", "view-graph", "view-kernels"):
        assert not here.page.locator(f"#{gone}").is_visible(), gone
    assert [line.rstrip() for line in here.texts("#code .source")] == BODY.replace("BODY", BAD).rstrip().split("\n")
    assert here.texts("#code .wrong-line .source") == [f"    return {BAD}"]
    assert here.text("#mistaken .what") == "vmap: mapped sizes differ: argument 1 has 3 examples, argument 2 has 2"
    hint = "in_axes=(None, 0) for 2 examples, or in_axes=(0, None) for 3 examples, or nest two vmaps for all pairs"
    assert here.text("#mistaken .fix") == hint
    assert here.text("#mistake").split("\n") == [
        "line 8: vmap: mapped sizes differ: argument 1 has 3 examples, argument 2 has 2",
        "  left:  f32[3], axis 0   (argument 1 of vmap at program.py:8)",
        "  right: f32[2], axis 0   (argument 2)",
        "  try:   in_axes=(None, 0) for 2 examples, or in_axes=(0, None) for 3 examples"
        ", or nest two vmaps for all pairs",
    ]
    run(here, "1 / 0")
    assert "ZeroDivisionError" in here.text("#mistaken .what") and "1 / 0" in here.text("#mistaken .told")
    run(here, GOOD)
    assert json.loads(here.text("#result")) == [2, 4, 6] and here.page.locator("#bar").is_visible()
    assert here.page.locator("#code .wrong-line").count() == 0 and not here.page.locator("#mistake").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_run_button_contrast_on_hover(editing: Callable[..., Reader], scheme: str) -> None:
    here = editing(color_scheme=scheme, reduced_motion="reduce")
    run_ = here.page.locator("#run")
    assert contrast(run_) >= 4.5
    before = run_.evaluate("one => getComputedStyle(one).backgroundColor")
    run_.hover()
    assert contrast(run_) >= 4.5
    assert run_.evaluate("one => getComputedStyle(one).backgroundColor") != before


# ---- the examples ----


@pytest.fixture
def explorer(reader: Callable[..., Reader], tmp_path: Path) -> Callable[..., Reader]:
    page = write(tmp_path, edit=False, site="https://branded.invalid/docs")
    return lambda place="zip/0/1", **options: reader(f"{page.as_uri()}#{place}", **options)


def test_examples_of_mistakes(explorer: Callable[..., Reader]) -> None:
    here = explorer()
    assert len(MISTAKES) >= 8
    codes = set()
    for name in MISTAKES:
        wrong, right = data(name, 0), data(name, 1)
        failure = wrong["failure"]
        codes.add(failure["code"])
        assert failure["fix"] and failure["line"] and "failure" not in right and right["steps"]
        here.page.evaluate("place => { location.hash = place; }", f"{name}/0/1")
        expect(here.page.locator("#mistaken .what")).to_have_text(failure["what"])
        lines = wrong["source"].split("\n")
        assert here.texts("#code .wrong-line .source") == [lines[failure["line"] - 1]]
        assert [b["name"] for b in wrong["brands"]] == [t.split(":")[0] for t in here.texts("#mistaken .named .brand")]
        assert here.text("#mistaken .fix") == failure["fix"]
        assert here.text(".why-more > summary") == f"Why: the error {failure['code']}"
        assert here.page.evaluate("document.documentElement.scrollWidth") == 1280
        here.page.get_by_label("fixed").check()
        assert here.page.locator("#bar").is_visible() and not here.page.locator("#view-mistake").is_visible()
        assert json.loads(here.text("#result")) is not None
    assert len(codes) == len(MISTAKES)


def test_page_explains_the_error_code(explorer: Callable[..., Reader]) -> None:
    here = explorer("leaky/0/1")
    here.page.click(".why-more > summary")
    assert here.text(".why-more pre") == why.page_text("read").rstrip()
    assert here.page.get_attribute(".why-more a", "href") == "https://branded.invalid/docs/errors.html#read"
    assert "python -m branded why read" in here.text(".why-more")


def test_failure_of_the_first_of_two_functions() -> None:
    program = str(ENTRIES["sums"]["program"])
    assert program.count("def ") == 2 and "def sums(" in program and "def sums_fixed(" in program
    (found,) = json.loads(in_browser.run(program, ["sums", "sums_fixed"]))
    assert found["failure"]["code"] == "carry"


def test_links_back_to_the_course(explorer: Callable[..., Reader], tmp_path: Path) -> None:
    here = explorer()
    links = here.page.locator("#back-to a").evaluate_all("all => all.map((one) => one.getAttribute('href'))")
    ends = ["course/1-map-and-vmap.html", "gallery.html", "errors.html"]
    assert links == [f"https://branded.invalid/docs/{end}" for end in ends]
    assert all((ROOT / "docs" / end.replace(".html", ".md")).is_file() for end in ends)
    alone = tmp_path / "explorer"
    alone.mkdir()
    assert '"site":null' in write(alone, edit=False).read_text()  # the documentation is not in this folder
    (tmp_path / "course").mkdir()
    (tmp_path / "course" / "1-map-and-vmap.html").touch()
    assert '"site":"../"' in write(alone, edit=False).read_text()


def test_introduction_of_brands(explorer: Callable[..., Reader]) -> None:
    here = explorer()
    assert here.page.locator("#about .idea").is_visible()
    said = here.text("#about p")
    assert said.startswith("A brand is ") and said.count(".") == 1 and "zip" in said and "broadcast" in said
    sums = here.page.locator("#about .idea .both text").all_text_contents()
    assert sums == [str(a + b) for a in (1, 2, 3) for b in (10, 20)]
    inside = "all => all.every((one) => { const box = one.getBBox(); return box.x >= -2 && box.x + box.width <= 398; })"
    assert here.page.locator("#about .idea > *").evaluate_all(inside)
    here.page.click("#about summary")
    assert not here.page.locator("#about .idea").is_visible()


def test_accessibility_of_mistakes(explorer: Callable[..., Reader]) -> None:
    for scheme, width in (("light", 1280), ("dark", 360)):
        here = explorer("leaky/0/1", color_scheme=scheme, width=width, reduced_motion="reduce", bypass_csp=True)
        here.page.click(".why-more > summary")
        found = access(here.page, {"resultTypes": ["violations"]})
        assert found.violations_count == 0, scheme + found.generate_report()
        assert here.page.evaluate("document.documentElement.scrollWidth") == width


# ---- predict ----


def test_memory_view_does_not_reveal_the_answer(reader: Callable[..., Reader], tmp_path: Path) -> None:
    """A repeated operand is drawn once, like one that is not repeated, until the user has answered."""
    page = tmp_path / "index.html"
    page.write_text(html.document([ENTRIES["zip"], ENTRIES["deep"]]))
    here = reader(f"{page.as_uri()}#zip/1/3")
    copies = here.page.locator("#memory td.hatched")
    assert copies.count() == 7
    here.page.check("#predict")
    assert copies.count() == 0 and "repeated" not in here.text("#view-memory")
    assert [value.locator("[data-cell]").count() for value in here.page.locator("#memory .value").all()] == [3, 2]
    here.page.click("[data-guess=zip]")
    assert copies.count() == 7
