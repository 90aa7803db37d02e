"""Running products, running maxima and recurrences as C functions, with one step per entry of the last axis."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

from tinygrad import dtypes
from tinygrad.dtype import DType

from branded.backends.cpu.linalg import batches
from branded.backends.cpu.runtime.host_calls import ArrayType, CFunction, InC

_GO = """
static void go(struct job *j) {
  i64 n = j->n, m, i;
  OUT *out = (OUT *)j->out[0];
  do {
    const TYPE *a = (TYPE *)j->a;
    const TYPE *b = (TYPE *)j->b;
    BODY
    out += n;
  } while (next(j));
}
"""
# ints wrap around, as in tinygrad, so WIDE is unsigned; a maximum stays at the first NaN
_BODIES = {
    "cumprod": "TYPE y = 1; for (i = 0; i < n; i++) out[i] = y = (TYPE)((WIDE)y * (WIDE)a[i]);",
    "cummax": "TYPE y = a[0]; for (i = 0; i < n; i++) { if (!(a[i] <= y) && y == y) y = a[i]; out[i] = y; }",
    "cumargmax": "m = 0; for (i = 0; i < n; i++) { if (!(a[i] <= a[m]) && a[m] == a[m]) m = i; out[i] = (int)m; }",
    "recurrence": "TYPE y = out[0] = b[0]; for (i = 1; i < n; i++) out[i] = y = a[i] * y + b[i];",
}


@functools.cache
def along_source(name: str, dtype: DType) -> str:
    """Return the C function for entries of one dtype."""
    own = batches.TYPES[dtype]
    text = _GO.replace("BODY", _BODIES[name]).replace("OUT", "int" if name == "cumargmax" else own)
    text = text.replace("WIDE", own if dtypes.is_float(dtype) else f"unsigned {own}").replace("TYPE", own)
    return batches.BEFORE + text + batches.entry("branded_along", "go(&j);")


@functools.cache
def along(name: str) -> InC:
    """Return the named function for arguments `[..., m]` and a result `[..., n]`."""
    return functools.partial(_along, name)


def _along(name: str, results: Sequence[ArrayType], args: Sequence[ArrayType]) -> CFunction | None:
    x, y = args[0], results[0]
    if x.dtype not in batches.TYPES or not all(z.nbytes for z in (*args, y)):
        return None
    if (steps := batches.steps(y.shape[:-1], args, (1,) * len(args))) is None:
        return None
    size = math.prod(y.shape)
    by = batches.shared(size, steps, results, size // y.shape[-1])
    numbers = [0, 0, 0, x.shape[-1], y.shape[-1], 0, *steps, *by]
    return batches.c_function(along_source(name, x.dtype), "branded_along", numbers)
