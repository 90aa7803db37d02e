"""What one thread does at a time: tinygrad schedules, compiles and runs with tables and buffers that all threads share.

The lock is held while tinygrad works, and never while a function of the user runs: who holds it waits for no thread.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

LOCK = threading.RLock()
WRITES = threading.RLock()
"""Held while something is written, and while a function runs whose writes are taken back: those of others wait."""

STARTS = threading.RLock()
"""Held while a compiler is started, or ends."""


def _wait() -> None:
    """As one is taken within another elsewhere, or two threads would wait for each other."""
    for lock in (WRITES, LOCK, STARTS):
        lock.acquire()


def _go_on() -> None:
    for lock in (STARTS, LOCK, WRITES):
        lock.release()


if hasattr(os, "register_at_fork"):  # a child begins between two works, not in the middle of one of another thread
    os.register_at_fork(before=_wait, after_in_parent=_go_on, after_in_child=_go_on)


def serial(f: F) -> F:
    """`f`, by one thread at a time."""

    @functools.wraps(f)
    def alone(*args: Any, **kwargs: Any) -> Any:
        with LOCK:
            return f(*args, **kwargs)

    return cast(F, alone)
