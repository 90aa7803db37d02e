"""A progress bar for long computations, in a terminal or a notebook."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tinygrad import helpers

Made = Callable[[int], None]
"""Advances the bar by this number of units."""


@contextmanager
def bar(total: int, label: str, unit: str) -> Iterator[Made]:
    """Show a bar with rate and remaining time, by tqdm or else by tinygrad; nothing without a terminal or notebook."""
    has_tqdm = importlib.util.find_spec("tqdm") is not None
    in_notebook = has_tqdm and "ipykernel" in sys.modules
    if not in_notebook and (sys.stderr is None or not sys.stderr.isatty()):
        yield lambda n: None
        return
    # imported by name, because mypy would read IPython and 300 other modules for each user
    tqdm: Any = importlib.import_module("tqdm.auto").tqdm if has_tqdm else helpers.tqdm
    with tqdm(total=total, desc=label, unit=f" {unit}") as shown:
        yield shown.update
