"""How a loop runs: its step is compiled once, and replayed.

In the graph that tinygrad schedules, a loop is one CALL of a CUSTOM_FUNCTION with the buffers of its results and of its
arguments, so it is scheduled, captured by TinyJit and replayed as any kernel is.  Running it replays the kernels of the
step; the number of the step is a variable of these kernels, by which they index the inputs and the outputs.

The CUSTOM_FUNCTION keeps the loop, and the loop its compiled step, so both go when nothing can run them any more.  Of
loops that differ only in numbers the step is compiled once; while no loop runs, a step has no memory.  All this is done
by one thread at a time (`branded.tinygrad_compat.tinygrad_lock`).
"""

from __future__ import annotations

import itertools
import math
import struct
import weakref
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from tinygrad import dtypes
from tinygrad.device import Buffer
from tinygrad.dtype import DType
from tinygrad.helpers import disable_gc
from tinygrad.uop.ops import Ops, UOp

from branded.backends.cpu.autotune import config
from branded.backends.cpu.renderer import loops as kernels
from branded.backends.cpu.runtime import native
from branded.backends.cpu.runtime.native import Address, Ref
from branded.compile.linear_program import Arena, Linear, address_of, buffer_of
from branded.control_flow.hoist_constants import without_numbers
from branded.control_flow.primitive import Loop
from branded.control_flow.scan import Scan
from branded.control_flow.while_loop import While
from branded.graph.primitive import primitive_of, results
from branded.graph.uops import nbytes
from branded.tinygrad_compat import private_api

T = TypeVar("T")


class LoopName(str):
    """The name of a loop in tinygrad's graph, which keeps the loop."""

    loop: Loop

    def __new__(cls, loop: Loop) -> LoopName:
        name = super().__new__(cls, loop.name)
        name.loop = loop
        return name

    def __reduce__(self) -> Any:
        return LoopName, (self.loop,)


def lowered(u: UOp) -> UOp | None:
    """A loop in tinygrad's own operations: buffers, after a call that writes them."""
    loop = primitive_of(u)
    if not isinstance(loop, Loop):
        return None
    given = enumerate(zip(u.src[1:], loop.dtypes(u), strict=True))
    inputs = [in_memory(x, dtype, loop.device) for i, (x, dtype) in given if i not in loop.counts]
    outs = [x.empty_like() for x in results(u)]
    call = UOp(Ops.CUSTOM_FUNCTION, src=(), arg=LoopName(loop)).call(*outs, *inputs)
    out: UOp = UOp.maketuple(*(o.after(call) for o in outs))
    return out


def in_memory(x: UOp, dtype: DType, device: Any) -> UOp:
    """An argument in a buffer of its own, of its own dtype.

    tinygrad may yet find out that it is a mere number, and a view would begin where vector loads must not.
    """
    if x.has_buffer_identity(after_ok=True):  # type: ignore[no-untyped-call]
        return x
    out: UOp = x.cast(dtype).clone(device=device)
    return out


# ---- compiling a step ----


def _storage(p: UOp, *leading: int) -> UOp:
    """A buffer for a parameter, or for many of them side by side."""
    shape: tuple[Any, ...] = (*leading, *p.shape)
    out: UOp = UOp.new_buffer(p.device, math.prod(shape), p.dtype).reshape(shape)
    return out


class _Planned(NamedTuple):
    """A loop that C can run: with so much memory, and so many of its arguments."""

    plan: native.Plan
    memory: int
    takes: int


def _turn(k: int, length: int) -> int:
    """Between which buffers the carry goes in step `k`, such that the last step leaves it in the result.

    A step does not write what it reads, so the carry goes to and fro between the result and a spare buffer:

        turn 0: the first step, from what is given      turn 1: spare -> result      turn 2: result -> spare

        length 3    given -0-> result -2-> spare -1-> result
        length 4    given -0-> spare -1-> result -2-> spare -1-> result

    A while loop runs as one of odd length does.  If it ends after an even number of steps, its result is yet to be
    copied: from the spare buffer or, after no step, from what is given.
    """
    return 0 if k == 0 else 2 - (length - k) % 2


_REACH = 1 << 31
"""The index of a kernel is an int of 32 bits: so many entries a buffer of all steps may have."""


def _most(loop: Loop, outs: Sequence[UOp]) -> int:
    """The number of steps that a step is compiled for: whatever the length, unless a kernel needs longer numbers."""
    if not isinstance(loop, Scan):
        return 1
    whole = [*outs[loop.carries :], *(p for p in loop.params() if loop.is_input(p.arg.slot))]
    most = _REACH // max([2, *(int(x.max_numel()) for x in whole)])
    return most if loop.length <= most else loop.length


class _Step:
    """The compiled step of a loop, without its numbers, for any number of steps.

    It is compiled for buffers that nobody has: of what it writes (the carries, the stacked outputs), and of what it
    reads (the carries, the inputs and what no step changes, so far as it uses them; the tables of its numbers).  A run
    gives its own in their place, in this order.
    """

    def __init__(
        self,
        loop: Loop,
        outs: Sequence[UOp],
        numbers: Mapping[DType, Sequence[UOp]],
        most: int,
        *,
        is_compiled: bool = True,
    ) -> None:
        n = loop.carries
        self.results = len(outs) - isinstance(loop, While)
        self.is_symbolic = any(u.is_bound_var for u in UOp.maketuple(*outs).toposort())
        """Does it use a Variable, also in a loop within?"""
        var = UOp.variable("branded_step", 0, max(most - 1, 1)) if isinstance(loop, Scan) else None
        at = var.bind(0) if var is not None else None
        to, stacks = [_storage(x) for x in outs[:n]], [_storage(x, most) for x in outs[n : self.results]]
        reads = _read(loop, outs[:n], most)
        tables = [UOp.new_buffer(loop.device, len(ps), dtype) for dtype, ps in numbers.items()]
        stand_ins = _stand_ins(loop, reads, at)
        for table, ps in zip(tables, numbers.values(), strict=True):
            stand_ins |= {p: _slice(table, k) for k, p in enumerate(ps)}
        new = [x.substitute(stand_ins, walk=True) for x in outs]
        self.slots = [i - sum(j < i for j in loop.counts) for i in reads]
        given = [*reads.values(), *tables]
        places = [*to, *(_slice(y, at) for y in stacks)]
        writes = list(zip(places, new[: self.results], strict=True))
        self.graph = Linear(writes, _bases(*to, *given[:n], *stacks, *given[n:]), var, is_compiled=is_compiled)
        self.spare = [UOp.new_buffer(x.device, x.max_numel(), x.dtype) for x in to]
        self.between = self.graph.own
        self.test: Linear | None = None
        if isinstance(loop, While):
            flag = _storage(outs[n])
            self.test = Linear([(flag, new[n])], _bases(flag, *given), None, is_compiled=is_compiled)
            self.flag = flag.base
            self.between = [*self.between, self.flag, *self.test.own]
        self.own = [*self.spare, *self.between]
        """Its memory, which it has while it runs."""
        self.numbers = len(tables)
        self._planned: dict[tuple[bool, bool], _Planned | None] = {}

    def release(self) -> None:
        """Give its memory back to tinygrad."""
        found = [b for u in self.own if isinstance(b := u.buffer, Buffer)]
        for b in (*(b for b in found if b is not b.base), *dict.fromkeys(b.base for b in found)):
            if b.is_initialized():
                b.deallocate()  # type: ignore[no-untyped-call]

    def plan(self, loop: Loop) -> _Planned | None:
        """The replay from C, where it can be: laid out once, for whatever buffers and number of steps a run gives."""
        length, down = _extent(loop)
        if (form := (length % 2 == 1, down)) not in self._planned:
            # behind slot 0 is its memory; then come its results, its arguments and its numbers
            counts, memory, slots = (self.results, max(self.slots) + 1, self.numbers), Arena(), itertools.count(1)
            outs, args, held = [[Ref(next(slots)) for _ in range(k)] for k in counts]
            table = self.table(loop, outs, args, held, memory)
            self._planned[form] = None if table is None else _Planned(native.Plan(table), memory.most, counts[1])
        return self._planned[form]

    def table(
        self, loop: Loop, outs: Sequence[Address], args: Sequence[Address], numbers: Sequence[Address], memory: Arena
    ) -> native.Table | None:
        """The loop on these buffers, without its gate."""
        n = loop.carries
        spare: list[Address] = [memory.take(nbytes(u)) for u in self.spare]
        finals, rest = list(outs[:n]), [*outs[n:], *(args[i] for i in self.slots[n:]), *numbers]
        length, down = _extent(loop)
        turns = _turns(length, finals, list(args[:n]), spare)
        ops = self.graph.ops([[*to, *of, *rest] for to, of in turns], memory, tables)
        if not ops:
            return None
        if isinstance(loop, Scan):
            return native.Table(ops, length, down)
        assert self.test is not None
        flag = memory.take(nbytes(self.flag))
        tests = self.test.ops([[flag, *of, *rest] for _, of in turns], memory, tables)
        if not tests:
            return None
        copies = [native.CarryCopy(*c) for c in zip(finals, spare, args[:n], map(nbytes, self.spare), strict=True)]
        return native.Table(ops, length, down, tests, flag, copies)


def _read(loop: Loop, carries: Sequence[UOp], most: int) -> dict[int, UOp]:
    """Buffers for what the step reads, by the slots of the loop's arguments: all carries, and what it uses of the rest.

    What it does not use keeps its slot, and is not given to it.  Of the arguments c (a carry), x and y (inputs), w and
    the number of the step, a body that gives c + x * w reads

        {0: c, 1: x for all steps, 3: w}
    """
    n, found = loop.carries, {i: _storage(x) for i, x in enumerate(carries)}
    for p in sorted(loop.params(), key=lambda p: p.arg.slot):
        if (i := p.arg.slot) >= n and i not in loop.counts:
            found[i] = _storage(p, *([most] if loop.is_input(i) else []))
    return found


def _stand_ins(loop: Loop, reads: Mapping[int, UOp], at: UOp | None) -> dict[UOp, UOp]:
    """What stands for the parameters of the body in the step of number `at`.

    c: the buffer of the carry      x: its entry `at`      w: its buffer      the number of the step: `at`
    """
    used = {p.arg.slot: p for p in loop.params()}
    found = {used[i]: _slice(x, at) if loop.is_input(i) else x for i, x in reads.items() if i in used}
    return found | {used[i]: at.cast(used[i].dtype) for i in loop.counts if at is not None and i in used}


def _extent(loop: Loop) -> tuple[int, bool]:
    """How many steps it has, and whether it goes from the last one down."""
    return (loop.length, loop.reverse) if isinstance(loop, Scan) else (native.WITHOUT_END, False)


def _turns(length: int, finals: list[T], first: list[T], spare: list[T]) -> list[tuple[list[T], list[T]]]:
    """For each turn where its step writes the carry, and where it reads it."""
    odd = length % 2 == 1 or length == native.WITHOUT_END
    return [(finals if odd else spare, first), (finals, spare), (spare, finals)]


def _bases(*xs: UOp) -> list[UOp]:
    return [x.base for x in xs]


def _slice(x: UOp, at: Any) -> UOp:
    """The entry of one step."""
    out: UOp = x.shrink(((at, at + 1), *((0, s) for s in x.shape[1:]))).reshape(x.shape[1:])
    return out


class _CompiledLoop(NamedTuple):
    """What a loop runs: a step, and the numbers of this loop in memory."""

    step: _Step
    tables: list[UOp]
    made: tuple[int, str | None]
    """What `kernels.room` was, and whether kernels were tried."""


_steps: weakref.WeakValueDictionary[tuple[str, str, int, tuple[int, str | None]], _Step] = weakref.WeakValueDictionary()
"""The compiled steps that some loop has, by what they do whatever the numbers and the number of steps."""


def _compiled(loop: Loop) -> _CompiledLoop:
    made = kernels.room.value, config.how()
    if loop.compiled is None or loop.compiled.made != made:
        outs, numbers = without_numbers(loop)
        most = _most(loop, outs)
        key = UOp.maketuple(*outs).key.hex(), loop.form, most, made
        if (step := _steps.get(key)) is None:
            with config.in_a_step():
                step = _steps[key] = _Step(loop, outs, {dtype: list(ps) for dtype, ps in numbers.items()}, most)
        tables = [_in_table(loop.device, dtype, list(ps.values())) for dtype, ps in numbers.items()]
        loop.compiled = _CompiledLoop(step, tables, made)
    compiled: _CompiledLoop = loop.compiled
    return compiled


def laid_out(loop: Loop) -> tuple[Sequence[UOp], Sequence[Linear]]:
    """The memory of its step, and its parts, which are not compiled."""
    outs, numbers = without_numbers(loop)
    step = _Step(loop, outs, {dtype: list(ps) for dtype, ps in numbers.items()}, _most(loop, outs), is_compiled=False)
    return step.own, [step.graph, *([step.test] if step.test is not None else [])]


def _in_table(device: str, dtype: DType, values: list[float]) -> UOp:
    data = struct.pack(f"{len(values)}{dtype.fmt}", *values)
    out: UOp = UOp.from_buffer(Buffer(device, len(values), dtype, initial_value=data))
    return out


# ---- running ----


def run(ctx: Any, call: UOp, ast: UOp) -> list[float | None] | None:
    return _run(ctx, call, ast) if isinstance(ast.arg, LoopName) else None


_busy: list[_Step] = []
"""The steps that have memory."""


@disable_gc()
def _run(ctx: Any, call: UOp, ast: UOp) -> list[float | None]:
    loop = ast.arg.loop
    compiled = _compiled(loop)
    # those before it wait for a function of the host, which runs this one
    first = len(_busy) if native.inside else 0
    if compiled.step in _busy[:first] and not hasattr(ctx, "within"):
        raise native.within_itself()
    _busy.append(compiled.step)
    try:
        _replayed(loop, compiled, ctx, call)
    finally:
        if not hasattr(ctx, "within"):  # a loop within this one may run again
            while len(_busy) > first:
                _busy.pop().release()
    return []


def _replayed(loop: Loop, compiled: _CompiledLoop, ctx: Any, call: UOp) -> None:
    step, n = compiled.step, loop.carries
    given = private_api.resolve_params(call, ctx.input_uops)
    outs, args = given[: step.results], given[step.results :]
    if loop.gated and not buffer_of(args[-1]).as_memoryview()[0]:
        for to, x in zip(outs[:n], args[:n], strict=True):
            buffer_of(to).copy_from(buffer_of(x))
        return
    if not (ctx.jit and step.is_symbolic) and (planned := step.plan(loop)) is not None:
        memory = Buffer(loop.device, max(planned.memory, 1), dtypes.uint8, preallocate=True)
        uops = (*outs, *args[: planned.takes], *compiled.tables)
        planned.plan.run([memory.get_buf(loop.device).va_addr, *map(address_of, uops)], _extent(loop)[0])
        return
    finals, rest = outs[:n], [*outs[n:], *(args[i] for i in step.slots[n:]), *compiled.tables]
    # the first step reads what the loop was given; then the result and the spare change places
    turns = _turns(_extent(loop)[0], finals, args[:n], step.spare)
    done = _by_hand(loop, step, turns, rest, ctx)
    if isinstance(loop, While) and done % 2 == 0:
        for to, x in zip(finals, step.spare if done else args[:n], strict=True):
            buffer_of(to).copy_from(buffer_of(x))


def tables(call: UOp, args: Sequence[Sequence[Address]], memory: Arena) -> list[native.Table] | None:
    """A loop that stands among the kernels of a program, on the buffers of each turn of that."""
    if not isinstance(call.src[0].arg, LoopName):
        return None
    loop = call.src[0].arg.loop
    compiled = _compiled(loop)
    step, found = compiled.step, []
    numbers = [address_of(u) for u in compiled.tables]
    before = memory.used
    for given in args:
        memory.used = before  # one turn runs at a time
        table = step.table(loop, given[: step.results], given[step.results :], numbers, memory)
        if table is None:
            return None
        found.append(_gated(loop, table, given, step) if loop.gated else table)
    return found


def _gated(loop: Loop, table: native.Table, given: Sequence[Address], step: _Step) -> native.Table:
    """The loop behind its gate: a loop of one step, that of the table, or of none, which leaves the first carries."""
    inits = given[step.results :][: loop.carries]
    copies = [native.CarryCopy(to, x, x, nbytes(u)) for to, x, u in zip(given, inits, step.spare, strict=False)]
    return native.Table([native.Inner([table])], flag=given[-1], copies=copies)


def calls(loop: Loop) -> tuple[Sequence[UOp], Sequence[UOp]]:
    """The calls of a step, and those of the test before it, in the order of its table."""
    step = _compiled(loop).step
    return step.graph.linear.src, step.test.linear.src if step.test is not None else ()


def _by_hand(loop: Loop, step: _Step, turns: Sequence[tuple[list[UOp], list[UOp]]], rest: list[UOp], ctx: Any) -> int:
    """The replay by Python, on any device; the number of steps that were made."""
    runs = [step.graph.bound([*to, *of, *rest], ctx) for to, of in turns]
    if isinstance(loop, Scan):
        n = loop.length
        for k, i in enumerate(range(n - 1, -1, -1) if loop.reverse else range(n)):
            runs[_turn(k, n)](i)
        return n
    assert step.test is not None
    tests = [step.test.bound([step.flag, *of, *rest], ctx) for _, of in turns]
    k = 0
    while True:
        which = _turn(k, 1)
        tests[which](0)
        if not buffer_of(step.flag).as_memoryview()[0]:
            return k
        runs[which](0)
        k += 1
