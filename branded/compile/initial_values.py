"""Initial values: data of Python or numpy, and buffers filled with a number, are written to memory without a kernel.

tinygrad schedules a copy or a kernel for `Tensor(array)` and for `Tensor.zeros(3)`. This takes much longer than the
copy itself, and a graph that contains a write has no program in `eager_cache`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

from tinygrad import Tensor
from tinygrad.dtype import DType
from tinygrad.uop.ops import GroupOp, Ops, UOp

from branded.compile.computed_graphs import replace_graphs
from branded.compile.linear_program import buffer_of
from branded.compile.output_pool import Result, allocate
from branded.graph.scope import may_be_in_brand, open_brands
from branded.graph.uops import base_of
from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.lazy_numpy import np
from branded.tinygrad_compat.private_api import _to_np_dtype, all_int

LARGEST_SHARED = 1 << 18
"""The size in bytes of the largest value that `filled_memory` keeps in memory for all programs."""


def write_initial_values(values: Sequence[Tensor]) -> bool:
    """Write the initial values in these graphs to memory, and return whether there are any.

    All tensors that contain them refer to the memory afterwards, as after `realize`.
    """
    initial = _initial_values(values)
    if initial:
        replace_graphs(values, *initial)
    return bool(initial)


def _initial_values(values: Sequence[Tensor]) -> tuple[list[UOp], list[UOp]] | None:
    """Write the initial values, and return their graphs and their memory; None if there are none."""
    u = values[0].uop
    if len(values) == 1 and (memory := _write(u)) is not None:
        return [u], [memory]
    graph = UOp.sink(*(t.uop for t in values)).toposort(enter_calls=False)
    written = {u: memory for u in graph if (memory := _write(u)) is not None}
    return (list(written), list(written.values())) if written else None


def _write(u: UOp) -> UOp | None:
    """Write an initial value on the CPU, and return it in memory; None for any other value."""
    if u.op not in (Ops.COPY, Ops.AFTER) or u.tag is not None or not str(u.device).startswith("CPU"):
        return None
    if not all_int(u.shape) or 0 in u.shape:
        return None
    return _copy(u) if u.op is Ops.COPY else _fill(u)


def _copy(u: UOp) -> UOp | None:
    """Write `Tensor(array)` or `Tensor([1, 2])`."""
    if (data := _data(u)) is None:
        return None
    if may_be_in_brand() and open_brands():  # a write asks whether a tensor is older than the brand
        out = allocate(u.device, u.shape, u.max_numel(), u.dtype)
        memory = _memory(base_of(out))
    else:
        pooled = _copies(u.device, u.shape, u.dtype).take()
        out, memory = pooled.uop, pooled.buffer.as_memoryview(force_zero_copy=True)
    memory[:] = _memory(data)
    return out


def _data(copy: UOp) -> UOp | None:
    """Return the buffer of Python or numpy that is copied, or None if it is not in memory."""
    data = base_of(copy.src[0])
    if data.op is not Ops.BUFFER or data.arg.device not in ("NPY", "PYTHON"):
        return None
    memory = private_api.buffers.get(data)
    return data if memory is not None and memory.is_allocated() else None


def copy_constants(copies: Sequence[UOp]) -> dict[UOp, UOp]:
    """Return copies to the CPU in memory that no tensor of the user refers to; small equal values share their memory.

    A copy is left out if its data is not in memory or if it is not on the CPU.
    """
    memory, shared = dict[UOp, UOp](), dict[object, UOp]()
    for u in copies:
        if not str(u.device).startswith("CPU") or not all_int(u.shape) or 0 in u.shape or (data := _data(u)) is None:
            continue
        source = _memory(data)
        is_small = source.nbytes <= LARGEST_SHARED
        key = (u.device, u.dtype, u.shape, bytes(source)) if is_small else u
        if (out := shared.get(key)) is None:
            out = shared[key] = allocate(u.device, u.shape, u.max_numel(), u.dtype)
            _memory(base_of(out))[:] = source
        memory[u] = out
    return memory


@functools.lru_cache(maxsize=32)
def _copies(device: str, shape: tuple[int, ...], dtype: DType) -> Result:
    """Return the buffers for copies of arrays, which are used again after their tensors."""
    return Result(shape, dtype, device, is_ours=False)


def _fill(u: UOp) -> UOp | None:
    """Write `Tensor.full(shape, number)`, if its dtype can represent the number."""
    if (number := _filled_with(u)) is None:
        return None
    into: UOp = u.src[0]
    np.frombuffer(_memory(base_of(into)), _to_np_dtype(u.dtype)).fill(number.arg)
    return into


def filled_memory(u: UOp) -> UOp | None:
    """Return memory with the value of a small `Tensor.full(shape, number)` that is not written yet, to read only."""
    if u.tag is not None or not str(u.device).startswith("CPU") or (number := _filled_with(u)) is None:
        return None
    if not all_int(u.shape) or not 0 < u.max_numel() * u.dtype.itemsize <= LARGEST_SHARED:
        return None
    return _filled_buffer(u.device, u.shape, u.dtype, number.arg)


@functools.lru_cache(maxsize=32)
def _filled_buffer(device: str, shape: tuple[int, ...], dtype: DType, number: Any) -> UOp:
    out = allocate(device, shape, math.prod(shape), dtype)
    np.frombuffer(_memory(base_of(out)), _to_np_dtype(dtype)).fill(number)
    return out


def _filled_with(u: UOp) -> UOp | None:
    """Return the number with which `Tensor.full` will fill its buffer, if its dtype can represent it, or None."""
    into, write = u.src[0], u.src[1]
    if len(u.src) != 2 or write.op is not Ops.STORE or write.src[0] is not into or len(write.src) != 2:
        return None
    number, base = write.src[1], base_of(into)
    while number.op in GroupOp.Movement and number.op is not Ops.PAD:
        number = number.src[0]
    if number.op is not Ops.CONST or base.op is not Ops.BUFFER or base.is_realized:
        return None
    return number if _represents(u.dtype, number.arg) else None


@functools.lru_cache(maxsize=256)
def _represents(dtype: DType, number: Any) -> bool:
    """Return whether numpy has the dtype, and the dtype the number."""
    numpy_type = _to_np_dtype(dtype)
    if numpy_type is None or not isinstance(number, int | float) or np.dtype(numpy_type).itemsize != dtype.itemsize:
        return False
    try:
        return bool(numpy_type(number) == number)
    except OverflowError:
        return False


def _memory(base: UOp) -> memoryview:
    return buffer_of(base).as_memoryview(force_zero_copy=True)
