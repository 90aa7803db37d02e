"""Initial values: data of Python or numpy, and buffers filled with a number, are written to memory without a kernel.

tinygrad schedules a copy or a kernel for `Tensor(array)` and for `Tensor.zeros(3)`. This takes much longer than the
copy itself, and a graph that contains a write has no program in `eager_cache`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinygrad import Tensor
from tinygrad.uop.ops import GroupOp, Ops, UOp

from branded.compile.computed_graphs import replace_graphs
from branded.compile.linear_program import buffer_of
from branded.compile.output_pool import allocate
from branded.graph.uops import base_of
from branded.tinygrad_compat.lazy_numpy import np
from branded.tinygrad_compat.private_api import _to_np_dtype, all_int


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
    data = base_of(u.src[0])
    if data.op is not Ops.BUFFER or data.device not in ("NPY", "PYTHON") or not data.is_realized:
        return None
    out = allocate(u.device, u.shape, u.max_numel(), u.dtype)
    _memory(base_of(out))[:] = _memory(data)
    return out


def _fill(u: UOp) -> UOp | None:
    """Write `Tensor.full(shape, number)`, if its dtype can represent the number."""
    into, write = u.src[0], u.src[1]
    if len(u.src) != 2 or write.op is not Ops.STORE or write.src[0] is not into or len(write.src) != 2:
        return None
    number, base = write.src[1], base_of(into)
    while number.op in GroupOp.Movement and number.op is not Ops.PAD:
        number = number.src[0]
    if number.op is not Ops.CONST or base.op is not Ops.BUFFER or base.is_realized:
        return None
    if (numpy_type := _to_np_dtype(u.dtype)) is None or not _represents(numpy_type, number.arg, u.dtype.itemsize):
        return None
    np.frombuffer(_memory(base), numpy_type).fill(number.arg)
    return into


def _represents(numpy_type: Any, number: Any, itemsize: int) -> bool:
    if not isinstance(number, int | float) or np.dtype(numpy_type).itemsize != itemsize:
        return False
    try:
        return bool(numpy_type(number) == number)
    except OverflowError:
        return False


def _memory(base: UOp) -> memoryview:
    return buffer_of(base).as_memoryview(force_zero_copy=True)
