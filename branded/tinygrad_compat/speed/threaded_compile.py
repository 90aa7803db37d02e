"""Compile a few kernels in this process, with the C compiler in parallel.

Starting a compile worker takes as long as compiling 20 kernels. The C compiler is a separate process, and takes half of
the time to compile a kernel. Here this process generates the next C code while the C compiler runs.
"""

from __future__ import annotations

import contextvars
import copy
import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tinygrad.helpers import DEBUG, Context
from tinygrad.uop.ops import Ops, UOp

from branded.tinygrad_compat import private_api, tinygrad_lock
from branded.tinygrad_compat.speed import clang_batches

if TYPE_CHECKING:  # the import of this package should not import the thread pool
    from concurrent.futures import Future, ThreadPoolExecutor

MANY = 2_000
"""The number of operations from which workers pay off: about fifty kernels."""


def is_little(f: Any, tasks: Sequence[Any]) -> bool:
    """Return whether the tasks compile kernels, with less work than the start of the workers."""
    if f is not private_api._compile_kernel or DEBUG.value >= 3:
        return False
    return sum(len(kernel.toposort()) for _, (kernel, _), _ in tasks) < MANY


class _Later:
    """A wrapper around a renderer's compiler that compiles in a thread, and returns the code later."""

    def __init__(self, compiler: Any, threads: ThreadPoolExecutor) -> None:
        self.compiler, self.threads = compiler, threads
        self.job: Future[bytes] | None = None
        self.source = ""

    def compile_cached(self, source: str) -> bytes:
        cached = private_api.helpers.diskcache_get(self.compiler.cachekey, source) if self.compiler.cachekey else None
        if cached is not None:
            return bytes(cached)
        context = contextvars.copy_context()  # the thread compiles for the same graph
        self.source, self.job = source, self.threads.submit(context.run, self.compiler.compile, source)
        return b""

    def done(self, program: UOp) -> UOp:
        assert self.job is not None
        code = self.job.result()
        if self.compiler.cachekey:
            private_api.helpers.diskcache_put(self.compiler.cachekey, self.source, code)
        return program.replace(src=(*program.src[:-1], UOp(Ops.BINARY, arg=code)))


@functools.cache
def _executor() -> type[ThreadPoolExecutor]:
    """Import the thread pool at the first compilation; its module has a lock that must be held at a fork."""
    from concurrent.futures import ThreadPoolExecutor

    tinygrad_lock.before_forks()
    return ThreadPoolExecutor


def compile_kernels(tasks: Sequence[Any], threads: int) -> Iterator[tuple[int, UOp]]:
    """Yield the compiled kernels with the indices of their tasks, in the order of completion."""
    from concurrent.futures import FIRST_COMPLETED, wait

    waiting: dict[Future[bytes], tuple[int, UOp, _Later]] = {}

    def finished(timeout: float | None) -> Iterator[tuple[int, UOp]]:
        for job in wait(waiting, timeout, FIRST_COMPLETED).done:
            number, program, later = waiting.pop(job)
            yield number, later.done(program)

    with _executor()(max(threads, 1)) as executor:
        try:
            for number, (kernel, renderer), options in tasks:
                one = copy.copy(renderer)
                clang_batches.ready(renderer.compiler)
                one.compiler = later = _Later(renderer.compiler, executor)
                with Context(**options):  # type: ignore[no-untyped-call]
                    program = private_api.codegen.do_to_program(kernel, one)
                if later.job is None:
                    yield number, program
                else:
                    waiting[later.job] = number, program, later
                if waiting:
                    yield from finished(0)
            while waiting:
                yield from finished(None)
        finally:
            for job in waiting:
                job.cancel()
