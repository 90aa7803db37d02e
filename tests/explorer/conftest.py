"""A browser, and someone who reads the page in it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.explorer.reading import Reader, missing


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        missing("there is no Chromium here")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def reader(chromium: Browser) -> Iterator[Callable[..., Reader]]:
    """Open a page; at the end nothing may have gone wrong in it, and nobody may have been asked for anything."""
    opened: list[Reader] = []

    def read(url: str, *, width: int = 1280, **options: Any) -> Reader:
        context = chromium.new_context(viewport={"width": width, "height": 900}, **options)
        context.set_default_timeout(20_000)
        found = Reader(context.new_page())
        found.page.goto(url)
        opened.append(found)
        return found

    yield read
    for each in opened:
        each.page.context.close()
        assert each.wrong == []
        assert each.elsewhere(each.asked[0].partition("index.html")[0]) == []
