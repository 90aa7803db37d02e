"""Stable sorting of rows in C: LSD radix sort, insertion for short rows, and one pass for the first few entries.

The keys are unsigned ints in the order of the entries. All NaNs have the greatest key; zeros of both signs have the
same.

The values of many rows are sorted by a network of comparisons, 16 rows at a time in vectors. Equal values need no
order there, so a key determines its value, and -0.0 comes before 0.0.

Source: Batcher's odd-even merge sort, as algorithm M of Knuth, The Art of Computer Programming 5.2.2.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Sequence
from typing import Any

from tinygrad import dtypes
from tinygrad.dtype import DType

from branded.backends.cpu.linalg import batches, host_kernels
from branded.backends.cpu.runtime import native
from branded.backends.cpu.runtime.host_calls import ArrayType, CFunction, InC

_UNSIGNED = {1: "unsigned char", 2: "unsigned short", 4: "unsigned", 8: "u64"}
_INFINITY = {dtypes.float16: "0x7c00", dtypes.float32: "0x7f800000", dtypes.float64: "0x7ff0000000000000ull"}
_KEYS = {
    "float": """
  BITS size = u & (BITS)~SIGN;
  return size > INFINITY ? (BITS)-1 : !size ? SIGN : u & SIGN ? (BITS)~u : u | SIGN;""",
    "signed": "return u ^ SIGN;",
    "unsigned": "return u;",
}
_SOURCE = r"""
#define SIGN ((BITS)((BITS)1 << (8 * sizeof(BITS) - 1)))
struct entry { KEY key; int index; };
static BITS key(BITS u) { KEY_OF_BITS }
// insert an entry after those that are not greater
static void insert(struct entry *e, i64 at, KEY key, int index) {
  for (; at > 0 && e[at - 1].key > key; at--) e[at] = e[at - 1];
  e[at].key = key, e[at].index = index;
}
static void first(const BITS *x, BITS turn, i64 n, i64 k, struct entry *e) {
  for (i64 i = 0; i < k; i++) insert(e, i, (KEY)(BITS)(key(x[i]) ^ turn), (int)i);
  for (i64 i = k; i < n; i += BLOCK) {
    i64 count = n - i < BLOCK ? n - i : BLOCK;
    BITS keys[BLOCK], last = (BITS)e[k - 1].key;
    int any = 0;
    if (count == BLOCK) for (i64 q = 0; q < BLOCK; q++) any |= (keys[q] = key(x[i + q]) ^ turn) < last;
    else for (i64 q = 0; q < count; q++) any |= (keys[q] = key(x[i + q]) ^ turn) < last;
    if (any) for (i64 q = 0; q < count; q++) if (keys[q] < e[k - 1].key) insert(e, k - 1, keys[q], (int)(i + q));
  }
}
static struct entry *sorted(const BITS *x, BITS turn, i64 n, struct entry *e, struct entry *f) {
  unsigned counts[sizeof(BITS)][256];
  for (i64 i = 0; i < n; i++) e[i].key = (BITS)(key(x[i]) ^ turn), e[i].index = (int)i;
  for (i64 d = 0; d < (i64)sizeof(BITS); d++) for (i64 i = 0; i < 256; i++) counts[d][i] = 0;
  for (i64 i = 0; i < n; i++)
    for (i64 d = 0; d < (i64)sizeof(BITS); d++) counts[d][e[i].key >> 8 * d & 255]++;
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
static BITS ordered(BITS u) { ORDERED_BITS }
static BITS value(BITS key) { VALUE }
// x has LANES rows side by side
static void by_network(BITS *x, i64 n) {
  i64 top = 1;
  while (2 * top < n) top *= 2;
  for (i64 p = top; p > 0; p /= 2)
    for (i64 q = top, r = 0, d = p;; d = q - p, q /= 2, r = p) {
      for (i64 i = r; i < n - d; i += 2 * p)
        for (i64 h = i; h < i + p && h < n - d; h++) {
          BITS *a = x + h * LANES, *b = a + d * LANES;
          for (i64 l = 0; l < LANES; l++) {
            BITS y = a[l], z = b[l];
            a[l] = y < z ? y : z, b[l] = y < z ? z : y;
          }
        }
      if (q == p) break;
    }
}
static void rows_side_by_side(struct job *j) {
  i64 n = j->m, k = j->k, left = 1;
  BITS turn = j->option & 1 ? (BITS)-1 : 0, *x = taken(j, j->f[0], n * LANES * sizeof(BITS)), *out = (BITS *)j->out[0];
  if (!x) return;
  while (left) {
    i64 rows = 0;
    for (; rows < LANES && left; rows++, left = next(j)) {
      const BITS *row = (BITS *)j->a;
      for (i64 i = 0; i < n; i++) x[i * LANES + rows] = ordered(row[i]) ^ turn;
    }
    by_network(x, n);
    for (i64 l = 0; l < rows; l++, out += k) for (i64 i = 0; i < k; i++) out[i] = value(x[i * LANES + l] ^ turn);
  }
  ((void (*)(void *))j->f[1])(x);
}
static void go(struct job *j) {
  i64 n = j->m, k = j->k, few = k <= FEW && k < n && k * k <= 2 * n, short_row = n <= SHORT;
  i64 rows = 1;
  for (i64 i = 0; i < LOOPS; i++) rows *= j->size[i];
  if (!few && !(j->option & 2) && rows >= LANES / 2 && n > 2 && n <= NETWORK * (i64)sizeof(BITS)) {
    rows_side_by_side(j);
    return;
  }
  BITS turn = j->option & 1 ? (BITS)-1 : 0;
  struct entry own[FEW], *e = own, *f = 0, *memory = 0;
  if (!few && !short_row) {
    if (!(memory = taken(j, j->f[0], 2 * n * sizeof(struct entry)))) return;
    e = memory, f = e + n;
  }
  BITS *values = (BITS *)j->out[0];
  int *places = (int *)j->out[0];
  do {
    const BITS *x = (BITS *)j->a;
    struct entry *found = e;
    if (few || short_row) first(x, turn, n, k, e);
    else found = sorted(x, turn, n, e, f);
    if (j->option & 2) for (i64 i = 0; i < k; i++) *places++ = found[i].index;
    else for (i64 i = 0; i < k; i++) *values++ = x[found[i].index];
  } while (next(j));
  if (memory) ((void (*)(void *))j->f[1])(memory);
}
"""
_VALUES = {
    "float": "return key & SIGN ? (BITS)(key ^ SIGN) : (BITS)~key;",
    "signed": "return key ^ SIGN;",
    "unsigned": "return key;",
}
_FEW, _SHORT, _BLOCK = 64, 32, 16
_LANES, _NETWORK = 16, 128
"""The number of rows that a network sorts at a time, and the maximum length of a row there for each byte of an entry.

Radix sort takes a pass per byte; from 512 floats on it is as fast.
"""


def source(dtype: DType) -> str:
    """Return the C function for rows of one dtype."""
    bits = _UNSIGNED[dtype.itemsize]
    is_unsigned = dtypes.is_unsigned(dtype) or dtype == dtypes.bool
    kind = "float" if dtypes.is_float(dtype) else "unsigned" if is_unsigned else "signed"
    body = _KEYS[kind].replace("INFINITY", _INFINITY.get(dtype, ""))
    text = _SOURCE.replace("KEY_OF_BITS", body).replace("ORDERED_BITS", body.replace("!size ? SIGN : ", ""))
    text = text.replace("VALUE", _VALUES[kind]).replace("LANES", str(_LANES)).replace("NETWORK", str(_NETWORK))
    text = text.replace("FEW", str(_FEW)).replace("SHORT", str(_SHORT)).replace("LOOPS", str(batches.LOOPS))
    text = text.replace("BLOCK", str(_BLOCK)).replace("KEY", "u64" if bits == "u64" else "unsigned")
    return batches.BEFORE + text.replace("BITS", bits) + batches.entry("branded_sort", "go(&j);")


@functools.cache
def _glue(dtype: DType) -> tuple[Any, int]:
    return native.compile_function(source(dtype), "branded_sort")


@functools.cache
def sort(descending: bool, indices: bool) -> InC:
    """Return the sort of `[..., n]`: the first values `[..., k]`, or their indices, `i32[..., k]`."""
    return functools.partial(_sort, descending, indices)


def _sort(descending: bool, indices: bool, results: Sequence[ArrayType], args: Sequence[ArrayType]) -> CFunction | None:
    (x,), (y,) = args, results
    is_known = x.dtype in _INFINITY or x.dtype in (*dtypes.ints, dtypes.bool)
    steps = batches.steps(y.shape[:-1], args, (1,))
    if not is_known or steps is None or not x.nbytes * y.nbytes or os.name == "nt":
        return None
    n, k, examples = x.shape[-1], y.shape[-1], math.prod(y.shape[:-1])
    work = examples * n * (1 if k <= _FEW and k * k <= 2 * n else 2 * x.dtype.itemsize)
    by = batches.shared(work, steps, results, examples)
    numbers = [host_kernels.memory_table(), 0, descending + 2 * indices, n, 0, k, *steps, *by]
    function, address = _glue(x.dtype)
    return CFunction(address, function, functools.partial(batches.words, numbers, 1))
