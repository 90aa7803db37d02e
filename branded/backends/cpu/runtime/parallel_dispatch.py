"""Parallel execution of the kernels that tinygrad itself runs, in `realize` and `TinyJit`.

`cores` estimates a kernel's duration from its work; here the first runs, one part after the other, measure it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from branded.backends.cpu.renderer.loops import cpu_codegen
from branded.backends.cpu.runtime import cores, native
from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.import_hook import when_imported

TIMING = "_branded_found"
"""The attribute of a program that holds its measurements."""
RUNS = 2
"""The number of runs that measure a kernel; the shortest counts, since other load on the machine slows the others."""


class _Timing:
    """The measurements of a program: its shortest run in nanoseconds, and the number of runs left to measure."""

    __slots__ = ("left", "took")

    def __init__(self) -> None:
        self.took, self.left = 2**63, RUNS

    def note(self, took: int) -> None:
        self.took, self.left = min(self.took, took), self.left - 1


_pays = cores.PAYS
"""The nanoseconds that large kernels may still run serially before the parallel C code is compiled for them."""


def _is_ready(timing: _Timing) -> bool:
    """Return whether the kernel is large and the parallel C code is available or worth compiling."""
    global _pays
    if timing.took < cores.LARGE or not cores.address():
        return False
    if native.is_loaded():
        return True
    _pays -= timing.took
    return _pays < 0 or native.is_compiled()


def _all_cores(original: Callable[..., float | None]) -> Callable[..., float | None]:
    def __call__(  # noqa: N807  tinygrad's name
        self: Any,
        *bufs: Any,
        global_size: tuple[int, ...] = (1, 1, 1),
        vals: Sequence[int | None] = (),
        wait: bool = False,
        **options: Any,
    ) -> float | None:
        if global_size[0] == 1 or self.lvp or "core_id" not in self.runtimevars or not cpu_codegen.value:
            return original(self, *bufs, global_size=global_size, vals=vals, wait=wait, **options)
        timing: _Timing = self.__dict__.setdefault(TIMING, _Timing())
        start = time.perf_counter_ns()
        if timing.left or not _is_ready(timing):
            original(self, *bufs, global_size=global_size, vals=vals, **options)
            if timing.left:
                timing.note(time.perf_counter_ns() - start)
        else:
            args = [*(b.va_addr for b in bufs), *(x or 0 for x in vals)]
            native.run_parts(self.addr, args, self.runtimevars["core_id"], global_size[0])
        return (time.perf_counter_ns() - start) / 1e9 if wait else None

    return __call__


def _install_dispatch(tg_cpu: Any) -> None:
    tg_cpu.CPUProgram.__call__ = _all_cores(tg_cpu.CPUProgram.__call__)


def install() -> None:
    when_imported(private_api.CPU, _install_dispatch)
