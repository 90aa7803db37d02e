"""Record the operations that tinygrad's patterns see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tinygrad import Context
from tinygrad.uop.ops import PatternMatcher, UOp


def met(monkeypatch: pytest.MonkeyPatch, run: Callable[[], object]) -> list[UOp]:
    """Return the operations from the first graph of a program to its last kernel."""
    seen: dict[UOp, None] = {}
    original = PatternMatcher.rewrite

    def rewrite(self: Any, u: UOp, ctx: Any = None) -> Any:
        seen[u] = None
        return original(self, u, ctx)

    with monkeypatch.context() as here, Context(CACHELEVEL=0, PARALLEL=0):  # type: ignore[no-untyped-call]
        here.setattr(PatternMatcher, "rewrite", rewrite)
        run()
    return list(seen)
