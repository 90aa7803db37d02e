"""Share the examples, a page reader and accessibility checks among the tests of the explorer."""

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
"""The examples that are small enough to run in the browser."""


def functions_of(name: str) -> list[str]:
    """Return the names of the functions that the page explains for an example."""
    return [choice["explanation"]["name"] for choice in ENTRIES[name]["choices"]]


def data(name: str, choice: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = ENTRIES[name]["choices"][choice]["explanation"]
    return found


def step_of(explanation: dict[str, Any], kind: str) -> int:
    """Return the number of the first step of this kind."""
    return next(int(step["number"]) for step in explanation["steps"] if step["kind"] == kind)


class Reader:
    """Open a page, and record its errors and its requests."""

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
        """Leave the page and stop listening to it."""
        self.page.goto("about:blank")
        for event, hear in self.heard.items():
            self.page.remove_listener(event, hear)

    def elsewhere(self, own: str) -> list[str]:
        """Return the requested addresses that are neither below `own` nor made by the page itself."""
        return [url for url in self.asked if not url.startswith((own, "data:", "blob:"))]

    def texts(self, selector: str) -> list[str]:
        return self.page.locator(selector).all_inner_texts()

    def text(self, selector: str) -> str:
        return self.page.locator(selector).inner_text()

    def step(self) -> str:
        return self.text("#count")

    def lit(self, value: int) -> list[int]:
        """Return the indices of the highlighted cells of the value with this index."""
        cells = self.page.locator(f".value >> nth={value}").locator("[data-cell].lit")
        return [int(cell) for cell in cells.evaluate_all("cells => cells.map((cell) => cell.dataset.cell)")]


COLOURS = {"resultTypes": ["violations"], "runOnly": ["color-contrast", "link-in-text-block"]}
"""The rules that axe-core checks in the dark theme, which differs in colors only."""


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
"""axe-core, patched to take half the time with the same result.

It creates about 100,000 colors for a page. The patch replaces the weak map behind each field of a color and caches
parsed colors.
"""


def access(page: Page, options: dict[str, Any], inside: dict[str, Any] | None = None) -> AxeResults:
    """Run axe-core on a page, or on some parts of it."""
    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(AXE)
    return AxeResults(page.evaluate("([x, options]) => axe.run(x ?? document, options)", [inside, options]))


def contrast(one: Locator) -> float:
    """Return the contrast between an element's text and its background, as WCAG defines it."""
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
    """Keep idle pages for reuse, by the options of their contexts: creating a page takes three times as long."""
    return {}


@pytest.fixture
def reader(chromium: Browser, pages: dict[frozenset[tuple[str, Any]], list[Page]]) -> Iterator[Callable[..., Reader]]:
    """Open a page; at the end, fail if it had errors or requested another host."""
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
