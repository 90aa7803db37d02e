"""Processes that are killed while they compile or write, and disks that are full: the next process finds whole files.

A process is killed at its compiles, one after another, and in the midst of a write: the system ends a process that
writes beyond the size that a file may have (`RLIMIT_FSIZE`), so the file has the first part of what was to be written.
"""

from __future__ import annotations

import os
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

import pytest

from branded.tinygrad_compat import zig_clang
from tests.support.forked import Server, server

ROOT = Path(__file__).parents[2]
RIGHT = "[[36, 127], [127, 358]] [[3, 7, 28], [5, 15, 72]]"
PROGRAM = """
import branded
from tinygrad import Tensor
def total(x):
    return branded.scan(lambda c, y: (c * y + 1, c.sum()), x[0], x)
a, b = branded.vmap(total)(Tensor([[[1, 2], [3, 4], [5, 6]], [[2, 3], [4, 5], [6, 7]]]))
print(a.tolist(), b.tolist())
"""
"""A loop: its step, the C that runs it, and what is before and after it are compiled, ten kernels in all."""
KILLED_AT = """
import os, signal
from branded.tinygrad_compat.speed import clang_batches as clang
compiles, run = iter(range({at})), clang.Clang.compile
def compile(self, source):
    if next(compiles, None) is None:
        os.write(self.ends[-1], source)
        os.kill(os.getpid(), signal.SIGKILL)
    return run(self, source)
clang.Clang.compile = compile
"""
"""The process is killed while it compiles for the first time after so many."""
LIMITED = """
import resource, signal
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
"""
"""The process is killed where it writes beyond this size of a file; Python asks not to be, by itself."""


def started(folder: Path, program: str, **env: str) -> subprocess.Popen[str]:
    given = {"PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(folder), "HOME": str(folder), "PARALLEL": "0", "DEV": "CPU"}
    out = {k: v for k, v in os.environ.items() if k not in ("CACHEDB", "CACHELEVEL")}
    return subprocess.Popen(
        [sys.executable, "-W", "always", "-c", program],
        cwd=ROOT,
        env={**out, **given, **env},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def ended(folder: Path, program: str, **env: str) -> tuple[int, list[str]]:
    """The status of a process, and its output with what it warned of."""
    process = started(folder, program, **env)
    out, err = process.communicate(timeout=120)
    return process.returncode, [*out.splitlines(), *(x for x in err.splitlines() if "Warning" in x)]


Run: TypeAlias = Callable[..., tuple[int, list[str]]]


@pytest.fixture(scope="module")
def forked() -> Iterator[Run]:
    """`ended`, of processes that do not import branded anew."""
    with server() as one:

        def run(folder: Path, program: str, **env: str) -> tuple[int, list[str]]:
            home = {"XDG_CACHE_HOME": str(folder), "HOME": str(folder), **env}
            status, out, err = one.run(program, CACHEDB=str(folder / "tinygrad" / "cache.db"), **home)
            return status, [*out.splitlines(), *(x for x in err.splitlines() if "Warning" in x)]

        yield run


def check_next(folder: Path, run: Run) -> None:
    """The next process is right and warns of nothing, the one after it has all in the cache; there is no other file."""
    assert run(folder, PROGRAM) == (0, [RIGHT])
    assert run(folder, PROGRAM, CC="/no/compiler") == (0, [RIGHT])
    db = folder / "tinygrad" / "cache.db"
    with closing(sqlite3.connect(db)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert {p.name for p in folder.rglob("*") if p.is_file()} <= {"cache.db", "cache.db-wal", "cache.db-shm"}


def test_killed_at_one_compile_after_another(tmp_path: Path, forked: Run) -> None:
    """Each process has what those that were killed before it had compiled, and comes three kernels further."""
    for _ in range(20):
        status, lines = forked(tmp_path, KILLED_AT.format(at=3) + PROGRAM)
        if status == 0:
            break
        assert (status, lines) == (-signal.SIGKILL, [])
    else:
        pytest.fail("none of them came to the end")
    assert lines == [RIGHT]
    check_next(tmp_path, forked)


def test_killed_at_the_first_compile_of_all(tmp_path: Path, forked: Run) -> None:
    """clang has a source, and nobody to write to: it leaves nothing."""
    assert forked(tmp_path, KILLED_AT.format(at=0) + PROGRAM) == (-signal.SIGKILL, [])
    assert not [p for p in tmp_path.rglob("*") if p.is_file() and not p.name.startswith("cache.db")]
    check_next(tmp_path, forked)


@pytest.mark.parametrize("limit", [1, 40_000, 100_000])
def test_killed_in_the_midst_of_a_write(tmp_path: Path, limit: int, forked: Run) -> None:
    assert forked(tmp_path, LIMITED.format(limit=limit) + PROGRAM) == (-signal.SIGXFSZ, [])
    sizes = [p.stat().st_size for p in tmp_path.rglob("*") if p.is_file()]
    assert max(sizes) == limit or limit < 32_768 >= max(sizes)
    check_next(tmp_path, forked)


def test_no_process_stays_when_the_one_that_started_it_is_killed(tmp_path: Path, forked: Run) -> None:
    """By the compiler, which then writes down whose child it is: a process that compiles for the killed one.

    So few kernels are made without such a process; here it pays for one.
    """
    compiler, real = tmp_path / "cc", shlex.join(zig_clang.command())
    once = f'[ $PPID != $PARENT ] && mkdir "{tmp_path}/once" 2>/dev/null'
    kill = f'{once} && kill -9 $PARENT && echo $PPID > "{tmp_path}/pid"'
    compiler.write_text(f'#!/bin/sh\n{kill}\nexec {real} "$@"\n')
    compiler.chmod(0o755)
    module = "branded.tinygrad_compat.speed.threaded_compile"
    first = f"import os; os.environ['PARENT'] = str(os.getpid())\nimport {module} as t; t.MANY = 0\n"
    env = {"PARALLEL": "2", "CC": str(compiler)}
    assert ended(tmp_path / "cache", first + PROGRAM, **env)[0] == -signal.SIGKILL
    pid = int((tmp_path / "pid").read_text())
    end = time.monotonic() + 60
    while is_there(pid) and time.monotonic() < end:
        time.sleep(0.05)
    assert not is_there(pid)
    check_next(tmp_path / "cache", forked)


def is_there(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


ALONE = ("unshare", "--map-root-user", "--mount")
"""What mounts, mounts for itself alone."""
SMALL = ("mount", "-t", "tmpfs", "-o", "size=1024k", "tmpfs")


def can_mount() -> bool:
    try:
        return subprocess.run([*ALONE, *SMALL, "/mnt"], capture_output=True).returncode == 0
    except OSError:
        return False


@pytest.fixture(scope="module")
def alone() -> Iterator[Server]:
    with server(within=ALONE) as one:
        yield one


@pytest.mark.skipif(not can_mount(), reason="no small disk can be mounted here")
@pytest.mark.parametrize("free", [0, 8, 96])
def test_a_disk_that_is_full(tmp_path: Path, free: int, alone: Server) -> None:
    """All is computed, with one warning; when there is room again, the next process fills the cache, without one.

    There is no room for the database, for the page that processes share, or for all of what is written.
    """
    ballast, db = tmp_path / "ballast", tmp_path / "tinygrad" / "cache.db"
    mounted = f"import subprocess; subprocess.run({[*SMALL, str(tmp_path)]!r}, check=True)\n"
    filled = f"import pathlib; pathlib.Path({str(ballast)!r}).write_bytes(bytes({(1024 - free) << 10}))\n"
    emptied = f"import os; os.remove({str(ballast)!r})\n"

    def run(program: str, **env: str) -> tuple[int, list[str], list[str]]:
        home = {"XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path), "CACHEDB": str(db)}
        status, out, err = alone.run(program, **home, **env)
        return status, out.splitlines(), [line for line in err.splitlines() if not line.startswith("  ")]

    status, results, [warning] = run(mounted + filled + PROGRAM)
    assert (status, results) == (0, [RIGHT])
    assert f"RuntimeWarning: cache: compiled kernels cannot be kept in {db}: d" in warning  # disk is full, or I/O error
    assert run(emptied + PROGRAM) == (0, [RIGHT], [])
    assert run(PROGRAM, CC="/no/compiler") == (0, [RIGHT], [])
