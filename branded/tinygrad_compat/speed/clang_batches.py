"""clang is started once for several kernels.

tinygrad starts it for each: of the time that a kernel takes, clang is half done when it reads the first line.  What its
driver starts in turn, `clang -cc1`, takes several files, one after another.  Here these are pipes: in each of them
stands a source as soon as there is one, and the object files come out of another, in the same order.  It ends when all
are read, or nobody is left who could write them.  What the driver starts it says as it compiles the first source.

Where anything but an object file comes out, a warning as well as an error, tinygrad compiles this source as ever.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import platform
import shutil
import struct
import subprocess
import threading
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from types import FunctionType, SimpleNamespace
from typing import Any

from branded.tinygrad_compat import private_api, zig_clang
from branded.tinygrad_compat.tinygrad_lock import STARTS

FILES = 16
"""So many files does one take: each is a pipe that is open here."""
SOON = 0.02
"""So many seconds one waits for another thread's before a further one is started."""
FAILURES = 3
"""After so many that made nothing there are no more."""
TABLE = "branded_clang"
"""What the driver starts, in tinygrad's database."""
_ELF, _HEADER, _PIPE = b"\x7fELF", 64, 1 << 16


class Clang:
    """A clang that waits for sources."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words, self.made = words, 0
        self.ends: list[int] = []
        reads: list[int] = []
        try:
            for _ in range(FILES):
                read, end = os.pipe()
                reads.append(read)
                self.ends.insert(0, end)
            self.process: subprocess.Popen[bytes] = subprocess.Popen(
                [*words, *(f"/dev/fd/{read}" for read in reads)],
                bufsize=0,  # no lock, which another thread may hold at a fork
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=reads,
                process_group=0,  # Ctrl-C is not meant for it
            )
        except BaseException:
            self._close()
            raise
        finally:
            for read in reads:
                os.close(read)

    def compile(self, source: bytes) -> bytes | None:
        """The object file; None where there is none, and then this is at its end."""
        try:
            try:
                left = memoryview(source)
                while left:
                    left = left[os.write(self.ends[-1], left) :]
            finally:
                os.close(self.ends[-1])
                self.ends.pop()  # a child that is forked before closes it too
            return self._object()
        except OSError:  # it was ended, or its pipes were closed
            return None

    def _object(self) -> bytes | None:
        code = self._more(b"", 1)
        if code[:4] != _ELF:  # what is no object may be short, and nothing come after it
            return None
        if len(code := self._more(code, _HEADER)) < _HEADER:
            return None
        (table,), (entry, entries) = struct.unpack_from("<Q", code, 40), struct.unpack_from("<HH", code, 58)
        size = table + entry * entries  # LLVM writes the table of sections last
        if len(code := self._more(code, size)) != size:
            return None
        self.made += 1
        return code

    def _more(self, code: bytes, size: int) -> bytes:
        """So many bytes, or less where no more come."""
        assert self.process.stdout is not None
        parts, there = [code], len(code)
        while there < size and (part := os.read(self.process.stdout.fileno(), _PIPE)):
            parts.append(part)
            there += len(part)
        return b"".join(parts)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self._close()

    def forget(self) -> None:
        """In a child of this process, where it would keep the pipes open."""
        self._close()
        self.process.returncode = 0  # not a child of the child

    def _close(self) -> None:
        for end in self.ends:
            with contextlib.suppress(OSError):  # a program may close all that is open
                os.close(end)
        self.ends = []
        if (process := getattr(self, "process", None)) is not None:
            with contextlib.suppress(OSError):
                process.stdout.close()


class _Clangs:
    """Those of this process, each used by one thread at a time."""

    def __init__(self) -> None:
        self.changed = threading.Condition(STARTS)
        self.all: list[Clang] = []
        self.free: list[Clang] = []
        self.failures = 0

    def compile(self, words: Sequence[str], source: bytes) -> bytes | None:
        if (one := self.taken(words)) is None:
            return None
        code = None
        try:
            code = one.compile(source)
        finally:
            self.given_back(one, code is not None)
        return code

    def taken(self, words: Sequence[str]) -> Clang | None:
        with STARTS:
            if not (free := self._free(words)) and len(self.all) > len(self.free):
                self.changed.wait(SOON)
                free = self._free(words)
            one = free[0] if free else self.started(words)
            if one is not None and free:
                self.free.remove(one)
            return one

    def _free(self, words: Sequence[str]) -> list[Clang]:
        return [one for one in self.free if one.words == words]

    def started(self, words: Sequence[str]) -> Clang | None:
        if self.failures >= FAILURES:
            return None
        try:
            one = Clang(words)
        except OSError:  # no more processes, or no more files
            self.failures += 1
            return None
        self.all.append(one)
        return one

    def given_back(self, one: Clang, went_well: bool) -> None:
        with STARTS:
            if went_well and one.ends:
                self.free.append(one)
            else:
                self.failures += not one.made
                if one in self.all:  # and not at the end of the process
                    self.all.remove(one)
                one.end()
            self.changed.notify()

    def ready(self, words: Sequence[str]) -> None:
        """There is one: it starts while Python writes the source."""
        with STARTS:
            if not self.all and (one := self.started(words)) is not None:
                self.free.append(one)

    def end(self) -> None:
        with STARTS:
            for one in self.all:
                one.end()
            self.all, self.free = [], []

    def forget(self) -> None:
        for one in self.all:
            one.forget()
        self.all, self.free, self.changed = [], [], threading.Condition(STARTS)


# ---- what is started ----


@functools.cache
def features() -> str:
    """What this processor can do, for which clang writes code."""
    try:
        info = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor()
    return next((line for line in info.splitlines() if line.startswith(("flags", "Features"))), "")


def _asked(compile_: Any, compiler: Any) -> list[str]:
    """The words with which tinygrad calls the C compiler."""
    said: list[str] = []

    def check_output(words: Sequence[str], **_: Any) -> bytes:
        said.extend(words)
        return b""

    stand_in = SimpleNamespace(check_output=check_output)
    FunctionType(compile_.__code__, {**compile_.__globals__, "subprocess": stand_in})(compiler, "")
    return [*zig_clang.command(), *said[1:]]


def _found(said: str, program: Sequence[str]) -> list[str] | None:
    """What the driver started, as it said, but for the file; None where this is not clang."""
    import shlex

    lines = [shlex.split(line)[1:] for line in said.splitlines() if " -cc1 " in line]
    for found in lines:
        if found[0] == "-cc1" and found[-1] == "-" and "-o" in found and found[found.index("-o") + 1] == "-":
            return [*program, *(word for word in found[:-1] if word not in ("-disable-free", "-v"))]
    return None


def _first(words: Sequence[str], source: bytes) -> tuple[list[str] | None, bytes | None]:
    """What the driver starts, and what it makes of a source; None where there is a warning or an error."""
    out = subprocess.run([*words, "-v"], input=source, capture_output=True)
    said = out.stderr.decode(errors="replace")
    found = None if out.returncode else _found(said, [*takewhile(lambda word: not word.startswith("-"), words)])
    return found, out.stdout if found and out.stdout[:4] == _ELF and "warning:" not in said else None


def _key(words: Sequence[str]) -> str:
    program = shutil.which(words[0])
    file = program and (program, (stat := Path(program).stat()).st_size, stat.st_mtime_ns)
    return repr((words, file, features()))


clangs = _Clangs()
_original: list[Any] = []
"""tinygrad's own way to compile, where there is another."""
_known: dict[str, list[str] | None] = {}


def _words(compiler: Any) -> list[str] | None:
    """What is started for a compiler, found once; None where it is not known."""
    if (key := repr(vars(compiler))) not in _known:
        try:
            kept = private_api.helpers.diskcache_get(TABLE, _key(_asked(_original[0], compiler)))
        except Warning:
            raise  # of the database, which is left out from now on
        except Exception:  # whatever it is, tinygrad's own way says it better
            kept = _known[key] = None
        if not isinstance(kept, list):
            return None
        _known[key] = kept
    return _known[key]


def _by_the_driver(compiler: Any, source: bytes) -> bytes | None:
    """The first source of all: the driver compiles it in the time that it takes to say what it starts, and says it."""
    if (key := repr(vars(compiler))) in _known:
        return None
    _known[key] = None  # until it is found, other threads go tinygrad's own way
    code = None
    with contextlib.suppress(OSError, ValueError):
        words = _asked(_original[0], compiler)
        found, code = _first(words, source)
        if found is not None:
            private_api.helpers.diskcache_put(TABLE, _key(words), found)
            _known[key] = found
    return code


def ready(compiler: Any) -> None:
    """There will be something to compile: clang starts while Python writes the source."""
    if _original and isinstance(compiler, private_api.ClangCompiler) and (words := _words(compiler)) is not None:
        clangs.ready(words)


def install() -> None:
    if not hasattr(os, "register_at_fork") or not Path("/dev/fd").exists():
        return
    compiler = private_api.ClangCompiler
    compile_ = compiler.compile
    _original.append(compile_)

    @functools.wraps(compile_)
    def compile_here(self: Any, src: str) -> bytes:
        words, source = _words(self), src.encode()
        code = _by_the_driver(self, source) if words is None else clangs.compile(words, source)
        return compile_(self, src) if code is None else code

    compiler.compile = compile_here
    atexit.register(clangs.end)
    os.register_at_fork(after_in_child=lambda: clangs.forget())
