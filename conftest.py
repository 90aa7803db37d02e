"""Run the examples of docstrings and of the documentation as tests, and prepare each process of the tests."""

import os
from doctest import ELLIPSIS

from sybil import Sybil
from sybil.parsers.doctest import DocTestParser
from sybil.parsers.markdown import PythonCodeBlockParser
from sybil.sybil import SybilCollection
from tinygrad import Device

from branded.tinygrad_compat import activation, private_api
from tests.support.documents import Module, Page, end, outputs


def pytest_configure() -> None:
    os.environ.setdefault("DEV", Device.DEFAULT)  # programs that tests start need not search for a device
    os.environ.setdefault("SPEC", "1")  # check all graphs, which users do not
    activation.activate()  # before a test replaces a method of Tensor
    if "PYTEST_XDIST_WORKER" in os.environ:
        private_api.worker.PARALLEL.value = 0  # there is already one worker per core


BLOCKS = PythonCodeBlockParser(doctest_optionflags=ELLIPSIS)
pytest_collect_file = SybilCollection(
    [
        # the patterns match the end of a path, so they also match files in subfolders
        Sybil(
            [DocTestParser(ELLIPSIS)], path="branded", patterns=["*.py"], document_types={".py": Module}, teardown=end
        ),
        Sybil([BLOCKS, outputs], patterns=["*.md"], document_types={".md": Page}, teardown=end),
    ]
).pytest()
