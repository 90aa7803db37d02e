"""Pages and docstrings as documents with examples, evaluated by numpy (`realized.py`) or by kernels."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import nullcontext, redirect_stdout
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from sybil import Document, Region
from sybil.document import PythonDocStringDocument
from sybil.example import Example
from sybil.typing import Evaluator, Parser

from branded import BrandedError
from branded.tinygrad_compat import activation
from tests.support import realized

ROOT = Path(__file__).resolve().parents[2]
COMPILED = (
    "branded/backends/",
    "branded/callbacks/",
    "branded/collectives/",
    "branded/compile/",
    "branded/hooks/",
    "branded/chunking/",
    "branded/nn/",
    "branded/control_flow/cond.py",  # the sign of a zero
    "branded/tinygrad_compat/",
    "branded/tools/profile/",
    "docs/cheatsheet.md",
    "docs/cluster.md",
    "docs/course/",
    "docs/devices.md",
    "docs/jit.md",
    "docs/memory.md",
    "docs/quickstart.md",
    "docs/speed.md",
    "docs/threads.md",
    "docs/tinygrad.md",
    "docs/tuning.md",
    "README.md",
)
"""Documents whose examples are compiled, because they describe how programs run, or readers type them."""


_DONE = "__done__"
"""The name of the position up to which the examples of a document have been evaluated."""
_PRINTED = "__printed__"
"""The name of the text that the last example has printed."""
OUTPUT = re.compile(
    r"^```python\n(?!>>> )(?:(?!```).*\n)*```\n\n(?P<output>```text\n(?P<text>(?:(?!```).*\n)*)```)$", re.MULTILINE
)
"""A `text` block that shows the output of the `python` block before it."""


def outputs(document: Document) -> Iterator[Region]:
    """Parse the `text` blocks that show the output of the block before them."""
    for block in OUTPUT.finditer(document.text):
        program = document.text.count("\n", 0, block.start()) + 1
        yield Region(block.start("output"), block.end("output"), (block["text"], program), _check_output)


def _check_output(example: Example) -> None:
    """Compare the output with the page, where the program is `app.py`."""
    wanted, first = example.parsed
    place = re.compile(rf"\b{re.escape(Path(example.path).name)}:(\d+)")
    printed = place.sub(lambda m: f"app.py:{int(m[1]) - first}", example.namespace[_PRINTED])
    assert printed == wanted, f"the program prints:\n{printed}"


class Page(Document):
    """A page. Its examples share their names, so all of them are evaluated in the same way."""

    @cached_property
    def by_numpy(self) -> bool:
        return not Path(self.path).relative_to(ROOT).as_posix().startswith(COMPILED)

    def evaluate(self, example: Example, evaluator: Evaluator) -> None:
        """Evaluate an example, after the earlier ones that were left to another process or not selected.

        The namespace is empty at first, and again if this process has evaluated other documents in between.
        """
        __tracebackhide__ = True
        if _DONE not in self.namespace:
            self.begin()
        earlier = [e for e in self if self.namespace[_DONE] <= e.start < example.start]
        self.namespace[_DONE] = example.region.end
        for e in earlier:
            self._evaluate(e, e.region.evaluator)
        self._evaluate(example, evaluator)

    def begin(self) -> None:
        self.namespace[_DONE] = 0

    def _evaluate(self, example: Example, evaluator: Evaluator) -> None:
        __tracebackhide__ = True
        with realized.by_numpy() if self.by_numpy else nullcontext(), pytest.MonkeyPatch.context() as patch:
            # no document shows the note of errors, which some versions of doctest compare in place of the message
            patch.setattr(BrandedError, "add_note", lambda error, note: None, raising=False)
            with redirect_stdout(io.StringIO()) as printed:
                super().evaluate(example, evaluator)
            self.namespace[_PRINTED] = printed.getvalue()


class Module(Page, PythonDocStringDocument):
    """The docstrings of a module; their examples see its names."""

    def begin(self) -> None:
        super().begin()
        self.push_evaluator(self.import_document)

    @classmethod
    def parse(cls, path: str, *parsers: Parser, encoding: str = "utf-8") -> Document:
        """Parse only the modules that have examples."""
        text = Path(path).read_text(encoding)
        return super().parse(path, *parsers, encoding=encoding) if ">>> " in text else cls(text, path)


def end(namespace: dict[str, Any]) -> None:
    """Disable features that a document enabled, and free its values.

    The last example of a document, which removes its folder, may have run in another process.
    """
    activation.disable()
    for value in namespace.values():
        if isinstance(value, TemporaryDirectory):
            value.cleanup()
    namespace.clear()
