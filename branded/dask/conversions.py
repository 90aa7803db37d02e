"""Conversions between dask arrays, numpy arrays and tensors."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from tinygrad import Tensor, dtypes
from tinygrad.dtype import DType, strong_dtype

from branded import tree
from branded.errors import AxisTypeError, OptionError
from branded.graph.rows import dtype_text
from branded.graph.uops import realize_tensors
from branded.tinygrad_compat.lazy_numpy import np
from branded.tinygrad_compat.private_api import _to_np_dtype


def dask_array() -> Any:
    """Import `dask.array`, an optional dependency; raise if it is not installed."""
    try:
        return importlib.import_module("dask.array")
    except ImportError as error:
        fact = ("reason", str(error))
        raise OptionError("dask.vmap: dask is not installed", fact, fix="pip install 'branded[dask]'") from None


def is_distributed(x: object) -> bool:
    """Return whether this is a dask array."""
    return type(x).__module__.partition(".")[0] == "dask" and hasattr(x, "numblocks")


def shape_and_dtype(x: Any) -> tuple[tuple[int, ...], DType]:
    """Return the shape of a dask array, and its dtype as a tensor."""
    if any(n != n for n in x.shape):
        raise AxisTypeError(
            "dask.vmap: a dask array has chunks of unknown sizes",
            ("shape", str(x.shape)),
            fix="x.compute_chunk_sizes()",
        )
    return tuple(map(int, x.shape)), _tensor_dtype(x.dtype)


def _tensor_dtype(dtype: Any) -> DType:
    tensor_dtype = getattr(dtypes, dtype.name, None) if dtype.kind in "biuf" else None
    if not isinstance(tensor_dtype, DType):
        raise AxisTypeError(f"dask.vmap: tinygrad has no dtype {dtype} for this dask array", fix='x.astype("float32")')
    return tensor_dtype


def numpy_dtype(tensor_dtype: DType, where: str) -> Any:
    """Return the numpy dtype of a result; raise if numpy has no such dtype."""
    dtype = strong_dtype(tensor_dtype)
    if (np_dtype := _to_np_dtype(dtype)) is None or dtype in (dtypes.bfloat16, *dtypes.fp8s):
        raise AxisTypeError(
            f"dask.vmap: {where} has the dtype {dtype_text(dtype)}, which numpy does not have",
            fix="y.cast(dtypes.float32) in the function",
        )
    return np.dtype(np_dtype)


def unwrap_block(x: Any) -> Any:
    """Return the block of an array; dask nests it in a list for each axis that the result lacks."""
    while isinstance(x, list):
        (x,) = x
    return x


def native_array(x: Any) -> Any:
    """Return a numpy array in native byte order, which a compiled function reads without a copy."""
    array = np.asarray(x)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def tensor_of(x: Any) -> Tensor:
    t = tree.as_tensor(native_array(x))
    assert t is not None  # the dtype is known
    return t


def arrays_of(ts: Sequence[Tensor]) -> tuple[Any, ...]:
    """Return the values of tensors as numpy arrays, realized together."""
    realize_tensors(ts)
    return tuple(t.numpy() for t in ts)
