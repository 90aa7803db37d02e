"""A progress bar for long work, on a terminal."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tinygrad import helpers

Made = Callable[[int], None]
"""Says that so many more are done."""


@contextmanager
def bar(total: int, what: str, unit: str) -> Iterator[Made]:
    """A bar with rate and rest, by tqdm, or rich, or tinygrad's own; nothing where stderr is not a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda n: None
    elif importlib.util.find_spec("tqdm") is None and importlib.util.find_spec("rich") is not None:
        with _by_rich(total, what, unit) as made:
            yield made
    else:
        own = importlib.util.find_spec("tqdm") is not None
        of: Any = importlib.import_module("tqdm").tqdm if own else helpers.tqdm
        with of(total=total, desc=what, unit=f" {unit}") as shown:
            yield shown.update


@contextmanager
def _by_rich(total: int, what: str, unit: str) -> Iterator[Made]:
    # by name, as above: of rich mypy would read IPython, matplotlib and PIL too, 500 modules for each user of branded
    of: Any = importlib.import_module("rich.progress")

    class Rate(of.TextColumn):  # type: ignore[misc]
        def render(self, task: Any) -> Any:
            self.text_format = f"{task.finished_speed or task.speed or 0:.4g} {unit}/s"
            return super().render(task)

    rest = (of.BarColumn(), of.MofNCompleteColumn(), Rate(""), of.TimeRemainingColumn())
    console = importlib.import_module("rich.console").Console(stderr=True)
    with of.Progress(of.TextColumn("{task.description}"), *rest, console=console) as shown:
        task = shown.add_task(what, total=total)
        yield lambda n: shown.update(task, advance=n)
