"""The NumPy types in which a host callback receives its arguments, and those that it may return."""

from __future__ import annotations

from typing import Any

from tinygrad import dtypes
from tinygrad.dtype import DType, strong_dtype

from branded.graph.rows import dtype_text
from branded.tinygrad_compat.lazy_numpy import np
from branded.tinygrad_compat.private_api import _to_np_dtype

_OF_NUMPY = {*dtypes.ints, dtypes.bool, dtypes.float16, dtypes.float32, dtypes.float64}


def numpy_dtype(dtype: DType) -> DType:
    """Return the dtype in which NumPy receives a value."""
    dtype = strong_dtype(dtype)
    return dtype if dtype in _OF_NUMPY else dtypes.float32


def canonical(dtype: Any) -> Any:
    """Return the 32-bit dtype for a 64-bit one, because Python numbers become 64-bit in NumPy."""
    return {"float64": "float32", "int64": "int32", "uint64": "uint32"}.get(dtype.name, dtype.name)


def is_number(x: Any, to: np.ndarray) -> bool:
    """Return whether `x` is a Python number that may take the dtype of the result."""
    if isinstance(x, bool):
        return to.dtype.kind == "b"
    return (isinstance(x, int) and to.dtype.kind in "iuf") or (isinstance(x, float) and to.dtype.kind == "f")


def array_type(dtype: Any, shape: tuple[int, ...]) -> str:
    known = next((d for d in _OF_NUMPY if _to_np_dtype(d) == dtype), None)
    return f"{dtype_text(known) if known is not None else dtype.name}[{', '.join(map(str, shape))}]"
