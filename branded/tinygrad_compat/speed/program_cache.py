"""Finished programs are kept on disk: what tinygrad made of a kernel, which takes it longer than the C compiler.

tinygrad keeps the machine code of a source that it has compiled before, and works out the source anew in each process.
Here the whole program is kept, in the same database, by the kernel's graph and all that its code depends on: the
versions, the code of this package that changes kernels, the compiler and the features of the processor.
`CACHELEVEL=0` leaves it out, as it does tinygrad's own cache.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import os
import pickle
import platform
import sqlite3
from pathlib import Path
from typing import Any

from tinygrad.helpers import DEBUG
from tinygrad.uop.ops import UOp

from branded import tinygrad_compat
from branded.tinygrad_compat import private_api, zig_clang
from branded.tinygrad_compat.speed.clang_batches import features

TABLE = "branded_programs"
CODE = "branded_code"
FOLDERS = ("tinygrad_compat", "backends")
TABLES = "branded_%"
"""Its own, and those of `schedules.py` and `clang.py`."""
MOST = 20_000
"""So many programs are kept, the last that were made."""
_EVERY = 500
_kept = itertools.count()
NOT_WHOLE = (
    pickle.UnpicklingError,
    EOFError,
    AttributeError,
    ImportError,
    IndexError,
    KeyError,
    TypeError,
    ValueError,
)
"""What unpickling raises of bytes that are cut off, or that another version wrote."""


class Programs(dict[Any, UOp]):
    """The programs that are finished: of this process, and behind them those on disk."""

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or self._found(key)

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get(key, default) if key in self else default

    def __setitem__(self, key: Any, program: UOp) -> None:
        if super().get(key) is program:
            return  # tinygrad puts it in where it is made, and where it is used
        super().__setitem__(key, program)
        if is_kept():
            private_api.helpers.diskcache_put(TABLE, _name(key), program)
            count()

    def _found(self, key: object) -> bool:
        if not is_kept():
            return False
        if (program := found(TABLE, _name(key))) is None:
            return False
        super().__setitem__(key, program)
        return True


def found(table: str, name: str) -> UOp | None:
    """What is on disk by this name; None where nothing is, or what is there is not whole, so that it is made anew."""
    try:
        graph = private_api.helpers.diskcache_get(table, name)
    except NOT_WHOLE:
        return None
    return graph if isinstance(graph, UOp) else None


def is_kept() -> bool:
    """Is there a cache, and does nobody want to see how kernels are made?"""
    return bool(private_api.CACHELEVEL.value) and DEBUG.value < 3


def _name(key: object) -> str:
    return hashlib.sha256(f"{key!r} {made_by()}".encode()).hexdigest()


@functools.cache
def made_by() -> str:
    """All that the code of a kernel depends on beside its graph."""
    chosen = [*zig_clang.command(), os.environ.get("BRANDED_PATCHES", "")]
    return repr((tinygrad_compat.version(), tinygrad_compat.installed, platform.machine(), features(), chosen, _code()))


def _code() -> str:
    """What the code of this package says, of the modules that change kernels; read anew when a file was written."""
    package = Path(__file__).parents[2]
    found = [f"{at}/{name}" for part in FOLDERS for at, _, names in os.walk(package / part) for name in names]
    sources = [path for path in found if path.endswith(".py")]
    files = sorted((path, (stat := Path(path).stat()).st_size, stat.st_mtime_ns) for path in sources)
    key = hashlib.sha256(repr(files).encode()).hexdigest()
    if is_kept() and isinstance(kept := private_api.helpers.diskcache_get(CODE, key), str):
        return kept
    ours = hashlib.sha256()
    for path, _, _ in files:
        ours.update(Path(path).read_bytes())
    digest = ours.hexdigest()
    if is_kept():
        private_api.helpers.diskcache_put(CODE, key, digest)
    return digest


def count() -> None:
    """One more is kept, and from time to time the oldest go."""
    if next(_kept) % _EVERY == 0 and is_kept():  # there may turn out to be no cache
        _forget_the_oldest()


def _forget_the_oldest() -> None:
    connection = private_api.helpers.db_connection()
    try:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE name LIKE ?", (TABLES,)).fetchall()
        for (table,) in tables:
            connection.execute(f"DELETE FROM '{table}' WHERE rowid <= (SELECT MAX(rowid) FROM '{table}') - {MOST}")
        connection.commit()
    except sqlite3.Error:
        connection.rollback()  # another process is at it


def install() -> None:
    if tinygrad_compat.installed:
        private_api.codegen.to_program_cache = private_api.realize.to_program_cache = Programs(
            private_api.codegen.to_program_cache
        )
