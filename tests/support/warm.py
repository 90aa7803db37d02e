"""Caches of mypy with our package and its libraries, which take most of the seven seconds of a cold run.

A test that runs mypy on small programs in its own folder starts from such a cache.  It is created once per test run,
for all processes, from a program that imports the same modules.  Without pytest every run is cold.
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
"""The environment variable for the folder of the caches, set by conftest.py."""
MYPY = (sys.executable, "-m", "mypy")
CHECK = (sys.executable, "-m", "branded", "check")
STRICT = (Path(__file__).parents[1] / "types" / "mypy.ini").read_text()
"""A configuration that many tests share: a cache is valid only for the options that created it."""


def warm(cache: Path, command: Sequence[str] = CHECK, config: str = "", **env: str) -> None:
    """Fill a folder with the cache of a run with this command and configuration, if caches are enabled."""
    if (root := os.environ.get(ROOT)) is None:
        return
    name = hashlib.sha256(repr((command, config, env)).encode()).hexdigest()[:16]
    made = Path(root, name)
    with made.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the other processes wait for the one that creates it
        if not made.exists():
            _make(made, command, config, env)
    shutil.copytree(made, cache, dirs_exist_ok=True)


def apart(f: Callable[_P, _T]) -> Callable[_P, _T]:
    """Run the function in a fork for each call: freeing mypy's memory takes longer than its answer."""
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
