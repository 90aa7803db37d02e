"""Runs the examples in docstrings, and the python blocks of the README and the docs, as tests."""

from doctest import ELLIPSIS

import pytest
from sybil import Sybil
from sybil.parsers.doctest import DocTestParser
from sybil.parsers.markdown import PythonCodeBlockParser
from sybil.sybil import SybilCollection

import branded  # noqa: F401  (chooses a C compiler before a page that begins with tinygrad alone computes)

LONG = (
    "tests/conformance/test_conformance.py",
    "tests/explorer/test_edit.py",
    "tests/test_static.py",
    "tests/test_explain.py",
    "tests/test_packages.py",
    "tests/test_types.py",
    "tests/test_types_law.py",
    "tests/test_laws.py",
    "tests/test_leaks.py",
    "tests/test_checkers.py",
    "tests/test_models.py",
    "tests/test_cli.py",
    "tests/test_site.py",
    "tests/test_killed.py",
    "tests/test_kept_programs.py",
    "tests/test_brandbugs.py",
    "tests/test_gallery.py",
)
"""The files that take longest, or have one test that does."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """These files come first: where files are shared out to processes, all are then done at about the same time."""
    rank = {name: i for i, name in enumerate(LONG)}
    items.sort(key=lambda item: rank.get(item.nodeid.partition("::")[0], len(LONG)))


pytest_collect_file = SybilCollection(
    [
        Sybil([DocTestParser(optionflags=ELLIPSIS)], patterns=["branded/*.py", "branded/**/*.py"]),
        Sybil([PythonCodeBlockParser(doctest_optionflags=ELLIPSIS)], patterns=["*.md", "docs/*.md", "docs/**/*.md"]),
    ]
).pytest()
