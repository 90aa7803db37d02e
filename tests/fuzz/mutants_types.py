"""Mutants of the mypy plugin: check the programs of tests/types, one file after another.

A file takes about a second.  The mypy cache contains everything except the programs.  The tests of types decide if
the messages are correct.
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
"""Files of the command `branded check`, which are not part of the plugin."""


def is_of_plugin(file: str) -> bool:
    return file.startswith(PLUGIN) and file not in COMMAND


def programs(root: Path) -> list[str]:
    """Return the files of programs, by their paths below tests/types."""
    here = root / "tests" / "types"
    kinds = ("accepted", "naive", "rejected")
    paths = [p for kind in kinds for p in sorted(here.glob(f"{kind}/*.py"))]
    return [str(p.relative_to(here)) for p in (*paths, here / NEWER)]


def mark(root: Path, name: str) -> str:
    """Return a hash of a file of programs and of the plugin."""
    paths = [root / "tests" / "types" / name, *sorted((root / PLUGIN).glob("*.py"))]
    return hashlib.sha256(b"".join(p.read_bytes() for p in paths)).hexdigest()


def _type_tests(name: str, cache: Path) -> Any:
    """Return the module of type tests, set up to run mypy on one file of programs in this process."""
    from mypy import api

    import branded.mypy
    from branded.mypy import settings
    from tests.mypy import test_types

    branded.mypy.__version__ = settings.VERSION = "a mutant"  # or else mypy would discard its cache for each mutant
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
        return [line for line in out.splitlines() if line]  # without messages, mypy prints an empty line

    test_types._mypy = ask
    test_types.FILES = [path] if path != test_types.PEP695 else []
    test_types.messages.cache_clear()
    test_types.said.cache_clear()
    return test_types


def _check(name: str, cache: Path, golden: str | None) -> str:
    """Run mypy and the tests of types, which raise if a message is unexpected."""
    types = _type_tests(name, cache)
    for p in types.PROGRAMS:
        if p.file == types.HERE / name:
            types.test_program(p, "newest")
    said: str = types.golden() if name.startswith("rejected") else ""
    assert golden is None or said == golden, f"{name}: other messages"
    return said


def check(names: Sequence[str], cache: Path, known: dict[str, Any]) -> int:
    """Check that mypy's output for each file is as expected; the last name printed is the failing file."""
    for i, name in enumerate(names):
        print(name, flush=True)
        _check(name, cache, known[name]["said"])
        if i % 8 == 7:
            gc.collect()  # mypy disables the collector until its process ends
    return 0


def fill(cache: Path) -> int:
    """Fill the mypy cache with everything except the programs, for each Python version."""
    for name in ("accepted/rows.py", NEWER):
        _check(name, cache, None)
    return 0


def note(name: str, cache: Path, out: Path) -> int:
    """Record mypy's output for a file, its time, and the plugin functions that it calls."""
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
