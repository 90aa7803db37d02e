"""A fix for an unusable disk cache: tinygrad raises if it cannot open or write the database of compiled kernels.

With a read-only or full home, or with a cache folder that is a file, no computation runs. The fix disables the cache
and warns once: each process then compiles its kernels again.
"""

from __future__ import annotations

import functools
import sqlite3
import sys
import warnings
from collections.abc import Callable
from typing import Any

from branded.tinygrad_compat import private_api


def _disable_cache(error: Exception) -> None:
    private_api.CACHELEVEL.value = 0
    warnings.warn(
        f"cache: compiled kernels cannot be stored in {private_api.CACHEDB}: {error}; each process compiles them again "
        "(set CACHEDB to another file, or CACHELEVEL=0 to disable the cache)",
        RuntimeWarning,
        stacklevel=2,
    )


def _or_without(original: Callable[..., Any], instead: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def cached(*args: Any, **kwargs: Any) -> Any:
        try:
            return original(*args, **kwargs)
        except sqlite3.ProgrammingError:
            raise  # an incorrect call, not a problem of the file
        except (OSError, sqlite3.DatabaseError) as error:
            _disable_cache(error)
            return instead(*args, **kwargs)

    return cached


_INSTEAD: dict[str, Callable[..., Any]] = {
    "diskcache_get": lambda table, key: None,
    "diskcache_put": lambda table, key, val, prepickled=False: val,
}


def install() -> None:
    old = {name: getattr(private_api.helpers, name) for name in _INSTEAD}
    new = {name: _or_without(f, _INSTEAD[name]) for name, f in old.items()}
    for module in [m for name, m in list(sys.modules.items()) if name.startswith("tinygrad") and m is not None]:
        for name, f in new.items():
            if getattr(module, name, None) is old[name]:
                setattr(module, name, f)
