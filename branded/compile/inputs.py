"""The arguments of a compiled program, and how they get into memory."""

from __future__ import annotations

import functools
import math
import struct
from typing import Any

from tinygrad import Tensor
from tinygrad.uop.ops import Ops, UOp

from branded import tree
from branded.compile.arguments import NUMBERS
from branded.compile.eager_cache import run_cached
from branded.compile.initial_values import LARGEST_SHARED, filled_memory, write_initial_values
from branded.compile.linear_program import buffer_of
from branded.compile.memory_views import array_in_memory, bits_of
from branded.compile.output_pool import BufferPart, Known, Result, value_in_memory
from branded.core.analysis.aliasing import is_no_copy
from branded.core.boundary import lower_unbatched
from branded.graph.uops import base_of, tensor
from branded.tinygrad_compat.activation import running_block
from branded.tinygrad_compat.lazy_numpy import np
from branded.tinygrad_compat.private_api import _to_np_dtype
from branded.tinygrad_compat.uops import is_realized


class ProgramInput:
    """An argument of a program, and how it gets into memory."""

    def __init__(self, p: UOp, alignment: int) -> None:
        self.device, self.dtype, self.shape, self.alignment = p.device, p.dtype, p.shape, alignment
        self.is_empty = 0 in p.shape
        self.numpy = _to_np_dtype(p.dtype)
        self.pack = struct.Struct(p.dtype.fmt).pack_into if p.dtype.fmt and p.shape == () else None
        self.staged: Known | None = None

    def address(self, x: Any, held: list[Any], is_read_alone: bool = True) -> int:
        """Return the address from which the kernels read the argument; `held` keeps its memory alive until they finish.

        A contiguous part of a buffer is read in place if nothing writes into the memory of the arguments.
        """
        if self.is_empty:
            return 0
        if type(x) is BufferPart:
            is_used = is_read_alone and x.address % self.alignment == 0
            return x.address if is_used else self._of_array(bits_of(x), False)
        return self._of_python(x) or self._of_view(x, held, is_read_alone) or self._known(x, held).address

    def _of_view(self, x: Any, held: list[Any], in_place: bool) -> int:
        """Return the address of elements of a tensor in memory, such as `x[0]` or `x.T`; 0 for anything else."""
        if type(x) is not Tensor or x.dtype != self.dtype or x.device != self.device:
            return 0
        if x.uop.base.op in (Ops.COPY, Ops.AFTER):
            if in_place and x.uop.op is Ops.AFTER and (memory := filled_memory(x.uop)) is not None:
                x = tensor(memory)
            else:
                write_initial_values([x])
        if (value := value_in_memory(x.uop)) is not None and value.address:
            held.append(x.uop)
            return value.address
        if (array := array_in_memory(x.uop)) is None:
            return 0
        held.append(array)
        return self._of_array(array, in_place)

    def buffer(self, x: Any, held: list[Any]) -> UOp:
        if self.is_empty:
            out: UOp = UOp.new_buffer(self.device, 0, self.dtype)
            return out
        if type(x) is Known:
            held.append(UOp.from_buffer(x.buffer))
        else:
            self._known(x, held)
        return base_of(held[-1])

    def _of_python(self, x: Any) -> int:
        """Return the address of a number or a NumPy array: in place, or copied to the staging buffer; else 0."""
        if not self.device.startswith("CPU"):
            return 0
        if type(x) is Tensor and x.uop.op is Ops.CONST:
            x = x.uop.val
        cls = type(x)
        if self.pack is not None and (cls in NUMBERS or isinstance(x, (float, np.generic))):
            to = self._stage()
            try:
                self.pack(self.view, 0, x)
            except (struct.error, OverflowError):  # tinygrad decides how to convert such a number
                return 0
            return to
        if cls is not np.ndarray or self.numpy is None:
            return 0
        return self._of_array(x, x.dtype == self.numpy, self.numpy)

    def _of_array(self, array: Any, in_place: bool, dtype: Any = None) -> int:
        """Return the address of an array: its own, or that of the staging buffer, to which it is copied."""
        if in_place and array.flags.c_contiguous:
            address = int(array.__array_interface__["data"][0])
            if address % self.alignment == 0:
                return address
        to = self._stage()
        np.copyto(np.frombuffer(self.view, dtype or array.dtype).reshape(self.shape), array)
        return to

    def _stage(self) -> int:
        """Return the address of the staging buffer `view`, which is allocated on first use."""
        if self.staged is None:
            self.stage = Result(self.shape, self.dtype, self.device).make()
            self.staged = value_in_memory(self.stage.uop)
            assert self.staged is not None
            self.view = self.staged.buffer.as_memoryview(force_zero_copy=True)
        return self.staged.address

    def _known(self, x: Any, held: list[Any]) -> Known:
        """Return the argument in a buffer: its own, or a copy."""
        t = computed_tensor(x)
        if t.dtype != self.dtype:
            t = t.cast(self.dtype)
        t.uop = lower_unbatched(t.uop)
        if t.uop.device is None and t.nbytes() <= LARGEST_SHARED:
            held.append(_constant(t.uop, self.device))
            buffer = value_in_memory(held[-1])
            assert buffer is not None
            return buffer
        if t.device == self.device and not run_cached([t], compiles=False):  # a later write must not change its value
            with running_block():
                Tensor.realize(t)
        if not is_realized(base := base_of(t.uop)) and base.op is Ops.BUFFER and isinstance(base.device, str):
            buffer_of(base)  # the memory of `Tensor.empty(3)`, which nothing has allocated
        if (buffer := value_in_memory(t.uop)) is None:
            # a clone is a write, for which `eager_cache` keeps no program
            copied = t.contiguous()
            t = t.clone(device=self.device) if t.device != self.device or is_no_copy(copied.uop) else copied
            with running_block():
                Tensor.realize(t)
            buffer = value_in_memory(t.uop)
        assert buffer is not None
        held.append(t.uop)
        return buffer


@functools.lru_cache(maxsize=32)
def _constant(u: UOp, device: str) -> UOp:
    """Return a value of constants alone, such as `Tensor.arange(9)`, in memory that all programs read."""
    t = tensor(u).clone(device=device)
    with running_block():
        Tensor.realize(t)
    return t.uop


def computed_tensor(x: Any) -> Tensor:
    """Return an argument as a tensor."""
    if type(x) is Known:
        return tensor(UOp.from_buffer(x.buffer).reshape(x.type[0]))
    if type(x) is BufferPart:
        whole, shape = UOp.from_buffer(x.whole.buffer), x.type[0]
        return tensor(whole.shrink(((x.start, x.start + math.prod(shape)),)).reshape(shape))
    t = tree.as_tensor(x, copy=False)  # computed in this call
    assert t is not None
    return t
