"""What the tests of the explorer share: its examples, and someone who reads a page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from axe_playwright_python.base import AxeResults
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page

from branded.learn.explorer import catalog

ENTRIES = {entry["name"]: entry for entry in catalog.load()}
MISTAKES = [name for name, entry in ENTRIES.items() if entry["group"] == catalog.MISTAKES]
VIEWS = [(name, i) for name in ENTRIES if name not in MISTAKES for i in range(len(ENTRIES[name]["choices"]))]

RUN = sorted(ENTRIES.keys() - {"large", *MISTAKES})
"""The examples that are small enough to be run in the browser."""


def functions_of(name: str) -> list[str]:
    """The functions of an example that the page asks for."""
    return [choice["explanation"]["name"] for choice in ENTRIES[name]["choices"]]


def data(name: str, choice: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = ENTRIES[name]["choices"][choice]["explanation"]
    return found


def step_of(explanation: dict[str, Any], kind: str) -> int:
    """The number of the first step of a kind."""
    return next(int(step["number"]) for step in explanation["steps"] if step["kind"] == kind)


class Reader:
    """Someone who reads the page, and remembers what went wrong in it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.wrong: list[str] = []
        self.asked: list[str] = []
        self.heard: dict[str, Callable[[Any], None]] = {
            "console": lambda message: self.wrong.append(message.text) if message.type == "error" else None,
            "pageerror": lambda error: self.wrong.append(str(error)),
            "request": lambda request: self.asked.append(request.url),
        }
        for event, hear in self.heard.items():
            page.on(event, hear)  # type: ignore[call-overload]

    def close(self) -> None:
        """Leave the page: nothing of it stays."""
        self.page.goto("about:blank")
        for event, hear in self.heard.items():
            self.page.remove_listener(event, hear)

    def elsewhere(self, own: str) -> list[str]:
        """The requests to anything but `own` and what the page made itself."""
        return [url for url in self.asked if not url.startswith((own, "data:", "blob:"))]

    def texts(self, selector: str) -> list[str]:
        return self.page.locator(selector).all_inner_texts()

    def text(self, selector: str) -> str:
        return self.page.locator(selector).inner_text()

    def step(self) -> str:
        return self.text("#count")

    def lit(self, value: int) -> list[int]:
        """The cells of the value with this number that are lit."""
        cells = self.page.locator(f".value >> nth={value}").locator("[data-cell].lit")
        return [int(cell) for cell in cells.evaluate_all("cells => cells.map((cell) => cell.dataset.cell)")]


COLOURS = {"resultTypes": ["violations"], "runOnly": ["color-contrast", "link-in-text-block"]}
"""What is asked of a page in its other colours."""


AXE = """((WeakMap, WeakSet) => {
AXE_CORE
})(...(() => {
  class Fields {
    #name = Symbol();
    has(one) { return Object.hasOwn(one, this.#name); }
    get(one) { return one[this.#name]; }
    set(one, value) { one[this.#name] = value; }
    add(one) { one[this.#name] = true; }
  }
  return [Fields, Fields];
})());
(() => {
  const colour = axe.commons.color.Color.prototype, read = colour.parseString, known = new Map();
  colour.parseString = function (text) {
    if (!known.has(text)) {
      const { r, g, b, alpha } = read.call(this, text);
      known.set(text, { r, g, b, alpha });
    }
    return Object.assign(this, known.get(text));
  };
})();""".replace("AXE_CORE", Axe().axe_script)
"""axe-core, which says the same in half the time.

It makes a hundred thousand colours of a page, with a weak map for each of their fields, and reads the text of each.
"""


def access(page: Page, options: dict[str, Any], inside: dict[str, Any] | None = None) -> AxeResults:
    """What axe-core says of a page, or of some parts of it."""
    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(AXE)
    return AxeResults(page.evaluate("([x, options]) => axe.run(x ?? document, options)", [inside, options]))


def contrast(one: Locator) -> float:
    """The contrast of an element's text with its ground, as WCAG counts it."""
    found: float = one.evaluate(CONTRAST)
    return found


CONTRAST = """(one) => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const shine = (colour) => {
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const parts = [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map((x) => x / 255);
    const [r, g, b] = parts.map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const style = getComputedStyle(one);
  const [low, high] = [shine(style.color), shine(style.backgroundColor)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}"""


@pytest.fixture(scope="module")
def pages(chromium: Browser) -> dict[frozenset[tuple[str, Any]], list[Page]]:
    """The pages that nobody reads now, by the options of their contexts: a new one takes three times as long."""
    return {}


@pytest.fixture
def reader(chromium: Browser, pages: dict[frozenset[tuple[str, Any]], list[Page]]) -> Iterator[Callable[..., Reader]]:
    """Open a page; at the end nothing may have gone wrong in it, and nobody may have been asked for anything."""
    opened: list[tuple[Reader, list[Page]]] = []

    def read(url: str, *, width: int = 1280, **options: Any) -> Reader:
        free = pages.setdefault(frozenset(options.items()), [])
        page = free.pop() if free else chromium.new_context(**options).new_page()
        page.set_default_timeout(120_000)
        page.set_viewport_size({"width": width, "height": 900})
        page.mouse.move(0, 0)
        found = Reader(page)
        opened.append((found, free))
        page.goto(url)
        return found

    yield read
    for each, free in opened:
        each.close()
        free.append(each.page)
    for each, _ in opened:
        assert each.wrong == []
        assert each.elsewhere(each.asked[0].partition("index.html")[0]) == []
