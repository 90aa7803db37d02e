"""Run a user's programs in the browser by Pyodide."""

from __future__ import annotations

import http.server
import json
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import expect

from branded.errors import ExplorerError
from branded.learn.explorer import blocks, catalog, no_numpy, runtime
from branded.learn.explorer import browser as in_browser
from tests.learn.explorer.reading import ENTRIES, RUN, Reader, data
from tests.learn.explorer.session import SESSION, answer, puzzle, without_addresses
from tests.support.browser import missing
from tests.support.profiles import amount
from tests.support.site import pyodide, with_python


@pytest.fixture(scope="module")
def full() -> Path:
    """Return the page of an explorer with everything that `edit` needs."""
    try:
        return with_python() / "explorer" / "index.html"
    except ExplorerError as error:
        return Path(missing(str(error)))


@pytest.fixture
def host(full: Path) -> Iterator[str]:
    """Serve the explorer from a static host."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *words: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(full.parent)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


STARTS = 240_000
"""Milliseconds that Python may take to start in the browser on a busy machine."""

IN_PYODIDE = amount(["gradient"], RUN)
"""The examples that run in Pyodide.  test_running.py runs all of them in this process."""


def run(here: Reader, program: str) -> None:
    here.page.fill("#program", program)
    here.page.click("#run")
    expect(here.page.locator("#run")).to_be_enabled(timeout=STARTS)


def test_editing_from_a_file(
    full: Path, reader: Callable[..., Reader], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    here = reader(full.as_uri())
    assert here.asked == [full.as_uri()]  # Python is loaded only after the user clicks `edit`
    here.page.click("#edit")
    assert here.page.input_value("#program") == (catalog.FOLDER / "zip.py").read_text()

    changed = (
        here.page.input_value("#program").replace("x + y)(b)", "x * y)(b)").replace("10.0, 20.0])\n", "5.0, 7.0])\n")
    )
    run(here, changed)
    assert here.text("h1") == "Your program" and not here.page.locator("#mistake").is_visible()
    here.page.locator("#switch input").nth(1).check()
    assert json.loads(here.text("#result")) == [[5, 7], [10, 14], [15, 21]]
    here.page.locator("#code [data-step='3']").click()
    assert here.text("#step .type") == "c: Vec[x:3 | y:2, f32[]]" and here.text("#step .kind") == "broadcast"
    assert here.page.locator("#graph .node").count() == len(data("zip", 1)["graph"]["nodes"])
    here.page.locator("[role=gridcell]").nth(5).hover()
    assert (here.lit(0), here.lit(1)) == ([2], [1])
    assert here.page.evaluate("document.documentElement.scrollWidth") == 1280

    run(here, BODY.replace("BODY", "vmap(lambda x, y: x + y)(a, b)"))
    assert here.text("#mistake").split("\n") == [
        "line 8: vmap: mapped sizes differ: argument 1 has 3 examples, argument 2 has 2",
        "  left:  f32[3], axis 0   (argument 1 of vmap at program.py:8)",
        "  right: f32[2], axis 0   (argument 2)",
        "  try:   in_axes=(None, 0) for 2 examples, or in_axes=(0, None) for 3 examples"
        ", or nest two vmaps for all pairs",
    ]
    run(here, BODY.replace("BODY", "a.repeat(9) + 1"))
    assert here.text("#mistake").startswith("line 7: an axis of 27 is too large for the browser")
    run(here, BODY.replace("BODY", "a +"))
    assert "SyntaxError" in here.text("#mistake") and "line 8" in here.text("#mistake")
    run(here, BODY.replace("BODY", "vmap(lambda x: x.sum())(a)"))
    assert not here.page.locator("#mistake").is_visible() and json.loads(here.text("#result")) == [1, 2, 3]
    here.page.click("#edit")
    for name in IN_PYODIDE:
        here.page.select_option("#example", label=ENTRIES[name]["title"])
        here.page.click("#edit")
        run(here, here.page.input_value("#program"))
        here.page.click("#edit")
        shown = data(name, ENTRIES[name]["first"])
        assert here.text("h1") == "Your program", (name, here.text("#mistake"))
        np.testing.assert_allclose(json.loads(here.text("#result")), shown["result"], rtol=1e-3, err_msg=name)
        assert here.texts("#code > .lines > li > .source") == shown["source"].split("\n"), name

    # the pages of the course and of the puzzles call the same worker
    (worker,) = here.page.workers
    blocks.forget()
    for call in [*SESSION, puzzle(4, "def dots(X, Y):\n    return vmap(lambda x, y: (x * y).sum())(X, Y)")]:
        assert without_addresses(worker.evaluate(CALL, call)) == without_addresses(answer(call))

    here.page.click("#edit")
    here.page.fill("#program", BODY.replace("return BODY", "\n    while True: pass"))
    here.page.click("#run")
    expect(here.page.locator("#progress")).to_have_text("Running …", timeout=STARTS)
    here.page.keyboard.press("ArrowRight")  # the page reacts while Python runs
    here.page.click("#forward")
    assert here.step().startswith("step 3 of")
    here.page.click("#stop")
    assert here.text("#progress") == "Stopped."
    here.page.click("#run")  # test_running.py checks that Python works again after a restart
    expect(here.page.locator("#progress")).to_have_text("Starting Python …", timeout=STARTS)


CALL = """([module, name, words]) => {
  const said = [], post = self.postMessage;
  self.postMessage = (message) => said.push(message.text);
  call(module, name, words);
  self.postMessage = post;
  return said[0];
}"""
"""Call a function of the worker; return the text that it posts."""

BODY = """\
from tinygrad import Tensor
from branded import vmap

A, B = Tensor([1.0, 2.0, 3.0]), Tensor([1.0, 2.0])


def f(a: Tensor = A, b: Tensor = B) -> Tensor:
    return BODY
"""


def test_editing_from_a_host(host: str, reader: Callable[..., Reader]) -> None:
    """Past this point everything runs in the worker, as it does on the page that is a file."""
    here = reader(host)
    here.page.click("#edit")
    expect(here.page.locator("#progress")).to_have_text("Starting Python …", timeout=STARTS)
    assert here.elsewhere(host) == []


@pytest.mark.browser
def test_same_parts_give_the_same_files(full: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest part is left out to save time: it is written like the others, and takes as long as all of them."""
    largest = "pyodide.asm.wasm"
    monkeypatch.setattr(runtime, "PARTS", [name for name in runtime.PARTS if name != largest])
    runtime.write(tmp_path, pyodide())
    one, two = ({f.name: f.read_bytes() for f in (x / "edit").iterdir()} for x in (full.parent, tmp_path))
    assert one == {f"{largest}.js": one[f"{largest}.js"], **two}
    assert sum(map(len, one.values())) < 12_000_000


def test_runner_without_a_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("mypy", "mypy.build", "mypy.main"):  # the browser has no mypy
        monkeypatch.setitem(sys.modules, name, None)
    (found,) = json.loads(in_browser.run(BODY.replace("BODY", "vmap(lambda x: x * 2)(b)"), []))
    assert found["result"] == [2, 4] and "failure" not in found


@given(st.lists(st.lists(st.integers(0, 3), max_size=3).map(tuple), max_size=3))
def test_broadcast_shapes_agrees_with_numpy(shapes: list[tuple[int, ...]]) -> None:
    def outcome(broadcast: Callable[..., tuple[int, ...]]) -> object:
        try:
            return broadcast(*shapes)
        except ValueError:
            return "they do not"

    assert outcome(no_numpy.broadcast_shapes) == outcome(np.broadcast_shapes)


def test_missing_numpy_function() -> None:
    with pytest.raises(ImportError, match=r"numpy\.linspace is missing; pass lists to Tensor"):
        no_numpy.linspace  # noqa: B018
