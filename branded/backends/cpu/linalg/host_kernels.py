"""C functions, called among the kernels, for sorted searches, order statistics and running sums.

The equivalent tinygrad operations take quadratic time: they compare every pair of entries, or add all entries before
each entry.
"""

from __future__ import annotations

import ctypes
import functools
import math
import os
from collections.abc import Sequence
from typing import Any

from tinygrad import dtypes
from tinygrad.dtype import DType

from branded.backends.cpu.linalg import batches
from branded.backends.cpu.runtime.host_calls import ArrayType, CFunction, InC

_SIDE_BY_SIDE = 16
_SEARCH = f"""
// several searches go on side by side: each waits for memory
static inline __attribute__((always_inline)) void search(
    const TYPE *own, const TYPE *wanted, int *out, i64 left, i64 right, i64 count, i64 lanes) {{
  TYPE x[{_SIDE_BY_SIDE}];
  i64 at[{_SIDE_BY_SIDE}];
  for (i64 q = 0; q < lanes; q++) x[q] = wanted[q < count ? q : 0], at[q] = 0;
  for (; left > 1; left -= left / 2)
    for (i64 q = 0; q < lanes; q++) {{
      TYPE y = own[at[q] + left / 2 - 1];
      at[q] += ((y < x[q]) | (right & (y == x[q]))) * (left / 2);
    }}
  for (i64 q = 0; q < count; q++) out[q] = (int)(at[q] + ((own[at[q]] < x[q]) | (right & (own[at[q]] == x[q]))));
}}
static void go(struct job *j) {{
  int *out = (int *)j->out[0];
  do {{
    const TYPE *own = (TYPE *)j->a, *wanted = (TYPE *)j->b;
    i64 i = 0;
    for (; i + 1 < j->n; i += {_SIDE_BY_SIDE}) {{
      i64 count = j->n - i < {_SIDE_BY_SIDE} ? j->n - i : {_SIDE_BY_SIDE};
      search(own, wanted + i, out + i, j->m, j->option, count, {_SIDE_BY_SIDE});
    }}
    if (i < j->n) search(own, wanted + i, out + i, j->m, j->option, 1, 1);
    out += j->n;
  }} while (next(j));
}}
"""
# a key combines the value, as an unsigned int in the same order, with its index: no two keys are equal
_STANDING = """
typedef unsigned u32;
static u32 key(int x) { return (u32)x ^ 0x80000000u; }
static void insert(u64 *to, i64 at, u64 x) {
  for (; at > 0 && to[at - 1] > x; at--) to[at] = to[at - 1];
  to[at] = x;
}
// a quicksort that leaves alone what holds none of the places, which are in order
static void put(u64 *keys, i64 low, i64 high, const i64 *places, i64 a, i64 b) {
  u64 chance = 88172645463325252ull;
  while (a < b && high - low > 24) {
    u64 x[3];
    for (int i = 0; i < 3; i++) {
      chance ^= chance << 13, chance ^= chance >> 7, chance ^= chance << 17;
      x[i] = keys[low + (i64)(chance % (u64)(high - low))];
    }
    u64 least = x[0] < x[1] ? x[0] : x[1], most = x[0] < x[1] ? x[1] : x[0];
    u64 pivot = x[2] < least ? least : x[2] > most ? most : x[2];
    i64 i = low, j = high - 1, left = a, right;
    while (i <= j) {
      while (keys[i] < pivot) i++;
      while (keys[j] > pivot) j--;
      if (i <= j) { u64 y = keys[i]; keys[i++] = keys[j]; keys[j--] = y; }
    }
    while (left < b && places[left] <= j) left++;
    for (right = left; right < b && places[right] < i;) right++;
    put(keys, low, j + 1, places, a, left);
    low = i, a = right;
  }
  if (a < b) for (i64 i = low + 1; i < high; i++) insert(keys + low, i - low, keys[i]);
}
static void go(struct job *j) {
  i64 n = j->m, k = j->k;
  u64 *keys = taken(j, j->f[0], n * 17), best[FEW];
  if (!keys) return;
  i64 *places = (i64 *)(keys + n);
  char *is_wanted = (char *)(places + n);
  int *out = (int *)j->out[0];
  do {
    const TYPE *x = (TYPE *)j->a;
    const int *given = (int *)j->b;
    u32 turn = j->option ? ~0u : 0;
    i64 count = 0, many = 0;
    for (i64 i = 0; i < n; i++) keys[i] = (u64)(KEY(x[i]) ^ turn) << 32 | (u64)i, is_wanted[i] = 0;
    for (i64 i = 0; i < k; i++) is_wanted[given[i] < 0 ? 0 : given[i] < n ? given[i] : n - 1] = 1;
    for (i64 i = 0; i < n; i++) if (is_wanted[i]) places[many++] = i;
    i64 wanted = places[many - 1] + 1;
    u64 *found = keys;
    if (wanted <= FEW) {
      for (i64 i = 0; i < n; i++)
        if (count < wanted) insert(best, count++, keys[i]);
        else if (keys[i] < best[count - 1]) insert(best, count - 1, keys[i]);
      found = best;
    } else put(keys, 0, n, places, 0, many);
    for (i64 i = 0; i < k; i++) *out++ = given[i] >= 0 && given[i] < n ? (int)(u32)found[given[i]] : 0;
  } while (next(j));
  ((void (*)(void *))j->f[1])(keys);
}
"""
_KEY_OF_FLOATS = """
static unsigned key_of_float(float x) {
  union { float real; unsigned bits; } u = { x + 0.0f };
  return x != x ? ~0u : u.bits >> 31 ? ~u.bits : u.bits | 0x80000000u;
}
"""
_FEW = 64
"""The number of leading order statistics that a single pass keeps."""

_BESIDE = 64
# float sums accumulate in double; within a row, only every fourth sum depends on the one before it
_RUNNING = """
static void go(struct job *j) {
  i64 rest = j->m, n = j->n, i;
  TYPE *out = (TYPE *)j->out[0];
  do {
    const TYPE *x = (TYPE *)j->a;
    if (rest == 1) {
      WIDE sum = 0;
      for (i = 0; i + 4 <= n; i += 4) {
        WIDE a = (WIDE)x[i], b = a + (WIDE)x[i + 1], c = b + (WIDE)x[i + 2], d = c + (WIDE)x[i + 3];
        out[i] = (TYPE)(sum + a), out[i + 1] = (TYPE)(sum + b), out[i + 2] = (TYPE)(sum + c);
        out[i + 3] = (TYPE)(sum += d);
      }
      for (; i < n; i++) out[i] = (TYPE)(sum += (WIDE)x[i]);
    } else
      for (i64 first = 0; first < rest; first += BESIDE) {
        i64 count = rest - first < BESIDE ? rest - first : BESIDE;
        WIDE sums[BESIDE];
        for (i64 k = 0; k < count; k++) sums[k] = 0;
        for (i = 0; i < n; i++) {
          const TYPE *from = x + i * rest + first;
          TYPE *to = out + i * rest + first;
          for (i64 k = 0; k < count; k++) to[k] = (TYPE)(sums[k] += (WIDE)from[k]);
        }
      }
    out += n * rest;
  } while (next(j));
}
""".replace("BESIDE", str(_BESIDE))


@functools.cache
def source(operation: str, dtype: DType) -> str:
    """Return the C function for a search or a reduction of one dtype."""
    name, is_float = batches.TYPES[dtype], dtypes.is_float(dtype)
    wide = name if is_float else f"unsigned {name}"
    if operation == "standing":
        text = (_KEY_OF_FLOATS if is_float else "") + _STANDING
        text = text.replace("KEY(", "key_of_float(" if is_float else "key(").replace("FEW", str(_FEW))
    elif operation == "running":
        text = _RUNNING.replace("WIDE", "double") if is_float else _RUNNING
    else:
        text = _SEARCH
    return batches.BEFORE + text.replace("TYPE", name).replace("WIDE", wide) + batches.entry("branded_count", "go(&j);")


def _host_function(
    operation: str,
    dtype: DType,
    numbers: Sequence[int],
    steps: Sequence[int] | None,
    by: Sequence[int] = batches.BY_ONE,
) -> CFunction | None:
    if steps is None:
        return None
    table = memory_table() if operation == "standing" else 0
    return batches.c_function(source(operation, dtype), "branded_count", [table, 0, *numbers, *steps, *by])


@functools.cache
def memory() -> Any:
    """Return a table with the addresses of `malloc` and `free`; cached, because C keeps its address."""
    here = ctypes.CDLL(None)
    return (ctypes.c_uint64 * 2)(*(ctypes.cast(f, ctypes.c_void_p).value or 0 for f in (here.malloc, here.free)))


def memory_table() -> int:
    """Return the address of the table."""
    return ctypes.addressof(memory())


@functools.cache
def search(side: str) -> InC:
    """Return an `InC` that counts the sorted ints `[..., n]` before each of `[..., *shape]`, as `i32[..., *shape]`."""
    return functools.partial(_search, side)


def _search(side: str, results: Sequence[ArrayType], args: Sequence[ArrayType]) -> CFunction | None:
    own, wanted = args
    lead = len(own.shape) - 1
    if own.dtype != wanted.dtype or own.dtype not in (dtypes.int32, dtypes.int64) or not own.nbytes * wanted.nbytes:
        return None
    many = math.prod(wanted.shape[lead:])
    steps = batches.steps(results[0].shape[:lead], args, (1, len(wanted.shape) - lead))
    if steps is not None:
        many *= batches.join_last(steps, many * wanted.dtype.itemsize)
    return _host_function("search", own.dtype, [int(side == "right"), own.shape[-1], many, 0], steps)


@functools.cache
def standing(descending: bool) -> InC:
    """Return an `InC` that finds the indices of entries `[..., n]` with the ranks `i32[..., m]`, as `i32[..., m]`."""
    return functools.partial(_standing, descending)


def _standing(descending: bool, results: Sequence[ArrayType], args: Sequence[ArrayType]) -> CFunction | None:
    x, places = args
    if x.dtype not in (dtypes.float32, dtypes.int32) or not x.nbytes * places.nbytes or os.name == "nt":
        return None
    steps = batches.steps(results[0].shape[:-1], args, (1, 1))
    return _host_function("standing", x.dtype, [int(descending), x.shape[-1], 0, places.shape[-1]], steps)


@functools.cache
def running(after: int) -> InC:
    """Return an `InC` that computes running sums of `[..., n, *rest]` along n, where `rest` has `after` axes."""
    return functools.partial(_running, after)


def _running(after: int, results: Sequence[ArrayType], args: Sequence[ArrayType]) -> CFunction | None:
    (x,), (y,) = args, results
    if x.dtype not in batches.TYPES or not x.nbytes or x.shape != y.shape:
        return None
    at = len(x.shape) - 1 - after
    rest, many = math.prod(x.shape[at + 1 :]), math.prod(x.shape[:at])
    steps = batches.steps(x.shape[:at], args, (1 + after,))
    by = batches.BY_ONE if steps is None else batches.shared(math.prod(x.shape), steps, results, many)
    return _host_function("running", x.dtype, [0, rest, x.shape[at], 0], steps, by)
