"""A number that is too large for its int dtype goes round, as it does in memory.

tinygrad works out what it knows of numbers by ints of Python, which have no end, and what comes of it keeps its value
under a cast: of the u8 197, three times it is 79, and as an int 591; `Tensor(300).cast("uint8").cast("int32")` is 300.
A negative number of an unsigned dtype stays one: tinygrad subtracts by adding it.
"""

from __future__ import annotations

import functools
from typing import Any

from tinygrad import dtypes
from tinygrad.dtype import DType


def install() -> None:
    original = DType.const
    ends = {d: (d.min if d.min < 0 else -(2**d.bitsize), d.max, d.min, 2**d.bitsize) for d in dtypes.ints}

    @functools.wraps(original)
    def const(self: DType, val: Any) -> Any:
        x = original(self, val)
        if type(x) is int and (found := ends.get(self)) is not None:
            low, high, first, n = found
            if not low <= x <= high:
                return (x - first) % n + first
        return x

    DType.const = const  # type: ignore[method-assign]
