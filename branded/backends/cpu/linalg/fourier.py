"""Fourier transforms in C: passes of radix 4, 2, 3, 5 and other small primes (Stockham), or a convolution (Bluestein).

Each pass runs over contiguous entries. A row of n = n1 n2 entries is n2 columns of n1 entries, then n1 columns of n2
entries, with a transposition in between. Short rows are transformed side by side.
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

from branded.backends.cpu.linalg import batches, host_kernels
from branded.backends.cpu.runtime.host_calls import ArrayType, CFunction, InC
from branded.tinygrad_compat.lazy_numpy import np

KINDS = ("fft", "ifft", "rfft", "irfft")
_SHORT, _LANES = 64, 16
"""The largest length of rows that are transformed side by side, and the number of such rows."""
_PRIME = 31
"""The largest prime factor that has a pass of its own."""

PARTS = ("two", "three", "four", "five", "prime", "chirp", "half", "bins")
"""The parts of the source that a transform may need: passes, a convolution, and half of the entries or of the results.

Clang takes 0.5 s for all parts.
"""
_SOURCE = r"""
#define APART __attribute__((noinline))
#define LOOP _Pragma("clang loop unroll(disable) interleave(disable)")
typedef REAL *restrict to;
typedef const REAL *restrict from;
// roots of unity: the cosines, then the sines, of -2 pi j / size; turns: those between columns and rows
struct plan { u64 malloc, free; i64 n, size, first; const REAL *roots, *turns, *chirp, *spectrum, *half; };
struct pair { REAL *re, *im; };
struct work { struct pair x, y; };
enum { FFT, IFFT, RFFT, IRFFT };

static void swapped(struct work *v) { struct pair x = v->x; v->x = v->y, v->y = x; }
static i64 radix(i64 n) {
  i64 r = 3;
  if (n % 4 == 0) return 4;
  if (n % 2 == 0) return 2;
  while (n % r) r += 2;
  return r;
}
#define AT(k) const REAL c##k = c[k * p * step], s##k = s[k * p * step];
#define PUT(k, re, im) { \
  REAL x = re, y = im; \
  yr[k * w + q] = x * c##k - y * s##k, yi[k * w + q] = x * s##k + y * c##k; \
}
#define IN(k) REAL r##k = xr[k * m * w + q], i##k = xi[k * m * w + q];
static void two(from xr, from xi, to yr, to yi, from c, from s, i64 p, i64 step, i64 m, i64 w) {
  AT(1)
  for (i64 q = 0; q < w; q++) {
    IN(0) IN(1)
    yr[q] = r0 + r1, yi[q] = i0 + i1;
    PUT(1, r0 - r1, i0 - i1)
  }
}
static void three(from xr, from xi, to yr, to yi, from c, from s, i64 p, i64 step, i64 m, i64 w) {
  const REAL half = (REAL)0.86602540378443864676;
  AT(1) AT(2)
  for (i64 q = 0; q < w; q++) {
    IN(0) IN(1) IN(2)
    REAL a = r1 + r2, b = i1 + i2, d = half * (r1 - r2), e = half * (i1 - i2);
    yr[q] = r0 + a, yi[q] = i0 + b;
    a = r0 - a / 2, b = i0 - b / 2;
    PUT(1, a + e, b - d)
    PUT(2, a - e, b + d)
  }
}
static void four(from xr, from xi, to yr, to yi, from c, from s, i64 p, i64 step, i64 m, i64 w) {
  AT(1) AT(2) AT(3)
  for (i64 q = 0; q < w; q++) {
    IN(0) IN(1) IN(2) IN(3)
    REAL a = r0 + r2, b = i0 + i2, d = r1 + r3, e = i1 + i3, f = r0 - r2, g = i0 - i2, h = r1 - r3, k = i1 - i3;
    yr[q] = a + d, yi[q] = b + e;
    PUT(1, f + k, g - h)
    PUT(2, a - d, b - e)
    PUT(3, f - k, g + h)
  }
}
static void five(from xr, from xi, to yr, to yi, from c, from s, i64 p, i64 step, i64 m, i64 w) {
  const REAL u = (REAL)0.30901699437494742410, v = (REAL)-0.80901699437494742410;
  const REAL y = (REAL)0.95105651629515357212, z = (REAL)0.58778525229247312917;
  AT(1) AT(2) AT(3) AT(4)
  for (i64 q = 0; q < w; q++) {
    IN(0) IN(1) IN(2) IN(3) IN(4)
    REAL a = r1 + r4, b = i1 + i4, d = r2 + r3, e = i2 + i3, f = r1 - r4, g = i1 - i4, h = r2 - r3, k = i2 - i3;
    yr[q] = r0 + a + d, yi[q] = i0 + b + e;
    REAL ra = r0 + u * a + v * d, ia = i0 + u * b + v * e, rb = y * g + z * k, ib = y * f + z * h;
    REAL rd = r0 + v * a + u * d, id = i0 + v * b + u * e, re = z * g - y * k, ie = z * f - y * h;
    PUT(1, ra + rb, ia - ib)
    PUT(2, rd + re, id - ie)
    PUT(3, rd - re, id + ie)
    PUT(4, ra - rb, ia + ib)
  }
}
static void prime(from xr, from xi, to yr, to yi, from c, from s, i64 p, i64 step, i64 m, i64 w, i64 r, i64 size) {
  for (i64 k = 0; k < r; k++) {
    for (i64 q = 0; q < w; q++) yr[k * w + q] = xr[q], yi[k * w + q] = xi[q];
    for (i64 j = 1; j < r; j++) {
      REAL a = c[j * k % r * (size / r)], b = s[j * k % r * (size / r)];
      for (i64 q = 0; q < w; q++) {
        REAL x = xr[j * m * w + q], y = xi[j * m * w + q];
        yr[k * w + q] += x * a - y * b, yi[k * w + q] += x * b + y * a;
      }
    }
    REAL a = c[k * p * step], b = s[k * p * step];
    for (i64 q = 0; q < w; q++) {
      REAL x = yr[k * w + q], y = yi[k * w + q];
      yr[k * w + q] = x * a - y * b, yi[k * w + q] = x * b + y * a;
    }
  }
}
// transform w columns of n entries; `size` is that of the roots
static APART void columns(const REAL *roots, i64 size, i64 n, i64 w, struct work *v) {
  while (n > 1) {
    i64 r = radix(n), m = n / r, step = size / n;
    for (i64 p = 0; p < m; p++) {
      REAL *xr = v->x.re + p * w, *xi = v->x.im + p * w, *yr = v->y.re + p * r * w, *yi = v->y.im + p * r * w;
      const REAL *c = roots, *s = roots + size;
      if (HAS_FOUR && r == 4) four(xr, xi, yr, yi, c, s, p, step, m, w);
      else if (HAS_TWO && r == 2) two(xr, xi, yr, yi, c, s, p, step, m, w);
      else if (HAS_THREE && r == 3) three(xr, xi, yr, yi, c, s, p, step, m, w);
      else if (HAS_FIVE && r == 5) five(xr, xi, yr, yi, c, s, p, step, m, w);
      else if (HAS_PRIME) prime(xr, xi, yr, yi, c, s, p, step, m, w, r, size);
    }
    swapped(v);
    n = m, w *= r;
  }
}
static void turned(from xr, from xi, to yr, to yi, from c, from s, i64 n, i64 m) {
  for (i64 a = 0; a < m; a += 8)
    for (i64 b = 0; b < n; b += 8)
      for (i64 i = a; i < (a + 8 < m ? a + 8 : m); i++)
        for (i64 j = b; j < (b + 8 < n ? b + 8 : n); j++) {
          REAL x = xr[j * m + i], y = xi[j * m + i], u = c[i * n + j], v = s[i * n + j];
          yr[i * n + j] = x * u - y * v, yi[i * n + j] = x * v + y * u;
        }
}
static APART void rows(const struct plan *p, i64 w, struct work *v) {
  i64 size = p->size, n = p->first, m = size / n;
  if (w > 1 || m == 1) columns(p->roots, size, size, w, v);
  else {
    columns(p->roots, size, n, m, v);
    turned(v->x.re, v->x.im, v->y.re, v->y.im, p->turns, p->turns + size, n, m);
    swapped(v);
    columns(p->roots, size, m, n, v);
  }
}
static APART void times(to x, to y, from c, from s, i64 n) {
  for (i64 i = 0; i < n; i++) {
    REAL a = x[i], b = y[i];
    x[i] = a * c[i] - b * s[i], y[i] = a * s[i] + b * c[i];
  }
}
static void inverted(struct work *v) {
  REAL *x = v->x.re, *y = v->y.re;
  v->x.re = v->x.im, v->y.re = v->y.im, v->x.im = x, v->y.im = y;
}
// transform w rows of n entries, or one row by a convolution
static void transform(const struct plan *p, i64 n, i64 w, struct work *v) {
  if (!HAS_CHIRP) { rows(p, w, v); return; }
  i64 size = p->size;
  times(v->x.re, v->x.im, p->chirp, p->chirp + n, n);
  for (i64 i = n; i < size; i++) v->x.re[i] = v->x.im[i] = 0;
  rows(p, w, v);
  times(v->x.re, v->x.im, p->spectrum, p->spectrum + size, size);
  inverted(v);
  rows(p, w, v);
  inverted(v);
  times(v->x.re, v->x.im, p->chirp, p->chirp + n, n);
}
// the transform of the even entries plus i times the odd ones, from and to half of that of real entries
static void split(const struct plan *p, i64 h, i64 w, from x, from y, to re, to im) {
  const REAL *c = p->half, *s = c + h + 1;
  re[0] = x[0] + y[0], im[0] = 0, re[h] = x[0] - y[0], im[h] = 0;
  for (i64 k = 1; k < h; k++) {
    REAL a = x[k * w], b = y[k * w], d = x[(h - k) * w], e = -y[(h - k) * w], f = (b - e) / 2, g = (d - a) / 2;
    re[k] = (a + d) / 2 + f * c[k] - g * s[k], im[k] = (b + e) / 2 + f * s[k] + g * c[k];
  }
}
static void joined(const struct plan *p, i64 h, i64 w, from re, from im, to x, to y) {
  const REAL *c = p->half, *s = c + h + 1;
  x[0] = re[0] + re[h], y[0] = re[0] - re[h];
  for (i64 k = 1; k < h; k++) {
    REAL a = re[k], b = im[k], d = re[h - k], e = -im[h - k], f = a - d, g = b - e;
    x[k * w] = a + d + f * s[k] - g * c[k], y[k * w] = b + e + f * c[k] + g * s[k];
  }
}
static void go(struct job *j) {
  const struct plan *p = (struct plan *)j->f;
  i64 kind = j->option, n = p->n, w = j->m, bins = n / 2 + 1, h = HAS_HALF ? n / 2 : n;
  i64 room = p->size * w + 48;  // not a power of two, so that the parts use different sets of the cache
  REAL *memory = taken(j, p->malloc, 4 * room * sizeof(REAL)), *re = (REAL *)j->out[0], *im = (REAL *)j->out[1];
  if (!memory) return;
  for (i64 i = 0; i < 2 * room; i++) memory[i] = 0;
  struct pair x = {memory, memory + room}, y = {memory + 2 * room, memory + 3 * room};
  for (int more = 1; more;) {
    struct work v = {x, y};
    i64 count = 0;
    do {
      const REAL *a = (REAL *)j->a, *b = (REAL *)j->b;
      REAL *r = v.x.re + count, *i = v.x.im + count;
      if (HAS_BINS && kind == IRFFT) {
        if (HAS_HALF) joined(p, h, w, a, b, r, i);
        else LOOP for (i64 k = 0; k < n; k++) {
          r[k * w] = k < bins ? a[k] : a[n - k];
          i[k * w] = k == 0 ? 0 : k < bins ? b[k] : -b[n - k];
        }
      } else if (HAS_HALF) LOOP for (i64 k = 0; k < h; k++) r[k * w] = a[2 * k], i[k * w] = a[2 * k + 1];
      else if (b) LOOP for (i64 k = 0; k < n; k++) r[k * w] = a[k], i[k * w] = b[k];
      else LOOP for (i64 k = 0; k < n; k++) r[k * w] = a[k], i[k * w] = 0;
      more = next(j);
    } while (++count < w && more);
    if (kind & 1) inverted(&v);
    transform(p, h, w, &v);
    if (kind & 1) inverted(&v);
    LOOP for (i64 row = 0; row < count; row++) {
      const REAL *r = v.x.re + row, *i = v.x.im + row;
      if (HAS_BINS && kind == IRFFT) {
        if (HAS_HALF) LOOP for (i64 k = 0; k < h; k++) re[2 * k] = r[k * w], re[2 * k + 1] = i[k * w];
        else LOOP for (i64 k = 0; k < n; k++) re[k] = r[k * w];
        re += n;
      } else if (HAS_HALF) split(p, h, w, r, i, re, im), re += bins, im += bins;
      else {
        i64 size = HAS_BINS && kind == RFFT ? bins : n;
        LOOP for (i64 k = 0; k < size; k++) re[k] = r[k * w], im[k] = i[k * w];
        re += size, im += size;
      }
    }
  }
  ((void (*)(void *))p->free)(memory);
}
"""


@functools.cache
def source(dtype: DType, parts: frozenset[str]) -> str:
    """Return the C function for real and imaginary numbers of one dtype, with some of `PARTS`."""
    macros = "".join(f"#define HAS_{part.upper()} {int(part in parts)}\n" for part in PARTS)
    text = batches.BEFORE + macros + _SOURCE + batches.entry("branded_fourier", "go(&j);")
    return text.replace("REAL", batches.TYPES[dtype])


@functools.cache
def transform(kind: str, n: int) -> InC:
    """Return the unscaled transform of n entries: of `[..., n]`, once or twice; for `irfft`, of `[..., n // 2 + 1]`."""
    return functools.partial(_transform, kind, n)


def _transform(kind: str, n: int, results: Sequence[ArrayType], args: Sequence[ArrayType]) -> CFunction | None:
    dtype = args[0].dtype
    if dtype not in (dtypes.float32, dtypes.float64) or any(x.dtype != dtype for x in args):
        return None
    batch = results[0].shape[:-1]
    steps = batches.steps(batch, args, (1,) * len(args))
    if steps is None or not all(x.nbytes for x in (*results, *args)) or os.name == "nt":
        return None
    plan = _plan(dtype, n, "r" in kind)
    size, examples = int(plan[3]), math.prod(batch)
    by = batches.shared(examples * size * math.log2(2 * size), steps, results, examples)
    lanes = min(_LANES, examples) if size <= _SHORT else 1  # a convolution has more than 2 * _PRIME entries
    text = source(dtype, plan.parts | ({"bins"} if "r" in kind else set()))
    numbers = [ctypes.addressof(plan), 0, KINDS.index(kind), lanes, n, 0, *steps, *by]
    return batches.c_function(text, "branded_fourier", numbers, len(results))


def _factors(n: int) -> list[int]:
    """Return the prime factors of n."""
    r = next((r for r in range(2, math.isqrt(n) + 1) if n % r == 0), n)
    return [] if n == 1 else [r, *_factors(n // r)]


def _passes(n: int) -> set[str]:
    """Return the passes of a transform of n entries, as `radix` in C chooses them."""
    passes = {"four"} if n % 4 == 0 else set[str]()
    while n % 4 == 0:
        n //= 4
    names = {2: "two", 3: "three", 5: "five"}
    return passes | {names.get(r, "prime") for r in _factors(n)}


def _circle(steps: np.ndarray, n: int) -> np.ndarray:
    """Return exp(-2 pi i steps / n)."""
    return np.exp(-2j * np.pi / n * (steps % n))


@functools.cache
def _plan(dtype: DType, n: int, is_real: bool) -> Any:
    """Return the plan's memory, with its tables; cached, because C keeps its address."""
    is_halved = is_real and n % 2 == 0
    length = n // 2 if is_halved else n
    factors = _factors(length)
    is_convolution = max(factors, default=1) > _PRIME
    size = length
    if is_convolution:
        size = min(m for a in (1, 3) for m in (a << k for k in range(length.bit_length() + 2)) if m >= 2 * length - 1)
        factors = _factors(size)
    divisors = {1}
    for r in factors:
        divisors |= {r * d for d in divisors}
    first = min(divisors, key=lambda d: abs(math.log(d * d / size)))
    tables: dict[str, Any] = {"roots": _circle(np.arange(size), size)}
    tables["turns"] = _circle(np.outer(np.arange(size // first), np.arange(first)), size).ravel()
    if is_convolution:
        j = np.arange(length)
        tables["chirp"] = chirp = _circle(j * j, 2 * length)
        around = np.zeros(size, complex)
        around[j], around[-j] = chirp.conj(), chirp.conj()
        tables["spectrum"] = np.fft.fft(around) / size
    if is_halved:
        tables["half"] = _circle(np.arange(length + 1), n)
    real = np.float32 if dtype == dtypes.float32 else np.float64
    arrays = {name: np.concatenate([z.real, z.imag]).astype(real) for name, z in tables.items()}
    addresses = [arrays[t].ctypes.data if t in arrays else 0 for t in ("roots", "turns", "chirp", "spectrum", "half")]
    plan = (ctypes.c_uint64 * 10)(*host_kernels.memory(), n, size, first, *addresses)
    parts = _passes(first) | _passes(size // first) | _passes(size)
    parts |= {name for name in ("chirp", "half") if name in tables}
    plan.arrays, plan.parts = arrays, frozenset(parts)  # type: ignore[attr-defined]
    return plan
