"""Parallel execution of one kernel's parts on all cores.

tinygrad divides a large kernel into parts that write disjoint elements, and its CPU device runs them one after the
other.  Here C threads share the parts: each free thread takes the next one.  A thread that starts late finds no part
left, and no other thread waits for it.  The threads sleep between kernels; the first large enough kernel starts them.
The results are bitwise the same for every assignment of parts to threads.

tinygrad's `NUM_CPU_THREADS=1` leaves kernels undivided.
"""

from __future__ import annotations

import ctypes
import functools
import os
import signal
from typing import Any

from tinygrad.uop.ops import Ops, UOp

from branded.tinygrad_compat import private_api

SIZES = (6, 12, 32, 63)
"""The supported argument counts of a call; a kernel ignores the arguments that it does not take."""
MOST = 16
"""The maximum number of cores."""
LARGE = 120_000
"""The duration in nanoseconds, as estimated by `work`, from which a kernel is worth waking a thread."""
PAYS = 100_000_000
"""The nanoseconds in large kernels after which the parallel C code has repaid its compile time."""
_FUNCTIONS = ("mutex_lock", "mutex_unlock", "cond_wait", "cond_signal", "create", "detach", "sigmask")
_WORDS = 32
"""The size in words of a mutex, a condition and a signal set: more than any system needs."""


def kernel_call(n: int) -> str:
    """Return the C call of a kernel of `n` arguments."""
    return f"((void (*)({', '.join(['u64'] * n)}))kernel)({', '.join(f'a[{i}]' for i in range(n))})"


# Calls of many arguments are rare and slow to compile, so they are not optimized; neither is code that runs once. A job
# is taken under the lock. It lives on the stack until its last user has left.
SOURCE = f"""
typedef unsigned long long u64;
typedef long long i64;
#define ONCE __attribute__((optnone, noinline))
ONCE static void many(u64 kernel, u64 *a, u64 n) {{
  if (n == {SIZES[1]}) {kernel_call(SIZES[1])};
  else if (n == {SIZES[2]}) {kernel_call(SIZES[2])};
  else {kernel_call(SIZES[3])};
}}
enum {{ {", ".join(name.upper() for name in _FUNCTIONS)} }};
#define DO(k, types, ...) ((int (*)types)pool->functions[k])(__VA_ARGS__)
struct job {{ u64 kernel, n, core, count, *args; i64 next, users; }};
struct pool {{
  u64 functions[{len(_FUNCTIONS)}], block;
  i64 most, helpers, busy;
  struct job *job;
  u64 mutex[{_WORDS}], begin[{_WORDS}], end[{_WORDS}], signals[{_WORDS}];
}};
ONCE static void parts(struct job *job) {{
  u64 a[{SIZES[-1]}], kernel = job->kernel, n = job->n;
  i64 i;
  for (u64 k = 0; k < n; k++) a[k] = job->args[k];
  while ((i = __atomic_fetch_add(&job->next, 1, __ATOMIC_SEQ_CST)) < (i64)job->count) {{
    a[job->core] = (u64)i;
    if (n == {SIZES[0]}) {kernel_call(SIZES[0])};
    else many(kernel, a, n);
  }}
}}
ONCE static void *helper(void *p) {{
  struct pool *pool = p;
  DO(SIGMASK, (int, void *, void *), (int)pool->block, pool->signals, 0);
  DO(MUTEX_LOCK, (void *), pool->mutex);
  for (;;) {{
    struct job *job = pool->job;
    if (!job || __atomic_load_n(&job->next, __ATOMIC_SEQ_CST) >= (i64)job->count) {{
      DO(COND_WAIT, (void *, void *), pool->begin, pool->mutex);
      continue;
    }}
    __atomic_fetch_add(&job->users, 1, __ATOMIC_SEQ_CST);
    DO(MUTEX_UNLOCK, (void *), pool->mutex);
    parts(job);
    DO(MUTEX_LOCK, (void *), pool->mutex);
    if (!__atomic_sub_fetch(&job->users, 1, __ATOMIC_SEQ_CST)) DO(COND_SIGNAL, (void *), pool->end);
  }}
}}
ONCE static void side_by_side(struct pool *pool, u64 kernel, u64 n, u64 core, u64 count, u64 *args) {{
  struct job job = {{kernel, n, core, count, args, 0, 0}};
  i64 no = 0;
  if (!pool || !__atomic_compare_exchange_n(&pool->busy, &no, 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {{
    parts(&job);
    return;
  }}
  DO(MUTEX_LOCK, (void *), pool->mutex);
  while (pool->helpers < pool->most && pool->helpers + 1 < (i64)count) {{
    u64 thread = 0;
    if (DO(CREATE, (u64 *, void *, void *(*)(void *), void *), &thread, 0, helper, pool)) {{
      pool->most = pool->helpers;
      break;
    }}
    DO(DETACH, (u64), thread);
    pool->helpers++;
  }}
  pool->job = &job;
  DO(MUTEX_UNLOCK, (void *), pool->mutex);
  for (i64 k = 1; k < (i64)count && k <= pool->helpers; k++) DO(COND_SIGNAL, (void *), pool->begin);
  parts(&job);
  DO(MUTEX_LOCK, (void *), pool->mutex);
  pool->job = 0;
  while (__atomic_load_n(&job.users, __ATOMIC_SEQ_CST)) DO(COND_WAIT, (void *, void *), pool->end, pool->mutex);
  DO(MUTEX_UNLOCK, (void *), pool->mutex);
  __atomic_store_n(&pool->busy, 0, __ATOMIC_SEQ_CST);
}}
"""


class _Pool(ctypes.Structure):
    """The state that the threads share, with the memory layout of C.  It exists until the process ends."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in _FUNCTIONS),
        ("block", ctypes.c_uint64),
        *((name, ctypes.c_int64) for name in ("most", "helpers", "busy")),
        ("job", ctypes.c_void_p),
        *((name, ctypes.c_uint64 * _WORDS) for name in ("mutex", "begin", "end", "signals")),
    )

    def reset(self, libc: Any) -> None:
        """Reset to a pool without threads: at the start, and in a forked child, which does not inherit the threads."""
        self.helpers = self.busy = 0
        self.job = None
        for name, initialize in (("mutex", "mutex"), ("begin", "cond"), ("end", "cond")):
            getattr(libc, f"pthread_{initialize}_init")(ctypes.addressof(self) + getattr(_Pool, name).offset, None)


def count() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@functools.cache
def _pool() -> _Pool | None:
    """Return the pool, or None on one core or without threads."""
    if (cores := count()) == 1:
        return None
    pool = _Pool(most=min(cores, MOST) - 1)
    try:
        libc = ctypes.CDLL(None)
        for name in _FUNCTIONS:
            setattr(pool, name, ctypes.cast(getattr(libc, f"pthread_{name}"), ctypes.c_void_p).value)
        pool.block = int(signal.SIG_SETMASK)
    except (AttributeError, OSError, TypeError):
        return None
    pool.signals[:] = [2**64 - 1] * _WORDS
    for initialize in (libc.pthread_mutex_init, libc.pthread_cond_init):
        initialize.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    pool.reset(libc)
    os.register_at_fork(after_in_child=lambda: pool.reset(libc))
    return pool


def address() -> int:
    """Return the address of the pool for C, or 0 if one thread runs everything."""
    pool = _pool()
    return ctypes.addressof(pool) if pool is not None else 0


def work(program: UOp, is_loops: bool) -> int:
    """Estimate the nanoseconds that a divided kernel takes; return 0 without an estimate or for an undivided kernel.

    Plain loops take one nanosecond for a hundred operations or for ninety bytes.  A repeated read hits the cache or a
    register and costs half.  Tiles are less than half as fast, and their repeated reads cost the full price.
    """
    estimates = program.src[0].arg.estimates
    if estimates is None or program.arg.global_size[0] == 1:
        return 0
    if not all(isinstance(n, int) for n in (estimates.ops, estimates.mem, estimates.lds)):
        return 0
    ops = estimates.ops + _call_operations(program)
    return int(ops // 100 + (estimates.mem + estimates.lds) // 180 if is_loops else (ops + estimates.lds) // 40)


CALLED = {Ops.EXP2: 15, Ops.SIN: 100}
"""The operations that a call of a C function takes in addition to the one that tinygrad counts."""
_TURNS = {Ops.RANGE, Ops.END, Ops.SPECIAL, Ops.PARAM}
"""The operations that determine how often a line of a kernel runs."""


def _call_operations(program: UOp) -> int:
    lines = program.src[1].src
    there = {u.op for u in lines} & CALLED.keys()
    alone = {op: tuple(u for u in lines if u.op is op or u.op in _TURNS) for op in there}
    return sum(CALLED[op] * int(private_api.Estimates.from_uops(us).ops) for op, us in alone.items())
