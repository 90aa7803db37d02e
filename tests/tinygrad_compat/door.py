"""Check our requirements on the installed tinygrad, without patches: `python -m tests.tinygrad_compat.door`.

It prints the names of `branded/tinygrad_compat/private_api.py` that are missing or have another form, with the features
that need them, and then each failing check of `door_checks.py`. The status is 1 if there are any.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[2]
DOOR = "branded/tinygrad_compat/private_api.py"


def door() -> ModuleType:
    """Import the module of the names without its package, which would patch tinygrad."""
    spec = importlib.util.spec_from_file_location("private_api", ROOT / DOOR)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def names(tg: Any) -> Iterator[str]:
    """Yield the names that are missing or changed, with the features that need them."""
    found: dict[str, list[str]] = {}
    for feature, problems in tg.problems().items():
        for name, text in problems.items():
            found.setdefault(f"{name} is {text}", []).append(feature)
    for problem, features in found.items():
        yield f"{problem}: {', '.join(features)}"


def failures(checks: dict[str, Callable[[], None]], without: Iterable[str]) -> Iterator[str]:
    """Yield the checks that fail, except the checks of missing names."""
    missing = set(without)
    by_check: dict[Callable[[], None], list[str]] = {}
    for name, f in checks.items():
        by_check.setdefault(f, []).append(name)
    for f, about in by_check.items():
        if missing.isdisjoint(about):
            try:
                f()
            except Exception as error:
                yield f"{', '.join(about)}: {type(error).__name__}: {error}"


def main() -> int:
    """Print the differences from our requirements."""
    tg, is_right = door(), True
    for problem in names(tg):
        print(problem, flush=True)
        is_right = False
    missing = {name.rpartition(".")[2] for found in tg.problems().values() for name in found}
    try:
        checks = importlib.import_module("tests.tinygrad_compat.door_checks").CHECKS
    except (ImportError, AttributeError) as error:  # a name that every check uses is missing
        print(f"no name can be checked: {type(error).__name__}: {error}")
        return 1
    for problem in failures(checks, missing):
        print(problem, flush=True)
        is_right = False
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
