"""A disk cache for programs: the result of tinygrad's compilation, which takes longer than the C compiler.

tinygrad caches the machine code of each source, but generates the source again in each process. Here the whole program
is stored in the same database. Its key covers the graph of the kernel and everything else that its code depends on.
These are the versions, the code of tinygrad and of this package that makes kernels, the environment variables that this
code reads, the compiler, and the features of the processor. `CACHELEVEL=0` and `CCACHE=0` disable it, together with
tinygrad's own caches, as does `IGNORE_BEAM_CACHE=1`, since the programs on disk include results of searches.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import os
import pickle
import platform
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tinygrad
from tinygrad.helpers import DEBUG
from tinygrad.uop.ops import UOp

from branded import tinygrad_compat
from branded.tinygrad_compat import private_api, zig_clang
from branded.tinygrad_compat.speed.clang_batches import features

TABLE = "branded_programs"
CODE = "branded_code"
FOLDERS = ("tinygrad_compat", "backends")
OF_TINYGRAD = (
    *("codegen", "renderer", "schedule", "uop", "mixin"),
    *("dtype.py", "runtime/ops_cpu.py", "runtime/support/compiler_cpu.py", "runtime/support/elf.py"),
)
"""The folders and files of tinygrad that make kernels."""
_READ = re.compile(rb"""getenv\(f?["'](\w+)["']""")
TABLES = "branded_%"
"""The tables of this module, of `schedule_cache.py` and of `clang_batches.py`."""
MOST = 20_000
"""The maximum number of entries in a table; the oldest are deleted."""
_EVERY = 500
_kept = itertools.count()
NOT_WHOLE = (pickle.UnpicklingError, EOFError, AttributeError, ImportError, IndexError, KeyError, TypeError, ValueError)
"""The exceptions from unpickling bytes that are truncated or written by another version."""


class Programs(dict[Any, UOp]):
    """The finished programs of this process, backed by those on disk."""

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or self._load(key)

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get(key, default) if key in self else default

    def __setitem__(self, key: Any, program: UOp) -> None:
        if super().get(key) is program:
            return  # tinygrad stores it twice, where it is made and where it is used
        super().__setitem__(key, program)
        if is_kept():
            private_api.helpers.diskcache_put(TABLE, _hash_key(key), program)
            count()

    def _load(self, key: object) -> bool:
        if not is_kept():
            return False
        if (program := load_graph(TABLE, _hash_key(key))) is not None:
            super().__setitem__(key, program)
        return program is not None


def load(table: str, name: str) -> Any:
    """Return the entry on disk with this name, or None if there is none or it is damaged."""
    try:
        return private_api.helpers.diskcache_get(table, name)
    except NOT_WHOLE:
        return None


def load_graph(table: str, name: str) -> UOp | None:
    graph = load(table, name)
    return graph if isinstance(graph, UOp) else None


def is_kept() -> bool:
    """Return whether there is a cache, and no option (`DEBUG`, `VIZ`, process replay) records how kernels are made."""
    seen = DEBUG.value >= 3 or private_api.TRACK_MATCH_STATS.value or private_api.CAPTURE_PROCESS_REPLAY.value
    wanted = private_api.CACHELEVEL.value and private_api.CCACHE.value and not private_api.IGNORE_BEAM_CACHE.value
    return bool(wanted) and not seen


def _hash_key(key: object) -> str:
    return hashlib.sha256(f"{key!r} {made_by()}".encode()).hexdigest()


@functools.cache
def made_by() -> str:
    """Return everything that the code of a kernel depends on, except its graph."""
    chosen = [*zig_clang.command(), os.environ.get("BRANDED_PATCHES", "")]
    digest, *variables = _code().split()
    read = [(name, os.environ.get(name)) for name in variables]
    version = tinygrad_compat.version(), tinygrad_compat.installed
    return repr((version, platform.machine(), features(), chosen, digest, read))


def _code() -> str:
    """Return a hash of the source files that make kernels, and the environment variables that they read.

    Both are recomputed if a file has changed.
    """
    package, base = Path(__file__).parents[2], Path(tinygrad.__file__).parent
    sources = [package / name for name in FOLDERS] + [base / name for name in OF_TINYGRAD]
    files = sorted(file for source in sources for file in _files(str(source)))
    key = hashlib.sha256(repr(files).encode()).hexdigest()
    if is_kept() and isinstance(kept := private_api.helpers.diskcache_get(CODE, key), str):
        return kept
    ours, variables = hashlib.sha256(), set[str]()
    for path, size, _ in files:
        file = os.open(path, os.O_RDONLY)  # in half of the time of `read_bytes`
        try:
            ours.update(text := os.read(file, size))
        finally:
            os.close(file)
        variables.update(name.decode() for name in _READ.findall(text))
    digest = " ".join([ours.hexdigest(), *sorted(variables - {"CC"})])  # `made_by` has the compiler
    if is_kept():
        private_api.helpers.diskcache_put(CODE, key, digest)
    return digest


def _files(path: str) -> Iterator[tuple[str, int, int]]:
    """Yield the path, size and time of a source file, or of those in a folder; `glob` and `stat` take 7 times as long.

    A missing file is left out.
    """
    if path.endswith(".py"):
        with contextlib.suppress(FileNotFoundError):
            yield path, (stat := Path(path).stat()).st_size, stat.st_mtime_ns
        return
    with contextlib.suppress(FileNotFoundError), os.scandir(path) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                yield entry.path, (stat := entry.stat()).st_size, stat.st_mtime_ns
            elif entry.is_dir() and entry.name != "__pycache__":
                yield from _files(entry.path)


def count() -> None:
    """Count a new entry, and delete the oldest entries from time to time."""
    if next(_kept) % _EVERY == 0 and is_kept():  # a failed write may have disabled the cache
        _forget_the_oldest()


def _forget_the_oldest() -> None:
    connection = private_api.helpers.db_connection()
    try:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE name LIKE ?", (TABLES,)).fetchall()
        for (table,) in tables:
            connection.execute(f"DELETE FROM '{table}' WHERE rowid <= (SELECT MAX(rowid) FROM '{table}') - {MOST}")
        connection.commit()
    except sqlite3.Error:
        connection.rollback()  # another process holds the database


def install() -> None:
    if tinygrad_compat.installed:
        private_api.codegen.to_program_cache = private_api.realize.to_program_cache = Programs(
            private_api.codegen.to_program_cache
        )
