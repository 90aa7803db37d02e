"""Products of arrays whose axes do not merge into matrices, such as the overlapping windows of a convolution.

BLAS reads matrices, so a convolution needs a copy of all its windows.  The C function here reads both operands at any
strides: it packs small panels that stay in the cache, as BLAS does, and reads the windows of contiguous columns from
the array itself.

    rows      axes of a and the result       columns   axes of b and the result
    sums      axes of a and b                batch     axes of all three
"""

from __future__ import annotations

import functools
import math
import struct
from collections.abc import Iterable
from typing import Any, NamedTuple

from tinygrad import dtypes
from tinygrad.dtype import DType

from branded.backends.cpu.gemm import blas
from branded.backends.cpu.gemm.blas import Beginning, OuterAxis
from branded.backends.cpu.gemm.layout import axes_by_role, swap_operands
from branded.backends.cpu.renderer import denormals
from branded.backends.cpu.runtime import native

AXES = 12
"""The maximum number of axes."""
_ROWS, _ROWS_OF_AVX = 14, 6
"""The rows of a tile that fit into the registers of AVX-512 and of other processors."""


class Contraction(NamedTuple):
    """`out = alpha * sum(a * b)` over axes with strides in `a`, `b` and the result."""

    dtype: DType
    batch: tuple[OuterAxis, ...]
    rows: tuple[OuterAxis, ...]
    columns: tuple[OuterAxis, ...]
    sums: tuple[OuterAxis, ...]
    a: Beginning
    b: Beginning
    out: Beginning
    alpha: float

    @property
    def m(self) -> int:
        return _size(self.rows)

    @property
    def n(self) -> int:
        return _size(self.columns)

    @property
    def k(self) -> int:
        return _size(self.sums)

    @property
    def loops(self) -> tuple[OuterAxis, ...]:
        return self.batch

    @property
    def is_vector(self) -> bool:
        return False

    @property
    def multiplications(self) -> int:
        return self.m * self.n * self.k * _size(self.batch)

    def symbol(self) -> int:
        """Return 0: the C function calls no other one."""
        return 0

    def words(self) -> list[int]:
        """Return the words of the C function's table that follow the variable."""
        system, threads = blas.threads_for(self.multiplications)
        words = [threads, *struct.unpack("q", struct.pack("d", self.alpha))]
        words += [self.a.offset, self.b.offset, self.out.offset]
        words += [self.a.by_variable, self.b.by_variable, self.out.by_variable]
        groups = self.batch, self.rows, self.columns, self.sums
        axes = [x for group in groups for x in group]
        words += [0, 1, *map(len, groups)]
        for axis in (*axes, *[OuterAxis(1, 0, 0, 0)] * (AXES - len(axes))):
            words += axis
        return [x % 2**64 for x in (*words, system)]

    def function(self) -> tuple[Any, int]:
        """Return the compiled C function, for Python and as an address."""
        tiles = (_tile_rows(self.m, most) for most in (_ROWS, _ROWS_OF_AVX))
        is_shared = blas.threads_for(self.multiplications)[1] > 1
        return native.compile_function(_source(self.dtype, *tiles, is_shared), "branded_contraction")


def _size(axes: Iterable[OuterAxis]) -> int:
    return math.prod(x.size for x in axes)


def _tile_rows(rows: int, most: int) -> int:
    """Return the rows of a tile such that tiles of about equal heights cover all rows."""
    return math.ceil(rows / math.ceil(rows / most))


def contraction(
    axes: Iterable[OuterAxis], dtype: DType, a: Beginning, b: Beginning, out: Beginning, alpha: float
) -> tuple[Contraction, bool] | None:
    """Return a product of arrays and whether its operands are swapped, or None if an axis has no role in it.

    The columns belong to the operand that has the axis that is contiguous in the result.
    """
    if (found := axes_by_role(axes)) is None or not found.rows or not found.columns or not found.sums:
        return None
    if sum(map(len, found)) > AXES:
        return None
    rows, columns, sums, batch = found
    is_turned = min(x.out for x in rows) < min(x.out for x in columns)
    if is_turned:
        rows, columns, sums, batch = ([*map(swap_operands, group)] for group in (columns, rows, sums, batch))
        a, b = b, a
    in_result = [tuple(sorted(group, key=lambda x: -x.out)) for group in (batch, rows, columns)]
    in_memory = tuple(sorted(sums, key=lambda x: -abs(x.b)))
    return Contraction(dtype, in_result[0], in_result[1], in_result[2], in_memory, a, b, out, alpha), is_turned


_TAKES = (
    *blas.HEAD,
    *("threads", "bits", "oa", "ob", "oc", "va", "vb", "vc", "low", "high", "batches", "rows", "columns", "sums"),
    *(f"{x}{i}" for i in range(AXES) for x in "nabc"),
    "system",
)
_PART = """
static void part(i64 *to, const i64 *w, i64 t, i64 count) {
  for (int i = 0; i < WORDS; i++) to[i] = w[i];
  to[Wlow] = t, to[Whigh] = count;
}
"""
_CODE = """
typedef real vec __attribute__((vector_size(BYTES)));
typedef real far_vec __attribute__((vector_size(BYTES), aligned(sizeof(real))));
typedef real far_half __attribute__((vector_size(BYTES / 2), aligned(sizeof(real))));
enum { LANES = BYTES / sizeof(real), NV = 2, NR = NV * LANES, KC = 1280 / sizeof(real), MC = 10 * MR };
typedef struct { i64 size, a, b, out; } axis;
// `MR` rows of `NV` vectors of columns: `at` has the place of each term in `b`
WIDE __attribute__((noinline)) static void tile(
  const real *a, const real **b, const i64 *at, i64 k, real **to, i64 step, real alpha, int adds
) {
  vec sum[MR][NV];
  #pragma clang loop unroll(full)
  for (int i = 0; i < MR; i++)
    #pragma clang loop unroll(full)
    for (int j = 0; j < NV; j++) sum[i][j] = (vec){0};
  const real *b0 = b[0], *b1 = b[1];
  for (i64 x = 0; x < k; x++, a += MR) {
    vec v[NV] = {*(const far_vec *)(b0 + at[x]), *(const far_vec *)(b1 + at[x])};
    #pragma clang loop unroll(full)
    for (int i = 0; i < MR; i++)
      #pragma clang loop unroll(full)
      for (int j = 0; j < NV; j++) sum[i][j] += a[i] * v[j];
  }
  #pragma clang loop unroll(full)
  for (int i = 0; i < MR; i++)
    #pragma clang loop unroll(full)
    for (int j = 0; j < NV; j++) {
      far_vec *t = (far_vec *)(to[j] + i * step);
      *t = adds ? *t + alpha * sum[i][j] : alpha * sum[i][j];
    }
}
// clang takes 0.3 s to vectorize and unroll the other loops, which makes them no faster
#define for _Pragma("clang loop vectorize(disable) unroll(disable)") for
#define SEPARATE __attribute__((noinline))
// the places of `count` elements from `first` on, in one of the arrays
SEPARATE static void places(const axis *x, i64 n, i64 first, i64 count, int array, i64 *to) {
  i64 index[AXES], at = 0;
  for (i64 d = n - 1; d >= 0; d--) {
    index[d] = first % x[d].size, first /= x[d].size;
    at += index[d] * (&x[d].size)[array];
  }
  for (i64 i = 0; i < count; i++) {
    to[i] = at;
    for (i64 d = n - 1; d >= 0; d--) {
      i64 step = (&x[d].size)[array];
      at += step;
      if (++index[d] < x[d].size) break;
      at -= step * x[d].size, index[d] = 0;
    }
  }
}
SEPARATE static i64 total(const axis *x, i64 n) {
  i64 out = 1;
  for (i64 d = 0; d < n; d++) out *= x[d].size;
  return out;
}
enum { A = 1, B, OUT };
// copy, or add to the result, the first `n` columns of a row of a tile, which are at these places
SEPARATE static void copy(real *out, const real *row, const i64 *at, i64 n, i64 is_run, int adds) {
  if (is_run && n >= LANES / 2) {
    far_half *low = (far_half *)(out + at[0]), *high = (far_half *)(out + at[0] + n - LANES / 2);
    far_half x = *(const far_half *)row, y = *(const far_half *)(row + n - LANES / 2);
    if (adds) x += *low, y += *high;
    *low = x, *high = y;
  } else for (i64 i = 0; i < n; i++) out[at[i]] = adds ? out[at[i]] + row[i] : row[i];
}
WIDE SEPARATE static void *work(void *words) {
  i64 *w = (i64 *)words, step = w[Wi];
  union { i64 bits; double value; } number = { w[Wbits] };
  real alpha = number.value, *out = (real *)w[Wout] + w[Woc] + w[Wvc] * step;
  const real *a = (real *)w[Wa] + w[Woa] + w[Wva] * step, *b = (real *)w[Wb] + w[Wob] + w[Wvb] * step;
  i64 nb = w[Wbatches], nr = w[Wrows], nc = w[Wcolumns], ns = w[Wsums];
  const axis *xb = (const axis *)(w + Wn0), *xr = xb + nb, *xc = xr + nr, *xs = xc + nc;
  i64 batches = total(xb, nb), M = total(xr, nr), N = total(xc, nc), K = total(xs, ns);
  if (!batches || !M || !N || !K) return 0;
  FLUSH_DENORMALS
  const real *end = b + 1;  // of the elements of `b` that the product reads
  for (i64 d = 0; d < nb + nr + nc + ns; d++) end += xb[d].b > 0 ? xb[d].b * (xb[d].size - 1) : 0;
  // vectors of columns end with each row of contiguous columns, unless that leaves too many lanes unused
  i64 row = xc[nc - 1].b == 1 ? xc[nc - 1].size : 0;
  i64 each = (row + LANES - 1) / LANES, in_rows = row && 4 * row >= 3 * each * LANES;
  i64 vectors = in_rows ? N / row * each : (N + LANES - 1) / LANES, tiles = (vectors + NV - 1) / NV;
  i64 first_tile = batches * tiles * w[Wlow] / w[Whigh], last_tile = batches * tiles * (w[Wlow] + 1) / w[Whigh];
  real pa[MC * KC] __attribute__((aligned(64))), pb[(NR + 1) * KC] __attribute__((aligned(64)));
  real edge[MR * NR] __attribute__((aligned(64)));
  i64 ka[KC], kb[KC], panel[KC], ra[MC], ro[MC], base_a, base_b, base_out;
  i64 cb[NR], co[NR], from[NR], length[NR], by[NR];
  for (i64 x = 0; x < KC; x++) panel[x] = x * NR;
  i64 blocks = (K + KC - 1) / KC, depth = (K + blocks - 1) / blocks;
  for (i64 batch = first_tile / tiles; batch * tiles < last_tile; batch++) {
    i64 low = first_tile - batch * tiles, high = last_tile - batch * tiles;
    low = low < 0 ? 0 : low, high = high > tiles ? tiles : high;
    places(xb, nb, batch, 1, A, &base_a);
    places(xb, nb, batch, 1, B, &base_b);
    places(xb, nb, batch, 1, OUT, &base_out);
    for (i64 m0 = 0; m0 < M; m0 += MC) for (i64 k0 = 0; k0 < K; k0 += depth) {
      i64 rows = M - m0 < MC ? M - m0 : MC, k = K - k0 < depth ? K - k0 : depth, reach = 0;
      places(xr, nr, m0, rows, A, ra);
      places(xr, nr, m0, rows, OUT, ro);
      places(xs, ns, k0, k, A, ka);
      places(xs, ns, k0, k, B, kb);
      for (i64 x = 0; x < k; x++) reach = kb[x] > reach ? kb[x] : reach;
      for (i64 m = 0; m < rows; m += MR)
        for (i64 i = 0; i < MR; i++)
          if (m + i < rows) for (i64 x = 0; x < k; x++) pa[m * k + x * MR + i] = a[base_a + ra[m + i] + ka[x]];
          else for (i64 x = 0; x < k; x++) pa[m * k + x * MR + i] = 0;
      for (i64 t = low; t < high; t++) {
        i64 count[NV], is_run[NV], n = 0, is_direct = in_rows, is_flat = 1;
        const real *q = b + base_b, *from_b[NV], *source[NR];
        real *to[NV], *edges[NV];
        for (i64 j = 0; j < NV; j++) {
          i64 v = t * NV + j, c = in_rows ? v / each * row + v % each * LANES : v * LANES;
          i64 left = v >= vectors ? 0 : in_rows ? row - v % each * LANES : N - c;
          count[j] = left < LANES ? left : LANES;
          places(xc, nc, c, count[j], B, cb + j * LANES);
          places(xc, nc, c, count[j], OUT, co + j * LANES);
          is_run[j] = 1;
          for (i64 i = 1; i < count[j]; i++) is_run[j] &= co[j * LANES + i] == co[j * LANES] + i;
          is_flat &= is_run[j] && count[j] == LANES;
          if (!count[j]) cb[j * LANES] = cb[0], co[j * LANES] = co[0];
          from_b[j] = q + cb[j * LANES], to[j] = out + base_out + co[j * LANES], edges[j] = edge + j * LANES;
          is_direct &= from_b[j] + reach + LANES <= end;
        }
        if (!is_direct) {
          i64 is_near = 1;
          for (i64 j = 0; j < NV; j++)
            for (i64 i = j * LANES; i < j * LANES + count[j]; n++) {
              const i64 *c = cb + i;
              i64 l = 1, most = j * LANES + count[j] - i, stride = most > 1 ? c[1] - c[0] : 1;
              while (l < most && c[l] - c[l - 1] == stride) l++;
              is_near &= stride == 1 && q + c[0] + reach + LANES <= end;
              source[n] = q + c[0], from[n] = i, length[n] = l, by[n] = stride, i += l;
            }
          // a vector copy may pass the end of its run: later runs and later terms overwrite the rest
          if (is_near)
            for (i64 x = 0; x < k; x++)
              for (i64 r = 0; r < n; r++) *(far_vec *)(pb + x * NR + from[r]) = *(const far_vec *)(source[r] + kb[x]);
          else
            for (i64 x = 0; x < k; x++)
              for (i64 r = 0; r < n; r++) {
                const real *s = source[r] + kb[x];
                real *p = pb + x * NR + from[r];
                if (by[r] == 2) for (i64 i = 0; i < length[r]; i++) p[i] = s[2 * i];
                else for (i64 i = 0; i < length[r]; i++) p[i] = s[i * by[r]];
              }
          for (i64 j = 0; j < NV; j++) from_b[j] = pb + j * LANES;
        }
        for (i64 m = 0; m < rows; m += MR) {
          i64 height = rows - m < MR ? rows - m : MR, is_even = height == MR, down = height > 1 ? ro[m + 1] - ro[m] : 0;
          for (i64 i = 1; i < height; i++) is_even &= ro[m + i] == ro[m] + i * down;
          real *here[NV] = {to[0] + ro[m], to[1] + ro[m]};
          if (is_flat && is_even) {
            tile(pa + m * k, from_b, is_direct ? kb : panel, k, here, down, alpha, k0 > 0);
            continue;
          }
          tile(pa + m * k, from_b, is_direct ? kb : panel, k, edges, NR, alpha, 0);
          for (i64 i = 0; i < height; i++)
            for (i64 j = 0; j < NV; j++)
              copy(out + base_out + ro[m + i], edge + i * NR + j * LANES, co + j * LANES, count[j], is_run[j], k0 > 0);
        }
      }
    }
  }
  KEEP_DENORMALS
  return 0;
}
void branded_contraction(u64 at) {
  i64 *words = (i64 *)at, count = words[Wthreads];
  if (count == 1 || !shared((u64 *)words[Wsystem], words, count)) work(words);
  words[Wfailed] = 0;
}
"""


@functools.cache
def _source(dtype: DType, rows: int, rows_of_avx: int, is_shared: bool) -> str:
    """Return the C function for products of one dtype with tiles of these heights, with threads or without."""
    return f"""{denormals.MACRO}
typedef unsigned long long u64;
typedef long long i64;
typedef {"double" if dtype == dtypes.float64 else "float"} real;
#if defined(__AVX512F__)
#define WIDE __attribute__((min_vector_width(512)))
enum {{ BYTES = 64, MR = {rows} }};
#else
#define WIDE
enum {{ BYTES = 32, MR = {rows_of_avx} }};
#endif
enum {{ AXES = {AXES} }};
enum {{ {", ".join(f"W{x}" for x in _TAKES)}, WORDS }};
enum {{ SET, CREATE, DETACH, MALLOC, FREE, YIELD, SLEEP }};
static void *work(void *);
#pragma clang attribute push (__attribute__((no_builtin)), apply_to = function)
{_PART + blas.SHARED if is_shared else "#define shared(functions, words, count) 0"}
{_CODE}
#pragma clang attribute pop
"""
