"""Results about functions and files.

mypy's daemon analyzes a function again before it checks it again: it may then refer to other types. The results are
then forgotten. Another run of mypy analyzes each file once, and checks it afterwards.
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
