"""Execution of loops: the step is compiled once, and replayed.

In the graph that tinygrad schedules, a loop is one CALL of a CUSTOM_FUNCTION with the buffers of its results and
arguments. It is therefore scheduled, captured by TinyJit and replayed like any kernel. Running it replays the kernels
of the step. The step index is a variable of these kernels, with which they index inputs and outputs.

The CUSTOM_FUNCTION refers to the loop, and the loop to its compiled step, so both are freed with the graph. Loops that
differ only in numbers share one compiled step. A step has memory for intermediate values only while a loop runs. Only
one thread at a time may run loops (`branded.tinygrad_compat.tinygrad_lock`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinygrad.dtype import DType
from tinygrad.helpers import disable_gc
from tinygrad.uop.ops import Ops, UOp

from branded.backends.cpu.runtime import native
from branded.compile.compiled_loop import CompiledLoop, LoopName, LoopStep, compile_loop, extent, turn_of, turns_of
from branded.compile.linear_program import address_of, allocate_working_memory, buffer_of, memory_address
from branded.control_flow.loop_primitive import Loop
from branded.control_flow.scan import Scan
from branded.control_flow.while_loop import While
from branded.graph.primitive import primitive_of, results
from branded.tinygrad_compat import private_api


def lower_loop(u: UOp) -> UOp | None:
    """Lower a loop to tinygrad's own operations: buffers, after a call that writes them."""
    loop = primitive_of(u)
    if not isinstance(loop, Loop):
        return None
    operands = enumerate(zip(u.src[1:], loop.dtypes(u), strict=True))
    inputs = [in_memory(x, dtype, loop.device) for i, (x, dtype) in operands if i not in loop.counts]
    outs = [x.empty_like() for x in results(u)]
    call = UOp(Ops.CUSTOM_FUNCTION, src=(), arg=LoopName(loop)).call(*outs, *inputs)
    out: UOp = UOp.maketuple(*(o.after(call) for o in outs))
    return out


def in_memory(x: UOp, dtype: DType, device: Any) -> UOp:
    """Return an argument in a buffer of its own, with its own dtype.

    tinygrad may later reduce the argument to a constant, and the start of a view may not be aligned for vector loads.
    """
    if x.has_buffer_identity(after_ok=True):  # type: ignore[no-untyped-call]
        return x
    out: UOp = x.cast(dtype).clone(device=device)
    return out


def run(ctx: Any, call: UOp, ast: UOp) -> list[float | None] | None:
    return _run_loop(ctx, call, ast) if isinstance(ast.arg, LoopName) else None


_busy: list[LoopStep] = []
"""The steps that have memory allocated."""


@disable_gc()
def _run_loop(ctx: Any, call: UOp, ast: UOp) -> list[float | None]:
    loop = ast.arg.loop
    compiled = compile_loop(loop)
    # earlier entries wait for a host callback, which runs this loop
    first = len(_busy) if native.inside else 0
    if compiled.step in _busy[:first] and not hasattr(ctx, "within"):
        raise native.within_itself()
    _busy.append(compiled.step)
    try:
        _replay(loop, compiled, ctx, call)
    finally:
        if not hasattr(ctx, "within"):  # an inner loop may run again
            while len(_busy) > first:
                _busy.pop().release()
    return []


def _replay(loop: Loop, compiled: CompiledLoop, ctx: Any, call: UOp) -> None:
    step, n = compiled.step, loop.carries
    buffers = private_api.resolve_params(call, ctx.input_uops)
    outs, args = buffers[: step.results], buffers[step.results :]
    if loop.gated and not buffer_of(args[-1]).as_memoryview()[0]:
        for to, x in zip(outs[:n], args[:n], strict=True):
            buffer_of(to).copy_from(buffer_of(x))
        return
    if not (ctx.jit and step.is_symbolic) and (planned := step.plan(loop)) is not None:
        memory = allocate_working_memory(planned.memory, loop.device, loop.api_name)
        uops = (*outs, *args[: planned.takes], *compiled.tables)
        planned.plan.run([memory_address(memory), *map(address_of, uops)], extent(loop)[0])
        return
    finals, rest = outs[:n], [*outs[n:], *(args[i] for i in step.slots[n:]), *compiled.tables]
    # the first step reads the initial carry; then the result and the spare buffer alternate
    first, spare = list(args[:n]), list(step.spare)
    for i in step.graph.in_place:
        buffer_of(finals[i]).copy_from(buffer_of(first[i]))
        first[i] = spare[i] = finals[i]
    turns = turns_of(extent(loop)[0], finals, first, spare)
    done = _by_hand(loop, step, turns, rest, ctx)
    if isinstance(loop, While) and done % 2 == 0:
        for to, x in zip(finals, spare if done else first, strict=True):
            buffer_of(to).copy_from(buffer_of(x))


def _by_hand(
    loop: Loop, step: LoopStep, turns: Sequence[tuple[list[UOp], list[UOp]]], rest: list[UOp], ctx: Any
) -> int:
    """Replay the loop from Python, on any device, and return the number of steps that ran."""
    runs = [step.graph.bind([*to, *src, *rest], ctx) for to, src in turns]
    if isinstance(loop, Scan):
        n = loop.length
        for k, i in enumerate(range(n - 1, -1, -1) if loop.reverse else range(n)):
            runs[turn_of(k, n)](i)
        return n
    assert step.test is not None
    tests = [step.test.bind([step.flag, *src, *rest], ctx) for _, src in turns]
    k = 0
    while True:
        which = turn_of(k, 1)
        tests[which](0)
        if not buffer_of(step.flag).as_memoryview()[0]:
            return k
        runs[which](0)
        k += 1
