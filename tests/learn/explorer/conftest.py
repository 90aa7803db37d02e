"""Provide the browser and its pages to all tests of the explorer."""

from tests.learn.explorer.reading import pages, reader
from tests.support.browser import chromium

__all__ = ["chromium", "pages", "reader"]
