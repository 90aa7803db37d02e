"""What one thread does at a time: tinygrad schedules, compiles and runs with tables and buffers that all threads share.

The lock is held while tinygrad works, while something is written, and while a function runs whose writes are taken
back.  Of what users give, such functions and callbacks run with it, and must not wait for other threads.
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
"""Held while a compiler is started, or ends."""
TABLE = threading.RLock()
"""Held while an entry goes from the table of operations."""


def before_forks() -> None:
    """A child begins between two works, not in the middle of one of another thread.

    What is registered last is taken first: these locks as one is taken within another elsewhere, or two threads would
    wait for each other, and all of them before those of modules that are imported by now.
    """
    if hasattr(os, "register_at_fork"):
        for lock in (TABLE, STARTS, LOCK):
            os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)


before_forks()


def serial(f: F) -> F:
    """`f`, by one thread at a time."""

    @functools.wraps(f)
    def alone(*args: Any, **kwargs: Any) -> Any:
        with LOCK:
            return f(*args, **kwargs)

    return cast(F, alone)
