"""Run the code blocks of a page in the browser, in one namespace, like a Python session."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import math
import sys
import types
from collections.abc import Iterator
from typing import Any

from tinygrad import Tensor

from branded.core.boundary import batch_values
from branded.dispatch import full
from branded.errors import BrandedError
from branded.explain.code import Source
from branded.explain.data import plain
from branded.graph.rows import row_of, type_text
from branded.graph.scope import outside
from branded.graph.uops import tensor
from branded.learn.explorer.mistakes import format_error, place, write_source

DRAWN = 256
"""The largest number of cells that is shown as a picture."""

PAGE = "page"
"""The name of the module in which the blocks of a page run."""


def run(source: str, number: int) -> str:
    """Run a block statement by statement, as at a Python prompt.

    Args:
        source: The source code, without prompts and results.
        number: The position of the block on the page, counted from 1; errors use it as a name.

    Returns:
        JSON with `parts` in order, each a printed `text` or a `picture` of a tensor, and `failure`, the error that
        ended the block.
    """
    path = write_source(source, f"block_{number}.py")
    space = sys.modules.setdefault(PAGE, types.ModuleType(PAGE)).__dict__
    parts: list[dict[str, Any]] = []
    failure = None
    try:
        with _shows(parts):
            for statement in ast.parse(source, path).body:
                exec(compile(ast.Interactive([statement]), path, "single", dont_inherit=True), space)
    except (Exception, SystemExit) as error:  # any error comes from the reader's code, so show it
        failure = mistake(error, source, path)
    return json.dumps({"parts": parts, "failure": failure})


def forget() -> None:
    """Reset the namespace of the page."""
    sys.modules.pop(PAGE, None)


@contextlib.contextmanager
def _shows(parts: list[dict[str, Any]]) -> Iterator[None]:
    """Collect printed text, and the value of each expression statement."""
    before, out = sys.displayhook, io.StringIO()

    def printed() -> None:
        if text := out.getvalue():
            parts.append({"text": text})
        out.seek(0)
        out.truncate()

    def show(value: Any) -> None:
        if (picture := describe_tensor(value)) is None:
            before(value)
        else:
            printed()
            parts.append({"picture": picture})

    sys.displayhook = show
    try:
        with contextlib.redirect_stdout(out):
            yield
    finally:
        sys.displayhook = before
        printed()


def mistake(error: BaseException, source: str, path: str) -> dict[str, Any]:
    """Describe an error for the page: a branded error by message and code, another error by its traceback."""
    own = isinstance(error, BrandedError)
    return {
        "error": type(error).__name__,
        "code": error.code if isinstance(error, BrandedError) else None,
        "line": place(error, path),
        "text": str(error) if own else format_error(error, Source(source, path, 1)),
    }


def describe_tensor(value: object) -> dict[str, Any] | None:
    """Describe a tensor for the page: its type, brands, axis sizes and cells; None if it cannot be drawn."""
    if not isinstance(value, Tensor):
        return None
    row = row_of(value.uop)
    sizes = [*(b.size for b in row), *value.shape]
    if not all(b.is_brand for b in row) or not all(isinstance(n, int) for n in sizes):
        return None
    if not 0 < math.prod(sizes) <= DRAWN:
        return None
    try:
        with outside():
            seen = tensor(full(batch_values([value.uop])[0], row)).flatten().tolist()
    except Exception:  # a value that cannot be computed is shown by its repr
        return None
    brands, cells = [b.name for b in row], list(map(plain, seen))
    return {"type": type_text(value.uop), "brands": brands, "sizes": sizes, "cells": cells}
