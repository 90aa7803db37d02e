import pytest

from tests.learn.explorer.reading import pages as pages
from tests.learn.explorer.reading import reader as reader
from tests.support.browser import started

chromium = pytest.fixture(scope="package", name="chromium")(started)  # starting one takes 2 s of processor time
