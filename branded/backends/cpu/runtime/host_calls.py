"""Host callbacks between the kernels of a program: Python functions of numpy arrays that view tinygrad's buffers.

In tinygrad's scheduled graph, a host callback is a CALL of a CUSTOM_FUNCTION on its result and argument buffers, as a
loop is.  If the program runs from C, C calls `_entry` with the buffers' addresses.  An error of the function is stored
in `native.failures` until C has returned.  On other devices the arrays are copies.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import math
import weakref
from array import array
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from tinygrad.device import Buffer
from tinygrad.dtype import DType
from tinygrad.uop.ops import UOp

from branded.backends.cpu.runtime import native
from branded.backends.cpu.runtime.native import Address
from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.private_api import _to_np_dtype

if TYPE_CHECKING:  # the browser build has no numpy
    import numpy as np


class ArrayType(NamedTuple):
    """The shape and dtype of an array; an array without elements has no buffer."""

    shape: tuple[int, ...]
    dtype: DType

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


class CFunction(NamedTuple):
    """A C function that replaces an equivalent Python function."""

    address: int
    function: Any
    """The same function as a Python callable."""
    args: Callable[[Sequence[Any]], list[Any]]
    """The C arguments, computed from the addresses of the results and of the arguments."""

    def run(self, name: object, addresses: Sequence[int]) -> None:
        """Run the function on the memory at these addresses; `name` is for the error message."""
        call = array("Q", [0, 1, *self.args(addresses)])
        self.function(call.buffer_info()[0])
        if call[1]:
            raise native.full(name)


InC = Callable[[Sequence[ArrayType], Sequence[ArrayType]], CFunction | None]
"""A lookup of the C function for these result and argument types."""


class HostWork(Protocol):
    """A host callback: `work` reads the arguments and writes every result."""

    name: str
    number: int
    """The callback's unique id."""

    @property
    def part(self) -> tuple[HostWork, int] | None:
        """The callback that computes this result together with another one, and the index of this result there."""

    def work(self, args: Sequence[np.ndarray], results: Sequence[np.ndarray]) -> None: ...

    def in_c(self, results: Sequence[ArrayType], args: Sequence[ArrayType]) -> CFunction | None: ...


_numbers = itertools.count(1)
_names: weakref.WeakValueDictionary[int, HostName] = weakref.WeakValueDictionary()


class HostName(str):
    """The name of a call in tinygrad's graph, with the callback as an attribute."""

    host: HostWork
    results: tuple[ArrayType, ...]
    args: tuple[ArrayType, ...]
    number: int

    def __new__(cls, host: HostWork, results: Sequence[ArrayType], args: Sequence[ArrayType]) -> HostName:
        types = ";".join(f"{x.dtype.name}{list(x.shape)}" for x in (*results, *args))
        name = super().__new__(cls, f"branded.host.{host.name}.{host.number}.{types}")
        name.host, name.results, name.args = host, tuple(results), tuple(args)
        name.number = next(_numbers)
        _names[name.number] = name
        return name

    def __reduce__(self) -> Any:
        return HostName, (self.host, self.results, self.args)

    @property
    def outs(self) -> int:
        """The number of buffers that are written; they precede the buffers that are read."""
        return sum(x.nbytes > 0 for x in self.results)

    @functools.cached_property
    def in_c(self) -> CFunction | None:
        """The equivalent C function, if there is one."""
        return self.host.in_c(self.results, self.args) if native.can_run("CPU") else None

    def run(self, memory: Sequence[Any]) -> None:
        """Run on the memory of the results, then of the arguments; arrays without elements have no memory."""
        buffers = iter(memory)
        results = [_array(x, buffers) for x in self.results]
        args = [_array(x, buffers) for x in self.args]
        for x in args:
            x.flags.writeable = False
        native.inside += 1
        try:
            self.host.work(args, results)
        finally:
            native.inside -= 1


def _array(x: ArrayType, buffers: Any) -> np.ndarray:
    import numpy as np

    dtype = _to_np_dtype(x.dtype)
    if not x.nbytes:
        return np.empty(x.shape, dtype)
    return np.frombuffer(next(buffers), dtype, math.prod(x.shape)).reshape(x.shape)


_HEAD = 2
"""The number of words before the addresses: the id of the call, and whether it failed."""


@functools.cache
def _entry() -> tuple[int, Any]:
    """Return the address that C calls with the address of its arguments, and the object that keeps it alive."""

    def enter(address: int) -> None:
        words = (ctypes.c_uint64 * _HEAD).from_address(address)
        try:
            name = _names[words[0]]
            sizes = [x.nbytes for x in (*name.results, *name.args) if x.nbytes]
            addresses = (ctypes.c_uint64 * len(sizes)).from_address(address + 8 * _HEAD)
            name.run([(ctypes.c_char * n).from_address(a) for n, a in zip(sizes, addresses, strict=True)])
            words[1] = 0
        except BaseException as error:
            native.failures.append(error)

    called = ctypes.CFUNCTYPE(None, ctypes.c_uint64)(enter)
    return int(ctypes.cast(called, ctypes.c_void_p).value or 0), called


def host_call(name: HostName, args: Sequence[Sequence[Address]], device: str) -> native.Hosted | None:
    """Return the call that C makes on the buffers of each turn, or None if the device cannot run C calls."""
    if not native.can_run(device):
        return None
    if (function := name.in_c) is not None:
        words = [[name.number, 1, *function.args(addresses)] for addresses in args]
        return native.Hosted(function.address, words, name.host.name, is_c=True)
    return native.Hosted(_entry()[0], [[name.number, 1, *addresses] for addresses in args], name)


def run(ctx: Any, call: UOp, ast: UOp) -> list[float | None] | None:
    """Run the call on any device; return None if it is not a host callback."""
    name = ast.arg
    if not isinstance(name, HostName):
        return None
    buffers = [u.buffer.ensure_allocated() for u in private_api.resolve_params(call, ctx.input_uops)]
    if all(b.device.split(":")[0] == "CPU" for b in buffers) and (function := name.in_c) is not None:
        function.run(name.host.name, [b.get_buf(b.device).va_addr for b in buffers])
        return []
    outs = buffers[: name.outs]
    memory = [_writable(b) for b in outs]
    name.run([*memory, *(b.as_memoryview(allow_zero_copy=True) for b in buffers[name.outs :])])
    for b, new in zip(outs, memory, strict=True):
        if not _is_here(b):
            b.copy_from(Buffer("PYTHON", b.size, b.dtype, opaque=new))
    return []


def _writable(b: Buffer) -> memoryview:
    """Return the memory of a buffer, or host memory that is copied into the buffer later."""
    return b.as_memoryview(force_zero_copy=True) if _is_here(b) else memoryview(bytearray(b.nbytes))


def _is_here(b: Buffer) -> bool:
    """Return whether the buffer's memory belongs to this process."""
    return b.device.split(":")[0] in ("CPU", "PYTHON")


def for_hosts(original: Callable[..., Any], ours: Callable[[HostName], Any]) -> Callable[..., Any]:
    """Wrap a function of tinygrad that inspects a call, and use `ours` if the call is a host callback."""

    def either(call: UOp, *args: Any, **kwargs: Any) -> Any:
        name = call.src[0].arg
        return ours(name) if isinstance(name, HostName) else original(call, *args, **kwargs)

    return either
