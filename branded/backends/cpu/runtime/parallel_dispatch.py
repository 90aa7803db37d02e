"""The parts of a kernel that tinygrad runs, as `realize` and `TinyJit` do, are done side by side too.

`cores` knows how much a kernel does; here that is found by its first runs, one part after the other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from branded.backends.cpu.renderer.loops import room
from branded.backends.cpu.runtime import cores, native
from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.import_hook import when_imported

FOUND = "_branded_found"
"""Where a program keeps what is known of it."""
RUNS = 2
"""So many runs tell how long a kernel takes: the shortest, for what else the machine did is in the others."""


class _Found:
    """What is known of a program: its shortest run in nanoseconds, of so many."""

    __slots__ = ("left", "took")

    def __init__(self) -> None:
        self.took, self.left = 2**63, RUNS

    def note(self, took: int) -> None:
        self.took, self.left = min(self.took, took), self.left - 1


_pays = cores.PAYS
"""So long may large kernels still run one part after the other, before C is compiled for them."""


def _is_ready(found: _Found) -> bool:
    """Is this a kernel for all cores, and is the C there that gives it to them, or worth to be compiled?"""
    global _pays
    if found.took < cores.LARGE or not cores.address():
        return False
    if native.is_loaded():
        return True
    _pays -= found.took
    return _pays < 0 or native.is_compiled()


def _all_cores(original: Callable[..., float | None]) -> Callable[..., float | None]:
    def __call__(  # noqa: N807  its name there
        self: Any,
        *bufs: Any,
        global_size: tuple[int, ...] = (1, 1, 1),
        vals: Sequence[int | None] = (),
        wait: bool = False,
        **options: Any,
    ) -> float | None:
        if global_size[0] == 1 or self.lvp or "core_id" not in self.runtimevars or not room.value:
            return original(self, *bufs, global_size=global_size, vals=vals, wait=wait, **options)
        found: _Found = self.__dict__.setdefault(FOUND, _Found())
        start = time.perf_counter_ns()
        if found.left or not _is_ready(found):
            original(self, *bufs, global_size=global_size, vals=vals, **options)
            if found.left:
                found.note(time.perf_counter_ns() - start)
        else:
            args = [*(b.va_addr for b in bufs), *(x or 0 for x in vals)]
            native.run_parts(self.addr, args, self.runtimevars["core_id"], global_size[0])
        return (time.perf_counter_ns() - start) / 1e9 if wait else None

    return __call__


def _mend(tg_cpu: Any) -> None:
    tg_cpu.CPUProgram.__call__ = _all_cores(tg_cpu.CPUProgram.__call__)


def install() -> None:
    when_imported(private_api.CPU, _mend)
