"""A progress bar for long computations, in a terminal."""

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
    """Show a bar with rate and remaining time, by tqdm, rich or tinygrad; show nothing if stderr is not a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda n: None
    elif importlib.util.find_spec("tqdm") is None and importlib.util.find_spec("rich") is not None:
        with _by_rich(total, label, unit) as advance:
            yield advance
    else:
        has_tqdm = importlib.util.find_spec("tqdm") is not None
        tqdm: Any = importlib.import_module("tqdm").tqdm if has_tqdm else helpers.tqdm
        with tqdm(total=total, desc=label, unit=f" {unit}") as shown:
            yield shown.update


@contextmanager
def _by_rich(total: int, label: str, unit: str) -> Iterator[Made]:
    # imported by name, as above: else mypy would read rich, IPython, matplotlib and PIL (500 modules) for each user
    rich: Any = importlib.import_module("rich.progress")

    class Rate(rich.TextColumn):  # type: ignore[misc]
        def render(self, task: Any) -> Any:
            self.text_format = f"{task.finished_speed or task.speed or 0:.4g} {unit}/s"
            return super().render(task)

    rest = (rich.BarColumn(), rich.MofNCompleteColumn(), Rate(""), rich.TimeRemainingColumn())
    console = importlib.import_module("rich.console").Console(stderr=True)
    with rich.Progress(rich.TextColumn("{task.description}"), *rest, console=console) as shown:
        task = shown.add_task(label, total=total)
        yield lambda n: shown.update(task, advance=n)
