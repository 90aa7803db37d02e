"""Arrays of numpy whose bytes are in the other order.

What is wrong: in tinygrad 0.14 `Tensor(numpy.array([1.0], dtype=">f4"))` takes the bytes of the array as they are, and
so has other numbers, without a word.

How one can tell: `Tensor(numpy.array([1.0], dtype=">f4")).item()` is 1.0 in tinygrad itself.
"""

from __future__ import annotations

from typing import Any

from branded.tinygrad_compat import private_api


def install() -> None:
    original: Any = private_api.tensor._fromnp

    def fromnp(x: Any) -> Any:
        return original(x if x.dtype.isnative else x.astype(x.dtype.newbyteorder("=")))

    private_api.tensor._fromnp = fromnp
