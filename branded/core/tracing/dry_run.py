"""Dry runs: call a function only to inspect its results, and undo its effects."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tinygrad import Tensor

from branded.core.tracing.effect_tokens import only_looked_at
from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.activation import in_engine
from branded.tinygrad_compat.context_stack import run_then_undo
from branded.tinygrad_compat.uops import living_tensors

T = TypeVar("T")


@in_engine
def dry_run(run: Callable[[], T]) -> T:
    """Return the results of `run` as graphs; skip callbacks, and undo writes and changes of the random state."""
    tables = [Tensor.__dict__[name] for name in (private_api.COUNTERS, private_api.SEEDS)]
    saved = [dict(table) for table in tables]

    def undo() -> None:
        for table, contents in zip(tables, saved, strict=True):
            table.clear()
            table.update(contents)

    def looked() -> T:
        with only_looked_at():
            return run()

    return run_then_undo(lambda: writes_undone(looked), undo)


def writes_undone(run: Callable[[], T]) -> T:
    """Return the results of `run`, and undo its writes into tensors that existed before."""
    before = [(t, t.uop) for t in living_tensors()]

    def undo() -> None:
        for t, u in before:
            if t.uop is not u:
                t.uop = u

    return run_then_undo(run, undo)
