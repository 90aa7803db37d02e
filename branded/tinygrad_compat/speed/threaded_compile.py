"""Compile a few kernels in this process, with the C compiler in parallel.

Starting a compile worker takes as long as compiling 20 kernels. The C compiler is a separate process, and takes half of
the time to compile a kernel. Here this process generates the next C code while the C compiler runs on a few kernels.
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
from branded.tinygrad_compat.speed import clang_batches, joined_kernels

if TYPE_CHECKING:  # the import of this package should not import the thread pool
    from concurrent.futures import Future, ThreadPoolExecutor

MANY = 2_000
"""The number of operations from which workers pay off: about fifty kernels."""
TOGETHER = 4
"""The maximum number of kernels in one C file. The last file is compiled while this process waits."""


def is_little(f: Any, tasks: Sequence[Any]) -> bool:
    """Return whether the tasks compile kernels, with less work than the start of the workers.

    A single worker never pays off: this process would wait for it, and compile the same kernels in less time.
    """
    if f is not private_api._compile_kernel or DEBUG.value >= 3:
        return False
    if private_api.worker.PARALLEL.value == 1:
        return True
    return sum(len(kernel.toposort()) for _, (kernel, _), _ in tasks) < MANY


class _Later:
    """A stand-in for a renderer's compiler that keeps the source of a kernel, whose code comes later."""

    def __init__(self, compiler: Any) -> None:
        self.compiler, self.source, self.context = compiler, "", contextvars.copy_context()

    def compile_cached(self, source: str) -> bytes:
        cached = private_api.helpers.diskcache_get(self.compiler.cachekey, source) if self.compiler.cachekey else None
        if cached is not None:
            return bytes(cached)
        self.source, self.context = source, contextvars.copy_context()  # the thread compiles for the same graph
        return b""

    def done(self, program: UOp, code: bytes) -> UOp:
        if self.compiler.cachekey:
            private_api.helpers.diskcache_put(self.compiler.cachekey, self.source, code)
        return program.replace(src=(*program.src[:-1], UOp(Ops.BINARY, arg=code)))


_Rendered = list[tuple[int, UOp, _Later]]
"""Kernels without code for one compiler, with the indices of their tasks."""


def _compile(kernels: _Rendered) -> Sequence[bytes]:
    compiler, sources = kernels[0][2].compiler, [later.source for _, _, later in kernels]
    return joined_kernels.compile_together(compiler, sources) or list(map(compiler.compile, sources))


@functools.cache
def _executor() -> type[ThreadPoolExecutor]:
    """Import the thread pool at the first compilation; its module has a lock that must be held at a fork."""
    from concurrent.futures import ThreadPoolExecutor

    tinygrad_lock.before_forks()
    return ThreadPoolExecutor


def compile_kernels(tasks: Sequence[Any], threads: int) -> Iterator[tuple[int, UOp]]:
    """Yield the compiled kernels with the indices of their tasks, in the order of completion."""
    from concurrent.futures import FIRST_COMPLETED, wait

    waiting: dict[Future[Sequence[bytes]], _Rendered] = {}
    rendered: _Rendered = []
    together = min(TOGETHER, (len(tasks) + 1) // 2)

    def finished(timeout: float | None) -> Iterator[tuple[int, UOp]]:
        for job in wait(waiting, timeout, FIRST_COMPLETED).done:
            for (number, program, later), code in zip(waiting.pop(job), job.result(), strict=True):
                yield number, later.done(program, code)

    def start(rendered: _Rendered) -> None:
        waiting[executor.submit(rendered[-1][2].context.run, _compile, rendered)] = rendered

    with _executor()(max(threads, 1)) as executor:
        try:
            for number, (kernel, renderer), options in tasks:
                one = copy.copy(renderer)
                clang_batches.ready(renderer.compiler)
                one.compiler = later = _Later(renderer.compiler)
                with Context(**options):  # type: ignore[no-untyped-call]
                    program = private_api.codegen.do_to_program(kernel, one)
                if later.source:
                    if rendered and rendered[0][2].compiler is not later.compiler:  # kernels of two devices
                        start(rendered)
                        rendered = []
                    rendered.append((number, program, later))
                else:
                    yield number, program
                if rendered and (len(rendered) == together or number == tasks[-1][0]):
                    start(rendered)
                    rendered = []
                if waiting:
                    yield from finished(0)
            while waiting:
                yield from finished(None)
        finally:
            for job in waiting:
                job.cancel()
