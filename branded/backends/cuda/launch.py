"""Launching CUDA kernels from C.

tinygrad launches a kernel from Python, which takes about 15 µs, longer than most kernels of a loop's step.  The
interpreter of tables (`backends.cpu.runtime.native`) calls a C function instead, which calls the CUDA driver and takes
about 3 µs.  Everything is queued on tinygrad's stream, so it runs in order with tinygrad's own kernels and copies.
Only the flag of a `while_loop` waits for the device.

Without the driver or a C compiler, tinygrad launches the kernels.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from collections.abc import Sequence
from typing import Any

from tinygrad import Device

from branded.backends.cpu.runtime import native
from branded.backends.cpu.runtime.native import Address, Hosted
from branded.errors import CompilerError

_FIRST = 14
"""The number of words before the arguments of a kernel."""
_COPY = 2**64 - 1

# The words of a call: 0 the number of arguments of a kernel, or _COPY, 1 whether it failed, 2 the function for
# failures, 3 cuCtxSetCurrent, 4 the context, 5 the function of the driver. Of a kernel: 6 the kernel, 7 to 9 the grid,
# 10 to 12 the block, 13 the shared memory, then the arguments. Of a copy: 6 the destination, 7 the source, 8 the bytes.
_SOURCE = f"""
typedef unsigned long long u64;
typedef unsigned u32;
void branded_driver(u64 *a) {{
  u64 arguments[{native.MAX_ARGS}];
  int status = ((int (*)(u64))a[3])(a[4]);
  if (!status && a[0] == ~0ull)
    status = ((int (*)(u64, u64, u64))a[5])(a[6], a[7], a[8]);
  else if (!status) {{
    for (u64 k = 0; k < a[0]; k++) arguments[k] = (u64)(a + {_FIRST} + k);
    status = ((int (*)(u64, u32, u32, u32, u32, u32, u32, u32, u64, u64 *, u64))a[5])(
      a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13], 0, arguments, 0);
  }}
  a[1] = status != 0;
  if (status) ((void (*)(int))a[2])(status);
}}
"""


class Launcher:
    """The functions of the CUDA driver and the context of a device, for calls from C."""

    def __init__(self, device: str, library: ctypes.CDLL) -> None:
        tinygrad_device: Any = Device[device]
        self.call = native.compile_function(_SOURCE, "branded_driver")[1]
        self.move = _address(library.cuMemcpyDtoD_v2)
        """The copy within a device, with the arguments of `memmove`."""
        self._context = [_failures()[0], _address(library.cuCtxSetCurrent), _address(tinygrad_device.context)]
        self._launch, self._read = _address(library.cuLaunchKernel), _address(library.cuMemcpyDtoH_v2)

    def kernel(
        self,
        runtime: Any,
        dims: tuple[Sequence[int], Sequence[int] | None],
        args: Sequence[Sequence[Address]],
        step: int,
    ) -> Hosted:
        """Return the launch of a kernel with the arguments of each turn; the one at index `step` receives the step."""
        grid, block = dims
        kernel = [_address(runtime.prg), *map(int, grid), *map(int, block or (1, 1, 1)), runtime.smem]
        words = [[len(a), 1, *self._context, self._launch, *kernel, *a] for a in args]
        return Hosted(self.call, words, runtime, is_c=True, step=_FIRST + step if step >= 0 else -1)

    def copy(self, args: Sequence[Sequence[Address]], *, to_host: bool = False) -> Hosted:
        """Return the copy with the destination, the source and the size in bytes of each turn.

        A copy to the host waits for all that is queued.
        """
        words = [[_COPY, 1, *self._context, self._read if to_host else self.move, *a] for a in args]
        return Hosted(self.call, words, self, is_c=True)


@functools.cache
def launcher(device: str) -> Launcher | None:
    """Return the launcher of a CUDA device, or None for another device or without the driver or a C compiler."""
    if device.split(":")[0] != "CUDA" or os.environ.get("MOCKGPU", "0") not in ("", "0"):
        return None
    try:
        return Launcher(device, load_driver()) if native.can_run("CPU") else None
    except (OSError, CompilerError):
        return None


def load_driver() -> ctypes.CDLL:
    """Return the library of the CUDA driver; raise OSError if there is none."""
    return ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")


@functools.cache
def _failures() -> tuple[int, Any]:
    """Return the address of the function that keeps an error until C has returned, and the object that is called."""

    def failed(status: int) -> None:
        native.failures.append(RuntimeError(f"the CUDA driver returned the error {status}"))

    called = ctypes.CFUNCTYPE(None, ctypes.c_int)(failed)
    return _address(called), called


def _address(function: Any) -> int:
    return int(ctypes.cast(function, ctypes.c_void_p).value or 0)
