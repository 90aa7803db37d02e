"""Compiled programs on disk: another process reuses them, and recompiles truncated or outdated ones."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
import tinygrad
from tinygrad import Context
from tinygrad.uop.ops import UOp

from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.speed import program_cache
from tests.support.forked import server

PROGRAM = """
import branded
from branded.tinygrad_compat import private_api as tg
from tinygrad import Context, Tensor

made, original = [], tg.codegen.do_to_program
def counted(ast, renderer):
    made.append(ast.arg.name)
    return original(ast, renderer)
tg.codegen.do_to_program = counted
with Context(PARALLEL=0):
    x = branded.vmap(lambda a: (a.exp() / 2).sum())(Tensor([[0.0, 0.0], [0.0, 0.0]]).realize())
    print(x.tolist(), len([name for name in made if not name.endswith("_prog")]))
"""


def run_in_new_process(cache: Path, **env: str) -> str:
    """Return the values, and the number of kernels that were compiled for them."""
    variables = {**os.environ, "CACHEDB": str(cache), **env}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=variables, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture(scope="module")
def run() -> Iterator[Callable[..., str]]:
    """Return `anew` for forked processes, which do not import branded again."""
    with server() as one:

        def run(cache: Path, **env: str) -> str:
            status, out, err = one.run(PROGRAM, CACHEDB=str(cache), **env)
            assert status == 0, err
            return out.strip()

        yield run


def tables(cache: Path) -> list[str]:
    with closing(sqlite3.connect(cache)) as connection, connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    return [name for (name,) in names if name.startswith("branded_programs")]


def test_other_process_reuses_programs(tmp_path: Path, run: Callable[..., str]) -> None:
    cache = tmp_path / "cache.db"
    assert run(cache) == "[1.0, 1.0] 1"
    assert run_in_new_process(cache) == run(cache) == "[1.0, 1.0] 0"
    assert run(cache, NOOPT="1") == "[1.0, 1.0] 1", "an option of tinygrad makes another program"
    assert run_in_new_process(cache, BRANDED_PATCHES="-views") == "[1.0, 1.0] 1", "and so does what is mended in it"
    assert run(cache, CACHELEVEL="0") == run(cache, CCACHE="0") == run(cache, IGNORE_BEAM_CACHE="1") == "[1.0, 1.0] 1"
    assert run_in_new_process(cache, EXPAND_SSA="1") == "[1.0, 1.0] 1", "tinygrad's renderer reads this variable"
    assert run_in_new_process(cache, BRANDED_PATCHES="0") == "[1.0, 1.0] 1"


def test_truncated_program_is_recompiled(tmp_path: Path, run: Callable[..., str]) -> None:
    cache = tmp_path / "cache.db"
    run(cache)
    (table,) = tables(cache)
    with closing(sqlite3.connect(cache)) as connection, connection:
        connection.execute(f"UPDATE '{table}' SET val = substr(val, 1, 100)")
    assert run(cache) == "[1.0, 1.0] 1"
    assert run(cache) == "[1.0, 1.0] 0"
    with closing(sqlite3.connect(cache)) as connection, connection:
        connection.execute(f"UPDATE '{table}' SET val = ?", (b"\x80\x04K\x01.",))  # another value
    assert run(cache) == "[1.0, 1.0] 1"


def test_oldest_programs_are_dropped(tmp_path: Path) -> None:
    cache = tmp_path / "cache.db"
    script = """
from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.speed import program_cache as programs
programs.MOST = 3
for i in range(10):
    private_api.helpers.diskcache_put(programs.TABLE, str(i), i)
programs._forget_the_oldest()
"""
    env = {**os.environ, "CACHEDB": str(cache)}
    subprocess.run([sys.executable, "-c", "import branded\n" + script], env=env, check=True)
    (table,) = tables(cache)
    with closing(sqlite3.connect(cache)) as connection, connection:
        assert connection.execute(f"SELECT key FROM '{table}' ORDER BY key").fetchall() == [("7",), ("8",), ("9",)]


def test_debug_output_disables_the_cache() -> None:
    for debug, kept in ((2, True), (3, False)):
        with Context(DEBUG=debug, CACHELEVEL=2):
            assert program_cache.is_kept() is kept


def test_edited_tinygrad_has_other_cache_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "codegen").mkdir()
    edited = tmp_path / "codegen" / "late.py"
    edited.write_text('limit = getenv("LIMIT", 4)\n')
    monkeypatch.setattr(tinygrad, "__file__", str(tmp_path / "__init__.py"))
    key = program_cache.made_by.__wrapped__
    with Context(CACHELEVEL=0):
        before = key()
        edited.write_text('limit = getenv("LIMIT", 8)\n')
        after = key()
        monkeypatch.setenv("LIMIT", "9")
        assert len({before, after, key()}) == 3


def test_program_is_written_once_until_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """tinygrad stores a program when it is compiled and when it is used; tuning stores the fastest one."""
    written: list[UOp] = []
    program_cache.made_by()  # it writes the hash of the sources
    monkeypatch.setattr(private_api.helpers, "diskcache_put", lambda table, key, program: written.append(program))
    monkeypatch.setattr(program_cache, "load_graph", lambda table, key: None)
    first, other = UOp.const(1), UOp.const(2)
    kept = program_cache.Programs()
    with Context(CACHELEVEL=1):
        kept["kernel"] = first
        kept["kernel"] = first
        assert kept["kernel"] is first and written == [first]
        kept["kernel"] = other
        assert kept["kernel"] is other and written == [first, other]
