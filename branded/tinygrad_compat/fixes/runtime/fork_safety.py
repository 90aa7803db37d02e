"""A fix for forks: a child gets private tensor memory, and each thread its own connection to the disk cache.

tinygrad requests CPU memory that parent and child share, so each would overwrite the other's tensors. An sqlite
connection cannot be used by another thread, and must not be used after a fork.
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
"""The connections by process and thread. A parent's connections stay here, because a child must not close them."""


class _Private:
    """A replacement for the module `mmap` in tinygrad's allocator, which makes shared memory private."""

    def __getattr__(self, name: str) -> Any:
        return getattr(mmap, "MAP_PRIVATE" if name == "MAP_SHARED" else name)


def install() -> None:
    opened = private_api.helpers.db_connection

    def db_connection() -> Any:
        """Return this thread's connection; no lock, because compile threads need it while the lock's holder waits."""
        key = os.getpid(), threading.get_ident()
        if key not in _connections:
            connect = FunctionType(opened.__code__, {**vars(private_api.helpers), "_db_connection": None})
            _connections[key] = connect()
        return _connections[key]

    private_api.helpers.db_connection = db_connection
    when_imported(private_api.CPU, _own_memory)


def _own_memory(tg_cpu: Any) -> None:
    if sys.platform != "win32":
        tg_cpu.mmap = _Private()
