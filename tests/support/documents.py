"""Pages and docstrings as documents of examples, whose numbers come from the graph in seven of eight of them.

The examples of a document share their names, so all of them are realized by numpy, or all by kernels (`realized.py`).
What numpy does not make as the document shows it is asked of kernels: it starts anew, with nothing that numpy made.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from sybil import Document
from sybil.document import PythonDocStringDocument
from sybil.example import Example
from sybil.typing import Evaluator, Parser

from tests.support import realized

ROOT = Path(__file__).resolve().parents[2]
RUNS = (
    "branded/backends/",
    "branded/callbacks/",
    "branded/collectives/",
    "branded/compile/",
    "branded/hooks/",
    "branded/chunking/",
    "branded/nn/",
    "branded/tinygrad_compat/",
    "branded/tools/profile/",
    "docs/cluster.md",
    "docs/devices.md",
    "docs/jit.md",
    "docs/memory.md",
    "docs/speed.md",
    "docs/threads.md",
    "docs/tinygrad.md",
    "docs/tuning.md",
    "README.md",
)
"""Documents about how things run, and not about what they give."""


def is_compiled(name: str) -> bool:
    """Does a user's machine do what this document shows, as it stands?"""
    return name.startswith(RUNS) or realized.is_compiled(name)


class Page(Document):
    """A document that is evaluated by numpy, until an example fails: then again from its start, by kernels."""

    def __init__(self, text: str, path: str) -> None:
        super().__init__(text, path)
        self._done: list[tuple[Example, Evaluator]] = []

    @cached_property
    def by_numpy(self) -> bool:
        return not is_compiled(Path(self.path).relative_to(ROOT).as_posix())

    def evaluate(self, example: Example, evaluator: Evaluator) -> None:
        __tracebackhide__ = True
        self._done.append((example, evaluator))
        if self.by_numpy:
            try:
                with realized.by_numpy():
                    return super().evaluate(example, evaluator)
            except Exception:
                self.by_numpy = False
            self._start_anew()
            for earlier in self._done[:-1]:
                super().evaluate(*earlier)
        return super().evaluate(example, evaluator)

    def _start_anew(self) -> None:
        self.namespace.clear()


class Module(Page, PythonDocStringDocument):
    """The docstrings of a module, which see its names."""

    @classmethod
    def parse(cls, path: str, *parsers: Parser, encoding: str = "utf-8") -> Document:
        """Most modules have no example, and are not read any further."""
        text = Path(path).read_text(encoding)
        return super().parse(path, *parsers, encoding=encoding) if ">>> " in text else cls(text, path)

    def _start_anew(self) -> None:
        super()._start_anew()
        self.push_evaluator(self.import_document)
