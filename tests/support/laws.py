"""Test laws on generated programs: many are evaluated by numpy from their graphs, and a few by kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.profiles import check


def law(examples: int, *strategies: Any, kernels: int = 4, shrink: bool = True) -> Callable[[Callable[..., None]], Any]:
    """Turn a property into a test with this number of examples from their graphs, and a few by kernels."""
    cases = [
        pytest.param(examples, id="graphs", marks=pytest.mark.by_numpy),
        pytest.param(kernels, id="kernels", marks=pytest.mark.compiled),
    ]

    def decorated(f: Callable[..., None]) -> Any:
        @pytest.mark.parametrize("examples", cases if kernels < examples else cases[1:])
        def test(examples: int) -> None:
            check(f, *strategies, examples=examples, shrink=shrink)

        test.__name__, test.__qualname__, test.__doc__ = f.__name__, f.__qualname__, f.__doc__
        test.__module__ = f.__module__
        return test

    return decorated
