"""A fix for numpy arrays with a non-native byte order.

tinygrad 0.14 copies the bytes of `Tensor(numpy.array([1.0], dtype=">f4"))` unchanged, and silently reads other numbers.

The bug is fixed upstream once `Tensor(numpy.array([1.0], dtype=">f4")).item()` is 1.0 in tinygrad itself.
"""

from __future__ import annotations

from typing import Any

from branded.tinygrad_compat import private_api


def install() -> None:
    original: Any = private_api.tensor._fromnp

    def fromnp(x: Any) -> Any:
        return original(x if x.dtype.isnative else x.astype(x.dtype.newbyteorder("=")))

    private_api.tensor._fromnp = fromnp
