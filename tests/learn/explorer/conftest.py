"""A browser, and someone who reads the page in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.learn.explorer.reading import Reader
from tests.support.browser import started

chromium = pytest.fixture(started, scope="module", name="chromium")


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
