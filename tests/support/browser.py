"""The browser of the tests: the installed Chromium, for pages that a test opens alone."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

MUST_RUN = os.environ.get("BRANDED_BROWSER") == "1"
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""Names of Chromium; the headless shell is first because it takes a quarter less CPU time."""
UNUSED = (
    # each window renders these two pages for its address bar, which takes longer than a page of ours
    *("WebUIOmniboxPopup", "WebUIOmniboxAimPopup"),
    # the features that Playwright disables; only the last list counts
    *("AimEnabled", "AvoidCorsURLLoaderRestartOnRedirect", "AvoidUnnecessaryBeforeUnloadCheckSync"),
    *("DestroyProfileOnBrowserClose", "HttpsFirstBalancedModeAutoEnable", "HttpsUpgrades", "LensOverlay"),
    *("MediaRouter", "NetworkTimeServiceQuerying", "OptimizationHints", "PaintHolding", "PreconnectToSearch"),
    *("TcpPortRandomizationWin", "ThirdPartyStoragePartitioning"),
)
"""Features of Chromium that no test needs."""


def missing(what: str) -> Any:
    """Skip the test, or fail if nothing may be skipped."""
    return pytest.fail(what) if MUST_RUN else pytest.skip(what)


def started() -> Iterator[Browser]:
    """Start a browser; until it is closed, asyncio cannot run in this process."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        missing("there is no Chromium here")
    with sync_playwright() as playwright:
        args = ["--no-sandbox", f"--disable-features={','.join(UNUSED)}"]
        browser = playwright.chromium.launch(executable_path=path, args=args)
        yield browser
        browser.close()


chromium = pytest.fixture(scope="module", name="chromium")(started)
"""One browser for the tests of a file."""
