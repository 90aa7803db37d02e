"""Mutants of the plugin for mypy: what it then says of the programs of tests/types, one file of them after another.

A file takes about a second.  The cache of mypy keeps all but the programs, and what is right is asked as the tests ask.
"""

from __future__ import annotations

import gc
import hashlib
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PLUGIN = "branded/mypy/"
NEWER = "pep695.py"
COMMAND = tuple(f"{PLUGIN}{name}.py" for name in ("check", "notebooks", "output"))
"""What is of the command, and not of the plugin."""


def is_of_plugin(file: str) -> bool:
    return file.startswith(PLUGIN) and file not in COMMAND


def programs(root: Path) -> list[str]:
    """The files of programs, by their names below tests/types."""
    here = root / "tests" / "types"
    kinds = ("accepted", "naive", "rejected")
    paths = [p for kind in kinds for p in sorted(here.glob(f"{kind}/*.py"))]
    return [str(p.relative_to(here)) for p in (*paths, here / NEWER)]


def mark(root: Path, name: str) -> str:
    """What a file of programs is, and the plugin that is asked of it."""
    paths = [root / "tests" / "types" / name, *sorted((root / PLUGIN).glob("*.py"))]
    return hashlib.sha256(b"".join(p.read_bytes() for p in paths)).hexdigest()


def _asked(name: str, cache: Path) -> Any:
    """The tests of types, when mypy is asked of one file of programs, in this process."""
    from mypy import api

    import branded.mypy
    from tests.mypy import test_types

    plugin: Any = sys.modules["branded.mypy.plugin"]  # by its name, the package has the function that mypy calls
    branded.mypy.__version__ = plugin.VERSION = "a mutant"  # or mypy would forget all for each
    path = test_types.HERE / name

    def ask(python: str, *words: str | Path) -> list[str]:
        if path not in words:
            return []
        for old in cache.glob("**/tests/types/**/*.*"):
            if old.is_file():
                old.unlink()
        config = ["--config-file", str(test_types.HERE / "mypy.ini"), "--cache-dir", str(cache), "--output", "json"]
        out, err, status = api.run([*config, "--no-sqlite-cache", *map(str, words)])
        assert status in (0, 1) and not err, out + err
        return [line for line in out.splitlines() if line]  # of nothing to say, an empty one

    test_types._mypy = ask
    test_types.FILES = [path] if path != test_types.PEP695 else []
    test_types.messages.cache_clear()
    test_types.said.cache_clear()
    return test_types


def _check(name: str, cache: Path, golden: str | None) -> str:
    """Ask, and fail as the tests of types do."""
    types = _asked(name, cache)
    for p in types.PROGRAMS:
        if p.file == types.HERE / name:
            types.test_program(p, "newest")
    said: str = types.golden() if name.startswith("rejected") else ""
    assert golden is None or said == golden, f"{name}: other messages"
    return said


def check(names: Sequence[str], cache: Path, known: dict[str, Any]) -> int:
    """Is all that mypy says of these files as it is without a mutant?  The first that is not is the last that is
    printed."""
    for i, name in enumerate(names):
        print(name, flush=True)
        _check(name, cache, known[name]["said"])
        if i % 8 == 7:
            gc.collect()  # mypy leaves that to the end of its process
    return 0


def fill(cache: Path) -> int:
    """Let mypy look at all but the programs, as they are for each Python."""
    for name in ("accepted/rows.py", NEWER):
        _check(name, cache, None)
    return 0


def note(name: str, cache: Path, out: Path) -> int:
    """Write down what mypy says of a file, how long it takes, and which functions of the plugin it calls."""
    here = f"{Path.cwd()}/"
    codes: set[Any] = set()
    start = time.process_time()
    sys.settrace(lambda frame, event, arg: codes.add(frame.f_code))
    try:
        said = _check(name, cache, None)
    finally:
        sys.settrace(None)
    took = time.process_time() - start
    called = {(c.co_filename.removeprefix(here), c.co_qualname) for c in codes if c.co_filename.startswith(here)}
    out.write_text(json.dumps({"seconds": took, "called": sorted(called), "said": said}))
    return 0
