"""`python -m branded cache`: the entries of the disk cache, and their removal.

`branded` keeps its entries in the file of tinygrad's disk cache (`CACHEDB`), in tables of its own. tinygrad's tables in
the same file hold compiled kernels, also those of `branded`.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
from pathlib import Path
from typing import NamedTuple

from branded.tinygrad_compat import private_api
from branded.tools.user_files import UsageError

CONTENTS = {
    "branded_schedules": "schedules of graphs",
    "branded_programs": "programs of kernels",
    "branded_code": "hashes of the source code",
    "branded_clang": "options of the compiler",
    "branded_patterns": "generated Python functions",
    "branded_tuned": "results of autotuning",
}


class CacheTable(NamedTuple):
    """A table of the cache: its name, the number of its entries, and the bytes that these take."""

    name: str
    entries: int
    size: int

    @property
    def is_ours(self) -> bool:
        """Whether only `branded` writes to the table."""
        return self.name.startswith("branded_")

    def __str__(self) -> str:
        base = re.sub(r"_\d+$", "", self.name)
        contents = CONTENTS.get(base, "compiled kernels" if base.startswith("compile_") else "tinygrad's entries")
        return f"{base:<32} {self.entries:>7,} entries {self.size / 1e6:>9.1f} MB   {contents}"


def _path() -> Path:
    return Path(private_api.CACHEDB)


def tables() -> list[CacheTable]:
    """Return the tables of the cache, an empty list if there is no cache."""
    if not _path().is_file():
        return []
    try:
        with contextlib.closing(sqlite3.connect(f"{_path().absolute().as_uri()}?mode=ro", uri=True)) as connection:
            names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
            count = "SELECT COUNT(*), TOTAL(LENGTH(val)) FROM '{}'"
            return [CacheTable(name, *map(int, connection.execute(count.format(name)).fetchone())) for (name,) in names]
    except sqlite3.Error as error:
        raise UsageError(f"cannot read the cache {_path()}: {error}") from None


def clear(*, everything: bool) -> list[CacheTable]:
    """Delete the tables of `branded`, or all tables, and return those that were deleted."""
    deleted = [table for table in tables() if everything or table.is_ours]
    if deleted:
        try:
            with contextlib.closing(sqlite3.connect(_path(), timeout=10, isolation_level=None)) as connection:
                for table in deleted:
                    connection.execute(f"DROP TABLE IF EXISTS '{table.name}'")
                connection.execute("VACUUM")
        except sqlite3.Error as error:
            raise UsageError(f"cannot clear the cache {_path()}: {error}") from None
    return deleted


def summary() -> str:
    """Return the path and the size of the cache."""
    path = _path()
    return f"{path}, {path.stat().st_size / 1e6:.1f} MB" if path.is_file() else f"{path}, not created yet"


def listing() -> str:
    """Return the path and the size of the cache, and a line for each table."""
    return "\n".join([summary(), *map(str, tables())])
