"""A function that is called only to see what its results are made of: nothing that it does is done."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tinygrad import Tensor

from branded.loops.bodies import only_looked_at
from branded.patches import tg
from branded.patches.serial import LOCK
from branded.patches.tg import all_tensors
from branded.scope import undone

T = TypeVar("T")


def looked_at(run: Callable[[], T]) -> T:
    """What `run` gives, as graphs: its callbacks are not called, and what it writes and draws is as it was before."""
    with LOCK:
        return _taken_back(run)


def _taken_back(run: Callable[[], T]) -> T:
    before = [(t, t.uop) for ref in list(all_tensors) if (t := ref()) is not None]
    tables = [Tensor.__dict__[name] for name in (tg.COUNTERS, tg.SEEDS)]
    known = [dict(table) for table in tables]

    def undo() -> None:
        for t, u in before:
            if t.uop is not u:
                t.uop = u
        for table, own in zip(tables, known, strict=True):
            table.clear()
            table.update(own)

    def looked() -> T:
        with only_looked_at():
            return run()

    return undone(looked, undo)
