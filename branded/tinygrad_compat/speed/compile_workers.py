"""The processes in which tinygrad compiles have the mends that change what is compiled, and are not waited for in vain.

tinygrad starts them anew, without the modules of this one, as soon as there are two kernels to compile.  They run
`compiling.py`, which loads the mends alone, and not the whole of `branded`.

A pool of `multiprocessing` starts a process again when it has ended: for ever, where it ends as it starts, since the
package has changed under it or cannot be imported there.  What a process was doing that was killed, it waits for for
ever.  And after a fork, the child has a pool without processes.  Here such a pool is given up, and what it has not done
is done in this process; so is what raised an exception in the other, which then says here what is wrong.

They are started when there is enough to do: see `beside.py`.  tinygrad starts each anew after 16 kernels, which takes
longer than these.
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
    "cache",
    "images",
    "ranges",
    "numbering",
    "gates",
    "vectorizer",
    "ordering",
    "products",
    "shifts",
    "quotients",
    "small_ints",
    "constants",
    "angles",
    "vector_casts",
)
"""The patches that such a process needs."""
INSTALLED: list[str] = []
"""The modules that such a process installs as it starts, in this order; they need tinygrad and `tg` alone."""
LOOK = 0.1
"""Seconds without a result after which one looks whether the processes are still there."""

KERNELS = 400
"""So many does a process compile before it is started anew; BEAM_MAX_TASKS_PER_CHILD says another number."""

_started: list[Any] = []
"""The processes of the pool, but those that ended when they had done enough."""
_pools: list[tuple[int, Any]] = []
"""The pool and who made it; in a child, also those of its parents, which it must not close."""


class Pool:
    """What tinygrad uses of a pool.  A task is a tuple that begins with its number, and so is its result."""

    def __init__(self, started: Callable[[], Any]) -> None:
        self.started = started

    def imap_unordered(self, f: Callable[[Any], Any], tasks: Iterable[Any]) -> Iterator[Any]:
        left = {task[0]: task for task in tasks}
        if not _is_there() and threaded_compile.is_little(f, list(left.values())):
            yield from threaded_compile.made(list(left.values()), private_api.worker.PARALLEL.value)
            return
        if (pool := self.started()) is None:
            yield from map(f, left.values())
            return
        results = pool.imap_unordered(f, list(left.values()))
        while left:
            try:
                done = results.next(timeout=LOOK)
            except multiprocessing.TimeoutError:
                if status := _status():
                    _give_up(status)
                    break
            except Exception:
                break
            else:
                del left[done[0]]
                yield done
        yield from map(f, left.values())


def _is_there() -> bool:
    """Has this process a pool?"""
    return private_api.worker.worker_pool is not None and bool(_pools) and _pools[-1][0] == os.getpid()


def _status() -> int | None:
    """That of a process which ended before it had done enough; negative where a signal ended it."""
    return next((p.exitcode for p in list(_started) if p.exitcode), None)


def _give_up(status: int) -> None:
    if status > 0:
        private_api.worker.PARALLEL.value = 0
        why = f"end as they start, with status {status}; from now on this process compiles"
    else:
        why = f"were ended by signal {-status}; what they have not done, this process compiles"
    _warn(f"{why} (PARALLEL=0 starts none)")
    _end()


def _warn(why: str) -> None:
    warnings.warn(f"compiler: the processes in which tinygrad compiles {why}", RuntimeWarning, stacklevel=3)


def _end() -> None:
    """No process of the pool, and no start of another.  One that was killed may hold a lock that this waits for."""
    pool, private_api.worker.worker_pool = private_api.worker.worker_pool, None
    if pool is not None:
        threading.Thread(target=pool.terminate, daemon=True).start()


def _pool(get: Callable[[], Any]) -> Callable[[], Pool | None]:
    def started() -> Any:
        if _pools and _pools[-1][0] != os.getpid():
            private_api.worker.worker_pool = None
        elif private_api.worker.worker_pool is not None and _status():
            _end()
        if private_api.worker.worker_pool is None:
            _started.clear()
        try:
            pool = get()
        except OSError as error:  # no more processes, or no more files
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
        return original(name, KERNELS if name == "BEAM_MAX_TASKS_PER_CHILD" else default)

    return getenv


def _noted(start: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def _Popen(process: Any) -> Any:  # noqa: N802  its name there
        _started[:] = [p for p in _started if p.exitcode != 0] + [process]
        return start(process)

    return _Popen


def begin_with(*names: str) -> None:
    """Let each of the processes install these modules too as it starts."""
    INSTALLED.extend(names)
    file = str(Path(__file__).with_name("compiling.py"))
    private_api.worker._init_worker = functools.partial(runpy.run_path, file, {"NAMES": INSTALLED}, "branded_compiling")


def install() -> None:
    from branded import tinygrad_compat

    needed = (*tinygrad_compat.faster, *(name for name in tinygrad_compat.installed if name in COMPILING))
    begin_with(*map(tinygrad_compat.module_of, needed))
    if not all(
        hasattr(private_api.worker, name) for name in ("_WorkerProcess", "get_worker_pool", "worker_pool", "PARALLEL")
    ):
        return
    private_api.worker._WorkerProcess._Popen = staticmethod(_noted(private_api.worker._WorkerProcess._Popen))
    private_api.worker.getenv = _setting(private_api.worker.getenv)
    old = private_api.worker.get_worker_pool
    new = _pool(old)
    for module in [m for name, m in list(sys.modules.items()) if name.startswith("tinygrad") and m is not None]:
        if getattr(module, "get_worker_pool", None) is old:
            vars(module)["get_worker_pool"] = new
