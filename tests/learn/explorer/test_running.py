"""Run the blocks of the course and the puzzles in their pages."""

from __future__ import annotations

import doctest
import http.server
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from branded.errors import ExplorerError
from branded.learn.explorer import blocks, runtime
from branded.learn.puzzles import PUZZLES, Write
from branded.learn.puzzles.expected import cases_to_text
from tests.learn.explorer.reading import COLOURS, ENTRIES, RUN, Reader, access, data, functions_of
from tests.learn.explorer.session import MISSPELT, MISUSE, PICTURES, SESSION, Call, answer
from tests.learn.explorer.test_edit import STARTS
from tests.support.browser import missing
from tests.support.profiles import amount
from tests.support.site import ROOT, built, with_python

pytest.importorskip("material")
pytest.importorskip("mkdocstrings")

COURSE = sorted((ROOT / "docs" / "course").glob("*.md"))


@pytest.fixture(scope="module")
def site() -> Path:
    try:
        return with_python()
    except ExplorerError as error:
        return Path(missing(str(error)))


@pytest.fixture(scope="module")
def host(site: Path) -> Iterator[str]:
    """Serve the site below a folder of a static host."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *words: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site.parent)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/{site.name}/"
    server.shutdown()
    server.server_close()


PYTHON_PATH = "what-python-says"
"""The address below the site where a page calls Python in the process of the tests."""


class Asking(Reader):
    """Read a page that calls Python in the process of the tests, and record the calls."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.calls: list[Call] = []

    def hear(self, route: Route) -> None:
        module, name, words = json.loads(route.request.post_data or "")
        self.calls.append((module, name, words))
        if "broken" in words:
            route.fulfill(status=500, body="no answer to broken")
        else:
            route.fulfill(body=answer(self.calls[-1]))


@pytest.fixture
def read(chromium: Browser) -> Iterator[Callable[..., Asking]]:
    """Open a page; at the end, fail if it had errors or requested another host."""
    opened: list[tuple[Asking, str]] = []

    def read(base: str, name: str, *, answered: bool = False, width: int = 1280, **options: Any) -> Asking:
        still = "reduce"  # otherwise colors may still be fading when they are checked
        context = chromium.new_context(viewport={"width": width, "height": 900}, reduced_motion=still, **options)
        context.set_default_timeout(120_000)
        here = Asking(context.new_page())
        opened.append((here, base))
        if answered:
            script = script_with_worker(base)
            context.route(
                "**/javascripts/run.js", lambda route: route.fulfill(body=script, content_type="text/javascript")
            )
            context.route(base + PYTHON_PATH, here.hear)
        here.page.goto(base + name)
        return here

    yield read
    for here, base in opened:
        here.page.context.close()
        assert here.wrong == []
        assert here.elsewhere(base) == []


def part(here: Reader, name: str) -> Locator:
    """Return the editor, buttons and result of `Block 3` or `Puzzle 3`."""
    return here.page.locator(".run", has=here.page.get_by_role("group", name=name, exact=True))


def done(one: Locator) -> None:
    expect(one.get_by_text("Stop", exact=True)).to_be_hidden(timeout=STARTS)
    assert "does not run" not in one.get_by_role("status").inner_text()


def type_and_run(one: Locator, text: str) -> None:
    if (edit := one.get_by_text("Edit", exact=True)).is_visible():
        edit.click()
    one.locator(".run-code").fill(text)
    one.locator(".run-code").press("Control+Enter")
    done(one)


OURS = {"include": [[".run:has(.run-result > *)"], [".run-note"]]}
OPTIONS = {"resultTypes": ["violations"], "preload": False}  # a page from a file may not read its style sheets
SCHEMES = {"default": OPTIONS, "slate": {**COLOURS, "preload": False}}  # test_site.py: only colors differ


def assert_accessible(here: Reader) -> None:
    """Require that axe-core finds no violation in either theme."""
    for scheme, options in SCHEMES.items():
        here.page.evaluate("(scheme) => document.body.setAttribute('data-md-color-scheme', scheme)", scheme)
        found = access(here.page, options, OURS)
        assert found.violations_count == 0, scheme + found.generate_report()
        assert "color-contrast" in {rule["id"] for rule in found.response["passes"]}


def test_python_starts_on_a_page_from_a_file(site: Path, read: Callable[..., Asking]) -> None:
    """Past this point everything runs in the worker; test_edit.py checks it on a page that is a file."""
    here = read(f"{site.as_uri()}/", "course/1-map-and-vmap.html")
    part(here, "Block 1").get_by_text("Run", exact=True).click()
    expect(part(here, "Block 1").get_by_role("status")).to_have_text("Starting Python …", timeout=STARTS)


WORKER = """
self.onmessage = async ({ data }) => {
  if (data.kind === "start") {
    const here = NAMES.every((name) => data.assets[name]?.byteLength > 1000);
    return postMessage(here ? { kind: "ready" } : { kind: "broken", text: "not all is here" });
  }
  if (data.words.includes("forever")) return postMessage({ kind: "progress", text: "Thinking" });
  const said = await fetch(ADDRESS, { method: "POST", body: JSON.stringify([data.module, data.name, data.words]) });
  postMessage({ kind: said.ok ? "said" : "broken", text: await said.text() });
};
"""
"""Replaces Pyodide: it requires all files that Pyodide needs, and calls Python in the process of the tests."""


def script_with_worker(base: str) -> str:
    """Return the script of the page with this worker."""
    script = (built() / "javascripts" / "run.js").read_text()
    found = re.search(r"^const PARTS = (.*);$", script, flags=re.M)
    assert found is not None
    parts = json.loads(found[1])
    assert parts == runtime.parts()  # test_edit.py runs Pyodide with these parts
    given = f"const NAMES = {json.dumps(parts['assets'])}, ADDRESS = {json.dumps(base + PYTHON_PATH)};"
    return script.replace(found[1], json.dumps({**parts, "worker": given + WORKER}))


def test_blocks_of_a_page(
    site: Path, host: str, read: Callable[..., Asking], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks.forget()
    here = read(host, "course/1-map-and-vmap.html", answered=True)
    assert not [url for url in here.asked if "/explorer/" in url]  # Python is not loaded before it is needed
    first = here.page.locator(".md-content .highlight").first  # and the sentence before it: nothing parts them
    assert first.evaluate("(x) => x.previousElementSibling.textContent").endswith("one day:")
    second = part(here, "Block 2")
    second.get_by_text("Run", exact=True).press("Enter")
    done(second)
    assert part(here, "Block 1").locator(".run-text").inner_text() == "[16.0, 18.0]"  # the block above runs first
    assert second.locator(".run-text").inner_text() == "[[9.0, 11.0, 15.0, 13.0]]"
    assert part(here, "Block 3").locator(".run-result").inner_text() == ""

    type_and_run(second, PICTURES)
    assert second.locator(".run-text").first.inner_text() == "days"
    assert second.locator("figcaption").inner_text() == "f32[2, 3]"
    assert [row.split("\t") for row in second.locator("tr").all_inner_texts()] == [
        ["15", "21", "18"],
        ["12", "15", "12"],
    ]
    assert second.locator(".run-text").last.inner_text().startswith("<function smooth at ")

    type_and_run(second, MISUSE)
    assert second.locator(".run-failure p").inner_text() == "ReadError, line 2"
    assert second.locator(".run-failure pre").inner_text() == (
        "bool: a value that varies over `x` has no single truth value\n"
        "  value: Vec[x:3, bool[]]\n"
        "  x:     opened by vmap at block_2.py:2\n"
        "  try:   (x.sum() > 5).where(x, -x)"
    )
    assert second.get_by_text("ReadError").get_attribute("href") == "../errors.html#read"
    assert 'id="read"' in (site / "errors.html").read_text()
    type_and_run(part(here, "Block 3"), MISSPELT)
    assert part(here, "Block 3").locator(".run-failure pre").inner_text() == (
        "AttributeError: 'Tensor' object has no attribute 'nothing'\n"
        '  File "block_3.py", line 1, in <module>\n    days.nothing'
    )
    assert here.calls == SESSION
    assert_accessible(here)
    here.page.set_viewport_size({"width": 360, "height": 800})
    assert here.page.evaluate("document.documentElement.scrollWidth") <= 360

    here.page.reload()
    assert part(here, "Block 3").locator(".run-code").input_value() == "days.nothing"  # edits survive a reload
    part(here, "Block 3").get_by_text("Undo changes").click()
    assert not part(here, "Block 3").locator(".run-code").is_visible()
    assert here.page.locator(".highlight", has_text="vmap(smooth)(days)").is_visible()


ANSWERS = {
    "table": "def products(a, b):\n    return vmap(lambda x, y: x * y)(a, b)",
    "wrong": "def dots(X, Y):\n    return vmap(lambda x, y: x.sum() * y[0])(X, Y)",
    "read": "def dots(X, Y):\n    return vmap(lambda x, y: x.item())(X, Y)",
    "syntax": "def dots(X, Y:\n    return X",
    "right": "def dots(X, Y):\n    return vmap(lambda x, y: (x * y).sum())(X, Y)",
}


def test_puzzles_in_their_page(
    host: str, read: Callable[..., Asking], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    number = next(p.number for p in PUZZLES if p.title == "The table of products")
    here = read(host, "puzzles.html", answered=True)
    note = here.page.locator(".run-note")
    assert here.page.locator(".run").count() == len(PUZZLES)
    table, dots, sees = (part(here, f"Puzzle {n}") for n in (number, 4, 1))
    type_and_run(table, ANSWERS["table"])
    assert table.get_by_role("status").inner_text() == "not yet"
    assert table.locator(".run-text").inner_text().startswith("with a = [-0.5, 3.0, 1.0], shape (3,)\n     b = [2.0,")
    assert table.locator("figcaption").all_inner_texts() == ["expected shape (3, 3)", "got shape (3,)"]
    assert table.locator("figure >> nth=0").locator("td").all_inner_texts() == [
        "-1",
        "0",
        "1",
        "6",
        "0",
        "-6",
        "2",
        "0",
        "-2",
    ]
    assert table.locator("figure >> nth=1").locator("td").all_inner_texts() == ["-1", "0", "-2"]
    assert table.locator(".run-result > p").inner_text() == "One vmap zips the lists. All pairs need two."

    type_and_run(dots, ANSWERS["wrong"])
    assert dots.locator(".run-differs").count() == 3 and "differs" in dots.locator(".run-differs").first.inner_text()
    type_and_run(dots, ANSWERS["read"])
    assert dots.get_by_text("ReadError").get_attribute("href") == "./errors.html#read"
    type_and_run(dots, ANSWERS["syntax"])
    assert dots.locator(".run-failure pre").inner_text().startswith("SyntaxError: '(' was never closed\n")
    dots.locator(".run-code").fill("forever")
    dots.get_by_text("Run", exact=True).click()
    expect(dots.get_by_role("status")).to_have_text("Thinking")
    expect(dots.locator(".clock")).to_have_text(re.compile(r"^ [1-9]\d* s$"))
    sees.get_by_text("Check", exact=True).click()
    assert sees.get_by_role("status").inner_text() == "Python is running something else on this page."
    dots.get_by_text("Stop", exact=True).click()
    expect(dots.get_by_role("status")).to_have_text("Stopped.")
    dots.locator(".run-code").fill("broken")
    dots.get_by_text("Run", exact=True).click()
    expect(dots.get_by_role("status")).to_have_text("Python does not run here: no answer to broken")
    type_and_run(dots, ANSWERS["right"])  # by a restarted Python
    sees.locator(".run-code").fill("(3,)")
    sees.get_by_text("Check", exact=True).click()  # one failed answer does not affect the others
    done(sees)
    assert here.page.locator(".run-mark").all_inner_texts()[:4] == ["✓ solved", "", "", "✓ solved"]
    assert note.inner_text().startswith(f"2 of {len(PUZZLES)} solved here.")

    hint = dots.get_by_role("button", name="int")
    assert dots.locator("li").count() == 0 and not here.page.get_by_text("A mapped function may have").is_visible()
    for shown in (1, 2, 2):  # the last hint stays
        hint.press("Enter")
        assert dots.locator("li").count() == shown and hint.inner_text() == f"Next hint ({2 - shown} left)"
    assert_accessible(here)
    here.page.set_viewport_size({"width": 360, "height": 800})
    assert here.page.evaluate("document.documentElement.scrollWidth") <= 360

    here.page.reload()
    assert note.inner_text().startswith(f"2 of {len(PUZZLES)} solved here.")
    assert sees.locator(".run-code").input_value() == "(3,)" and dots.locator("li").count() == 2
    note.get_by_role("button").click()
    here.page.reload()
    assert note.inner_text().startswith("0 of") and dots.locator(".run-code").input_value() == PUZZLES[3].start


# ---- the programs that are run ----


def blocks_of(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)\n?^```", page.read_text(), re.M | re.S)


def program(block: str) -> str:
    examples = doctest.DocTestParser().get_examples(block)
    return "".join(e.source for e in examples) if block.startswith(">>> ") else block


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def test_editor_text_has_no_prompts_or_results(chromium: Browser) -> None:
    page = chromium.new_page()
    for path in COURSE[::3]:
        page.goto((built() / "course" / f"{path.stem}.html").as_uri())
        shown = page.locator("textarea.run-code").evaluate_all("all => all.map((one) => one.value)")
        assert [lines(text) for text in shown] == [lines(program(text)) for text in blocks_of(path)], path.name
    page.close()


def test_results_without_numpy_match_the_pages(tmp_path: Path) -> None:
    """Stops at the one block that is slow on tinygrad's Python device, and compares only the first line of an error."""
    pages = {p.stem: list(takewhile(lambda text: "def by_loop" not in text, blocks_of(p))) for p in COURSE}
    puzzles, names = PUZZLES[:: amount(3, 1)], RUN[:: amount(3, 1)]
    answers = [
        (p.number, p.solved, cases_to_text(p)) if isinstance(p, Write) else (p.number, "0", "0") for p in puzzles
    ]
    examples = [[ENTRIES[name]["program"], functions_of(name)] for name in names]
    given = [{name: list(map(program, texts)) for name, texts in pages.items()}, answers, examples]
    quick = {"DEV": "PYTHON", "CC": "none", "CACHELEVEL": "0", "CCACHE": "0", "PARALLEL": "0"}  # as in worker.js
    done = subprocess.run(
        [sys.executable, "-m", "tests.learn.explorer.without_numpy"],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, **quick, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
    )
    assert done.returncode == 0, done.stderr
    came, verdicts, explained = json.loads(done.stdout)
    for name, texts in pages.items():
        for i, (text, found) in enumerate(zip(texts, came[name], strict=True)):
            assert_shown(text, found, f"{name}, block {i + 1}")
    assert [p.title for p, v in zip(puzzles, verdicts, strict=True) if v["status"] != "solved"] == []
    for name, found in zip(names, explained, strict=True):
        assert [each["name"] for each in found] == functions_of(name), found
        for choice, each in enumerate(found):
            shown = data(name, choice)
            assert each["source"] == shown["source"], name
            np.testing.assert_allclose(each["result"], shown["result"], rtol=1e-3, err_msg=name)


def assert_shown(block: str, found: dict[str, Any], where: str) -> None:
    examples = doctest.DocTestParser().get_examples(block) if block.startswith(">>> ") else []
    wanted = "".join(e.want for e in examples if e.exc_msg is None)
    out = "".join(part["text"] for part in found["parts"])
    assert not examples or doctest.OutputChecker().check_output(wanted, out, doctest.ELLIPSIS), (where, out)
    told = [e.exc_msg.removeprefix("branded.errors.").split("\n")[0] for e in examples if e.exc_msg is not None]
    failure = found["failure"]
    name = f"{failure['error']}: " if failure and failure["code"] else ""
    said = [name + failure["text"].split("\n")[0]] if failure else []
    assert len(told) == len(said), (where, failure)
    for a, b in zip(told, said, strict=True):
        assert doctest.OutputChecker().check_output(a, b, doctest.ELLIPSIS), (where, a, b)


def test_pages_without_scripts_or_storage(chromium: Browser) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((built() / "puzzles.html").as_uri())
    assert page.locator(".run").count() == 0 and page.get_by_text("Hints").count() >= sum(
        len(p.hints) > 1 for p in PUZZLES
    )
    assert all(p.name not in page.locator("h3").all_inner_texts() for p in PUZZLES if isinstance(p, Write))
    context.close()
    page = chromium.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.add_init_script("Object.defineProperty(window, 'localStorage', { get() { throw new Error('no') } })")
    page.goto((built() / "puzzles.html").as_uri())
    page.locator(".run").nth(0).get_by_text("Hint (2)").click()
    assert page.locator(".run").nth(0).locator("li").count() == 1
    assert [text for text in wrong if text != "no"] == []  # the theme raises this error too
    page.close()
