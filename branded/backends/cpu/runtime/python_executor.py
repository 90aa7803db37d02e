"""Execution of small programs from Python, without compiling C.

The C code that interprets tables (`native.py`) takes as long to compile as two small kernels, once per machine.  A
kernel called from Python takes half a microsecond longer, and a large kernel uses only one core.  The C code is
therefore compiled later, for a program that has run often or for a long time.
"""

from __future__ import annotations

import ctypes
import operator
from array import array
from collections.abc import Iterator, Sequence
from typing import Any

from branded.backends.cpu.runtime import cores, native
from branded.backends.cpu.runtime.native import Address, Hosted, Inner, KernelCall, Op, Plan, Ref, Table


class PythonExecutor:
    """A program of a few operations without loops that Python calls directly."""

    MOST, MOST_WITHOUT_C = 2, 12
    """The number of calls that are as fast as from C, and the number made directly while C is not compiled yet."""
    OFTEN = 5_000
    """The number of runs after which compiling C pays."""

    def __init__(self, ops: Sequence[KernelCall | Hosted], memory: int) -> None:
        """Lay out the calls; `memory` is the address in the first slot, the same in every run."""
        calls = [(op, words) for op in ops for words in _calls(op, memory)]
        self.constants = list(dict.fromkeys(a for _, words in calls for a in words if not isinstance(a, Ref)))
        """The words that precede the addresses of a run."""
        self.calls = [self._call(op, words) for op, words in calls]
        self.calls_python = any(isinstance(op, Hosted) and not op.is_c for op in ops)
        self.ops, self.left = ops, self.OFTEN if len(self.calls) > self.MOST else -1
        if (work := sum(op.work for op in ops if isinstance(op, KernelCall) and op.is_large)) and cores.address():
            self.left = min(self.OFTEN, cores.PAYS // work + 1)

    def _call(self, op: KernelCall | Hosted, words: Sequence[Address]) -> tuple[Any, Any, object]:
        """Return the function, the selector of its arguments, and the name for errors of a host callback."""
        before = len(self.constants)
        where = [before + a.slot if isinstance(a, Ref) else self.constants.index(a) for a in words]
        if len(where) == 1:
            where *= 2  # `itemgetter` of one index returns no tuple, and a surplus argument does no harm
        who = op.of if isinstance(op, Hosted) else None
        types = [ctypes.c_uint64] * (len(where) if who is None else 1)
        return ctypes.CFUNCTYPE(None, *types)(op.address), operator.itemgetter(*where), who

    def run(self, addresses: list[int]) -> int:
        """Run with an address for each slot, and return the number of steps: 1."""
        self.left -= 1
        if not self.left:
            setattr(self, "run", Plan(Table(self.ops)).run)  # noqa: B010  mypy: a method is not assigned
            return self.run(addresses)
        if self.calls_python:
            native.check_not_running(self)
        values = self.constants + addresses
        for called, words_of, who in self.calls:
            if who is None:
                called(*words_of(values))
                continue
            words = array("Q", words_of(values))
            called(words.buffer_info()[0])
            if words[1]:
                raise native.full(who) if words[1] == native.FULL else native.callback_error()
        return 1


def _calls(op: KernelCall | Hosted, memory: int) -> Iterator[list[Address]]:
    """Yield the arguments of each call: one per thread."""
    for core in range(op.threads if isinstance(op, KernelCall) else 1):
        words = [memory + a.offset if isinstance(a, Ref) and not a.slot else a for a in op.args[0]]
        if isinstance(op, KernelCall) and op.core >= 0:
            words[op.core] = core
        yield words


def _is_direct(op: Op) -> bool:
    """Return whether the operation has one set of arguments without offsets into a run's buffers."""
    if isinstance(op, Inner) or len(op.args) != 1 or op.step >= 0:
        return False
    return not any(isinstance(a, Ref) and a.slot and a.offset for a in op.args[0])


def make_executor(ops: Sequence[Op], memory: int) -> Plan | PythonExecutor:
    """Return an executor of these operations; `memory` is the address in the first slot, the same in every run."""
    direct = [op for op in ops if not isinstance(op, Inner) and _is_direct(op)]
    if len(direct) == len(ops):
        calls = sum(op.threads if isinstance(op, KernelCall) else 1 for op in direct)
        is_large = any(isinstance(op, KernelCall) and op.is_large for op in ops)
        most = 0 if is_large and cores.address() else PythonExecutor.MOST
        if calls <= most or (calls <= PythonExecutor.MOST_WITHOUT_C and not native.is_compiled()):
            return PythonExecutor(direct, memory)
    return Plan(Table(ops))
