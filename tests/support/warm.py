"""Caches of mypy that know our package and its libraries: a cold run takes seven seconds, of which most are for these.

A test that asks mypy about small programs in a folder of its own begins with such a cache.  It is made once in a run of
the tests, for all of its processes, by a program that imports what theirs do.  Without pytest every run is cold.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import ParamSpec, TypeVar, cast

_P, _T = ParamSpec("_P"), TypeVar("_T")

ROOT = "BRANDED_WARM_CACHES"
"""The folder of the caches, which conftest.py gives."""
MYPY = (sys.executable, "-m", "mypy")
CHECK = (sys.executable, "-m", "branded", "check")
STRICT = (Path(__file__).parents[1] / "types" / "mypy.ini").read_text()
"""A configuration that many tests share: a cache serves only the options with which it was made."""


def warm(cache: Path, command: Sequence[str] = CHECK, config: str = "", **env: str) -> None:
    """Make a folder the cache of a run with this command and configuration, where there are such caches."""
    if (root := os.environ.get(ROOT)) is None:
        return
    name = hashlib.sha256(repr((command, config, env)).encode()).hexdigest()[:16]
    made = Path(root, name)
    with made.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the other processes wait for the one that makes it
        if not made.exists():
            _make(made, command, config, env)
    shutil.copytree(made, cache, dirs_exist_ok=True)


def apart(f: Callable[_P, _T]) -> Callable[_P, _T]:
    """The function, in a fork for each call: to free what mypy knows takes longer than to ask for it."""
    fork = get_context("fork")

    @functools.wraps(f)
    def asked(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        here, there = fork.Pipe(duplex=False)

        def tell() -> None:
            try:
                there.send((f(*args, **kwargs), None))
            except BaseException as error:
                there.send((None, error))

        process = fork.Process(target=tell)
        process.start()
        there.close()
        said, error = here.recv()
        process.join()
        if error is not None:
            raise error
        return cast(_T, said)

    return asked


def _make(made: Path, command: Sequence[str], config: str, env: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory(dir=made.parent) as folder:
        Path(folder, "app.py").write_text("import branded, tinygrad, tinygrad.nn\n")
        Path(folder, "mypy.ini").write_text(config or "[mypy]\n")
        words, here = [*command, "app.py"], {**os.environ, **env}
        done = subprocess.run(words, cwd=folder, env=here, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        Path(folder, ".mypy_cache").rename(made)
