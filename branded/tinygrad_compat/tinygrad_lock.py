"""The locks around tinygrad, which schedules, compiles and runs with tables and buffers that all threads share.

`LOCK` is held while tinygrad works, during writes, and while a function runs whose writes are rolled back afterwards.
Such functions and callbacks are the user code that runs under the lock. They must not wait for other threads.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

LOCK = threading.RLock()
STARTS = threading.RLock()
"""The lock that is held while a compiler starts or ends."""
TABLE = threading.RLock()
"""The lock that is held while an entry is removed from the table of operations."""


def before_forks() -> None:
    """Hold all locks during a fork, so that a child never starts in the middle of another thread's work.

    The lock that is registered last is acquired first. The order must match the nesting of the locks elsewhere, or two
    threads would deadlock. It also puts these locks before the locks of the modules that are already imported.
    """
    if hasattr(os, "register_at_fork"):
        for lock in (TABLE, STARTS, LOCK):
            os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)


before_forks()


def serial(f: F) -> F:
    """Return `f`, serialized over the threads by `LOCK`."""

    @functools.wraps(f)
    def alone(*args: Any, **kwargs: Any) -> Any:
        with LOCK:
            return f(*args, **kwargs)

    return cast(F, alone)
