"""Arrays of dask and numpy beside tensors: which are dask's, what their blocks are as tensors, and the way back."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from tinygrad import Tensor, dtypes
from tinygrad.dtype import DType, strong_dtype

from branded import tree
from branded.errors import AxisTypeError, OptionError
from branded.patches.arrays import np
from branded.patches.tg import _to_np_dtype
from branded.rows import dtype_text


def dask_array(what: str) -> Any:
    """The module `dask.array`, which is an extra."""
    try:
        return importlib.import_module("dask.array")
    except ImportError as error:
        raise OptionError(
            f"{what}: there is no dask here", ("said", str(error)), fix="pip install 'branded[dask]'"
        ) from None


def is_distributed(x: object) -> bool:
    """Is this an array of dask?"""
    return type(x).__module__.partition(".")[0] == "dask" and hasattr(x, "numblocks")


def kind_of(x: Any) -> tuple[tuple[int, ...], DType]:
    """The shape of an array of dask, and its dtype as a tensor."""
    if any(n != n for n in x.shape):
        raise AxisTypeError(
            "dask.vmap: an array of dask has chunks of unknown sizes",
            ("shape", str(x.shape)),
            fix="x.compute_chunk_sizes()",
        )
    return tuple(map(int, x.shape)), _dtype(x.dtype)


def _dtype(dtype: Any) -> DType:
    found = getattr(dtypes, dtype.name, None) if dtype.kind in "biuf" else None
    if not isinstance(found, DType):
        raise AxisTypeError(
            f"dask.vmap: an array of dask has the dtype {dtype}, which tinygrad has not", fix='x.astype("float32")'
        )
    return found


def numpy_dtype(given: DType, where: str) -> Any:
    """What a result of a dtype is in an array of numpy."""
    dtype = strong_dtype(given)
    if (found := _to_np_dtype(dtype)) is None or dtype in (dtypes.bfloat16, *dtypes.fp8s):
        raise AxisTypeError(
            f"dask.vmap: {where} has the dtype {dtype_text(dtype)}, which numpy has not",
            fix="y.cast(dtypes.float32) in the function",
        )
    return np.dtype(found)


def block(x: Any) -> Any:
    """The block of an array, which dask has in a list for each axis that the result has not."""
    while isinstance(x, list):
        (x,) = x
    return x


def native(x: Any) -> Any:
    """An array as a compiled function reads it where it is."""
    found = np.asarray(x)
    return found if found.dtype.isnative else found.astype(found.dtype.newbyteorder("="))


def tensor_of(x: Any) -> Tensor:
    found = tree.as_tensor(native(x))
    assert found is not None  # the dtype is known
    return found


def arrays_of(ts: Sequence[Tensor]) -> tuple[Any, ...]:
    """The values of tensors, worked out together."""
    held = [t for t in ts if not t.uop.is_virtual]
    if held:
        Tensor.realize(*held)
    return tuple(t.numpy() for t in ts)
