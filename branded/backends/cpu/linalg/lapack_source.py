"""The C source of `lapack.py`: it calls LAPACK for every matrix of a batch.

Our matrices are row-major and LAPACK's are column-major, so LAPACK sees the transpose.  If that makes no difference, as
for an inverse or a determinant, nothing is copied.  Otherwise a matrix is transposed before and after the call, so that
signs and pivots equal numpy's.
"""

from __future__ import annotations

import functools
import re

from branded.backends.cpu.linalg.batches import BEFORE, entry
from branded.backends.cpu.linalg.small_matrices import FEW, LOOPS_OF_REALS, SMALL, TINY

SYSTEM = ("openblas_set_num_threads_local", "malloc", "free", "log")
ROUTINES = ("potrf", "trsm", "trsv", "getrf", "getri", "geqrf", "orgqr", "syevd", "gesdd")
"""The LAPACK and BLAS routines, after the system's functions in the table of addresses."""

_COMMON = f"""
enum {{ {", ".join(x.upper() for x in (*SYSTEM, *ROUTINES))} }};
enum {{ SMALL = {SMALL}, FEW = {FEW}, TINY = {TINY} }};
#define NARROW _Pragma("clang loop interleave_count(1)")
static i64 least(i64 a, i64 b) {{ return a < b ? a : b; }}
static i64 most(i64 a, i64 b) {{ return a > b ? a : b; }}
static void given_back(u64 *f, void *p) {{ ((void (*)(void *))f[FREE])(p); }}
"""

# REAL is float or double
_OF_REALS = r"""
static void turned_T(REAL *to, const REAL *from, i64 rows, i64 columns) {
  for (i64 x = 0; x < rows; x += 16)
    for (i64 y = 0; y < columns; y += 16)
      for (i64 i = x; i < least(x + 16, rows); i++)
        for (i64 j = y; j < least(y + 16, columns); j++) to[j * rows + i] = from[i * columns + j];
}
static void copied_T(REAL *to, const REAL *from, i64 n) { for (i64 i = 0; i < n; i++) to[i] = from[i]; }
static void filled_T(REAL *to, i64 n, REAL x) { for (i64 i = 0; i < n; i++) to[i] = x; }
static void trsm_T(u64 *f, char side, char half, char way, char ones, i64 m, i64 n, REAL *a, REAL *x, i64 ldx) {
  REAL one = 1;
  ((void (*)(char *, char *, char *, char *, i64 *, i64 *, REAL *, REAL *, i64 *, REAL *, i64 *, u64, u64, u64, u64))
     f[TRSM])(&side, &half, &way, &ones, &m, &n, &one, a, &n, x, &ldx, 1, 1, 1, 1);
}
static void trsv_T(u64 *f, char half, char way, char ones, i64 n, REAL *a, REAL *x) {
  i64 one = 1;
  ((void (*)(char *, char *, char *, i64 *, REAL *, i64 *, REAL *, i64 *, u64, u64, u64))
     f[TRSV])(&half, &way, &ones, &n, a, &n, x, &one, 1, 1, 1);
}
static i64 getrf_T(u64 *f, i64 n, REAL *a, i64 *pivots) {
  i64 info = 0;
  ((void (*)(i64 *, i64 *, REAL *, i64 *, i64 *, i64 *))f[GETRF])(&n, &n, a, &n, pivots, &info);
  return info;
}
"""
_OPERATIONS = r"""
static void cholesky_T(struct job *j) {
  i64 n = j->n, info;
  char half = 'U';
  REAL rows[4 * SMALL];
  REAL *out = (REAL *)j->out[0];
  do {
    const REAL *a = (REAL *)j->a;
    for (i64 x = 0; x < n; x++) {
      copied_T(out + x * n, a + x * n, x + 1);
      filled_T(out + x * n + x + 1, n - x - 1, 0);
    }
    info = 0;
    if (n <= SMALL) info = small_cholesky_T(out, n, rows);
    else ((void (*)(char *, i64 *, REAL *, i64 *, i64 *, u64))j->f[POTRF])(&half, &n, out, &n, &info, 1);
    if (info) for (i64 x = 0; x < n; x++) filled_T(out + x * n, x + 1, NONE);
    out += n * n;
  } while (next(j));
}

static void triangular_T(struct job *j) {
  i64 n = j->n, k = j->k, lower = j->option & 1, unit = j->option >> 1 & 1;
  REAL *x = (REAL *)j->out[0];
  do {
    REAL *a = (REAL *)j->a;
    copied_T(x, (REAL *)j->b, n * k);
    if (k == 1) trsv_T(j->f, lower ? 'U' : 'L', 'T', unit ? 'U' : 'N', n, a, x);
    else trsm_T(j->f, 'R', lower ? 'U' : 'L', 'N', unit ? 'U' : 'N', k, n, a, x, k);
    x += n * k;
  } while (next(j));
}

static void solve_T(struct job *j) {
  i64 n = j->n, k = j->k, info = 0;
  i64 *pivots = taken(j, j->f[MALLOC], n * 8 + n * n * sizeof(REAL));
  if (!pivots) return;
  REAL *lu = (REAL *)(pivots + n), *x = (REAL *)j->out[0], *last = 0;
  do {
    if ((REAL *)j->a != last) {
      last = (REAL *)j->a;
      if (n > SMALL) turned_T(lu, last, n, n);
      else copied_T(lu, last, n * n);
      info = n > SMALL ? getrf_T(j->f, n, lu, pivots) : small_lu_T(lu, n, pivots);
    }
    copied_T(x, (REAL *)j->b, n * k);
    if (info) filled_T(x, n * k, NONE);
    else {
      for (i64 i = 0; i < n; i++)
        if (pivots[i] - 1 != i) swapped_T(x + i * k, x + (pivots[i] - 1) * k, k);
      if (n <= SMALL && k <= SMALL) small_solve_T(lu, n, x, k);
      else if (n <= SMALL) {
        trsm_T(j->f, 'R', 'U', 'N', 'U', k, n, lu, x, k);
        trsm_T(j->f, 'R', 'L', 'N', 'N', k, n, lu, x, k);
      } else if (k == 1) {
        trsv_T(j->f, 'L', 'N', 'U', n, lu, x);
        trsv_T(j->f, 'U', 'N', 'N', n, lu, x);
      } else {
        trsm_T(j->f, 'R', 'L', 'T', 'U', k, n, lu, x, k);
        trsm_T(j->f, 'R', 'U', 'T', 'N', k, n, lu, x, k);
      }
    }
    x += n * k;
  } while (next(j));
  given_back(j->f, pivots);
}

static void inv_T(struct job *j) {
  i64 n = j->n, info = 0, room = -1;
  REAL size = 0, *out = (REAL *)j->out[0];
  void (*getri)(i64 *, REAL *, i64 *, i64 *, REAL *, i64 *, i64 *) = (void *)j->f[GETRI];
  getri(&n, out, &n, &info, &size, &room, &info);
  room = most((i64)size, n);
  i64 *pivots = taken(j, j->f[MALLOC], n * 8 + most(room, n * n) * sizeof(REAL));
  if (!pivots) return;
  do {
    if (n <= TINY) {
      REAL *lu = (REAL *)(pivots + n);
      copied_T(lu, (REAL *)j->a, n * n);
      info = small_lu_T(lu, n, pivots);
      for (i64 x = 0; x < n; x++)
        for (i64 y = 0; y < n; y++) out[x * n + y] = x == y;
      for (i64 x = 0; x < n; x++)
        if (pivots[x] - 1 != x) swapped_T(out + x * n, out + (pivots[x] - 1) * n, n);
      if (!info) small_solve_T(lu, n, out, n);
    } else {
      copied_T(out, (REAL *)j->a, n * n);
      info = getrf_T(j->f, n, out, pivots);
    }
    if (!info && n > TINY) getri(&n, out, &n, pivots, (REAL *)(pivots + n), &room, &info);
    if (info) filled_T(out, n * n, NONE);
    out += n * n;
  } while (next(j));
  given_back(j->f, pivots);
}

static void det_T(struct job *j, int as_log) {
  i64 n = j->n;
  REAL *out = (REAL *)j->out[0], *size = (REAL *)j->out[1];
  i64 *pivots = taken(j, j->f[MALLOC], n * 8 + n * n * sizeof(REAL));
  if (!pivots) return;
  REAL *lu = (REAL *)(pivots + n);
  do {
    copied_T(lu, (REAL *)j->a, n * n);
    if (n <= SMALL) small_lu_T(lu, n, pivots);
    else getrf_T(j->f, n, lu, pivots);
    double sign = 1, product = 1, log = 0;
    i64 scale = 0;
    for (i64 i = 0; i < n; i++) {
      double p = lu[i * n + i], q = __builtin_fabs(p);
      if (pivots[i] - 1 != i) sign = -sign;
      if (!as_log) {
        // where a part of the product is too large or too small, the whole may be a number
        product *= p;
        if (__builtin_fabs(product) > 0x1p400) product *= 0x1p-400, scale++;
        else if (__builtin_fabs(product) < 0x1p-400 && product != 0) product *= 0x1p400, scale--;
      } else {
        sign *= p > 0 ? 1 : p < 0 ? -1 : p;
        log += ((double (*)(double))j->f[LOG])(q);
      }
    }
    if (as_log) *size++ = (REAL)log, *out++ = (REAL)sign;
    else {
      for (; scale > 0; scale--) product *= 0x1p400;
      for (; scale < 0; scale++) product *= 0x1p-400;
      *out++ = (REAL)(sign * product);
    }
  } while (next(j));
  given_back(j->f, pivots);
}

static void qr_T(struct job *j) {
  i64 m = j->m, n = j->n, k = least(m, n), columns = j->k, info = 0, room = -1;
  REAL size[2] = {0, 0}, *q = (REAL *)j->out[0], *r = (REAL *)j->out[1];
  void (*geqrf)(i64 *, i64 *, REAL *, i64 *, REAL *, REAL *, i64 *, i64 *) = (void *)j->f[GEQRF];
  void (*orgqr)(i64 *, i64 *, i64 *, REAL *, i64 *, REAL *, REAL *, i64 *, i64 *) = (void *)j->f[ORGQR];
  geqrf(&m, &n, q, &m, q, size, &room, &info);
  orgqr(&m, &columns, &k, q, &m, q, size + 1, &room, &info);
  room = most(most((i64)size[0], (i64)size[1]), most(n, columns));
  REAL *a = taken(j, j->f[MALLOC], (m * most(n, columns) + k + room) * sizeof(REAL)), *tau = a + m * most(n, columns);
  if (!a) return;
  do {
    turned_T(a, (REAL *)j->a, m, n);
    geqrf(&m, &n, a, &m, tau, tau + k, &room, &info);
    for (i64 x = 0; x < columns; x++)
      for (i64 y = 0; y < n; y++) r[x * n + y] = y < x ? 0 : a[y * m + x];
    orgqr(&m, &columns, &k, a, &m, tau, tau + k, &room, &info);
    turned_T(q, a, columns, m);
    q += m * columns, r += columns * n;
  } while (next(j));
  given_back(j->f, a);
}

static void eigh_T(struct job *j, char what) {
  i64 n = j->n, info = 0, room = -1, ints = -1, count;
  char half = 'L';
  REAL size = 0, *w = (REAL *)j->out[0], *v = (REAL *)j->out[1];
  void (*syevd)(char *, char *, i64 *, REAL *, i64 *, REAL *, REAL *, i64 *, i64 *, i64 *, i64 *, u64, u64);
  syevd = (void *)j->f[SYEVD];
  syevd(&what, &half, &n, w, &n, w, &size, &room, &count, &ints, &info, 1, 1);
  room = (i64)size, ints = count;
  i64 *whole = taken(j, j->f[MALLOC], ints * 8 + (n * n + room) * sizeof(REAL));
  if (!whole) return;
  REAL *a = (REAL *)(whole + ints);
  do {
    turned_T(a, (REAL *)j->a, n, n);
    syevd(&what, &half, &n, a, &n, w, a + n * n, &room, whole, &ints, &info, 1, 1);
    if (info) filled_T(w, n, NONE), filled_T(a, n * n, NONE);
    if (what == 'V') turned_T(v, a, n, n), v += n * n;
    w += n;
  } while (next(j));
  given_back(j->f, whole);
}

static void svd_T(struct job *j, char what) {
  i64 m = j->m, n = j->n, k = least(m, n), rows = j->k, columns = j->option, info = 0, room = -1;
  // of the values alone there is one result, of all three they stand in the middle
  REAL size = 0, *u = (REAL *)j->out[0], *s = (REAL *)(what == 'N' ? j->out[0] : j->out[1]), *vt = (REAL *)j->out[2];
  void (*gesdd)(char *, i64 *, i64 *, REAL *, i64 *, REAL *, REAL *, i64 *, REAL *, i64 *, REAL *, i64 *, i64 *, i64 *,
                u64);
  gesdd = (void *)j->f[GESDD];
  i64 ldv = what == 'N' ? 1 : columns;
  gesdd(&what, &m, &n, s, &m, s, s, &m, s, &ldv, &size, &room, &info, &info, 1);
  room = (i64)size;
  i64 left = what == 'N' ? 0 : m * rows, right = what == 'N' ? 0 : columns * n;
  i64 *whole = taken(j, j->f[MALLOC], 8 * k * 8 + (m * n + left + right + room) * sizeof(REAL));
  if (!whole) return;
  REAL *a = (REAL *)(whole + 8 * k), *p = a + m * n, *q = p + left, *work = q + right;
  do {
    turned_T(a, (REAL *)j->a, m, n);
    gesdd(&what, &m, &n, a, &m, s, p, &m, q, &ldv, work, &room, whole, &info, 1);
    if (info) filled_T(s, k, NONE), filled_T(p, left, NONE), filled_T(q, right, NONE);
    if (what != 'N') {
      turned_T(u, p, rows, m);
      turned_T(vt, q, n, columns);
      u += m * rows, vt += columns * n;
    }
    s += k;
  } while (next(j));
  given_back(j->f, whole);
}
"""

_CALLS = {
    "cholesky": "cholesky_T(&j)",
    "solve_triangular": "triangular_T(&j)",
    "solve": "solve_T(&j)",
    "inv": "inv_T(&j)",
    "det": "det_T(&j, 0)",
    "slogdet": "det_T(&j, 1)",
    "eigh": "eigh_T(&j, 'V')",
    "eigvalsh": "eigh_T(&j, 'N')",
    "qr": "(j.m <= FEW && j.n <= FEW ? small_qr_T : qr_T)(&j)",
    "svd": "svd_T(&j, j.k == j.m && j.option == j.n ? 'A' : 'S')",
    "svdvals": "svd_T(&j, 'N')",
}
KINDS = tuple(_CALLS)


@functools.cache
def source(kind: str, is_double: bool) -> str:
    """Return the C function for an operation in one precision; unused static functions cost no compile time."""
    setting = f"((int (*)(int))((u64 *)table)[{SYSTEM[0].upper()}])"
    # OpenBLAS's threads wait for each other, so a matrix that is not large uses one thread
    before, after = f"int before = alone ? {setting}(1) : 0;", f"if (alone) {setting}(before);"
    text = _OF_REALS + LOOPS_OF_REALS + _OPERATIONS + entry("branded_lapack", _CALLS[kind], before, after)
    end = "" if is_double else "f"
    words = {
        "REAL": "double" if is_double else "float",
        "NONE": f'__builtin_nan{end}("")',
        "ABS": f"__builtin_fabs{end}",
    }
    words["HUGE"] = "0x1p1022" if is_double else "0x1p126f"
    for word, new in words.items():
        text = re.sub(rf"\b{word}\b", new, text)
    return BEFORE + _COMMON + re.sub(r"_T\b", "_of_reals", text)
