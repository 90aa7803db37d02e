"""Check the choice of the C compiler: clang if it is installed, else ziglang's, else one clear error."""

from __future__ import annotations

import contextlib
import importlib.util
import shutil
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
from tinygrad import Context, device, helpers

from branded.tinygrad_compat import zig_clang
from branded.tinygrad_compat.fixes.runtime import fork_safety
from tests.support.profiles import amount

PROGRAM = """
import os
before = dict(os.environ)
import branded, subprocess
from tinygrad import Tensor
from branded import vmap
try:
    print(vmap(lambda a, b: a + b)(Tensor([1, 2, 3]), Tensor([4, 6, 8])).tolist())
except branded.BrandedError as error:
    print(type(error).__name__, error)
assert {**os.environ, "DEV": ""} == {**before, "DEV": ""}  # tinygrad sets it
"""

SPAWNED = """
import os
before = dict(os.environ)
import branded
from branded.tinygrad_compat.speed import threaded_compile as beside
from tinygrad import Tensor
beside.MANY = 0
x = Tensor([1.0, 2.0, 3.0]).realize()
import tinygrad.engine.realize as r
r.map = None
a, b = (x * 2 + 3).contiguous(), x.sum().contiguous()
a.realize(b)
assert {**os.environ, "DEV": ""} == {**before, "DEV": ""}  # tinygrad sets it
print(a.tolist(), b.item())
"""
"""Two kernels, which other processes compile: this one could not."""

NO_ZIG = """
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "ziglang" else find(name, *rest)
"""


def run(tmp_path: Path, program: str, limit: int | None = None, **env: str) -> list[str]:
    """Run in a new process with an empty cache and only the system's `sh` on PATH; `limit` is the maximal file size."""
    tools = tmp_path / "bin"
    tools.mkdir(exist_ok=True)
    for tool in ("sh", "uname"):
        if found := shutil.which(tool):
            with contextlib.suppress(FileExistsError):  # a test runs several processes at the same time
                (tools / tool).symlink_to(found)
    ours = str(Path(__file__).parents[2])
    base = {"PATH": str(tools), "PYTHONPATH": ours, "HOME": str(tmp_path), "CACHELEVEL": "0"}
    base["XDG_CACHE_HOME"] = str(tmp_path / "cache")
    given = {k: v for k, v in {**base, **env}.items() if v}
    if limit is not None:
        program = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))\n" + program
    words = [sys.executable, "-W", "always", "-c", program]
    out = subprocess.run(words, env=given, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert out.returncode == 0, out.stderr
    return [*out.stdout.splitlines(), *(x for x in out.stderr.splitlines() if "Warning" in x)]


@pytest.mark.parametrize("patches", amount(["1"], ["1", "0", "-clang"]))
def test_ziglang_in_compile_workers(tmp_path: Path, patches: str) -> None:
    assert run(tmp_path, SPAWNED, BRANDED_PATCHES=patches, PARALLEL="2", DEV="CPU") == ["[5.0, 7.0, 9.0] 6.0"]


def test_ziglang_replaces_clang(tmp_path: Path) -> None:
    """Neither a process that the program starts, nor one where tinygrad compiles, has another environment."""
    program = PROGRAM + 'print(subprocess.check_output("echo $CC $BRANDED_ZIG", shell=True, text=True).strip())'
    assert run(tmp_path, program) == ["[5, 8, 11]", ""]
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("device", amount([""], ["", "CPU"]))
def test_missing_compiler_is_one_clear_error(tmp_path: Path, device: str) -> None:
    assert run(tmp_path, NO_ZIG + PROGRAM, DEV=device) == [
        "CompilerError compiler: tinygrad's CPU device needs a C compiler, and clang is not installed",
        "  looked: the variable CC, clang on PATH, the package ziglang",
        "  try:    pip install 'branded[cc]', or install clang",
    ]


def test_other_devices_need_no_compiler(tmp_path: Path) -> None:
    assert run(tmp_path, NO_ZIG + PROGRAM, DEV="PYTHON") == ["[5, 8, 11]"]


def test_compiler_chosen_by_the_user_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CC", "/usr/bin/my-clang")
    assert zig_clang.command() == ["/usr/bin/my-clang"]
    monkeypatch.delenv("CC")
    clang = tmp_path / "clang"
    clang.write_text("#!/bin/sh\n")
    clang.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert zig_clang.command() == ["clang"]
    clang.unlink()
    assert zig_clang.command() == [str(zig_clang.find()), "clang"]


@pytest.mark.parametrize("name", ["zig", "zig.exe"])
def test_the_program_of_ziglang(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """On Windows it is zig.exe."""
    package = SimpleNamespace(origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda module: package)
    assert zig_clang.find.__wrapped__() is None
    (tmp_path / name).touch()
    assert zig_clang.find.__wrapped__() == tmp_path / name


def test_broken_compiler_is_one_clear_error(tmp_path: Path) -> None:
    broken = tmp_path / "my cc"
    broken.write_text("#!/bin/sh\nexit 3\n")
    assert run(tmp_path, PROGRAM, CC=str(broken)) == [
        "CompilerError compiler: tinygrad's CPU device needs a C compiler, and the chosen one cannot be run",
        f"  CC:   {broken}",
        "  says: Permission denied",
        "  try:  CC=clang, because gcc does not know the options",
    ]
    broken.chmod(0o755)
    assert run(tmp_path, PROGRAM, CC=str(broken), DEV="CPU") == [
        "CompilerError compiler: the chosen C compiler rejects tinygrad's code",
        f"  CC:   {broken}",
        "  says: it ended with status 3",
        "  try:  CC=clang, because gcc does not know the options",
    ]
    package = tmp_path / "ziglang"
    package.mkdir()
    (package / "__init__.py").touch()
    shutil.copy(broken, package / "zig")
    assert run(tmp_path, PROGRAM, DEV="CPU") == [
        "CompilerError compiler: the chosen C compiler rejects tinygrad's code",
        f"  zig:  {package / 'zig'}",
        "  says: it ended with status 3",
        "  try:  pip install --force-reinstall 'branded[cc]', or install clang",
    ]


# ---- no writable cache ----

COLD = """
import branded
from tinygrad import Tensor
print(branded.vmap(lambda a, b: a * b + 1)(Tensor([1, 2, 3]), Tensor([4, 6, 8])).tolist())
"""


def warned(db: Path, why: str) -> str:
    return (
        f"RuntimeWarning: cache: compiled kernels cannot be stored in {db}: {why}; each process compiles them again "
        "(set CACHEDB to another file, or CACHELEVEL=0 to disable the cache)"
    )


def cold(tmp_path: Path, limit: int | None = None, **env: str) -> list[str]:
    """Run with tinygrad's cache enabled; return the result and the warnings."""
    result, *warnings = run(tmp_path, COLD, limit, **{"CACHELEVEL": "2", "DEV": "CPU", **env})
    assert result == "[5, 13, 25]"
    return [w[w.index("RuntimeWarning") :] for w in warnings]


def test_runs_without_a_home_folder(tmp_path: Path) -> None:
    (line,) = cold(tmp_path, XDG_CACHE_HOME="", HOME="/dev/null")
    assert line == warned(Path("/dev/null/.cache/tinygrad/cache.db"), "[Errno 20] Not a directory: '/dev/null/.cache'")


def test_full_disk(tmp_path: Path) -> None:
    """The folder can be created, but no file can grow."""
    assert cold(tmp_path, 0) == [warned(tmp_path / "cache" / "tinygrad" / "cache.db", "disk I/O error")]


@pytest.mark.parametrize("db", ["file/tinygrad/cache.db", "folder.db", "text.db", "half.db"])
@pytest.mark.enabled("fixes")
def test_unusable_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, db: str) -> None:
    """A folder that is a file, a file that is a folder, a file that is not a database, and a truncated database."""
    (tmp_path / "file").touch()
    (tmp_path / "folder.db").mkdir()
    (tmp_path / "text.db").write_text("this is no database " * 100)
    with closing(sqlite3.connect(tmp_path / "whole.db")) as whole:
        whole.executescript("CREATE TABLE t (x); " + "INSERT INTO t VALUES (randomblob(4000));" * 9)
    (tmp_path / "half.db").write_bytes((tmp_path / "whole.db").read_bytes()[:5000])
    monkeypatch.setattr(helpers, "CACHEDB", str(tmp_path / db))
    monkeypatch.setattr(helpers, "_db_connection", None)
    monkeypatch.setattr(fork_safety, "_connections", {})
    monkeypatch.setattr(helpers, "_db_tables", set())
    with Context(CACHELEVEL=2), pytest.warns(RuntimeWarning) as said:
        put, get = device.diskcache_put, device.diskcache_get
        assert put("kernels", "k", b"v") == b"v" and get("kernels", "k") is None and put("kernels", "k", b"w") == b"w"
    (one,) = said
    assert str(one.message).startswith(f"cache: compiled kernels cannot be stored in {tmp_path / db}: ")


def test_two_processes_share_an_empty_cache(tmp_path: Path) -> None:
    folder = tmp_path / "my cäche"
    with ThreadPoolExecutor() as pool:
        both = [pool.submit(cold, tmp_path, XDG_CACHE_HOME=str(folder)) for _ in range(2)]
        assert [x.result() for x in both] == [[], []]
    assert cold(tmp_path, XDG_CACHE_HOME=str(folder), CC="/no/compiler") == []  # the cache has everything that it needs


def test_tinygrad_still_fails_without_its_cache(tmp_path: Path) -> None:
    """Once it does not fail, `branded.tinygrad_compat.fixes.runtime.disk_cache_errors` can go."""
    with pytest.raises(AssertionError, match="NotADirectoryError"):
        cold(tmp_path, HOME="/dev/null", XDG_CACHE_HOME="", BRANDED_PATCHES="-cache")
