"""Values that only move elements of a buffer, such as `x[3]` or `x.T`, as NumPy views of its memory.

Such a value is read without a kernel: a kernel would take longer to schedule than the copy.
"""

from __future__ import annotations

import math
from typing import Any, cast

from tinygrad.uop.ops import Ops, UOp

from branded.compile.output_pool import BufferPart, Known, part_in_memory, value_in_memory
from branded.tinygrad_compat.lazy_numpy import np
from branded.tinygrad_compat.private_api import all_int

LARGEST_COPY = 1 << 18
"""The size in bytes of the largest value whose elements NumPy moves; for larger ones, a kernel is faster."""
_MOVES = frozenset((Ops.RESHAPE, Ops.PERMUTE, Ops.SHRINK, Ops.FLIP, Ops.EXPAND, Ops.PAD, Ops.DETACH, Ops.CONTIGUOUS))


def array_in_memory(u: UOp) -> Any:
    """Return the bits of a value that consists of elements of a buffer of a CPU, as an array, or None for any other.

    The array is a view of the memory if its strides can express the value.
    """
    moves: list[UOp] = []
    while (value := value_in_memory(u) or part_in_memory(u)) is None:
        if u.op not in _MOVES or not all_int(u.shape):
            return None
        moves.append(u)
        u = u.src[0]
    if type(value) is Known and not (value.address and value.device.startswith("CPU")):
        return None
    array = bits_of(value)
    for move in reversed(moves):
        if (array := _move(move, array)) is None:
            return None
    return array if array.flags.c_contiguous or array.nbytes <= LARGEST_COPY else None


def bits_of(value: Known | BufferPart) -> Any:
    """Return the bits of a value in memory as an array of unsigned ints."""
    shape, dtype = value.type[:2]
    whole, start = (value, 0) if isinstance(value, Known) else (value.whole, value.start)
    memory = whole.buffer.as_memoryview(allow_zero_copy=True)
    return np.frombuffer(memory, f"u{dtype.itemsize}", math.prod(shape), start * dtype.itemsize).reshape(shape)


def _move(u: UOp, array: Any) -> Any:
    """Return the value of a movement of an array, or None if its offsets are not known or it copies too much."""
    needs_copy = u.op is Ops.PAD or (u.op is Ops.RESHAPE and not array.flags.c_contiguous)
    if needs_copy and u.max_numel() * array.itemsize > LARGEST_COPY:
        return None
    if u.op is Ops.RESHAPE:
        return array.reshape(u.shape)
    if u.op is Ops.PERMUTE:
        return array.transpose(u.arg)
    if u.op is Ops.FLIP:
        return array[tuple(slice(None, None, -1 if is_flipped else 1) for is_flipped in u.arg)]
    if u.op is Ops.EXPAND:
        return np.broadcast_to(array, cast(tuple[int, ...], u.shape))
    if u.op is not Ops.SHRINK and u.op is not Ops.PAD:
        return array
    begins, sizes = [begin for begin, _ in u.marg], u.shape if u.op is Ops.SHRINK else array.shape
    if not all_int(begins):
        return None
    part = tuple(slice(begin, begin + n) for begin, n in zip(begins, sizes, strict=True))
    if u.op is Ops.SHRINK:
        return array[part]
    padded = np.zeros(u.shape, array.dtype)
    padded[part] = array
    return padded
