"""Run compiled CPU kernels from C, with one call for a whole program, including its loops.

A program is a table of operations that C interprets: kernels with their arguments, and loops, which are nested tables.
Buffer addresses may be filled in by each run (`Ref`), so a table is built once and runs on any buffers.
"""

from __future__ import annotations

import ctypes
import functools
import os
from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple

from tinygrad import Device

from branded import tinygrad_compat
from branded.backends.cpu.runtime import cores
from branded.errors import OutOfMemoryError, UnsupportedError
from branded.tinygrad_compat import features, private_api
from branded.tinygrad_compat.private_api import ClangCompiler, TinyELF

MAX_ARGS = cores.SIZES[-1]
_HEADER, _HEAD, _COPY, _PARTS = 13, 8, 4, 6
SLICE = 1 << 14
"""The number of steps per C call, so that an endless loop can be interrupted."""
WITHOUT_END = 2**63
"""The length of a loop that a flag ends."""
_NONE = 2**64 - 1
_FAILED = 2
FULL = 3
"""The status of a function that found no memory for its workspace."""

failures: list[BaseException] = []
"""The errors that host callbacks raised, until C has returned to Python."""
inside = 0
"""The nesting depth of running host callbacks."""


class Ref(NamedTuple):
    """An address that each run fills in: the address in a slot plus an offset in bytes."""

    slot: int
    offset: int = 0


Address = int | Ref


def behind(a: Address, offset: int) -> Address:
    return Ref(a.slot, a.offset + offset) if isinstance(a, Ref) else a + offset


class KernelCall(NamedTuple):
    """A kernel with its arguments; a loop has arguments for its first step and for two kinds of alternating steps."""

    address: int
    args: Sequence[Sequence[Address]]
    threads: int = 1
    core: int = -1
    """The index of the argument that receives the thread's index, or -1."""
    step: int = -1
    """The index of the argument that receives the step, or -1."""
    work: int = 0
    """The estimated nanoseconds of a kernel with several threads."""

    @property
    def is_large(self) -> bool:
        """Whether running its threads in parallel is worthwhile."""
        return self.work >= cores.LARGE


class CarryCopy(NamedTuple):
    """The copy of a loop's carry to the result's memory after an even number of steps."""

    to: Address
    spare: Address
    first: Address
    bytes: int


class Table(NamedTuple):
    """Operations that run in order, once per step.

    With a `flag`, each step first runs `tests` and the loop ends if the byte at `flag` is zero.
    """

    ops: Sequence[Op]
    length: int = 1
    down: bool = False
    tests: Sequence[Op] = ()
    flag: Address = 0
    copies: Sequence[CarryCopy] = ()
    move: int = 0
    """The function for the copies, if it is not `memmove`."""
    once: int = 0
    """The number of operations, at the beginning of `ops`, that only the first step runs."""


class Inner(NamedTuple):
    """A loop in a table, with one table per turn of the outer loop."""

    turns: Sequence[Table]


class Hosted(NamedTuple):
    """A call of a host callback with the address of its arguments.

    The first argument is the callback's id, the second one whether the call failed.
    """

    address: int
    args: Sequence[Sequence[Address]]
    of: object
    """The object to keep alive while the call may be made; its text is the callback's name in messages."""
    is_c: bool = False
    """Whether this is a C function that calls no Python."""
    step: int = -1
    """The index of the argument that receives the step, or -1."""


Op = KernelCall | Inner | Hosted


# A table t: 0 length, 1 whether it counts down, 2 the end of the tests, 3 the end of the operations, 4 the flag, 5
# whether there is a flag, 6 the step to resume, 7 one more than the operation to resume at, 8 the steps taken, 9 and 10
# the copies, 11 memmove, 12 the size of the operations of the first step alone.
# An operation: 0 its size, 1 the kernel, 2 the number of arguments, 3 threads, 4 and 5 the index of the argument for
# the thread's index and for the step, 6 a loop (1) or a host callback (2), 7 the thread pool or 0. Then follow the
# arguments or the table of each turn.
# The turns of a loop: the first step, then alternating steps that write the result and the spare.
# `plain` runs the kernels up to the next other operation. Only it is optimized: clang takes twice as long for all.
_SOURCE = f"""{cores.SOURCE}
static u64 plain(u64 *ops, u64 o, u64 end, u64 which, u64 i) {{
  while (o < end) {{
    u64 *op = ops + o, *a = op + {_HEAD} + which * {cores.SIZES[0]}, kernel = op[1];
    if (op[2] != {cores.SIZES[0]} || op[3] != 1 || op[6]) break;
    if (op[5] < {cores.SIZES[0]}) a[op[5]] = i;
    {cores.kernel_call(cores.SIZES[0])};
    o += op[0];
  }}
  return o;
}}
ONCE static u64 run(u64 *base, u64 *t, u64 *budget) {{
  u64 length = t[0], tests = t[2], all = t[3], k = t[6], next = t[7], *ops = t + {_HEADER};
  volatile unsigned char *flag = (volatile unsigned char *)t[4];
  for (; k < length; k++) {{
    u64 o = next ? next - 1 : 0;
    if (!next) {{
      if (!*budget) {{ t[6] = k; t[7] = 0; return 0; }}
      --*budget;
    }}
    next = 0;
    u64 i = t[1] ? length - 1 - k : k, which = k == 0 ? 0 : t[5] ? 2 - (k + 1) % 2 : 2 - (length - k) % 2;
    for (;; o += ops[o]) {{
      if (o < tests) o = plain(ops, o, tests, which, i);
      if (t[5] && o == tests && !*flag) goto done;
      if (k && o == tests) o += t[12];
      if (o >= tests && (o = plain(ops, o, all, which, i)) >= all) break;
      u64 *op = ops + o, n = op[2], *a = op + {_HEAD} + which * n;
      if (op[6] == 1) {{
        u64 how = run(base, base + *a, budget);
        if (how != 1) {{ t[6] = k; t[7] = o + 1; return how; }}
        continue;
      }}
      if (op[5] < n) a[op[5]] = i;
      if (op[6]) {{
        a[1] = 1;
        ((void (*)(u64))op[1])((u64)a);
        u64 failed = *(volatile u64 *)(a + 1);
        if (failed) {{ *budget = a[0]; return failed == {FULL} ? {FULL} : {_FAILED}; }}
        continue;
      }}
      u64 kernel = op[1];
      if (op[3] > 1) side_by_side((struct pool *)op[7], kernel, n, op[4], op[3], a);
      else many(kernel, a, n);
    }}
  }}
done:
  if (t[5] && k % 2 == 0)
    for (u64 *c = t + t[9]; c < t + t[10]; c += {_COPY})
      ((void *(*)(u64, u64, u64))t[11])(c[0], k ? c[1] : c[2], c[3]);
  t[6] = t[7] = 0;
  t[8] = k;
  return 1;
}}
ONCE u64 branded_replay(u64 *call) {{
  if (!call[0]) {{
    side_by_side((struct pool *)call[1], call[2], call[3], call[4], call[5], call + {_PARTS});
    return 1;
  }}
  u64 *base = (u64 *)call[0], budget = call[1], *ref = (u64 *)call[2], *end = ref + 3 * call[3], *slots = call + 5;
  for (; ref < end; ref += 3) base[ref[0]] = slots[ref[1]] + ref[2];
  u64 how = run(base, base, &budget);
  call[4] = budget;
  return how;
}}
"""


@functools.cache
def compile_function(source: str, name: str, result: Any = None) -> tuple[Any, int]:
    """Compile a C function of the address of its arguments, and return it for Python and as an address."""
    device: Any = Device["CPU"]
    lib = device.renderer.compiler.compile_cached(source)
    # loading the program imports the renderers of all CPUs, so the import of this package does not do it
    program = private_api.CPUProgram(device, TinyELF(lib, name, device.renderer.target, ()))
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(program))  # a thread may run it, or sleep in it, when Python ends
    return ctypes.CFUNCTYPE(result, ctypes.c_uint64)(program.addr), int(program.addr)


@functools.cache
def _replay() -> tuple[Any, int]:
    return compile_function(_SOURCE, "branded_replay", ctypes.c_uint64)


def replay_address() -> int:
    """Return the address of the C function that interprets a table or runs the parts of a kernel."""
    return _replay()[1]


def is_loaded() -> bool:
    """Return whether the C interpreter of tables is loaded in this process."""
    return _replay.cache_info().currsize > 0


def is_compiled() -> bool:
    """Return whether the C interpreter of tables is compiled, by this process or in the disk cache."""
    compiler: Any = Device["CPU"].renderer.compiler
    key = compiler.cachekey
    return is_loaded() or (key and private_api.helpers.diskcache_get(key, _SOURCE) is not None)


def run_parts(kernel: int, args: Sequence[int], core: int, count: int) -> None:
    """Run `count` parts of a kernel in parallel; the argument at index `core` receives the part's index."""
    n = next(n for n in cores.SIZES if len(args) <= n)
    words = array("Q", [0, cores.address(), kernel, n, core, count, *args, *[0] * (n - len(args))])
    _replay()[0](words.buffer_info()[0])


@functools.cache
def memmove() -> int:
    """Return the address of C's `memmove`."""
    return int(ctypes.cast(ctypes.memmove, ctypes.c_void_p).value or 0)


def are_queued() -> bool:
    """Return whether tinygrad's kernels wait in a queue, with `HCQ2=1`."""
    return os.environ.get("HCQ2", "0") not in ("", "0")


def can_run(device: str) -> bool:
    """Return whether the device's kernels are functions of this process, as in a tested tinygrad, and C is compiled.

    Kernels that C runs immediately would overtake those that wait in a queue.
    """
    if are_queued():
        return False
    if device.split(":")[0] != "CPU" or not (features.fits("native") and tinygrad_compat.is_tested()):
        return False
    return isinstance(getattr(Device[device].renderer, "compiler", None), ClangCompiler)


class _TableWriter:
    """The words of a table under construction, and the positions of the addresses that a run fills in."""

    def __init__(self) -> None:
        self.words: list[int] = []
        self.refs: list[int] = []
        self.states: list[int] = []
        self.later: list[tuple[int, Table]] = []
        self.hosted: list[Hosted] = []

    def address(self, a: Address) -> int:
        if not isinstance(a, Ref):
            return a
        self.refs += [len(self.words), a.slot, a.offset % 2**64]
        return 0

    def put(self, *addresses: Address) -> None:
        for a in addresses:
            self.words.append(self.address(a))

    def table(self, t: Table) -> None:
        start = len(self.words)
        self.states += [start + 6, start + 7]
        self.put(t.length, int(t.down), 0, 0, t.flag, int(t.flag != 0), 0, 0, 0, 0, 0, t.move or memmove(), 0)
        for k, ops in ((2, t.tests), (12, t.ops[: t.once]), (3, t.ops[t.once :])):
            for op in ops:
                self.op(op)
            self.words[start + k] = len(self.words) - start - _HEADER
        self.words[start + 12] -= self.words[start + 2]
        self.words[start + 9] = len(self.words) - start
        for c in t.copies:
            self.put(*c)
        self.words[start + 10] = len(self.words) - start

    def op(self, op: Op) -> None:
        if isinstance(op, Inner):
            turns: Sequence[Sequence[Address]] = [[0]] * len(op.turns)
            head = [0, 1, 1, _NONE, _NONE, 1, 0]
            self.later += [(len(self.words) + _HEAD + i, t) for i, t in enumerate(op.turns)]
        elif isinstance(op, Hosted):
            turns = op.args
            head = [op.address, len(turns[0]), 1, _NONE, op.step % 2**64, 2, 0]
            self.hosted.append(op)
        else:
            n = next(n for n in cores.SIZES if len(op.args[0]) <= n)
            turns = [[*args, *[0] * (n - len(args))] for args in op.args]
            pool = cores.address() if op.is_large else 0
            head = [op.address, n, op.threads, op.core % 2**64, op.step % 2**64, 0, pool]
        self.put(_HEAD + sum(map(len, turns)), *head)
        for args in turns:
            self.put(*args)


def callback_error() -> BaseException:
    """Return the error of a host callback, or an interrupt that arrived before the callback began."""
    return failures.pop() if failures else KeyboardInterrupt()


_running: list[tuple[object, int]] = []
"""The programs that have called a host callback, each with its nesting depth."""


def check_not_running(program: object) -> None:
    """Raise an error if a host callback calls the program that it runs in, because the program's memory is in use."""
    while _running and _running[-1][1] >= inside:
        _running.pop()  # those have ended
    if any(x is program for x, _ in _running):
        raise within_itself()
    _running.append((program, inside))


def within_itself() -> UnsupportedError:
    return UnsupportedError(
        "callback: the callback runs the compiled program that calls it",
        fix="use numpy in the callback, or compile a separate function for it",
    )


def full(name: object) -> OutOfMemoryError:
    """Return the error for a function that found no memory for its workspace."""
    return OutOfMemoryError(
        f"{name}: no memory is left for scratch buffers",
        fix="use smaller operands, or fewer programs and tensors at a time",
    )


class Plan:
    """A program to run on the buffers of each run, by one thread at a time."""

    def __init__(self, table: Table) -> None:
        writer = _TableWriter()
        writer.table(table)
        while writer.later:
            position, inner = writer.later.pop()
            writer.words[position] = len(writer.words)
            writer.table(inner)
        self.words, self.refs, self.states = array("Q", writer.words), array("Q", writer.refs), writer.states
        self.hosted, self.calls_python = writer.hosted, any(not op.is_c for op in writer.hosted)
        self.function = _replay()[0]
        self.is_midway = False
        slots = 1 + max(writer.refs[1::3], default=-1)
        tables = self.words.buffer_info()[0], SLICE, self.refs.buffer_info()[0], len(writer.refs) // 3
        self.call = array("Q", [*tables, 0, *[0] * slots])
        self.at, self.slots = self.call.buffer_info()[0], slots

    def run(self, addresses: Sequence[int], length: int | None = None) -> int:
        """Run to the end, with an address for each slot, and return the number of steps taken.

        A loop that was laid out for one length runs any other length of the same parity.
        """
        if length is not None:
            self.words[0] = length
        if self.calls_python:
            check_not_running(self)
        if self.is_midway:  # the last run was interrupted
            for i in self.states:
                self.words[i] = 0
        self.is_midway = True
        self.call[5:] = array("Q", addresses[: self.slots])
        while not (status := self.function(self.at)):
            pass
        if status == _FAILED:
            raise callback_error()
        if status == FULL:
            raise full(next(op.of for op in self.hosted if op.args[0][0] == self.call[4]))
        self.is_midway = False
        return self.words[8]
