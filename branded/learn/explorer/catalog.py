"""The explorer's examples: the programs in `examples`, with their explanations as JSON in the same folder.

The page shows the stored explanations without running anything.  `python -m branded.learn.explorer` regenerates them,
and a test compares them.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from branded.errors import BrandedError
from branded.explain import explain as explained
from branded.explain.code import Source
from branded.explain.html import entry
from branded.learn.explorer.mistakes import in_own_words, mistaken

FOLDER = Path(__file__).parent / "examples"


class Example(NamedTuple):
    """A file of `examples` and the functions to show: two functions are the two answers to a question."""

    name: str
    title: str
    group: str
    functions: tuple[str, ...]
    question: str | None = None
    first: int = 0
    """The index of the answer that is shown first."""
    module: str | None = None
    """The name of the file, if it differs from `name` because the file has several examples."""

    @property
    def file(self) -> Path:
        return FOLDER / f"{self.module or self.name}.py"

    @property
    def program(self) -> str:
        """The source of the file, without the functions of other examples."""
        text = self.file.read_text(encoding="utf-8")
        if self.module is None:
            return text
        others = [x for x in ast.parse(text).body if isinstance(x, ast.FunctionDef) and x.name not in self.functions]
        left_out = {line for x in others for line in range(x.lineno, (x.end_lineno or x.lineno) + 1)}
        kept = "".join(line for i, line in enumerate(text.splitlines(keepends=True), 1) if i not in left_out)
        return re.sub(r"\n{4,}", "\n\n\n", kept).rstrip() + "\n"

    @property
    def data(self) -> Path:
        return FOLDER / f"{self.name}.json"


_TWO = ("same", "different")
_LABELS = {"same": "yes: one brand, zip", "different": "no: two brands, outer"}
_WRONG_AND_RIGHT = ("the mistake", "fixed")
MISTAKES = "Mistakes and fixes"


def _mistake(name: str, title: str) -> Example:
    """Return the example for a function of `mistakes.py` and its corrected version."""
    return Example(name, title, MISTAKES, (name, f"{name}_fixed"), "Which of the two?", module="mistakes")


EXAMPLES = (
    Example("zip", "Zip or outer", "Start here", _TWO, "Do a and b have the same brand?"),
    Example("softmax", "A softmax for each row", "Start here", ("softmax",)),
    Example("normalize", "A value that all examples share", "Start here", ("normalize",)),
    Example("dot", "Matrix product by two vmaps", "Pairs", _TWO, "Do the rows of a and b have the same brand?", 1),
    Example("distances", "Distances of points", "Pairs", _TWO, "Do here and there have the same brand?", 1),
    Example("attention", "Scores of attention", "Pairs", _TWO, "Do queries and keys have the same brand?", 1),
    Example("deep", "Three deep", "Pairs", ("deep",)),
    Example("large", "A large broadcast", "Pairs", ("large",)),
    Example("axes", "in_axes and out_axes", "Arguments", ("axes",)),
    Example("parameters", "A tree of parameters", "Arguments", ("parameters",)),
    Example("gather", "An index for each example", "Arguments", ("gather",)),
    Example("gradient", "A gradient for each example", "Transforms", ("gradient",)),
    Example("cumsum", "Running sums by cumsum", "Transforms", ("cumulative",)),
    Example("scan", "Running sums by scan", "Transforms", ("running",)),
    Example("branch", "A branch for each example", "Transforms", ("branch",)),
    Example("collective", "psum: a sum over a brand", "Transforms", ("shares",)),
    _mistake("weighted", "Mapped sizes differ"),
    _mistake("leaky", "if on a batched value"),
    _mistake("shifted", "A shape that does not fit"),
    _mistake("kept", "A value that escapes"),
    _mistake("total", "A write into a shared tensor"),
    _mistake("noisy", "A random sample without randomness="),
    _mistake("shares", "An unknown axis name"),
    _mistake("sums", "A carry that changes its dtype"),
)


def explain(example: Example) -> list[dict[str, Any]]:
    """Explain each function of an example; for a function that raises, describe the error."""
    module = importlib.import_module(f"branded.learn.explorer.examples.{example.file.stem}")
    return [_explain_function(getattr(module, name)) for name in example.functions]


def _explain_function(f: types.FunctionType) -> dict[str, Any]:
    try:
        return in_own_words(f, (), lambda: explained(f).data())
    except BrandedError as error:
        return mistaken(f.__name__, Source.of(f), error, inspect.getdoc(f))


def text(example: Example) -> str:
    """Return the JSON to store, one explanation per line, so that diffs are local."""
    lines = [json.dumps(e, ensure_ascii=False, separators=(",", ":")) for e in explain(example)]
    return "[\n" + ",\n".join(lines) + "\n]\n"


def load() -> list[dict[str, Any]]:
    """Load the menu of the explorer from the stored explanations.

    Returns:
        An entry for each example, in the format of `document`.
    """
    return list(_entries())


def _entries() -> Iterator[dict[str, Any]]:
    for example in EXAMPLES:
        yield entry(
            example.title,
            json.loads(example.data.read_text(encoding="utf-8")),
            name=example.name,
            group=example.group,
            question=example.question,
            first=example.first,
            labels=[_LABELS.get(name, name) for name in example.functions]
            if example.group != MISTAKES
            else _WRONG_AND_RIGHT,
            program=example.program,
        )
