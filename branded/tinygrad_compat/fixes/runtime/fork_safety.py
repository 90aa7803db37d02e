"""A forked process has the memory of its tensors to itself; each thread has its own connection to the cache on disk.

tinygrad asks for CPU memory that parent and child share, so each would write over the other's tensors; and sqlite
cannot be used through a connection of another thread, and must not be through one from before a fork.
"""

from __future__ import annotations

import mmap
import os
import sys
import threading
from types import FunctionType
from typing import Any

from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.import_hook import when_imported

_connections: dict[tuple[int, int], Any] = {}
"""By process and thread.  Those of a parent are kept: a child must not close them either."""


class _Private:
    """The module `mmap`, as tinygrad's allocator gets it: what it asks for is of one process."""

    def __getattr__(self, name: str) -> Any:
        return getattr(mmap, "MAP_PRIVATE" if name == "MAP_SHARED" else name)


def install() -> None:
    opened = private_api.helpers.db_connection

    def db_connection() -> Any:
        """Without a lock: threads that compile need it while another has the lock and waits for them."""
        key = os.getpid(), threading.get_ident()
        if key not in _connections:
            own = FunctionType(opened.__code__, {**vars(private_api.helpers), "_db_connection": None})
            _connections[key] = own()
        return _connections[key]

    if "_db_connection" in opened.__code__.co_names:
        private_api.helpers.db_connection = db_connection
    when_imported(private_api.CPU, _own_memory)


def _own_memory(tg_cpu: Any) -> None:
    if "MAP_SHARED" in getattr(tg_cpu.CPUAllocator, private_api.ALLOCATE).__code__.co_names and sys.platform != "win32":
        tg_cpu.mmap = _Private()
