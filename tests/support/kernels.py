"""The kernels that a program consists of."""

from __future__ import annotations

from typing import Any

import pytest
from tinygrad.uop.ops import UOp

from branded.compile import linear_program


def note_kernels(monkeypatch: pytest.MonkeyPatch) -> list[UOp]:
    """Return a list to which each compilation of a program adds its calls of kernels and of the host."""
    compiled: list[UOp] = []
    compile_ = linear_program._compile

    def noted(linear: UOp, params: Any) -> UOp:
        compiled.extend(linear.src)
        return compile_(linear, params)

    monkeypatch.setattr(linear_program, "_compile", noted)
    return compiled
