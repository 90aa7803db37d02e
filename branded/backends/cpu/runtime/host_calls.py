"""Functions of the host among the kernels of a program: Python, on arrays of numpy that lie in tinygrad's buffers.

In the graph that tinygrad schedules, such a call is one CALL of a CUSTOM_FUNCTION on the buffers of its results and of
its arguments, as a loop is.  Where a program runs from C, C calls `_entry` with the addresses of the buffers; what the
function raises is kept until C has come back (`native.failures`).  On other devices the arrays are copies.
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

if TYPE_CHECKING:  # in a browser there is none
    import numpy as np


class ArrayType(NamedTuple):
    """What an array is: one without elements has no buffer."""

    shape: tuple[int, ...]
    dtype: DType

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


class CFunction(NamedTuple):
    """What C calls in place of a function of Python that does the same."""

    address: int
    function: Any
    """The same for Python."""
    args: Callable[[Sequence[Any]], list[Any]]
    """What it takes, of the addresses of the results and of the arguments."""

    def run(self, name: object, at: Sequence[int]) -> None:
        """Call it by this name, on what is at these addresses."""
        call = array("Q", [0, 1, *self.args(at)])
        self.function(call.buffer_info()[0])
        if call[1]:
            raise native.full(name)


InC = Callable[[Sequence[ArrayType], Sequence[ArrayType]], CFunction | None]
"""What C calls in place of a function of arrays, for results and arguments that are these."""


class HostWork(Protocol):
    """What runs: it reads arguments, and writes all of the results."""

    name: str
    number: int
    """Tells it from all others."""

    def work(self, args: Sequence[np.ndarray], results: Sequence[np.ndarray]) -> None: ...

    def in_c(self, results: Sequence[ArrayType], args: Sequence[ArrayType]) -> CFunction | None: ...


_numbers = itertools.count(1)
_names: weakref.WeakValueDictionary[int, HostName] = weakref.WeakValueDictionary()


class HostName(str):
    """The name of a call in tinygrad's graph, which keeps what it does."""

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
        """So many buffers are written; those behind them are read."""
        return sum(x.nbytes > 0 for x in self.results)

    @functools.cached_property
    def in_c(self) -> CFunction | None:
        """The same without Python, where there is such a function."""
        return self.host.in_c(self.results, self.args) if native.can_run("CPU") else None

    def run(self, memory: Sequence[Any]) -> None:
        """Run on the memory of what has elements: of the results, then of the arguments."""
        of = iter(memory)
        results = [_array(x, of) for x in self.results]
        args = [_array(x, of) for x in self.args]
        for x in args:
            x.flags.writeable = False
        native.inside += 1
        try:
            self.host.work(args, results)
        finally:
            native.inside -= 1


def _array(x: ArrayType, of: Any) -> np.ndarray:
    import numpy as np

    dtype = _to_np_dtype(x.dtype)
    if not x.nbytes:
        return np.empty(x.shape, dtype)
    return np.frombuffer(next(of), dtype, math.prod(x.shape)).reshape(x.shape)


# ---- from C ----

_HEAD = 2
"""Before the addresses: the number of the call, and whether it failed."""


@functools.cache
def _entry() -> tuple[int, Any]:
    """What C calls, with the address of its arguments."""

    def enter(at: int) -> None:
        words = (ctypes.c_uint64 * _HEAD).from_address(at)
        try:
            name = _names[words[0]]
            sizes = [x.nbytes for x in (*name.results, *name.args) if x.nbytes]
            given = (ctypes.c_uint64 * len(sizes)).from_address(at + 8 * _HEAD)
            name.run([(ctypes.c_char * n).from_address(a) for n, a in zip(sizes, given, strict=True)])
            words[1] = 0
        except BaseException as error:
            native.failures.append(error)

    called = ctypes.CFUNCTYPE(None, ctypes.c_uint64)(enter)
    return int(ctypes.cast(called, ctypes.c_void_p).value or 0), called


def hosted(name: HostName, args: Sequence[Sequence[Address]], device: str) -> native.Hosted | None:
    """The call on the buffers of each turn, as C makes it."""
    if not native.can_run(device):
        return None
    if (found := name.in_c) is not None:
        words = [[name.number, 1, *found.args(given)] for given in args]
        return native.Hosted(found.address, words, name.host.name, is_c=True)
    return native.Hosted(_entry()[0], [[name.number, 1, *given] for given in args], name)


# ---- by hand ----


def run(ctx: Any, call: UOp, ast: UOp) -> list[float | None] | None:
    """The call on any device."""
    name = ast.arg
    if not isinstance(name, HostName):
        return None
    buffers = [u.buffer.ensure_allocated() for u in private_api.resolve_params(call, ctx.input_uops)]
    if all(b.device.split(":")[0] == "CPU" for b in buffers) and (found := name.in_c) is not None:
        found.run(name.host.name, [b.get_buf(b.device).va_addr for b in buffers])
        return []
    outs = buffers[: name.outs]
    written = [_writable(b) for b in outs]
    name.run([*written, *(b.as_memoryview(allow_zero_copy=True) for b in buffers[name.outs :])])
    for b, new in zip(outs, written, strict=True):
        if not _is_here(b):
            b.copy_from(Buffer("PYTHON", b.size, b.dtype, opaque=new))
    return []


def _writable(b: Buffer) -> memoryview:
    """The memory of a buffer, or memory of the host that is copied into it later."""
    return b.as_memoryview(force_zero_copy=True) if _is_here(b) else memoryview(bytearray(b.nbytes))


def _is_here(b: Buffer) -> bool:
    """Is its memory that of this process?"""
    return b.device.split(":")[0] in ("CPU", "PYTHON")


def for_hosts(original: Callable[..., Any], ours: Callable[[HostName], Any]) -> Callable[..., Any]:
    """What tinygrad asks of a call, which of ours is answered by its name."""

    def either(call: UOp, *args: Any, **kwargs: Any) -> Any:
        name = call.src[0].arg
        return ours(name) if isinstance(name, HostName) else original(call, *args, **kwargs)

    return either
