"""Leaves that can be converted to tensors: numbers and numpy arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tinygrad import Tensor, dtypes
from tinygrad.dtype import DType, strong_dtype
from tinygrad.uop.ops import Ops, UOp

from branded.errors import ArgumentError
from branded.graph.rows import SHORT
from branded.graph.uops import tensor
from branded.tinygrad_compat.lazy_numpy import np
from branded.tree.formatting import describe, package_of
from branded.tree.nodes import leaves, rebuild


def as_tensor(x: Any, *, copy: bool = True) -> Tensor | None:
    """Return a leaf as a tensor if it is a tensor, a number or an array of numbers, else None.

    An array is copied, because a tensor is read later, and the caller may have written into the array by then. Without
    `copy` the tensor shares the memory of the array.
    """
    if isinstance(x, Tensor):
        return x
    if isinstance(x, bool | int | float):
        return Tensor(x)
    if isinstance(x, np.ndarray | np.generic) and _has_dtype(x):
        return Tensor(np.array(x, dtype=x.dtype.newbyteorder("="), copy=copy or None))
    return None


def uops(x: Any) -> list[UOp]:
    """Return the UOps of the tensors in any tree."""
    return [v.uop for v in leaves(x) if isinstance(v, Tensor)]


def with_uops(x: Any, us: Sequence[UOp]) -> Any:
    """Return the same tree with new tensors of these UOps for its tensors."""
    new = iter(us)
    return rebuild(x, (tensor(next(new)) if isinstance(v, Tensor) else v for v in leaves(x))) if us else x


def number_of(x: Any) -> int | None:
    """Return the value of a Python int, or of a tensor made from a Python int; None for any other leaf."""
    if isinstance(x, Tensor):
        u: UOp = x.uop
        return u.val if u.op is Ops.CONST and u.dtype == dtypes.weakint and type(u.val) is int else None
    return x if type(x) is int else None


def fits(n: int, dtype: DType) -> bool:
    """Return whether a dtype can hold an int; an unsigned dtype also accepts the bits of a negative int."""
    return not dtypes.is_int(dtype) or min(dtype.min, -(2 ** (dtype.bitsize - 1))) <= n <= dtype.max


def check_fits(x: Any, dtype: DType, api_name: str) -> None:
    """Raise ArgumentError if a Python int does not fit the dtype of its neighbors, or int32 by default.

    `x` is an int, or a tensor, which may be computed from ints alone: `p.where(2**40, 5) + 1`.
    """
    ints = (x,) if type(x) is int else _ints_of(x.uop) if isinstance(x, Tensor) else ()
    for n in ints:
        if not fits(n, strong_dtype(dtype)):
            raise too_large(n, strong_dtype(dtype), api_name)


def _ints_of(u: UOp) -> Iterator[int]:
    """Yield the Python ints from which a value is computed that has no dtype of its own."""
    if u.dtype == dtypes.weakint:
        graph = u.toposort(lambda v: v.dtype == dtypes.weakint, enter_calls=False)
        yield from (v.val for v in graph if v.op is Ops.CONST and type(v.val) is int)


def with_memory_dtype(x: Tensor, api_name: str) -> Tensor:
    """Return a tensor with the dtype that it has in memory; raise if a Python int in it does not fit."""
    check_fits(x, x.dtype, api_name)
    return x.cast(strong_dtype(x.dtype))


def too_large(n: int, dtype: DType, api_name: str) -> ArgumentError:
    """Return the error of `check_fits`."""
    wide = next((name for d, name in _WIDE.items() if fits(n, d)), None)
    return ArgumentError(
        f"{api_name}: {describe(n)} does not fit into {SHORT[dtype.name]}",
        fix="use a float" if wide is None else f'Tensor({n}, dtype="{wide}")',
    )


_WIDE = {dtypes.int64: "int64", dtypes.uint64: "uint64"}


def _has_dtype(x: np.ndarray | np.generic) -> bool:
    """Return whether these are bools, ints or floats of a size that tinygrad supports."""
    return x.dtype.kind in "biuf" and x.dtype.itemsize <= 8 and not np.ma.is_masked(x)


def advice(x: Any) -> str | None:
    """Return the fix for an error: how to convert `x` to a tensor; None if there is no conversion."""
    if isinstance(x, np.ma.MaskedArray) and not _has_dtype(x):
        return "x.filled(0), and the mask as an array of its own"
    if isinstance(x, np.ndarray | np.generic) and x.dtype.kind == "f" and not _has_dtype(x):
        return 'x.astype("float64")'
    if package_of(x):
        return "Tensor(numpy.asarray(x))"
    if isinstance(x, np.ndarray) and x.dtype == object and any(isinstance(v, Tensor) for v in x.flat):
        return "use the tensor itself, not numpy.asarray or numpy.array of it"
    if isinstance(x, list | tuple) and x and all(isinstance(v, Tensor) for v in x):
        return "Tensor.stack(...) of them"
    return None
