"""Caches of results about functions and files, which are emptied when mypy analyzes a function again.

Only mypy's daemon does this: before it checks a changed function again, the function may refer to other types. Without
the daemon, mypy analyzes each file once.
"""

from __future__ import annotations

from typing import Any

_caches: list[dict[Any, Any]] = []


def new_cache() -> dict[Any, Any]:
    """Return an empty cache that `forget` empties."""
    _caches.append({})
    return _caches[-1]


def forget() -> None:
    for cache in _caches:
        cache.clear()
