import pytest

from tests.learn.explorer.reading import pages, reader
from tests.support.browser import started

__all__ = ["chromium", "pages", "reader"]
chromium = pytest.fixture(scope="package", name="chromium")(started)  # starting one takes 2 s of processor time
