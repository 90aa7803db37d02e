"""Runs the examples in docstrings, and the python blocks of the README and the docs, as tests."""

from doctest import ELLIPSIS

from sybil import Sybil
from sybil.parsers.doctest import DocTestParser
from sybil.parsers.markdown import PythonCodeBlockParser
from sybil.sybil import SybilCollection

import branded  # noqa: F401  (chooses a C compiler before a page that begins with tinygrad alone computes)

pytest_collect_file = SybilCollection(
    [
        Sybil([DocTestParser(optionflags=ELLIPSIS)], patterns=["branded/*.py", "branded/**/*.py"]),
        Sybil([PythonCodeBlockParser(doctest_optionflags=ELLIPSIS)], patterns=["*.md", "docs/*.md", "docs/**/*.md"]),
    ]
).pytest()
