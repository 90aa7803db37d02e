"""Start processes after `import branded`, for tests with many programs: each import would take half a second.

A server imports it and forks for each program, which thus has its own environment, output and exit status. Values that
tinygrad read from the environment at import are read again.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
WARM = """
import branded
from tinygrad import Context, Tensor
with Context(CACHELEVEL=0):
    xs = Tensor([[[1, 2], [3, 4]], [[5, 6], [7, 8]]], device="PYTHON")
    for y in branded.vmap(lambda x: branded.scan(lambda c, a: (c * a + 1, c.sum()), x[0], x))(xs):
        y.tolist()
branded.tinygrad_compat.private_api.realize.to_program_cache.clear()
"""
"""Loads everything that the first program of a process loads.  It calls no compiler, and its programs are dropped."""


class Ended(NamedTuple):
    """A process that has ended: its status, in the convention of `subprocess`, and its output."""

    status: int
    out: str
    err: str


class Server:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def run(self, program: str, **env: str) -> Ended:
        """Run a program in its own process."""
        send, receive = self.process.stdin, self.process.stdout
        assert send is not None and receive is not None
        print(json.dumps([program, env]), file=send, flush=True)
        return Ended(*json.loads(receive.readline()))


@contextmanager
def server(before: str = "", within: Sequence[str] = (), **env: str) -> Iterator[Server]:
    """Start a server; its programs see the names that `before` defines before the import, and the environment `env`.

    If there is a command `within`, it starts the server.
    """
    own = {"PYTHONPATH": str(ROOT), "PARALLEL": "0", "DEV": "CPU", **env}
    given = {k: v for k, v in os.environ.items() if k not in ("CACHEDB", "CACHELEVEL")} | own
    words = [*within, sys.executable, "-W", "always", "-m", "tests.support.forked", before]
    with subprocess.Popen(
        words, cwd=ROOT, env=given, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        yield Server(process)
        assert process.stdin is not None
        process.stdin.close()  # ends the server


# ---- in the server ----


def _serve(requests: IO[str]) -> str | None:
    """Answer requests; return None at their end, and in a forked process the program to run."""
    while line := requests.readline():
        program, env = json.loads(line)
        pipes = [os.pipe(), os.pipe()]
        if (pid := os.fork()) == 0:
            for to, (_, write) in enumerate(pipes, 1):
                os.dup2(write, to)
            for fd in (fd for pipe in pipes for fd in pipe):
                os.close(fd)
            _enter(env)
            return str(program)
        for _, write in pipes:
            os.close(write)
        out, err = _read([read for read, _ in pipes])
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        print(json.dumps(Ended(status, out, err)), flush=True)
    return None


def _read(fds: list[int]) -> list[str]:
    """Read from pipes until all are closed."""
    found, poll = dict.fromkeys(fds, b""), select.poll()
    for fd in fds:
        poll.register(fd, select.POLLIN | select.POLLHUP)
    left = set(fds)
    while left:
        for fd, _ in poll.poll():
            if part := os.read(fd, 65536):
                found[fd] += part
            else:
                poll.unregister(fd)
                os.close(fd)
                left.remove(fd)
    return [text.decode() for text in found.values()]


def _enter(env: dict[str, str]) -> None:
    """Set environment variables as if they had been set when tinygrad was imported."""
    helpers = importlib.import_module("tinygrad.helpers")
    os.environ.update(env)
    helpers.getenv.cache_clear()
    if "CACHEDB" in env:
        helpers.CACHEDB = env["CACHEDB"]
    for name, variable in helpers.ContextVar._cache.items():
        if name in env:
            variable.value = int(env[name])


if __name__ == "__main__":
    _names = {"__name__": "__main__"}
    exec(compile(sys.argv[1], "<before>", "exec", dont_inherit=True), _names)
    for _name in ("branded.control_flow", "branded.tinygrad_compat.speed.program_cache", "tinygrad.runtime.ops_cpu"):
        importlib.import_module(_name)
    exec(WARM, {})
    gc.freeze()  # later collections skip all current objects
    if (_program := _serve(sys.stdin)) is not None:
        exec(compile(_program, "<string>", "exec", dont_inherit=True), _names)
