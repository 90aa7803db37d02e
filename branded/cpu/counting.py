"""Places in sorted sequences, and sums by numbers, in C: a kernel among others, of as many steps as there are entries.

As operations of tinygrad both compare each entry with each number.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from tinygrad import dtypes
from tinygrad.dtype import DType

from branded.cpu import batches
from branded.runner.host import Array, Called, InC

_TYPES: dict[DType, str] = {
    dtypes.float32: "float",
    dtypes.float64: "double",
    dtypes.int32: "int",
    dtypes.int64: "long long",
}

_SEARCH = """
static void go(struct job *j) {
  int *out = (int *)j->out[0];
  do {
    const TYPE *own = (TYPE *)j->a, *wanted = (TYPE *)j->b;
    for (i64 i = 0; i < j->n; i++) {
      TYPE x = wanted[i];
      i64 first = 0, left = j->m;
      for (; left > 1; left -= left / 2)
        first += (j->option ? own[first + left / 2 - 1] <= x : own[first + left / 2 - 1] < x) ? left / 2 : 0;
      *out++ = (int)(first + (j->option ? own[first] <= x : own[first] < x));
    }
  } while (next(j));
}
"""
# ints wrap around, as tinygrad's do: WIDE has no sign
_SEGMENTS = """
static void go(struct job *j) {
  i64 rest = j->m, n = j->n, num = j->k;
  TYPE *out = (TYPE *)j->out[0];
  do {
    const TYPE *x = (TYPE *)j->a;
    for (i64 i = 0; i < num * rest; i++) out[i] = FIRST;
    for (i64 i = 0; i < n; i++) {
      i64 at = j->option ? ((i64 *)j->b)[i] : ((int *)j->b)[i];
      if (at < 0 || at >= num) continue;
      TYPE *to = out + at * rest;
      const TYPE *from = x + i * rest;
      for (i64 r = 0; r < rest; r++) STEP
    }
    out += num * rest;
  } while (next(j));
}
"""
_STEPS = {
    "sum": "to[r] = (TYPE)((WIDE)to[r] + (WIDE)from[r]);",
    "prod": "to[r] = (TYPE)((WIDE)to[r] * (WIDE)from[r]);",
    "max": "if (from[r] > to[r] || NAN) to[r] = from[r];",
    "min": "if (from[r] < to[r] || NAN) to[r] = from[r];",
}


def _first(name: str, dtype: DType) -> str:
    """What there is before the first entry."""
    if name in ("sum", "prod"):
        return str(int(name == "prod"))
    if dtypes.is_float(dtype):
        return ("-" if name == "max" else "") + "__builtin_inf()"
    most = (1 << 8 * dtype.itemsize - 1) - 1
    return f"(-{most}LL - 1)" if name == "max" else f"{most}LL"


def source(what: str, dtype: DType) -> str:
    """The function for a search or a reduction of one type."""
    name, is_float = _TYPES[dtype], dtypes.is_float(dtype)
    wide = name if is_float else f"unsigned {name}"
    step = _STEPS.get(what, "").replace(" || NAN", " || from[r] != from[r]" if is_float else "")
    text = _SEARCH if what == "search" else _SEGMENTS.replace("STEP", step).replace("FIRST", _first(what, dtype))
    return batches.BEFORE + text.replace("TYPE", name).replace("WIDE", wide) + batches.entry("branded_count", "go(&j);")


@functools.cache
def _glue(what: str, dtype: DType) -> tuple[Any, int]:
    return batches.compiled(source(what, dtype), "branded_count")


def _made(what: str, dtype: DType, numbers: Sequence[int], steps: Sequence[int] | None) -> Called | None:
    if steps is None:
        return None
    function, address = _glue(what, dtype)
    return Called(address, function, functools.partial(batches.words, [0, 0, *numbers, *steps], 1))


@functools.cache
def search(side: str) -> InC:
    """How many of sorted ints `[..., n]` come before each of others `[..., *shape]`, as `i32[..., *shape]`."""

    def found(results: Sequence[Array], args: Sequence[Array]) -> Called | None:
        own, wanted = args
        lead = len(own.shape) - 1
        if own.dtype != wanted.dtype or own.dtype not in (dtypes.int32, dtypes.int64) or not own.nbytes * wanted.nbytes:
            return None
        many = wanted.nbytes // wanted.dtype.itemsize
        for n in wanted.shape[:lead]:
            many //= n
        steps = batches.steps(results[0].shape[:lead], args, (1, len(wanted.shape) - lead))
        return _made("search", own.dtype, [int(side == "right"), own.shape[-1], many, 0], steps)

    return found


@functools.cache
def segments(reduction: str) -> InC:
    """The entries of data `[..., n, *rest]` with the same of ids `[..., n]`, together, as `[..., num, *rest]`."""

    def found(results: Sequence[Array], args: Sequence[Array]) -> Called | None:
        x, ids = args
        lead = len(ids.shape) - 1
        if x.dtype not in _TYPES or ids.dtype not in (dtypes.int32, dtypes.int64) or not results[0].nbytes * x.nbytes:
            return None
        rest = 1
        for n in x.shape[lead + 1 :]:
            rest *= n
        steps = batches.steps(results[0].shape[:lead], args, (len(x.shape) - lead, 1))
        is_long = int(ids.dtype == dtypes.int64)
        return _made(reduction, x.dtype, [is_long, rest, ids.shape[-1], results[0].shape[lead]], steps)

    return found
