"""C source that factors matrices of a few rows in place, in less time than a call of LAPACK takes.

Pivots and reflections are chosen as in LAPACK, so results agree except in the last bits.
"""

from __future__ import annotations

SMALL, FEW, TINY = 64, 24, 16
"""The maximum number of rows for factorizations, orthogonalizations and inversions by these loops."""

# REAL is float or double, as in `lapack_source.py`
LOOPS_OF_REALS = r"""
static i64 small_cholesky_T(REAL *restrict a, i64 n, REAL *restrict t) {
  for (i64 j = 0; j < n; j += 4) {
    i64 end = least(j + 4, n);
    for (i64 p = j; p < end; p++) {
      for (i64 i = p; i < n; i++)
        for (i64 q = j; q < p; q++) a[i * n + p] -= a[i * n + q] * a[p * n + q];
      REAL d = a[p * n + p];
      if (!(d > 0)) return p + 1;
      a[p * n + p] = d = (REAL)__builtin_sqrt(d);
      d = 1 / d;
      for (i64 i = p + 1; i < n; i++) a[i * n + p] *= d;
    }
    REAL *restrict t0 = t, *restrict t1 = t + n, *restrict t2 = t + 2 * n, *restrict t3 = t + 3 * n;
    for (i64 i = end; i < n; i++) {
      REAL *p = a + i * n + j;
      t0[i] = p[0], t1[i] = p[1], t2[i] = p[2], t3[i] = p[3];
    }
    for (i64 i = end; i < n; i++) {
      REAL *restrict row = a + i * n, l0 = t0[i], l1 = t1[i], l2 = t2[i], l3 = t3[i];
      NARROW for (i64 k = end; k <= i; k++) row[k] -= l0 * t0[k] + l1 * t1[k] + l2 * t2[k] + l3 * t3[k];
    }
  }
  return 0;
}

static void swapped_T(REAL *restrict a, REAL *restrict b, i64 n) {
  NARROW for (i64 k = 0; k < n; k++) { REAL x = a[k]; a[k] = b[k]; b[k] = x; }
}

static i64 small_lu_T(REAL *restrict a, i64 n, i64 *restrict pivots) {
  i64 info = 0;
  for (i64 c = 0; c < n; c += 4) {
    i64 end = least(c + 4, n);
    for (i64 j = c; j < end; j++) {
      i64 p = j;
      REAL large = ABS(a[j * n + j]);
      for (i64 i = j + 1; i < n; i++) { REAL x = ABS(a[i * n + j]); if (x > large) large = x, p = i; }
      pivots[j] = p + 1;
      if (p != j) swapped_T(a + j * n, a + p * n, n);
      REAL d = a[j * n + j], part = 1 / d;
      if (d == 0) { if (!info) info = j + 1; continue; }
      int is_tiny = ABS(part) > HUGE;
      for (i64 i = j + 1; i < n; i++) {
        REAL *restrict row = a + i * n, l = row[j] = is_tiny ? row[j] / d : row[j] * part;
        for (i64 k = j + 1; k < end; k++) row[k] -= l * a[j * n + k];
      }
    }
    if (end == n) break;
    REAL *restrict t0 = a + c * n, *restrict t1 = t0 + n, *restrict t2 = t1 + n, *restrict t3 = t2 + n;
    REAL l10 = t1[c], l20 = t2[c], l21 = t2[c + 1], l30 = t3[c], l31 = t3[c + 1], l32 = t3[c + 2];
    NARROW for (i64 k = end; k < n; k++) {
      REAL x0 = t0[k], x1 = t1[k] - l10 * x0, x2 = t2[k] - l20 * x0 - l21 * x1;
      t1[k] = x1, t2[k] = x2, t3[k] -= l30 * x0 + l31 * x1 + l32 * x2;
    }
    for (i64 i = end; i < n; i++) {
      REAL *restrict row = a + i * n, l0 = row[c], l1 = row[c + 1], l2 = row[c + 2], l3 = row[c + 3];
      NARROW for (i64 k = end; k < n; k++) row[k] -= l0 * t0[k] + l1 * t1[k] + l2 * t2[k] + l3 * t3[k];
    }
  }
  return info;
}

static REAL dot_T(const REAL *restrict a, const REAL *restrict b, i64 n) {
#pragma clang fp reassociate(on)
  REAL sum = 0;
  NARROW for (i64 k = 0; k < n; k++) sum += a[k] * b[k];
  return sum;
}

// rows of x become the solution of what was factored, whose rows were swapped
static void small_solve_T(const REAL *restrict lu, i64 n, REAL *restrict x, i64 k) {
  if (k == 1) {
    for (i64 i = 1; i < n; i++) x[i] -= dot_T(lu + i * n, x, i);
    for (i64 i = n - 1; i >= 0; i--) x[i] = (x[i] - dot_T(lu + i * n + i + 1, x + i + 1, n - i - 1)) / lu[i * n + i];
    return;
  }
  for (i64 i = 1; i < n; i++)
    for (i64 j = 0; j < i; j++) {
      REAL l = lu[i * n + j];
      NARROW for (i64 c = 0; c < k; c++) x[i * k + c] -= l * x[j * k + c];
    }
  for (i64 i = n - 1; i >= 0; i--) {
    for (i64 j = i + 1; j < n; j++) {
      REAL l = lu[i * n + j];
      NARROW for (i64 c = 0; c < k; c++) x[i * k + c] -= l * x[j * k + c];
    }
    REAL d = lu[i * n + i];
    for (i64 c = 0; c < k; c++) x[i * k + c] /= d;
  }
}

// the first column of a, of so many rows, is reflected onto its first entry, and the other columns with it
static REAL reflected_T(REAL *restrict a, i64 ld, i64 rows, i64 columns, REAL *restrict w) {
  double large = 0, sum = 0;
  for (i64 i = 1; i < rows; i++) { double x = ABS(a[i * ld]); if (!(x <= large)) large = x; }
  if (large == 0) return 0;
  double first = ABS(a[0]);
  if (first > large) large = first;  // smaller terms are lost in it
  double unit = large > 0x1p400 ? 0x1p-600 : large < 0x1p-400 ? 0x1p600 : 1;
  for (i64 i = 0; i < rows; i++) { double x = a[i * ld] * unit; sum += x * x; }
  double alpha = a[0], beta = (__builtin_signbit(alpha) ? 1 : -1) * __builtin_sqrt(sum) / unit;
  REAL tau = (REAL)((beta - alpha) / beta), part = (REAL)(1 / (alpha - beta));
  for (i64 i = 1; i < rows; i++) a[i * ld] *= part;
  a[0] = (REAL)beta;
  NARROW for (i64 k = 1; k < columns; k++) w[k] = a[k];
  for (i64 i = 1; i < rows; i++) {
    REAL *restrict row = a + i * ld, v = row[0];
    NARROW for (i64 k = 1; k < columns; k++) w[k] += v * row[k];
  }
  NARROW for (i64 k = 1; k < columns; k++) a[k] -= w[k] *= tau;
  for (i64 i = 1; i < rows; i++) {
    REAL *restrict row = a + i * ld, v = row[0];
    NARROW for (i64 k = 1; k < columns; k++) row[k] -= v * w[k];
  }
  return tau;
}

// q = the product of the reflections in a, of which the last is done first
static void small_q_T(const REAL *restrict a, i64 m, i64 n, const REAL *restrict tau, REAL *restrict q, i64 columns,
                      REAL *restrict w) {
  for (i64 i = 0; i < m; i++)
    for (i64 k = 0; k < columns; k++) q[i * columns + k] = i == k;
  for (i64 j = least(m, n) - 1; j >= 0; j--) {
    REAL t = tau[j], *restrict top = q + j * columns;
    NARROW for (i64 k = j; k < columns; k++) w[k] = top[k];
    for (i64 i = j + 1; i < m; i++) {
      REAL v = a[i * n + j];
      NARROW for (i64 k = j; k < columns; k++) w[k] += v * q[i * columns + k];
    }
    NARROW for (i64 k = j; k < columns; k++) top[k] -= w[k] *= t;
    for (i64 i = j + 1; i < m; i++) {
      REAL v = a[i * n + j];
      NARROW for (i64 k = j; k < columns; k++) q[i * columns + k] -= v * w[k];
    }
  }
}

static void small_qr_T(struct job *j) {
  i64 m = j->m, n = j->n, columns = j->k;
  REAL *a = taken(j, j->f[MALLOC], (m * n + least(m, n) + most(n, columns)) * sizeof(REAL)), *tau = a + m * n;
  if (!a) return;
  REAL *w = tau + least(m, n), *q = (REAL *)j->out[0], *r = (REAL *)j->out[1];
  do {
    copied_T(a, (REAL *)j->a, m * n);
    for (i64 i = 0; i < least(m, n); i++) tau[i] = reflected_T(a + i * n + i, n, m - i, n - i, w);
    for (i64 x = 0; x < columns; x++)
      for (i64 y = 0; y < n; y++) r[x * n + y] = y < x ? 0 : a[x * n + y];
    small_q_T(a, m, n, tau, q, columns, w);
    q += m * columns, r += columns * n;
  } while (next(j));
  given_back(j->f, a);
}
"""
