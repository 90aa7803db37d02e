"""Compile workers with the patches that change kernels; a worker that fails never makes this process wait forever.

tinygrad starts its workers as new processes, without the modules of this process, as soon as there are two kernels to
compile. They run `compile_worker_start.py`, which loads only these patches, not all of `branded`.

A pool of `multiprocessing` restarts a process that has ended. It does so forever if the process fails at its start,
because the package has changed or cannot be imported there. The pool also waits forever for the task of a process that
was killed, and after a fork the child's pool has no processes. Here such a pool is abandoned, and this process does the
remaining tasks. It also repeats a task that raised an exception in a worker, so that the error is raised here.

The workers are started when there is enough work: see `threaded_compile.py`. tinygrad restarts each worker after 16
kernels, but the restart takes longer than these kernels.
"""

from __future__ import annotations

import functools
import multiprocessing
import os
import runpy
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.speed import threaded_compile

COMPILING = (
    "cache", "pickles", "images", "ranges", "numbering", "gates", "vectorizer", "ordering", "nesting", "products",
    "shifts", "quotients", "small_ints", "constants", "angles", "vector_casts", "bfloat16",
)  # fmt: skip
"""The patches that a worker needs."""
INSTALLED: list[str] = []
"""The modules that a worker installs at its start, in order. They depend on tinygrad and `private_api` alone."""
POLL_SECONDS = 0.1
"""The seconds without a result after which the state of the workers is checked."""

KERNELS_PER_WORKER = 400
"""The number of kernels after which a worker is restarted; BEAM_MAX_TASKS_PER_CHILD overrides it."""

_started: list[Any] = []
"""The processes of the pool, except those that ended normally."""
_pools: list[tuple[int, Any]] = []
"""The pools with the processes that made them; a child must not close the pools of its parents."""


class Pool:
    """The part of the pool interface that tinygrad uses. Tasks and results are tuples that begin with an index."""

    def __init__(self, started: Callable[[], Any]) -> None:
        self.started = started

    def imap_unordered(self, f: Callable[[Any], Any], tasks: Iterable[Any]) -> Iterator[Any]:
        remaining = {task[0]: task for task in tasks}
        if not _has_pool() and threaded_compile.is_little(f, list(remaining.values())):
            yield from threaded_compile.compile_kernels(list(remaining.values()), private_api.worker.PARALLEL.value)
            return
        if (pool := self.started()) is None:
            yield from map(f, remaining.values())
            return
        results = pool.imap_unordered(f, list(remaining.values()))
        while remaining:
            try:
                done = results.next(timeout=POLL_SECONDS)
            except multiprocessing.TimeoutError:
                if status := _status():
                    _abandon_pool(status)
                    break
            except Exception:
                break
            else:
                del remaining[done[0]]
                yield done
        yield from map(f, remaining.values())


def _has_pool() -> bool:
    """Return whether this process has a pool."""
    return private_api.worker.worker_pool is not None and bool(_pools) and _pools[-1][0] == os.getpid()


def _status() -> int | None:
    """Return the exit status of a worker that ended early, negative if a signal ended it, or None."""
    return next((p.exitcode for p in list(_started) if p.exitcode), None)


def _abandon_pool(status: int) -> None:
    if status > 0:
        private_api.worker.PARALLEL.value = 0
        why = f"exit at the start with status {status}; from now on this process compiles"
    else:
        why = f"were ended by signal {-status}; this process compiles the remaining kernels"
    _warn(f"{why} (set PARALLEL=0 to start none)")
    _drop_pool()


def _warn(why: str) -> None:
    warnings.warn(f"compiler: tinygrad's compile processes {why}", RuntimeWarning, stacklevel=3)


def _drop_pool() -> None:
    """Drop the pool; a thread terminates it, because a killed process may hold a lock that `terminate` waits for."""
    pool, private_api.worker.worker_pool = private_api.worker.worker_pool, None
    if pool is not None:
        threading.Thread(target=pool.terminate, daemon=True).start()


def _pool(get: Callable[[], Any]) -> Callable[[], Pool | None]:
    def started() -> Any:
        if _pools and _pools[-1][0] != os.getpid():
            private_api.worker.worker_pool = None
        elif private_api.worker.worker_pool is not None and _status():
            _drop_pool()
        if private_api.worker.worker_pool is None:
            _started.clear()
        try:
            pool = get()
        except OSError as error:  # too many processes or open files
            private_api.worker.PARALLEL.value = 0
            _warn(f"cannot be started: {error}; from now on this process compiles")
            return None
        if pool is None:
            return None
        if not _pools or _pools[-1][1] is not pool:
            _pools[:] = [(pid, p) for pid, p in _pools if pid != os.getpid()] + [(os.getpid(), pool)]
        return pool

    @functools.wraps(get)
    def get_worker_pool() -> Pool | None:
        return Pool(started) if private_api.worker.PARALLEL.value else None

    return get_worker_pool


def _setting(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def getenv(name: str, default: Any = 0) -> Any:
        return original(name, KERNELS_PER_WORKER if name == "BEAM_MAX_TASKS_PER_CHILD" else default)

    return getenv


def _record_start(start: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def _Popen(process: Any) -> Any:  # noqa: N802  the name in multiprocessing
        _started[:] = [p for p in _started if p.exitcode != 0] + [process]
        return start(process)

    return _Popen


def begin_with(names: list[str]) -> None:
    """Let each worker install these modules at its start; the list may grow until then."""
    file = str(Path(__file__).with_name("compile_worker_start.py"))
    private_api.worker._init_worker = functools.partial(runpy.run_path, file, {"NAMES": names}, "branded_compiling")


def install() -> None:
    from branded import tinygrad_compat

    needed = (*tinygrad_compat.faster, *(name for name in tinygrad_compat.installed if name in COMPILING))
    INSTALLED.extend(map(tinygrad_compat.module_of, needed))
    begin_with(INSTALLED)
    private_api.worker._WorkerProcess._Popen = staticmethod(_record_start(private_api.worker._WorkerProcess._Popen))
    private_api.worker.getenv = _setting(private_api.worker.getenv)
    old = private_api.worker.get_worker_pool
    new = _pool(old)
    for module in [m for name, m in list(sys.modules.items()) if name.startswith("tinygrad") and m is not None]:
        if getattr(module, "get_worker_pool", None) is old:
            vars(module)["get_worker_pool"] = new
