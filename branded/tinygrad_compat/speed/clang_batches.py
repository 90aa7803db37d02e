"""One clang process for several kernels.

tinygrad starts one process per kernel, and the start takes about half of the time to compile a kernel. The command
that the driver starts, `clang -cc1`, accepts several files and compiles them in turn. Here these files are
pipes. Each source is written to the next pipe as soon as it exists. The object files are read from another pipe, in
the same order. The process ends when all pipes are read, or when their writers are gone.

The first process is the driver itself, with the pipes as arguments that it passes on to the command. It compiles like
the other processes, and writes its command to one more pipe. The command is cached.

If the output is not an object file, because of a warning or an error, tinygrad compiles the source in its usual way.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import inspect
import os
import platform
import re
import shlex
import shutil
import struct
import subprocess
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from types import FunctionType, SimpleNamespace
from typing import Any

from branded.tinygrad_compat import private_api, zig_clang
from branded.tinygrad_compat.tinygrad_lock import STARTS

FILES = 16
"""The number of files per process. Each is a pipe that is open in this process."""
SOON = 0.05
"""The seconds to wait for a process of another thread before a new one is started: the time of a few kernels."""
FAILURES = 3
"""The number of processes without any output after which no more are started."""
TABLE = "branded_clang"
"""The table of the driver's commands in tinygrad's database."""
_ELF, _HEADER, _PIPE = b"\x7fELF", 64, 1 << 16


@dataclass(eq=False)
class ClangCommand:
    """The command of a compiler."""

    driver: Sequence[str] = ()
    """The command line of the driver."""
    cc1: Sequence[str] | None = None
    """The command that the driver starts, without the files; None before it is known."""

    def learn(self, log: str) -> None:
        """Keep the command that the driver wrote."""
        if self.cc1 is None and (cc1 := _parse_cc1_command(log, self.driver)) is not None:
            private_api.helpers.diskcache_put(TABLE, _cache_key(self.driver), cc1)
            self.cc1 = cc1


class Clang:
    """A clang process that waits for sources."""

    def __init__(self, command: ClangCommand) -> None:
        self.command, self.made = command, 0
        self.ends: list[int] = []
        self.log = -1
        passed: list[int] = []
        try:
            for _ in range(FILES):
                read_end, end = os.pipe()
                passed.append(read_end)
                self.ends.insert(0, end)
            files, env = [f"/dev/fd/{read_end}" for read_end in passed], None
            if command.cc1 is None:
                self.log, log = os.pipe()
                passed.append(log)
                env = os.environ | {"CC_PRINT_OPTIONS": "1", "CC_PRINT_OPTIONS_FILE": f"/dev/fd/{log}"}
                files = [word for file in files for word in ("-Xclang", file)]
            self.process: subprocess.Popen[bytes] = subprocess.Popen(
                [*(command.cc1 or command.driver), *files],
                bufsize=0,  # avoids a lock that another thread may hold at a fork
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=passed,
                process_group=0,  # keeps Ctrl-C away from it
                env=env,
            )
        except BaseException:
            self._close()
            raise
        finally:
            for fd in passed:
                os.close(fd)

    def compile(self, source: bytes) -> bytes | None:
        """Return the object file, or None if the process is finished."""
        try:
            try:
                remaining = memoryview(source)
                while remaining:
                    remaining = remaining[os.write(self.ends[-1], remaining) :]
            finally:
                os.close(self.ends[-1])
                self.ends.pop()  # not before the close, so that a forked child closes it too
            code = self._read_object()
            if self.log >= 0:
                self._learn()
            return code
        except OSError:  # the process was ended, or its pipes were closed
            return None

    def _learn(self) -> None:
        os.set_blocking(self.log, False)  # a compiler that is not clang has written nothing
        try:
            self.command.learn(os.read(self.log, _PIPE).decode(errors="replace"))
        finally:
            os.close(self.log)
            self.log = -1

    def _read_object(self) -> bytes | None:
        code = self._read_until(b"", 1)
        if code[:4] != _ELF:  # other output may be short, and nothing may follow it
            return None
        if len(code := self._read_until(code, _HEADER)) < _HEADER:
            return None
        (table,), (entry, entries) = struct.unpack_from("<Q", code, 40), struct.unpack_from("<HH", code, 58)
        size = table + entry * entries  # LLVM writes the table of sections last
        if len(code := self._read_until(code, size)) != size:
            return None
        self.made += 1
        return code

    def _read_until(self, code: bytes, size: int) -> bytes:
        """Read until `code` has this size, or until the output ends."""
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
        """Close the pipes in a forked child, which would keep them open."""
        self._close()
        self.process.returncode = 0  # it is not a child of the forked child

    def _close(self) -> None:
        for end in (*self.ends, *([self.log] if self.log >= 0 else [])):
            with contextlib.suppress(OSError):  # a program may have closed all files
                os.close(end)
        self.ends, self.log = [], -1
        if (process := getattr(self, "process", None)) is not None:
            with contextlib.suppress(OSError):
                process.stdout.close()


class _Clangs:
    """The clang processes of this process, each used by one thread at a time."""

    def __init__(self) -> None:
        self.changed = threading.Condition(STARTS)
        self.all: list[Clang] = []
        self.free: list[Clang] = []
        self.failures = 0

    def compile(self, command: ClangCommand, source: bytes) -> bytes | None:
        if (one := self.take(command)) is None:
            return None
        code = None
        try:
            code = one.compile(source)
        finally:
            self.give_back(one, code is not None)
        return code

    def take(self, command: ClangCommand) -> Clang | None:
        """Return a process for this thread alone, started if none is free soon; None if none can be started."""
        with STARTS:
            if not (free := self._free(command)) and len(self.all) > len(self.free):
                self.changed.wait(SOON)
                free = self._free(command)
            one = free[0] if free else self.start(command)
            if one is not None and free:
                self.free.remove(one)
            return one

    def _free(self, command: ClangCommand) -> list[Clang]:
        return [one for one in self.free if one.command is command]

    def start(self, command: ClangCommand) -> Clang | None:
        if self.failures >= FAILURES:
            return None
        try:
            one = Clang(command)
        except OSError:  # too many processes or open files
            self.failures += 1
            return None
        self.all.append(one)
        return one

    def give_back(self, one: Clang, went_well: bool) -> None:
        """Let other threads use a process, or end it if it failed or has no more pipes."""
        with STARTS:
            if went_well and one.ends:
                self.free.append(one)
            else:
                self.failures += not one.made
                if one in self.all:  # not at the end of this process
                    self.all.remove(one)
                one.end()
            self.changed.notify()

    def ready(self, command: ClangCommand) -> None:
        """Start a clang process, unless one is waiting, while Python writes the source."""
        with STARTS:
            if not self.all and (one := self.start(command)) is not None:
                self.free.append(one)

    def end(self) -> None:
        with STARTS:
            for one in self.all:
                one.end()
            self.all, self.free = [], []

    def end_idle(self) -> None:
        with STARTS:
            for one in self.free:
                self.all.remove(one)
                one.end()
            self.free = []

    def forget(self) -> None:
        for one in self.all:
            one.forget()
        self.all, self.free, self.changed = [], [], threading.Condition(STARTS)


@functools.cache
def features() -> str:
    """Return the features of this processor, for which clang generates code."""
    try:
        info = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor()
    return next((line for line in info.splitlines() if line.startswith(("flags", "Features"))), "")


def _driver_command(compile_: Any, compiler: Any) -> list[str]:
    """Return the command with which tinygrad calls the C compiler."""
    arguments: list[str] = []

    def check_output(words: Sequence[str], **_: Any) -> bytes:
        arguments.extend(words)
        return b""

    stand_in = SimpleNamespace(check_output=check_output)
    FunctionType(compile_.__code__, {**compile_.__globals__, "subprocess": stand_in})(compiler, "")
    return [*zig_clang.command(), *arguments[1:]]


def _parse_cc1_command(log: str, driver: Sequence[str]) -> list[str] | None:
    """Return the command that the driver wrote, without the files, or None if this is not clang."""
    program = [*takewhile(lambda word: not word.startswith("-"), driver)]
    for line in log.splitlines():
        if ' "-cc1" ' not in line:
            continue
        words = (shlex.split(line) if "\\" in line else re.findall(r'"([^"]*)"', line))[1:]
        if words[-1] == "-" and "-o" in words and words[words.index("-o") + 1] == "-":
            return [*program, *(w for w in words[:-1] if w != "-disable-free" and not w.startswith("/dev/fd/"))]
    return None


def _cache_key(words: Sequence[str]) -> str:
    program = shutil.which(words[0])
    file = program and (program, (stat := Path(program).stat()).st_size, stat.st_mtime_ns)
    return repr((words, file, features()))


clangs = _Clangs()
_original: list[Any] = []
"""The original compile function of tinygrad, for the other cases."""
_known: dict[str, ClangCommand | None] = {}


def _command(compiler: Any) -> ClangCommand | None:
    """Return the command of a compiler, or None if it is not clang."""
    if (key := repr(vars(compiler))) not in _known:
        try:
            driver = _driver_command(_original[0], compiler)
            cc1 = private_api.helpers.diskcache_get(TABLE, _cache_key(driver))
            _known[key] = ClangCommand(driver, cc1 if isinstance(cc1, list) else None)
        except Warning:
            raise  # a warning about the database, which is disabled from now on
        except Exception:  # tinygrad's own compilation reports the error better
            _known[key] = None
    return _known[key]


def compile_source(compiler: Any, source: bytes) -> bytes | None:
    """Return the object file, or None if this is not clang, or if it reports an error or a warning."""
    if (command := _command(compiler)) is None:
        return None
    code = clangs.compile(command, source)
    if code is None and command.cc1 is None:
        _known[repr(vars(compiler))] = None
    return code


def runs(compiler: Any) -> bool:
    """Return whether a compiler is clang, and the processes of this module can compile for it."""
    return bool(_original) and isinstance(compiler, private_api.ClangCompiler)


def ready(compiler: Any) -> None:
    """Start clang for a compilation that will follow, while Python writes the source."""
    if runs(compiler) and (command := _command(compiler)) is not None:
        clangs.ready(command)


def _without_idle(wait: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function of `os` that waits for children: with no process id, it would wait for an idle clang forever."""

    @functools.wraps(wait)
    def wait_for_children(*args: Any) -> Any:
        if not args or args[0] == -1:
            clangs.end_idle()
        return wait(*args)

    return wait_for_children


def install() -> None:
    if not hasattr(os, "register_at_fork") or not Path("/dev/fd").exists():
        return
    compiler = private_api.ClangCompiler
    compile_ = compiler.compile
    _original.append(inspect.unwrap(compile_))  # its code is run again, with other names

    @functools.wraps(compile_)
    def compile_here(self: Any, src: str) -> bytes:
        code = compile_source(self, src.encode())
        return compile_(self, src) if code is None else code

    compiler.compile = compile_here
    os.wait, os.waitpid = _without_idle(os.wait), _without_idle(os.waitpid)
    atexit.register(clangs.end)
    os.register_at_fork(after_in_child=lambda: clangs.forget())
