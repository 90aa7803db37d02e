"""Stable sorting of rows in C: LSD radix sort, insertion for short rows, and two passes for the first few entries.

The first pass over a row finds an upper bound of the keys of the first entries, with vectors and without branches. The
second pass inserts the few entries within the bound.

The keys are unsigned ints in the order of the entries. All NaNs have the greatest key, and both zeros have the same
key.

The values of many rows are sorted by a network of comparisons, 16 rows at a time in vectors. Equal values need no
order there, so a key determines its value, and -0.0 comes before 0.0.

Source: Batcher's odd-even merge sort, as algorithm M of Knuth, The Art of Computer Programming 5.2.2.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Sequence

from tinygrad import dtypes
from tinygrad.dtype import DType

from branded.backends.cpu.linalg import batches, host_kernels
from branded.backends.cpu.runtime.host_calls import ArrayType, CFunction, InC

_UNSIGNED = {1: "unsigned char", 2: "unsigned short", 4: "unsigned", 8: "u64"}
_INFINITY = {dtypes.float16: "0x7c00", dtypes.float32: "0x7f800000", dtypes.float64: "0x7ff0000000000000ull"}
_ZEROS = "(u & (T)~SIGN) == (T)0 ? (T)SIGN : "
"""C that gives -0.0 and 0.0 the same key, for sorts that keep the order of equal entries."""
_KEYS = {
    "float": "(u & (T)~SIGN) > (T)INFINITY ? (T)-1 : ZEROS (u & (T)SIGN) != (T)0 ? (T)~u : (T)(u | (T)SIGN)",
    "signed": "u ^ (T)SIGN",
    "unsigned": "u",
}
"""The key of the entry `u`, both of type T: one entry, or a vector."""
_BEFORE = r"""
#define SIGN ((BITS)((BITS)1 << (8 * sizeof(BITS) - 1)))
#define LOOP _Pragma("clang loop vectorize(disable) unroll(disable)")
#define SEPARATE __attribute__((noinline))
#define KEY_AS(T) ((T)(KEY_OF_BITS))
"""
"""`LOOP` stops clang from vectorizing a loop, and `SEPARATE` from inlining: both take longer to compile, and are not
faster.
"""
_ENTRIES = "struct entry { KEY key; int index; };\n"
_ROWS = r"""
static void go(struct job *j) {
  i64 n = j->m, k = j->k;
  BITS turn = j->option & 1 ? (BITS)-1 : 0, *values = j->option & 2 ? (BITS *)j->out[0] : 0;
  int *places = j->option & 4 ? (int *)j->out[values != 0] : 0;
  START
  do {
    const BITS *x = (BITS *)j->a;
    struct entry *found = FOUND;
    LOOP
    for (i64 i = 0; i < k; i++) {
      if (values) *values++ = x[found[i].index];
      if (places) *places++ = found[i].index;
    }
  } while (next(j));
  END
}
"""
_FIRST = r"""
typedef BITS part __attribute__((aligned(sizeof(BITS)), ext_vector_type(WIDTH)));
typedef BITS block __attribute__((aligned(sizeof(BITS)), ext_vector_type(BLOCK)));
typedef unsigned short flags __attribute__((ext_vector_type(BLOCK)));

// an upper bound of the k-th key: the k-th of the least keys of WIDTH parts of the row
static SEPARATE BITS bound(const BITS *x, BITS turn, i64 n, i64 k) {
  BITS keys[WIDTH], top = (BITS)-1;
  if (n < 2 * WIDTH) return top;
  part least = (part)top, ranks = (part)(BITS)0;
  LOOP
  for (i64 i = 0; i + WIDTH <= n; i += WIDTH) {
    part u = *(part *)(x + i), y = KEY_AS(part) ^ (part)turn;
    least = y < least ? y : least;
  }
  *(part *)keys = least;
  LOOP
  for (i64 i = 0; i < WIDTH; i++) ranks += (part)keys[i] <= least ? (part)(BITS)1 : (part)(BITS)0;
  return __builtin_reduce_min(ranks >= (part)(BITS)k ? least : (part)top);
}
// the keys of a block, and the set of those that are not greater than the bound
static unsigned small(const BITS *x, BITS turn, BITS most, BITS *keys) {
  block u = *(block *)x, y = KEY_AS(block) ^ (block)turn;
  flags set = __builtin_convertvector(y <= (block)most, flags) & (flags){FLAGS};
  u64 words[BLOCK / 4], all = 0;
  *(block *)keys = y;
  __builtin_memcpy(words, &set, sizeof words);
  for (i64 i = 0; i < BLOCK / 4; i++) all |= words[i];
  all |= all >> 32;
  return (unsigned)(all | all >> 16) & 0xffff;
}
static SEPARATE struct entry *first(const BITS *x, BITS turn, i64 n, i64 k, struct entry *e) {
  BITS most = bound(x, turn, n, k), last[BLOCK] = {0}, keys[BLOCK];
  i64 found = 0;
  if (n < BLOCK) {
    LOOP
    for (i64 q = 0; q < n; q++) last[q] = x[q];
    x = last;
  }
  LOOP
  for (i64 next = 0; next < n; next += BLOCK) {
    // the last block overlaps the one before
    i64 i = n < BLOCK || next + BLOCK <= n ? next : n - BLOCK;
    unsigned inside = n < BLOCK ? (1u << n) - 1 : (unsigned)-1 << (next - i);
    unsigned set = small(x + i, turn, most, keys) & inside;
    LOOP
    for (; set; set &= set - 1) {
      i64 q = __builtin_ctz(set), at;
      BITS y = keys[q];
      if (y > most) continue;
      if (found < k) found++;
      // insert the entry after those that are not greater
      LOOP
      for (at = found - 1; at > 0 && e[at - 1].key > y; at--) e[at] = e[at - 1];
      e[at].key = y, e[at].index = (int)(i + q);
      if (found < k) continue;
      if (!e[k - 1].key) return e;
      most = (BITS)e[k - 1].key - 1;
    }
  }
  return e;
}
"""
_RADIX = r"""
static BITS key(BITS u) { return KEY_AS(BITS); }
static struct entry *sorted(const BITS *x, BITS turn, i64 n, struct entry *e, struct entry *f) {
  unsigned counts[sizeof(BITS)][256];
  for (i64 i = 0; i < n; i++) e[i].key = (BITS)(key(x[i]) ^ turn), e[i].index = (int)i;
  for (i64 d = 0; d < 256 * (i64)sizeof(BITS); d++) counts[0][d] = 0;
  for (i64 i = 0; i < n; i++)
    for (i64 d = 0; d < (i64)sizeof(BITS); d++) counts[d][e[i].key >> 8 * d & 255]++;
  LOOP
  for (i64 d = 0; d < (i64)sizeof(BITS); d++) {
    if (counts[d][e[0].key >> 8 * d & 255] == n) continue;
    unsigned sum = 0;
    for (i64 i = 0; i < 256; i++) { unsigned c = counts[d][i]; counts[d][i] = sum, sum += c; }
    for (i64 i = 0; i < n; i++) f[counts[d][e[i].key >> 8 * d & 255]++] = e[i];
    struct entry *g = e;
    e = f, f = g;
  }
  return e;
}
"""
_NETWORK = r"""
typedef BITS lanes __attribute__((aligned(sizeof(BITS)), ext_vector_type(LANES)));
static BITS ordered(BITS u) { return KEY_AS(BITS); }
static BITS value(BITS key) { VALUE }
// x has LANES rows side by side
static SEPARATE void by_network(lanes *x, i64 n) {
  i64 top = 1;
  while (2 * top < n) top *= 2;
  LOOP
  for (i64 p = top; p > 0; p /= 2)
    for (i64 q = top, r = 0, d = p;; d = q - p, q /= 2, r = p) {
      LOOP
      for (i64 i = r; i < n - d; i += 2 * p) {
        LOOP
        for (i64 h = i; h < i + p && h < n - d; h++) {
          lanes y = x[h], z = x[h + d];
          x[h] = y < z ? y : z, x[h + d] = y < z ? z : y;
        }
      }
      if (q == p) break;
    }
}
static void go(struct job *j) {
  i64 n = j->m, k = j->k, left = 1;
  BITS turn = j->option & 1 ? (BITS)-1 : 0, *x = taken(j, j->f[0], n * LANES * sizeof(BITS)), *out = (BITS *)j->out[0];
  if (!x) return;
  while (left) {
    i64 rows = 0;
    for (; rows < LANES && left; rows++, left = next(j)) {
      const BITS *row = (BITS *)j->a;
      LOOP
      for (i64 i = 0; i < n; i++) x[i * LANES + rows] = ordered(row[i]) ^ turn;
    }
    by_network((lanes *)x, n);
    LOOP
    for (i64 l = 0; l < rows; l++, out += k) {
      LOOP
      for (i64 i = 0; i < k; i++) out[i] = value(x[i * LANES + l] ^ turn);
    }
  }
  ((void (*)(void *))j->f[1])(x);
}
"""
_VALUES = {
    "float": "return key & SIGN ? (BITS)(key ^ SIGN) : (BITS)~key;",
    "signed": "return key ^ SIGN;",
    "unsigned": "return key;",
}
_FEW, _SHORT, _BLOCK = 64, 32, 16
_LANES, _NETWORK_BYTES = 16, 128
"""The number of rows that a network sorts at a time, and the maximum length of a row there for each byte of an entry.

Radix sort takes a pass per byte; from 512 floats on it is as fast.
"""


_METHODS = {
    "first": (_FIRST, f"struct entry e[{_FEW}];", "first(x, turn, n, k, e)", ""),
    "radix": (
        _RADIX,
        "struct entry *e = taken(j, j->f[0], 2 * n * sizeof(struct entry)), *f = e + n;\n  if (!e) return;",
        "sorted(x, turn, n, e, f)",
        "((void (*)(void *))j->f[1])(e);",
    ),
}
"""The function, the workspace, the call, and the end of each method that sorts one row of entries at a time."""


def _method(x: DType, rows: int, n: int, k: int, indices: bool) -> str:
    """Return the method that finds the first `k` of `n` entries in each row."""
    if k <= _FEW and k < n and k * k <= 2 * n:
        return "first"
    if not indices and rows >= _LANES / 2 and 2 < n <= _NETWORK_BYTES * x.itemsize:
        return "network"
    return "first" if n <= _SHORT else "radix"


@functools.cache
def source(dtype: DType, method: str, width: int = _BLOCK) -> str:
    """Return the C function for rows of one dtype by one method; clang would take 0.3 s for all."""
    bits = _UNSIGNED[dtype.itemsize]
    is_unsigned = dtypes.is_unsigned(dtype) or dtype == dtypes.bool
    kind = "float" if dtypes.is_float(dtype) else "unsigned" if is_unsigned else "signed"
    key = _KEYS[kind].replace("INFINITY", _INFINITY.get(dtype, ""))
    before = _BEFORE.replace("KEY_OF_BITS", key.replace("ZEROS", "" if method == "network" else _ZEROS))
    if method == "network":
        text = _NETWORK.replace("VALUE", _VALUES[kind])
    else:
        function, start, found, end = _METHODS[method]
        rows = _ROWS.replace("START", start).replace("FOUND", found).replace("END", end)
        entries = _ENTRIES.replace("KEY", "u64" if bits == "u64" else "unsigned")
        flags = ", ".join(str(1 << i) for i in range(_BLOCK))
        text = (entries + function + rows).replace("FLAGS", flags).replace("BLOCK", str(_BLOCK))
        text = text.replace("WIDTH", str(width))
    text = (before + text).replace("LANES", str(_LANES)).replace("BITS", bits)
    return batches.BEFORE + text + batches.entry("branded_sort", "go(&j);")


@functools.cache
def sort(descending: bool, values: bool, indices: bool) -> InC:
    """Return the sort of `[..., n]`: the first values `[..., k]`, their indices, `i32[..., k]`, or both."""
    return functools.partial(_sort, descending, values, indices)


def _sort(
    descending: bool, values: bool, indices: bool, results: Sequence[ArrayType], args: Sequence[ArrayType]
) -> CFunction | None:
    x, y = args[0], results[0]
    is_known = x.dtype in _INFINITY or x.dtype in (*dtypes.ints, dtypes.bool)
    steps = batches.steps(y.shape[:-1], args, (1,))
    if not is_known or steps is None or not x.nbytes * y.nbytes or os.name == "nt":
        return None
    n, k, examples = x.shape[-1], y.shape[-1], math.prod(y.shape[:-1])
    work = examples * n * (1 if k <= _FEW and k * k <= 2 * n else 2 * x.dtype.itemsize)
    by = batches.shared(work, steps, results, examples)
    numbers = [host_kernels.memory_table(), 0, descending + 2 * values + 4 * indices, n, 0, k, *steps, *by]
    method = _method(x.dtype, examples, n, k, indices)
    text = source(x.dtype, method, max(_BLOCK, 2 << (k - 1).bit_length()) if method == "first" else _BLOCK)
    return batches.c_function(text, "branded_sort", numbers, len(results))
