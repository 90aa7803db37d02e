"""The compiled step of a loop: its buffers, its kernels, and its tables for C."""

from __future__ import annotations

import itertools
import math
import struct
import weakref
from array import array
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from tinygrad.device import Buffer
from tinygrad.dtype import DType
from tinygrad.uop.ops import UOp

from branded.backends.cpu.autotune import config
from branded.backends.cpu.renderer import loops as kernels
from branded.backends.cpu.runtime import native
from branded.backends.cpu.runtime.native import Address, Ref
from branded.backends.cuda.launch import launcher
from branded.compile.linear_program import Arena, Linear, address_of, schedule
from branded.control_flow.hoist_constants import without_numbers
from branded.control_flow.loop_primitive import Loop
from branded.control_flow.scan import Scan
from branded.control_flow.while_loop import While
from branded.graph.uops import nbytes

T = TypeVar("T")


class LoopName(str):
    """The name of a loop in tinygrad's graph, with a reference to the loop."""

    loop: Loop

    def __new__(cls, loop: Loop) -> LoopName:
        name = super().__new__(cls, loop.name)
        name.loop = loop
        return name

    def __reduce__(self) -> Any:
        return LoopName, (self.loop,)


def _storage(p: UOp, *leading: int) -> UOp:
    """Return a buffer for a parameter, or for a stack of such parameters."""
    shape: tuple[Any, ...] = (*leading, *p.shape)
    out: UOp = UOp.new_buffer(p.device, math.prod(shape), p.dtype).reshape(shape)
    return out


class Planned(NamedTuple):
    """A loop that C can run, with the memory that it needs and the number of its arguments."""

    plan: native.Plan
    memory: int
    takes: int


def turn_of(k: int, length: int) -> int:
    """Return the turn of step `k`: the buffers between which it moves the carry.  The last step writes the result.

    A step never writes the buffer that it reads, so the carry alternates between the result and a spare buffer:

        turn 0: the first step, from the initial carry      turn 1: spare -> result      turn 2: result -> spare

        length 3    initial -0-> result -2-> spare -1-> result
        length 4    initial -0-> spare -1-> result -2-> spare -1-> result

    A while loop runs like a loop of odd length. If it ends after an even number of steps, its result must still be
    copied. The source is the spare buffer or, after zero steps, the initial carry.
    """
    return 0 if k == 0 else 2 - (length - k) % 2


_REACH = 1 << 31
"""The maximum number of entries in a stacked buffer: kernels index with 32-bit ints."""


def most_steps(loop: Loop, outs: Sequence[UOp]) -> int:
    """Return the step count to compile for; it depends on the length only if the kernels need larger indices."""
    if not isinstance(loop, Scan):
        return 1
    whole = [*outs[loop.carries :], *(p for p in loop.params() if loop.is_input(p.arg.slot))]
    most = _REACH // max([2, *(int(x.max_numel()) for x in whole)])
    return most if loop.length <= most else loop.length


class LoopStep:
    """The compiled step of a loop, without its numbers, for any number of steps.

    It is compiled for placeholder buffers, and a run replaces them with its own. Their order: the carries that it
    writes, the carries that it reads, the stacked outputs, the used inputs and constants, and the tables of numbers.
    """

    def __init__(
        self,
        loop: Loop,
        outs: Sequence[UOp],
        numbers: Mapping[DType, Collection[UOp]],
        most: int,
        *,
        is_compiled: bool = True,
    ) -> None:
        n = loop.carries
        self.results = len(outs) - isinstance(loop, While)
        self.is_symbolic = any(u.is_bound_var for u in UOp.maketuple(*outs).toposort())
        """Whether the step uses a symbolic Variable, also in an inner loop."""
        var = UOp.variable("branded_step", 0, max(most - 1, 1)) if isinstance(loop, Scan) else None
        index = var.bind(0) if var is not None else None
        to, stacks = [_storage(x) for x in outs[:n]], [_storage(x, most) for x in outs[n : self.results]]
        reads = _allocate_reads(loop, outs[:n], most)
        tables = [UOp.new_buffer(loop.device, len(ps), dtype) for dtype, ps in numbers.items()]
        stand_ins = _stand_ins(loop, reads, index)
        for table, ps in zip(tables, numbers.values(), strict=True):
            stand_ins |= {p: _slice(table, k) for k, p in enumerate(ps)}
        new = [x.substitute(stand_ins, walk=True) for x in outs]
        self.slots = [i - sum(j < i for j in loop.counts) for i in reads]
        buffers = [*reads.values(), *tables]
        places = [*to, *(_slice(y, index) for y in stacks)]
        writes = list(zip(places, new[: self.results], strict=True))
        params, fixed = _bases(*to, *buffers[:n], *stacks, *buffers[n:]), _bases(*buffers[n:])
        moved = list(zip(_bases(*to), _bases(*buffers[:n]), strict=True))
        self.graph = schedule(writes, params, var, fixed=fixed, pairs=moved, is_compiled=is_compiled)
        self.spare = [UOp.new_buffer(x.device, x.max_numel(), x.dtype) for x in to]
        self.between = self.graph.own
        self.test: Linear | None = None
        if isinstance(loop, While):
            flag = _storage(outs[n])
            self.test = schedule([(flag, new[n])], _bases(flag, *buffers), None, is_compiled=is_compiled)
            self.flag, self.flag_here = flag.base, array("Q", [0])
            self.between = [*self.between, self.flag, *self.test.own]
        self.own = [*self.spare, *self.between]
        """The buffers of the step for intermediate values, which are allocated only while it runs."""
        self.numbers = len(tables)
        self._planned: dict[tuple[bool, bool], Planned | None] = {}

    def release(self) -> None:
        """Free the memory of the step."""
        buffers = [b for u in self.own if isinstance(b := u.buffer, Buffer)]
        for b in (*(b for b in buffers if b is not b.base), *dict.fromkeys(b.base for b in buffers)):
            if b.is_initialized():
                b.deallocate()  # type: ignore[no-untyped-call]

    def plan(self, loop: Loop) -> Planned | None:
        """Return the plan for C, or None; a plan is built once, for any buffers and any number of steps."""
        length, down = extent(loop)
        if (form := (length % 2 == 1, down)) not in self._planned:
            # slot 0 is the memory of the step, followed by the results, the arguments and the tables of numbers
            counts, memory, slots = (self.results, max(self.slots) + 1, self.numbers), Arena(), itertools.count(1)
            outs, args, held = [[Ref(next(slots)) for _ in range(k)] for k in counts]
            table = self.table(loop, outs, args, held, memory)
            self._planned[form] = None if table is None else Planned(native.Plan(table), memory.most, counts[1])
        return self._planned[form]

    def table(
        self, loop: Loop, outs: Sequence[Address], args: Sequence[Address], numbers: Sequence[Address], memory: Arena
    ) -> native.Table | None:
        """Return the loop on these buffers as a table, without its gate, or None if C cannot run it."""
        n = loop.carries
        finals, rest = list(outs[:n]), [*outs[n:], *(args[i] for i in self.slots[n:]), *numbers]
        kept = self.graph.in_place
        spare = [finals[i] if i in kept else memory.take(nbytes(u)) for i, u in enumerate(self.spare)]
        length, down = extent(loop)
        turns = turns_of(length, finals, list(args[:n]), spare)
        ops = self.graph.ops([[*to, *src, *rest] for to, src in turns], memory, tables)
        if not ops:
            return None
        sizes = list(map(nbytes, self.spare))
        initial = [
            native.KernelCall(native.memmove(), [[finals[i], args[i], sizes[i]]] * len(turns)) for i in sorted(kept)
        ]
        ops, once = [*initial, *ops], len(initial) + self.graph.once
        if isinstance(loop, Scan):
            return native.Table(ops, length, down, once=once)
        assert self.test is not None
        flag: Address = memory.take(nbytes(self.flag))
        tests = self.test.ops([[flag, *src, *rest] for _, src in turns], memory, tables)
        if not tests:
            return None
        copies = [native.CarryCopy(*c) for c in zip(finals, spare, args[:n], sizes, strict=True)]
        if (cuda := launcher(loop.device)) is None:
            return native.Table(ops, length, down, tests, flag, copies, once=once)
        here = self.flag_here.buffer_info()[0]
        tests.append(cuda.copy([[here, flag, nbytes(self.flag)]] * len(turns), to_host=True))
        return native.Table(ops, length, down, tests, here, copies, cuda.move, once)


def _allocate_reads(loop: Loop, carries: Sequence[UOp], most: int) -> dict[int, UOp]:
    """Allocate the buffers that the step reads, by argument slot: all carries, and the other arguments that it uses.

    An unused argument keeps its slot, but is not passed to the step. For the arguments c (a carry), x and y (inputs), w
    and the step index, a body that returns c + x * w reads

        {0: c, 1: x for all steps, 3: w}
    """
    n, buffers = loop.carries, {i: _storage(x) for i, x in enumerate(carries)}
    for p in sorted(loop.params(), key=lambda p: p.arg.slot):
        if (i := p.arg.slot) >= n and i not in loop.counts:
            buffers[i] = _storage(p, *([most] if loop.is_input(i) else []))
    return buffers


def _stand_ins(loop: Loop, reads: Mapping[int, UOp], index: UOp | None) -> dict[UOp, UOp]:
    """Return the substitution for the parameters of the body in step `index`.

    c: the buffer of the carry      x: its entry `index`      w: its buffer      the step index: `index`
    """
    used = {p.arg.slot: p for p in loop.params()}
    stand_ins = {used[i]: _slice(x, index) if loop.is_input(i) else x for i, x in reads.items() if i in used}
    return stand_ins | {used[i]: index.cast(used[i].dtype) for i in loop.counts if index is not None and i in used}


def extent(loop: Loop) -> tuple[int, bool]:
    """Return the number of steps, and whether they run in reverse."""
    return (loop.length, loop.reverse) if isinstance(loop, Scan) else (native.WITHOUT_END, False)


def turns_of(length: int, finals: list[T], first: list[T], spare: list[T]) -> list[tuple[list[T], list[T]]]:
    """Return, for each turn, the buffers to which a step writes the carry and from which it reads the carry."""
    odd = length % 2 == 1 or length == native.WITHOUT_END
    return [(finals if odd else spare, first), (finals, spare), (spare, finals)]


def _bases(*xs: UOp) -> list[UOp]:
    return [x.base for x in xs]


def _slice(x: UOp, index: Any) -> UOp:
    """Return the entry of one step."""
    out: UOp = x.shrink(((index, index + 1), *((0, s) for s in x.shape[1:]))).reshape(x.shape[1:])
    return out


class CompiledLoop(NamedTuple):
    """The compiled step of a loop, and the numbers of this loop in memory."""

    step: LoopStep
    tables: list[UOp]
    made: tuple[int, str | None]
    """The value of `kernels.cpu_codegen` and the mode of autotuning at compilation."""


_steps: weakref.WeakValueDictionary[tuple[str, str, int, tuple[int, str | None]], LoopStep] = (
    weakref.WeakValueDictionary()
)
"""The compiled steps that loops still use, keyed by their computation without the numbers."""


def compile_loop(loop: Loop) -> CompiledLoop:
    settings = kernels.cpu_codegen.value, config.how()
    if loop.compiled is None or loop.compiled.made != settings:
        outs, numbers = without_numbers(loop)
        most = most_steps(loop, outs)
        key = UOp.maketuple(*outs).key.hex(), loop.form, most, settings
        if (step := _steps.get(key)) is None:
            with config.in_a_step():
                step = _steps[key] = LoopStep(loop, outs, numbers, most)
        tables = [_in_table(loop.device, dtype, list(ps.values())) for dtype, ps in numbers.items()]
        loop.compiled = CompiledLoop(step, tables, settings)
    compiled: CompiledLoop = loop.compiled
    return compiled


def laid_out(loop: Loop) -> tuple[Sequence[UOp], Sequence[Linear]]:
    """Return the memory of the loop's step, and the parts of the step, uncompiled."""
    outs, numbers = without_numbers(loop)
    step = LoopStep(loop, outs, numbers, most_steps(loop, outs), is_compiled=False)
    return step.own, [step.graph, *([step.test] if step.test is not None else [])]


def _in_table(device: str, dtype: DType, values: list[float]) -> UOp:
    data = struct.pack(f"{len(values)}{dtype.fmt}", *values)
    out: UOp = UOp.from_buffer(Buffer(device, len(values), dtype, initial_value=data))
    return out


def tables(call: UOp, args: Sequence[Sequence[Address]], memory: Arena) -> list[native.Table] | None:
    """Lower a loop within a program to one table per turn of that program, or return None if C cannot run it."""
    if not isinstance(call.src[0].arg, LoopName):
        return None
    loop = call.src[0].arg.loop
    if loop.gated and launcher(loop.device):
        return None  # C cannot read the gate
    compiled = compile_loop(loop)
    step, out = compiled.step, []
    numbers = [address_of(u) for u in compiled.tables]
    before = memory.used
    for buffers in args:
        memory.used = before  # one turn runs at a time
        table = step.table(loop, buffers[: step.results], buffers[step.results :], numbers, memory)
        if table is None:
            return None
        out.append(_wrap_in_gate(loop, table, buffers, step) if loop.gated else table)
    return out


def _wrap_in_gate(loop: Loop, table: native.Table, buffers: Sequence[Address], step: LoopStep) -> native.Table:
    """Wrap a loop in its gate: if the gate is closed, the initial carries are copied to the results."""
    inits = buffers[step.results :][: loop.carries]
    copies = [native.CarryCopy(to, x, x, nbytes(u)) for to, x, u in zip(buffers, inits, step.spare, strict=False)]
    return native.Table([native.Inner([table])], flag=buffers[-1], copies=copies)


def calls(loop: Loop) -> tuple[Sequence[UOp], Sequence[UOp]]:
    """Return the calls of a step and the calls of the loop's test, in the order of its table."""
    step = compile_loop(loop).step
    return step.graph.linear.src, step.test.linear.src if step.test is not None else ()
