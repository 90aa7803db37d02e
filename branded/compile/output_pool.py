"""A pool of buffers for the results of compiled programs, and cached facts about values in memory.

Creating a buffer and its node in tinygrad's graph takes longer than many kernels. A program therefore remembers its
last few results. It reuses a buffer once nothing else refers to it: no tensor, no graph, no view and no `Buffer` that
a user asked for.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Collection
from sys import getrefcount
from typing import Any, NamedTuple

from tinygrad.device import Buffer
from tinygrad.dtype import DType
from tinygrad.uop.ops import Ops, UOp

from branded.compile.linear_program import buffer_of, memory_address
from branded.graph.uops import base_of
from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.private_api import all_int
from branded.tinygrad_compat.result_marks import mark_memory
from branded.tinygrad_compat.speed.fast_shape_dtype import sizes_of
from branded.tinygrad_compat.uops import KNOWN

REMEMBERED = 3
"""The number of buffers kept per result: enough for a loop `x = f(x)`, including its initial value."""
MANY, TINY = 64, 1 << 20
"""The number of buffers kept per result, if they have at most `TINY` bytes together, for loops that collect results."""
LARGEST = 8 << 20
"""The size in bytes of the largest buffer to keep: filling a larger one takes longer than allocating it."""
SMALL, ROOM = 1 << 20, 64 << 20
"""In bytes: all programs together keep at most `ROOM` in buffers larger than `SMALL`."""


class Known(NamedTuple):
    """A value in memory: its type, and its location while the buffer is allocated."""

    type: tuple[Any, ...]
    buffer: Buffer
    buffers: dict[str, Any]
    """The buffer's own table, which holds `opaque` while the buffer is allocated."""
    opaque: Any
    device: str
    address: int
    """The address in C; 0 on a device that C does not run."""

    @property
    def is_there(self) -> bool:
        return self.buffers.get(self.device) is self.opaque


def value_in_memory(u: UOp) -> Known | None:
    """Return the `Known` of a value that has its own memory on one device, or None."""
    value: Known | None = u.__dict__.get(KNOWN)
    if value is not None and value.is_there:
        return value
    base = base_of(u)
    if base.op is not Ops.BUFFER or not isinstance(base.device, str) or not base.is_realized:
        return None
    b = buffer_of(base)
    opaque, address = b.get_buf(b.device), memory_address(b)
    value = u.__dict__[KNOWN] = Known(
        (u.shape, u.dtype, b.device, None), b, private_api.memories(b), opaque, b.device, address
    )
    return value


def part_of(u: UOp) -> tuple[UOp, int] | None:
    """Return the buffer that a value is a contiguous part of and the index of its first entry, or None."""
    if u.op is Ops.BUFFER:
        return u, 0
    if u.op not in (Ops.RESHAPE, Ops.SHRINK) or (below := part_of(u.src[0])) is None:
        return None
    if u.op is Ops.RESHAPE:
        return below
    if (begins := sizes_of(u.src[1])) is None:
        return None
    offset, step, is_cut = 0, 1, False
    for begin, size, n in zip(begins[::-1], u.shape[::-1], u.src[0].shape[::-1], strict=True):
        if not (isinstance(size, int) and isinstance(n, int)) or (is_cut and size != 1):
            return None
        offset, step, is_cut = offset + begin * step, step * n, is_cut or size != n
    return below[0], below[1] + offset


class BufferPart(NamedTuple):
    """A contiguous part of a buffer of a CPU, such as `x[0]`; it starts at the entry `start`."""

    type: tuple[Any, ...]
    whole: Known
    address: int
    start: int


_PART = "_branded_part"
"""The attribute of a UOp that caches its `BufferPart`."""


def part_in_memory(u: UOp) -> BufferPart | None:
    """Return a value on a CPU that is a contiguous part of a buffer in memory, or None."""
    part: BufferPart | None = u.__dict__.get(_PART)
    if part is not None and part.whole.is_there:
        return part
    if (u.op is not Ops.RESHAPE and u.op is not Ops.SHRINK) or not all_int(u.shape):
        return None
    if (found := part_of(u)) is None or (whole := value_in_memory(found[0])) is None:
        return None
    if not whole.address or not whole.device.startswith("CPU"):
        return None
    start, of_u = found[1], (u.shape, u.dtype, whole.device, None)
    part = u.__dict__[_PART] = BufferPart(of_u, whole, whole.address + start * u.dtype.itemsize, start)
    return part


class PooledBuffer:
    """A buffer that a program returned, or with an initial value of a tensor of the user, which is not ours."""

    __slots__ = ("__weakref__", "address", "base", "bases", "buffer", "buffers", "opaque", "table", "uop", "uops")
    KEY = "_branded_handed"
    """The key in the `__dict__` of a UOp that holds a weak reference to its `PooledBuffer`."""

    def __init__(self, uop: UOp, is_ours: bool = True) -> None:
        self.uop, self.base, value = uop, base_of(uop), value_in_memory(uop)
        assert value is not None
        value_in_memory(self.base)  # `eager_cache` asks for it later, which would count as a reference to the buffer
        self.buffer, self.table, self.opaque, self.address = value.buffer, value.buffers, value.opaque, value.address
        uop.__dict__[self.KEY] = weakref.ref(self)
        if is_ours:
            mark_memory([uop])
        self.uops = self.bases = self.buffers = 0
        """The reference counts of the value, its base and its buffer while nothing else refers to them."""


class Result:
    """One of the results of a program, with the buffers kept for it."""

    large = 0
    """The total size in bytes of the large buffers that all results keep."""

    def __init__(self, shape: tuple[Any, ...], dtype: DType, device: Any, is_ours: bool = True) -> None:
        self.is_ours = is_ours
        self.shape, self.dtype, self.device, self.size = shape, dtype, device, math.prod(shape)
        self.bytes = self.size * dtype.itemsize
        self.most = max(REMEMBERED, min(MANY, TINY // max(self.bytes, 1)))
        self.last: list[PooledBuffer] = []
        self.oldest = 0

    def __del__(self, small: int = SMALL) -> None:  # when Python ends, the module has no names
        if self.bytes > small:
            Result.large -= self.bytes * len(self.last)

    def _has_room(self) -> bool:
        """Return whether one more buffer may be kept, and count it."""
        if self.bytes <= SMALL:
            return True
        if self.bytes > LARGEST or Result.large + self.bytes > ROOM:
            return False
        Result.large += self.bytes
        return True

    def take(self, but: Collection[PooledBuffer] = ()) -> PooledBuffer:
        """Return a free buffer that is not in `but`."""
        for h in self.last:
            if (
                getrefcount(h.uop) == h.uops
                and getrefcount(h.base) == h.bases
                and getrefcount(h.buffer) == h.buffers
                and h.table.get(self.device) is h.opaque
                and (not but or h not in but)
            ):
                return h
        return self.make()

    def make(self) -> PooledBuffer:
        """Allocate a buffer, and keep it if there is room."""
        pooled_buffer = PooledBuffer(allocate(self.device, self.shape, self.size, self.dtype), self.is_ours)
        pooled_buffer.uops, pooled_buffer.bases = getrefcount(pooled_buffer.uop), getrefcount(pooled_buffer.base)
        pooled_buffer.buffers = getrefcount(pooled_buffer.buffer)
        if len(self.last) == self.most:
            self.last[self.oldest], self.oldest = pooled_buffer, (self.oldest + 1) % self.most
        elif self._has_room():
            self.last.append(pooled_buffer)
        return pooled_buffer


def allocate(device: str, shape: tuple[Any, ...], size: int, dtype: DType) -> UOp:
    u: UOp = UOp.new_buffer(device, size, dtype).reshape(shape)
    buffer_of(base_of(u))
    return u
