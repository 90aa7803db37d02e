"""Operations on batches of matrices by the LAPACK that numpy ships, called from C among the kernels.

If numpy has another LAPACK, or there is no C compiler, the function that `in_c` returns has the result None, and
`branded/linalg/lapack.py` calls numpy.  With `BRANDED_LAPACK=0` in the environment, numpy is always called.
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

from branded.backends.cpu.gemm import blas
from branded.backends.cpu.linalg import batches, lapack_source
from branded.backends.cpu.linalg.lapack_source import KINDS, ROUTINES, SYSTEM
from branded.backends.cpu.runtime.host_calls import ArrayType, CFunction, InC

SMALL = 1 << 26
"""The number of multiplications below which OpenBLAS is faster with one thread: its threads wait for each other."""
STRAIGHT, ITERATED = 0.3, 10.0
"""The nanoseconds per multiplication of two such matrices, for eliminations and for iterative methods."""
_ITERATED = {"eigh", "eigvalsh", "svd", "svdvals"}
_TAILS = {"det": 0, "slogdet": 0, "eigh": 1, "eigvalsh": 1, "svdvals": 1}
"""The axes of the first result after the batch axes, if the result is not a matrix."""


@functools.cache
def in_c(kind: str, option: int = 0) -> InC | None:
    """Return a function of an operation's result and argument types that gives the C function to call, or None."""
    return None if kind not in KINDS else functools.partial(_lapack_function, kind, option)


def _lapack_function(
    kind: str, option: int, results: Sequence[ArrayType], args: Sequence[ArrayType]
) -> CFunction | None:
    dtype = args[0].dtype
    if dtype not in (dtypes.float32, dtypes.float64) or any(x.dtype != dtype for x in (*results, *args)):
        return None
    batch = results[0].shape[: len(results[0].shape) - _TAILS.get(kind, 2)]
    steps = batches.steps(batch, args, [2] * len(args))
    table = _table(dtype) if all(x.nbytes for x in (*results, *args)) and steps is not None else None
    if table is None or steps is None:
        return None
    m, n = args[0].shape[-2:]
    k, more = results[0].shape[-1] if results[0].shape else 0, option
    if kind == "svd":
        more = results[2].shape[-2]
    alone, examples = int(max(m, n) ** 3 < SMALL), math.prod(batch)
    work = examples * max(m, n) ** 3 * (ITERATED if kind in _ITERATED else STRAIGHT) if alone else 0
    parts = batches.shared(work, steps, results, examples)
    numbers = [ctypes.addressof(table), alone, more, m, n, k, *steps, *parts]
    text = lapack_source.source(kind, dtype == dtypes.float64)
    return batches.c_function(text, "branded_lapack", numbers, len(results))


@functools.cache
def _table(dtype: DType) -> Any:
    """Return the addresses of the functions that C calls, or None if one of them is missing."""
    library, real = blas.library(), "d" if dtype == dtypes.float64 else "s"
    if library is None or os.environ.get("BRANDED_LAPACK") == "0":
        return None
    try:
        here = ctypes.CDLL(None)
        functions = [getattr(library, SYSTEM[0]), *(getattr(here, name) for name in SYSTEM[1:])]
        functions += [getattr(library, f"scipy_{real}{name}_64_") for name in ROUTINES]
    except (AttributeError, OSError, TypeError):
        return None
    # C keeps the address, so the cache keeps the table alive
    return (ctypes.c_uint64 * len(functions))(*(ctypes.cast(f, ctypes.c_void_p).value or 0 for f in functions))
