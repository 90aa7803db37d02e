"""After a process is killed while it compiles or writes, or a disk is full, the next process finds complete files.

A process is killed at its compiles, one after another, and during a write: the system kills a process that exceeds the
maximal size of a file (`RLIMIT_FSIZE`), so the file contains only the first part of the data.
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
from tests.support.profiles import amount

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
"""A loop: its step, the C code that runs it, and the code around it are compiled, ten kernels in total."""
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
"""Kills the process at the first compile after this number of compiles."""
LIMITED = """
import resource, signal
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
"""
"""The system kills the process when a file exceeds this size; Python ignores the signal by default."""


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
    """Return the status of a process, and its output with its warnings."""
    process = started(folder, program, **env)
    out, err = process.communicate(timeout=120)
    return process.returncode, [*out.splitlines(), *(x for x in err.splitlines() if "Warning" in x)]


Run: TypeAlias = Callable[..., tuple[int, list[str]]]


@pytest.fixture(scope="module")
def forked() -> Iterator[Run]:
    """Return `ended` for forked processes, which do not import branded again."""
    with server() as one:

        def run(folder: Path, program: str, **env: str) -> tuple[int, list[str]]:
            home = {"XDG_CACHE_HOME": str(folder), "HOME": str(folder), **env}
            status, out, err = one.run(program, CACHEDB=str(folder / "tinygrad" / "cache.db"), **home)
            return status, [*out.splitlines(), *(x for x in err.splitlines() if "Warning" in x)]

        yield run


def check_next(folder: Path, run: Run) -> None:
    """Check that the next process gives no warning, the one after it compiles nothing, and no other file is left."""
    assert run(folder, PROGRAM) == (0, [RIGHT])
    assert run(folder, PROGRAM, CC="/no/compiler") == (0, [RIGHT])
    db = folder / "tinygrad" / "cache.db"
    with closing(sqlite3.connect(db)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert {p.name for p in folder.rglob("*") if p.is_file()} <= {"cache.db", "cache.db-wal", "cache.db-shm"}


def test_killed_at_successive_compiles(tmp_path: Path, forked: Run) -> None:
    """Each process reuses the kernels that earlier ones compiled before they were killed, and compiles three more."""
    for _ in range(20):
        status, lines = forked(tmp_path, KILLED_AT.format(at=3) + PROGRAM)
        if status == 0:
            break
        assert (status, lines) == (-signal.SIGKILL, [])
    else:
        pytest.fail("none of them came to the end")
    assert lines == [RIGHT]
    check_next(tmp_path, forked)


def test_killed_at_the_first_compile(tmp_path: Path, forked: Run) -> None:
    """clang has a source, but its reader is gone: it leaves no file."""
    assert forked(tmp_path, KILLED_AT.format(at=0) + PROGRAM) == (-signal.SIGKILL, [])
    assert not [p for p in tmp_path.rglob("*") if p.is_file() and not p.name.startswith("cache.db")]
    check_next(tmp_path, forked)


@pytest.mark.parametrize("limit", amount([40_000], [1, 40_000, 100_000]))
def test_killed_during_a_write(tmp_path: Path, limit: int, forked: Run) -> None:
    assert forked(tmp_path, LIMITED.format(limit=limit) + PROGRAM) == (-signal.SIGXFSZ, [])
    sizes = [p.stat().st_size for p in tmp_path.rglob("*") if p.is_file()]
    assert max(sizes) == limit or limit < 32_768 >= max(sizes)
    check_next(tmp_path, forked)


def test_workers_end_with_a_killed_parent(tmp_path: Path, forked: Run) -> None:
    """The compiler kills the main process, and records its own parent, a compile worker of that process.

    So few kernels are compiled without a worker; the test enforces one.
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
"""The command that runs a program with mounts of its own."""
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
@pytest.mark.parametrize("free", amount([96], [0, 8, 96]))
def test_full_disk(tmp_path: Path, free: int, alone: Server) -> None:
    """Everything is computed with one warning; once there is room again, the next process fills the cache silently.

    The disk lacks room for the database, for the page that processes share, or for all of the data.
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
    assert (
        f"RuntimeWarning: cache: compiled kernels cannot be stored in {db}: d" in warning
    )  # disk is full, or I/O error
    assert run(emptied + PROGRAM) == (0, [RIGHT], [])
    assert run(PROGRAM, CC="/no/compiler") == (0, [RIGHT], [])
