"""Runs the examples in docstrings, and the python blocks of the README and the docs, as tests."""

from doctest import ELLIPSIS

import pytest
from sybil import Sybil
from sybil.parsers.doctest import DocTestParser
from sybil.parsers.markdown import PythonCodeBlockParser
from sybil.sybil import SybilCollection


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The blocks of a page are one program: one process runs them all."""
    for item in items:
        if item.path.suffix == ".md":
            item.add_marker(pytest.mark.xdist_group(str(item.path)))


pytest_collect_file = SybilCollection(
    [
        Sybil([DocTestParser(optionflags=ELLIPSIS)], patterns=["branded/*.py", "branded/**/*.py"]),
        Sybil([PythonCodeBlockParser(doctest_optionflags=ELLIPSIS)], patterns=["*.md", "docs/*.md", "docs/**/*.md"]),
    ]
).pytest()
