"""A cache for the graph of `arange`, which tinygrad rebuilds as a cumulative sum of ones, thirty operations each time.

Each tensor index and each random sample needs one. The graph has no memory and depends only on its numbers.
"""

from __future__ import annotations

import functools
from typing import Any

from tinygrad import Tensor, dtypes
from tinygrad.dtype import DType
from tinygrad.uop.ops import UOp


def install() -> None:
    mixin: Any = next(cls for cls in UOp.__mro__ if "arange" in vars(cls))
    original = vars(mixin)["arange"].__func__

    @functools.lru_cache(maxsize=256, typed=True)
    def made(start: float, stop: float | None, step: float, dtype: DType | None, usual: tuple[DType, DType]) -> UOp:
        out: UOp = original(UOp, start, stop, step, dtype)
        return out

    @functools.wraps(original)
    def arange(cls: Any, start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Any:
        plain = all(type(x) in (int, float) for x in (start, 0 if stop is None else stop, step))
        if not plain or cls not in (Tensor, UOp) or not (dtype is None or isinstance(dtype, DType)):
            return original(cls, start, stop, step, dtype)
        out = made(start, stop, step, dtype, (dtypes.default_int, dtypes.default_float))
        return out if cls is UOp else Tensor(out)

    mixin.arange = classmethod(arange)
