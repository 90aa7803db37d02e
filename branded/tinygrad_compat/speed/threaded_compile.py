"""Few kernels are made in this process, and the C compiler works beside it.

A process in which tinygrad compiles takes as long to start as 20 kernels take to be made, and the C compiler, which is
a process of its own, half of their time.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tinygrad.helpers import DEBUG, Context
from tinygrad.uop.ops import Ops, UOp

from branded.tinygrad_compat import private_api, tinygrad_lock
from branded.tinygrad_compat.speed import clang_batches

if TYPE_CHECKING:  # the import of this package does not wait for threads
    from concurrent.futures import Future, ThreadPoolExecutor

MANY = 2_000
"""The operations of so many kernels that processes pay: about fifty kernels."""


def is_little(f: Any, tasks: Sequence[Any]) -> bool:
    """Is this to make kernels, and less work than to start processes for it?"""
    if f is not private_api._compile_kernel or DEBUG.value >= 3:
        return False
    return sum(len(kernel.toposort()) for _, (kernel, _), _ in tasks) < MANY


class _Later:
    """The compiler of a renderer, which gives the code later."""

    def __init__(self, compiler: Any, threads: ThreadPoolExecutor) -> None:
        self.compiler, self.threads = compiler, threads
        self.job: Future[bytes] | None = None
        self.source = ""

    def compile_cached(self, source: str) -> bytes:
        cached = private_api.helpers.diskcache_get(self.compiler.cachekey, source) if self.compiler.cachekey else None
        if cached is not None:
            return bytes(cached)
        self.source, self.job = source, self.threads.submit(self.compiler.compile, source)
        return b""

    def done(self, program: UOp) -> UOp:
        assert self.job is not None
        code = self.job.result()
        if self.compiler.cachekey:
            private_api.helpers.diskcache_put(self.compiler.cachekey, self.source, code)
        return program.replace(src=(*program.src[:-1], UOp(Ops.BINARY, arg=code)))


@functools.cache
def _executor() -> type[ThreadPoolExecutor]:
    """It is imported where something is compiled; its module has a lock of its own, which is held at a fork too."""
    from concurrent.futures import ThreadPoolExecutor

    tinygrad_lock.before_forks()
    return ThreadPoolExecutor


def made(tasks: Sequence[Any], threads: int) -> Iterator[tuple[int, UOp]]:
    """These kernels, each as soon as it is finished, with the number of its task."""
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
