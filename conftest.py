"""Run the examples of docstrings and of the documentation as tests, and prepare each process of the tests."""

import os
from doctest import ELLIPSIS
from typing import Any

from sybil import Sybil
from sybil.parsers.doctest import DocTestParser
from sybil.parsers.markdown import PythonCodeBlockParser
from sybil.sybil import SybilCollection
from tinygrad import Device

from branded.tinygrad_compat import activation, private_api
from tests.support.documents import Module, Page


def pytest_configure() -> None:
    os.environ.setdefault("DEV", Device.DEFAULT)  # programs that tests start need not search for a device
    activation.activate()  # before a test replaces a method of Tensor
    if "PYTEST_XDIST_WORKER" in os.environ:
        private_api.worker.PARALLEL.value = 0  # there is already one worker per core


def end(namespace: dict[str, Any]) -> None:
    """Disable features that a document enabled, and free its values."""
    activation.disable()
    namespace.clear()


DOCSTRINGS, PAGES = ["branded/*.py", "branded/**/*.py"], ["*.md", "docs/*.md", "docs/**/*.md"]
BLOCKS = PythonCodeBlockParser(doctest_optionflags=ELLIPSIS)
pytest_collect_file = SybilCollection(
    [
        Sybil([DocTestParser(ELLIPSIS)], patterns=DOCSTRINGS, document_types={".py": Module}, teardown=end),
        Sybil([BLOCKS], patterns=PAGES, document_types={".md": Page}, teardown=end),
    ]
).pytest()
