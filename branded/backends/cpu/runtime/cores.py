"""The parts of a kernel side by side, on all cores.

tinygrad divides a large kernel into parts, of which each writes its own entries, and its CPU device runs them one after
the other.  Here threads of C take them too: whoever is free takes the next part, so a thread that the scheduler lets
begin late finds nothing left, and nobody waits for it.  The threads sleep between kernels, and are started by the first
kernel that is large enough.  Which thread does a part changes no bit of it.

`NUM_CPU_THREADS=1`, which is tinygrad's, leaves kernels whole.
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
"""So many arguments a call may have; those that a kernel does not take do no harm."""
MOST = 16
"""So many cores."""
LARGE = 120_000
"""It is worth to wake a thread for a kernel of so many nanoseconds, as `work` has them."""
PAYS = 100_000_000
"""After so many nanoseconds in large kernels the C that runs parts side by side has paid for its compiler."""
_FUNCTIONS = ("mutex_lock", "mutex_unlock", "cond_wait", "cond_signal", "create", "detach", "sigmask")
_WORDS = 32
"""So many words are a mutex or a condition, and what has all signals in it: more than any system takes."""


def call(n: int) -> str:
    """The call of a kernel of `n` arguments."""
    return f"((void (*)({', '.join(['u64'] * n)}))kernel)({', '.join(f'a[{i}]' for i in range(n))})"


# Calls of many arguments are few, and take the compiler long: they are not optimized, nor is what is done once.
# A job is taken under the lock, and is over when nobody is in it any more: then it may go from the stack.
SOURCE = f"""
typedef unsigned long long u64;
typedef long long i64;
__attribute__((optnone, noinline)) static void many(u64 kernel, u64 *a, u64 n) {{
  if (n == {SIZES[1]}) {call(SIZES[1])};
  else if (n == {SIZES[2]}) {call(SIZES[2])};
  else {call(SIZES[3])};
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
__attribute__((optnone, noinline)) static void parts(struct job *job) {{
  u64 a[{SIZES[-1]}], kernel = job->kernel, n = job->n;
  i64 i;
  for (u64 k = 0; k < n; k++) a[k] = job->args[k];
  while ((i = __atomic_fetch_add(&job->next, 1, __ATOMIC_SEQ_CST)) < (i64)job->count) {{
    a[job->core] = (u64)i;
    if (n == {SIZES[0]}) {call(SIZES[0])};
    else many(kernel, a, n);
  }}
}}
__attribute__((optnone, noinline)) static void *helper(void *p) {{
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
__attribute__((optnone, noinline)) static void side_by_side(struct pool *pool, u64 kernel, u64 n, u64 core, u64 count,
                                                            u64 *args) {{
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
    """What the threads share, as it is in C; it lives as long as the process."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in _FUNCTIONS),
        ("block", ctypes.c_uint64),
        *((name, ctypes.c_int64) for name in ("most", "helpers", "busy")),
        ("job", ctypes.c_void_p),
        *((name, ctypes.c_uint64 * _WORDS) for name in ("mutex", "begin", "end", "signals")),
    )

    def begin_anew(self, here: Any) -> None:
        """Without threads: at first, and in a child, which has those of its parent no more."""
        self.helpers = self.busy = 0
        self.job = None
        for name, initialize in (("mutex", "mutex"), ("begin", "cond"), ("end", "cond")):
            getattr(here, f"pthread_{initialize}_init")(ctypes.addressof(self) + getattr(_Pool, name).offset, None)


def count() -> int:
    """So many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@functools.cache
def _pool() -> _Pool | None:
    """None where there are no threads, or one core."""
    if (cores := count()) == 1:
        return None
    pool = _Pool(most=min(cores, MOST) - 1)
    try:
        here = ctypes.CDLL(None)
        for name in _FUNCTIONS:
            setattr(pool, name, ctypes.cast(getattr(here, f"pthread_{name}"), ctypes.c_void_p).value)
        pool.block = int(signal.SIG_SETMASK)
    except (AttributeError, OSError, TypeError):
        return None
    pool.signals[:] = [2**64 - 1] * _WORDS
    for initialize in (here.pthread_mutex_init, here.pthread_cond_init):
        initialize.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    pool.begin_anew(here)
    os.register_at_fork(after_in_child=lambda: pool.begin_anew(here))
    return pool


def address() -> int:
    """Where C finds what the threads share; 0 where one thread does all."""
    pool = _pool()
    return ctypes.addressof(pool) if pool is not None else 0


def helpers() -> int:
    """So many threads were started."""
    pool = _pool()
    return int(pool.helpers) if pool is not None else 0


def work(program: UOp, is_loops: bool) -> int:
    """The nanoseconds that a kernel takes that has parts, as a guess; 0 where there is none, or the kernel is whole.

    Those that are plain loops do a hundred operations in one, and move ninety bytes; what they read again is in the
    cache, or in a register, and costs half.  Tiles do less than half of it, and what they move twice they read twice.
    """
    found = program.src[0].arg.estimates
    if found is None or program.arg.global_size[0] == 1:
        return 0
    if not all(isinstance(n, int) for n in (found.ops, found.mem, found.lds)):
        return 0
    ops = found.ops + _called(program)
    return int(ops // 100 + (found.mem + found.lds) // 180 if is_loops else (ops + found.lds) // 40)


CALLED = {Ops.EXP2: 15, Ops.SIN: 100}
"""What a kernel calls as a function of C is so many operations more than the one that it is said to be."""
_TURNS = {Ops.RANGE, Ops.END, Ops.SPECIAL, Ops.PARAM}
"""What says how often a line of a kernel runs."""


def _called(program: UOp) -> int:
    lines = program.src[1].src
    there = {u.op for u in lines} & CALLED.keys()
    alone = {op: tuple(u for u in lines if u.op is op or u.op in _TURNS) for op in there}
    return sum(CALLED[op] * int(private_api.Estimates.from_uops(us).ops) for op, us in alone.items())
