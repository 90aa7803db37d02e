"""How many generated programs a test runs: a sample in `make test`, and all of them in `make test-all`.

Properties of hypothesis have profiles too, as in `HYPOTHESIS_PROFILE=nightly python -m pytest tests/laws`:

| profile | examples | seeds |
|---|---|---|
| quick | a fifth | fixed |
| default | a quarter, and in `make test-all` as many as the test says | fixed |
| nightly | ten times as many | random; a failure prints how to repeat it |
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.support.by_numpy import COMPILE_ALL

T, U = TypeVar("T"), TypeVar("U")


def amount(few: T, full: T) -> T:
    """Return `few` in `make test`, and `full` in `make test-all`."""
    return full if COMPILE_ALL else few


def pairs(xs: Iterable[T], ys: Iterable[U]) -> list[tuple[T, U]]:
    """Return all pairs in `make test-all`, and in `make test` so few that each entry is in one."""
    xs, ys = [*xs], [*ys]
    few = [(xs[i % len(xs)], ys[i % len(ys)]) for i in range(max(len(xs), len(ys)))]
    return amount(few, [(x, y) for x in xs for y in ys])


PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "default")
FACTORS = {"quick": 0.2, "default": amount(0.25, 1), "nightly": 10}

for _name in FACTORS:
    settings.register_profile(
        _name,
        database=None,
        deadline=None,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )
settings.load_profile(PROFILE)


def check(law: Callable[..., None], *strategies: Any, examples: int, part: int = 0, shrink: bool = True) -> None:
    """Check a law on so many generated examples; those of each `part` differ."""
    some = settings(max_examples=max(1, round(examples * FACTORS[PROFILE])))
    if not shrink:
        some = settings(some, phases=[Phase.generate])
    checked = some(given(*strategies)(law))
    (checked if PROFILE == "nightly" else seed(part)(checked))()
