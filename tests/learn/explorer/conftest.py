"""The browser, and a reader of its pages, for all tests of the explorer."""

from tests.learn.explorer.reading import pages, reader
from tests.support.browser import chromium

__all__ = ["chromium", "pages", "reader"]
