"""Processes that begin after `import branded`, for tests of many: each would import it anew, for half a second.

A server imports it, and is forked for each program, which then has an environment, an output, and an end of its own.
What tinygrad took from the environment when it was imported is taken anew.
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
"""What the first program of a process loads is there.  This one calls no compiler, and nothing of it is kept."""


class Ended(NamedTuple):
    """A process that has ended: its status, as `subprocess` has it, and what it wrote."""

    status: int
    out: str
    err: str


class Server:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def run(self, program: str, **env: str) -> Ended:
        """What became of a program, in a process of its own."""
        send, receive = self.process.stdin, self.process.stdout
        assert send is not None and receive is not None
        print(json.dumps([program, env]), file=send, flush=True)
        return Ended(*json.loads(receive.readline()))


@contextmanager
def server(before: str = "", within: Sequence[str] = (), **env: str) -> Iterator[Server]:
    """What forks; what runs before the import, the names of which its programs have, and the environment of all.

    It is started by the command `within`, if there is one.
    """
    own = {"PYTHONPATH": str(ROOT), "PARALLEL": "0", "DEV": "CPU", **env}
    given = {k: v for k, v in os.environ.items() if k not in ("CACHEDB", "CACHELEVEL")} | own
    words = [*within, sys.executable, "-W", "always", "-m", "tests.support.forked", before]
    with subprocess.Popen(
        words, cwd=ROOT, env=given, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        yield Server(process)
        assert process.stdin is not None
        process.stdin.close()  # it ends


# ---- in the server ----


def _serve(requests: IO[str]) -> str | None:
    """Answer requests; None at their end.  In a process that was forked, the program that it is to run."""
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
    """What comes from pipes, until all are closed."""
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
    """Let tinygrad have these variables as if they had been there when it was imported."""
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
    gc.freeze()  # what is there now no process looks at again
    if (_program := _serve(sys.stdin)) is not None:
        exec(compile(_program, "<string>", "exec", dont_inherit=True), _names)
