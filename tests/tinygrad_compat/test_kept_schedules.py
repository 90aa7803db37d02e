"""Schedules on disk: another process reuses them for a graph of the same form, and for no other."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tinygrad import Tensor, dtypes
from tinygrad.uop.ops import Ops, UOp

from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.speed import schedule_cache
from tests.support.forked import server

BEFORE = """
import tinygrad.schedule as s

found, original = [], s.get_kernel_graph
def counted(sink):
    found.append(len(sink.toposort()))
    return original(sink)
s.get_kernel_graph = counted
"""
PROGRAM = """
import os

import branded
from tinygrad import Tensor

x = (Tensor([[0.0, 1.0], [2.0, 3.0]]).realize() * {by}).realize()
found.clear()
y = branded.jit(branded.vmap(lambda a: (a.softmax() * 8 + {shift}).sum() + (a - a.mean()).square().sum()))(x)
print([round(v, 3) for v in y.tolist()], sum(n >= int(os.environ.get('OF', 20)) for n in found))
"""


def run_in_new_process(cache: Path, by: float = 1, shift: float = 0, **env: str) -> str:
    """Return the values, and the number of scheduled graphs with at least 20 operations, or at least OF."""
    variables = {**os.environ, "CACHEDB": str(cache), **env}
    command = [sys.executable, "-c", BEFORE + PROGRAM.format(by=float(by), shift=float(shift))]
    return subprocess.run(command, env=variables, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(scope="module")
def run() -> Iterator[Callable[..., str]]:
    """Return `anew` for forked processes, which do not import branded again."""
    with server(BEFORE) as one:

        def run(cache: Path, by: float = 1, shift: float = 0, **env: str) -> str:
            program = PROGRAM.format(by=float(by), shift=float(shift))
            status, out, err = one.run(program, CACHEDB=str(cache), **env)
            assert status == 0, err
            return out.strip()

        yield run


def test_other_process_reuses_schedules(tmp_path: Path, run: Callable[..., str]) -> None:
    cache = tmp_path / "cache.db"
    assert run(cache) == "[8.5, 8.5] 1"
    assert run_in_new_process(cache) == run(cache) == "[8.5, 8.5] 0"
    assert run(cache, OF=str(schedule_cache.LEAST)) == "[8.5, 8.5] 0", "nor those of a few operations"
    assert run(cache, by=2) == "[10.0, 10.0] 0", "the numbers of its buffers are not the graph's"
    assert run(cache, shift=1) == "[10.5, 10.5] 1", "those in the graph are"
    assert run(cache, SPLIT_REDUCEOP="0") == "[8.5, 8.5] 1", "and so are tinygrad's options"
    assert run(cache, CACHELEVEL="0") == "[8.5, 8.5] 1"
    with closing(sqlite3.connect(cache)) as connection, connection:
        named = connection.execute("SELECT name FROM sqlite_master WHERE name LIKE 'branded_schedules%'").fetchall()
        connection.execute(f"UPDATE '{named[0][0]}' SET val = substr(val, 1, 100)")
    assert run(cache) == "[8.5, 8.5] 1", "what is not whole is found anew"


@pytest.mark.parametrize("arg", [3, -0.0, "name", (Ops.ADD, (1,)), dtypes.float, None])
def test_plain_arguments_in_a_key(arg: object) -> None:
    assert schedule_cache.is_plain(arg)


class Name(str):
    """Like the name of a loop, which refers to the loop."""


@pytest.mark.parametrize(
    "arg", [print, object(), (1, lambda: 0), Tensor, private_api.CallInfo(aux=(1,)), UOp.const(1), Name("scan")]
)
def test_other_arguments_in_a_key(arg: object) -> None:
    assert not schedule_cache.is_plain(arg)
