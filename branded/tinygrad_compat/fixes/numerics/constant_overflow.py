"""A fix for constants that overflow their int dtype: they wrap around, as in memory.

tinygrad folds constants with unbounded Python ints, and the result keeps its value in a cast. For the uint8 value 197,
three times it is 79, but 591 after a cast to int; `Tensor(300).cast("uint8").cast("int32")` is 300. A negative number
of an unsigned dtype is kept, because tinygrad subtracts by adding it.
"""

from __future__ import annotations

import functools
from typing import Any

from tinygrad import dtypes
from tinygrad.dtype import DType


def install() -> None:
    original = DType.const
    whole = {d: (d.min if d.min < 0 else -(2**d.bitsize), d.max, d.min, 2**d.bitsize) for d in dtypes.ints}
    ends = {**whole, dtypes.weakint: (float("-inf"), float("inf"), 0, 0)}

    @functools.wraps(original)
    def const(self: DType, val: Any) -> Any:
        if (bounds := ends.get(self)) is None:
            return original(self, val)
        low, high, first, n = bounds
        x = val if type(val) is int else original(self, val)  # most are ints, which need no conversion
        return x if type(x) is not int or low <= x <= high else (x - first) % n + first

    DType.const = const  # type: ignore[method-assign]
