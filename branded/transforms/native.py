"""Replaying the kernels of a loop on the CPU from C: the time between two kernels is that of a call."""

from __future__ import annotations

import ctypes
import functools
from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple

from tinygrad import Device
from tinygrad.device import TinyELF
from tinygrad.runtime.support.compiler_cpu import ClangCompiler

MAX_ARGS = 32
_HEADER, _OP = 8, 8 + 3 * MAX_ARGS
SLICE = 1 << 14
"""So many steps at a time, so that a loop without an end can be interrupted."""
WITHOUT_END = 2**63
"""The length of a loop that a flag ends."""


class Kernel(NamedTuple):
    """A kernel of a step: what it is called with in the first step, and in every second one after it."""

    address: int
    args: tuple[Sequence[int], Sequence[int], Sequence[int]]
    threads: int
    core: int
    """The argument that is the number of the thread, or -1."""
    step: int
    """The argument that is the number of the step, or -1."""


def _call(n: int) -> str:
    return f"((void (*)({', '.join(['u64'] * n)}))op[0])({', '.join(f'a[{i}]' for i in range(n))})"


# t: a loop of known length, or one that runs while *flag; ops: the kernels of the test, then those of the step.
# The arguments are those of the first step, then in turn those that write the result and those that write the spare.
_SOURCE = f"""
typedef unsigned long long u64;
void branded_replay(u64 *t, u64 from, u64 to) {{
  u64 length = t[0], down = t[1], tests = t[2], all = t[3], *ops = t + {_HEADER}, k;
  volatile unsigned char *flag = (volatile unsigned char *)t[4];
  for (k = from; k < to; k++) {{
    u64 i = down ? length - 1 - k : k, which = k == 0 ? 0 : t[5] ? 2 - (k + 1) % 2 : 2 - (length - k) % 2;
    for (u64 o = 0; o < all; o++) {{
      if (flag && o == tests && !*flag) {{ t[6] = k; t[7] = 1; return; }}
      u64 *op = ops + o * {_OP}, *a = op + 8 + which * {MAX_ARGS};
      if (op[4] < {MAX_ARGS}) a[op[4]] = i;
      for (u64 c = 0; c < op[2]; c++) {{
        if (op[3] < {MAX_ARGS}) a[op[3]] = c;
        if (op[1] <= 6) {_call(6)}; else if (op[1] <= 12) {_call(12)}; else {_call(MAX_ARGS)};
      }}
    }}
  }}
  t[6] = k;
}}
"""


@functools.cache
def _replay() -> Any:
    device: Any = Device["CPU"]
    lib = device.renderer.compiler.compile_cached(_SOURCE)
    # with it come the renderers of all CPUs, for which the import of this package does not wait
    from tinygrad.runtime.ops_cpu import CPUProgram

    return CPUProgram(device, TinyELF(lib, "branded_replay", device.renderer.target, ()))


def can_run(device: str) -> bool:
    """Is this a device whose kernels are functions of this process, and is there a C compiler?"""
    if device.split(":")[0] != "CPU":
        return False
    return isinstance(getattr(Device[device].renderer, "compiler", None), ClangCompiler)


class Plan:
    """The replay of a loop on given buffers."""

    def __init__(self, tests: Sequence[Kernel], kernels: Sequence[Kernel], flag: int, length: int, down: bool) -> None:
        table = [length, int(down), len(tests), len(tests) + len(kernels), flag, int(flag != 0), 0, 0]
        none = 2**64 - 1
        for k in (*tests, *kernels):
            table += [k.address, len(k.args[0]), k.threads]
            table += [none if k.core < 0 else k.core, none if k.step < 0 else k.step, 0, 0, 0]
            for args in k.args:
                table += [*args, *[0] * (MAX_ARGS - len(args))]
        self.table, self.length = array("Q", table), length

    def run(self) -> int:
        """Run to the end; the number of steps that were made."""
        table, function = self.table, _replay().fxn
        address = table.buffer_info()[0]
        table[7] = done = 0
        while not table[7] and done < self.length:
            to = min(done + SLICE, self.length)
            function(ctypes.c_uint64(address), ctypes.c_uint64(done), ctypes.c_uint64(to))
            done = table[6]
        return done
