"""If tinygrad's compile workers cannot start, or are killed, everything is computed nevertheless."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from branded.tinygrad_compat import zig_clang
from tests.support.forked import Ended, server

pytestmark = pytest.mark.enabled("cpu")

ROOT = Path(__file__).parents[2]
PROGRAM = """
import os, sys
os.environ["PARENT"] = str(os.getpid())
import branded, warnings
from branded.tinygrad_compat.speed import threaded_compile
threaded_compile.MANY = 0
from tinygrad import Tensor, helpers

def two(n):
    x = Tensor([1.0, 2.0, 3.0]).realize()
    a, b = (x * n + 1).contiguous(), (x * n + 2).sum().contiguous()
    a.realize(b)  # two kernels, which other processes compile
    return [*a.tolist(), b.item()]

with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    {first}
    print(two(2))
    print(two(3), helpers.PARALLEL.value)
print(*[w.message for w in said if w.category is RuntimeWarning], sep="\\n")
"""
HERE = """
import branded
from branded.tinygrad_compat import private_api as tg
from branded.tinygrad_compat.speed import compile_workers as workers
from tinygrad import Tensor

def three(n):
    x = Tensor([1.0, 2.0, 3.0]).realize()
    ys = (x * n + 1).contiguous(), (x * n + 2).sum().contiguous(), (x * n).max().contiguous()
    Tensor.realize(*ys)
    return [y.tolist() for y in ys]

print(three(2), three(3), workers._started)
made = tg.realize.to_program_cache.values()
print(len(made), all(p.src[-1].arg for p in made))
"""
RIGHT = ["[3.0, 5.0, 7.0, 18.0]", "[4.0, 7.0, 10.0, 24.0]"]
FAILED = (
    "compiler: tinygrad's compile processes exit at the start with status 1; from now on this process compiles "
    "(set PARALLEL=0 to start none)"
)
KILLED = (
    "compiler: tinygrad's compile processes were ended by signal 9; this process compiles the remaining kernels "
    "(set PARALLEL=0 to start none)"
)


Run: TypeAlias = Callable[..., Ended]


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """Run programs in processes that do not import branded again."""
    with server(BRANDED_ENABLE="cpu") as one:  # the test's marker sets this only later
        yield lambda program, **env: one.run(program, **{"CACHELEVEL": "0", "PARALLEL": "2", **env})


def first(program: str = "") -> str:
    """Return the program with some code before it."""
    return PROGRAM.format(first=program)


def test_workers_compile(run: Run) -> None:
    out = run(first("import tinygrad.engine.realize as r; r.map = None"))
    assert out.out.splitlines() == [RIGHT[0], f"{RIGHT[1]} 2", ""]


def test_package_changes_while_workers_start(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "branded", tmp_path / "branded")
    one = tmp_path / "branded" / "tinygrad_compat" / "fixes" / "numerics" / "bool_products.py"
    module = "branded.tinygrad_compat.fixes.numerics.bool_products"
    program = first(f"assert {module}.__file__ == {str(one)!r}; os.unlink({str(one)!r})")
    env = {**os.environ, "PYTHONPATH": str(tmp_path), "CACHELEVEL": "0", "PARALLEL": "2", "DEV": "CPU"}
    command = [sys.executable, "-c", program]
    out = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120)
    assert out.stdout.splitlines() == [RIGHT[0], f"{RIGHT[1]} 0", FAILED], out.stderr


def test_workers_cannot_import_tinygrad(run: Run) -> None:
    out = run(first("import numpy; sys.path[:] = [p for p in sys.path if 'site-packages' not in p]"))
    assert "No module named 'tinygrad'" in out.err
    assert out.out.splitlines() == [RIGHT[0], f"{RIGHT[1]} 0", FAILED], out.err


def test_workers_cannot_be_started(run: Run) -> None:
    out = run(
        first("import multiprocessing.popen_spawn_posix as p; p.util.spawnv_passfds = lambda *_: open('/no/file')")
    )
    why = "cannot be started: [Errno 2] No such file or directory: '/no/file'; from now on this process compiles"
    assert out.out.splitlines() == [
        RIGHT[0],
        f"{RIGHT[1]} 0",
        f"compiler: tinygrad's compile processes {why}",
    ], out.err


def test_worker_killed_while_it_compiles(tmp_path: Path, run: Run) -> None:
    """Its compiler kills it once."""
    compiler, real = tmp_path / "cc", shlex.join(zig_clang.command())
    killed = f'[ $PPID != $PARENT ] && mkdir "{tmp_path}/once" 2>/dev/null && kill -9 $PPID'
    compiler.write_text(f'#!/bin/sh\n{killed}\nexec {real} "$@"\n')
    compiler.chmod(0o755)
    out = run(first(), CC=str(compiler))
    assert (tmp_path / "once").exists()
    assert out.out.splitlines() == [RIGHT[0], f"{RIGHT[1]} 2", KILLED], out.err


def test_forked_child_does_not_wait_for_workers(run: Run) -> None:
    """A forked child has the pool of its parent, without its threads."""
    child = "\n        ".join(("print(two(2))", "sys.stdout.flush()", "os._exit(0)"))
    forks = f"two(4)\n    if pid := os.fork():\n        os.waitpid(pid, 0)\n    else:\n        {child}"
    out = run(first(forks))
    assert out.out.splitlines() == [RIGHT[0], RIGHT[0], f"{RIGHT[1]} 2", ""], out.err


def test_compile_error_in_a_worker_is_raised_here(tmp_path: Path, run: Run) -> None:
    out = run(first(), CC=str(tmp_path / "no compiler"))
    assert out.status == 1
    assert out.err.splitlines()[-5:] == [
        "branded.errors.CompilerError: compiler: tinygrad's CPU device needs a C compiler, and the chosen one "
        "cannot be run",
        f"  CC:   {tmp_path / 'no compiler'}",
        "  says: No such file or directory",
        "  try:  CC=clang, because gcc does not know the options",
        "  why:  python -m branded why compiler",
    ]


def test_few_kernels_compile_without_workers(run: Run) -> None:
    values = "[[3.0, 5.0, 7.0], 18.0, 6.0] [[4.0, 7.0, 10.0], 24.0, 9.0]"
    assert run(HERE).out.splitlines() == [f"{values} []", "6 True"]


def test_one_core_starts_no_worker(run: Run) -> None:
    """With one core, this process would only wait for the worker."""
    started = "from branded.tinygrad_compat.speed import compile_workers; print(compile_workers._started)"
    many = "from branded.tinygrad_compat.speed import threaded_compile; threaded_compile.MANY = 0"
    assert run(f"{many}\n{HERE}\n{started}", PARALLEL="1").out.splitlines()[-1] == "[]"
    assert run(f"{many}\n{HERE}\n{started}", PARALLEL="2").out.splitlines()[-1] != "[]"


def test_compile_error_here_is_raised_once(tmp_path: Path, run: Run) -> None:
    out = run(HERE, CC=str(tmp_path / "no compiler"))
    assert out.status == 1 and out.err.count("CompilerError") == 1
