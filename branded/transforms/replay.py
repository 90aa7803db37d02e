"""How a loop runs: its step is compiled once, and replayed.

In the graph that tinygrad schedules, a loop is one CALL of a CUSTOM_FUNCTION with the buffers of its results and of its
arguments, so it is scheduled, captured by TinyJit and replayed as any kernel is.  Running it replays the kernels of the
step; the number of the step is a variable of these kernels, by which they index the inputs and the outputs.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tinygrad import dtypes
from tinygrad.device import Buffer
from tinygrad.helpers import Context, disable_gc
from tinygrad.renderer import Estimates
from tinygrad.schedule import create_linear_with_vars
from tinygrad.uop.ops import Ops, PatternMatcher, UOp, UPat

from branded.primitive import primitive_of
from branded.transforms.loop import Loop, Scan, While

tg_realize: Any = importlib.import_module("tinygrad.engine.realize")
tg_jit: Any = importlib.import_module("tinygrad.engine.jit")
tg_tensor: Any = importlib.import_module("tinygrad.tensor")
tg_rangeify: Any = importlib.import_module("tinygrad.schedule.rangeify")

PREFIX = "branded."


def lowered(u: UOp) -> UOp | None:
    """A loop in tinygrad's own operations: buffers, after a call that writes them."""
    loop = primitive_of(u)
    if not isinstance(loop, Loop):
        return None
    inputs = [x if x.op is Ops.AFTER else x.contiguous() for x in u.src[1:]]
    outs = [u.gettuple(i).empty_like() for i in range(len(u.src[0].src))]
    call = UOp(Ops.CUSTOM_FUNCTION, src=(), arg=loop.name).call(*outs, *inputs)
    out: UOp = UOp.maketuple(*(o.after(call) for o in outs))
    return out


# ---- compiling a step ----


class _Graph:
    """A linear of tinygrad whose buffers are parameters: those of the loop, in the order in which they are given."""

    def __init__(self, results: Sequence[tuple[UOp, UOp]], params: Sequence[UOp], var: UOp | None) -> None:
        """`results` are pairs of what to write to and what to write; `params` the buffers that each run gives."""
        sink = UOp.sink(*(_written(dest, value) for dest, value in results))
        with Context(CAPTURING=0):  # type: ignore[no-untyped-call]
            big, _ = tg_tensor.transform_to_call(sink)
            linear, self.vals = create_linear_with_vars(big)
            linear = linear.substitute(
                {p: UOp.param(i, p.dtype, p.shape, p.device) for i, p in enumerate(params)}, walk=True
            )
            self.linear = tg_realize.link_linear(tg_realize.compile_linear(linear))
        self.var = var.expr if var is not None else None

    def bound(self, buffers: Sequence[UOp], ctx: Any) -> Callable[[int], None]:
        """The replay on these buffers, as a function of the number of the step."""
        runs = [self._one(call, tuple(buffers), ctx) for call in self.linear.src]
        if len(runs) == 1:
            return runs[0]

        def run_all(i: int) -> None:
            for run in runs:
                run(i)

        return run_all

    def _one(self, call: UOp, buffers: tuple[UOp, ...], ctx: Any) -> Callable[[int], None]:
        program = call.src[0]
        if program.op is not Ops.PROGRAM:
            own = replace(ctx, input_uops=buffers)
            return lambda i: tg_realize.pm_exec.rewrite(call, replace(own, var_vals=self._vals(ctx, i))) and None
        uops = tg_realize.resolve_params(call, buffers)
        device = call.src[1].device
        runtime = tg_realize.get_runtime(device, program)
        bufs = [_buffer(uops[k]).get_buf(device) for k in program.arg.globals]
        dims = program.arg.launch_dims(self._vals(ctx, 0))
        if not any(v.expr == self.var for v in program.arg.vars):
            vals = program.arg.vals(self._vals(ctx, 0))
            return lambda i: runtime(*bufs, global_size=dims[0], local_size=dims[1], vals=vals) and None

        def run(i: int) -> None:
            runtime(*bufs, global_size=dims[0], local_size=dims[1], vals=program.arg.vals(self._vals(ctx, i)))

        return run

    def _vals(self, ctx: Any, i: int) -> dict[str, int]:
        return {**ctx.var_vals, **self.vals, **({self.var: i} if self.var else {})}


def _written(dest: UOp, value: UOp) -> UOp:
    """A buffer after a value was written to it, or to the view `dest` of it."""
    write = dest.store(value)
    out: UOp = dest.base.after(write if dest is dest.base else dest.after(write))
    return out


def _buffer(u: UOp) -> Buffer:
    b = u.buffer
    assert isinstance(b, Buffer)
    return b.ensure_allocated()


def _storage(p: UOp, *leading: int) -> UOp:
    """A buffer for a parameter, or for many of them side by side."""
    shape: tuple[Any, ...] = (*leading, *p.shape)
    out: UOp = UOp.new_buffer(p.device, math.prod(shape), p.dtype).reshape(shape)
    return out


@dataclass
class _Step:
    """The compiled step of a loop."""

    loop: Loop

    def __post_init__(self) -> None:
        loop = self.loop
        n, m = loop.carries, loop.inputs
        params = loop.params()
        of = {p.arg.slot: p for p in params}
        results = loop.step.src
        carries_in = [_storage(x) for x in results[:n]]
        carries_out = [_storage(x) for x in results[:n]]
        length = loop.length if isinstance(loop, Scan) else 1
        self.var = UOp.variable("branded_step", 0, max(length - 1, 1)) if isinstance(loop, Scan) else None
        at = self.var.bind(0) if self.var is not None else None
        # parameters that the step does not use keep their place among the arguments
        inputs = {i: _storage(of[i], length) for i in range(n, n + m) if i in of}
        consts = {i: _storage(p) for i, p in of.items() if i >= n + m}
        stand_in = {of[i]: c for i, c in enumerate(carries_in) if i in of}
        stand_in |= {of[i]: _slice(x, at) for i, x in inputs.items()}
        stand_in |= {of[i]: x for i, x in consts.items()}
        new = [x.substitute(stand_in, walk=True) for x in results]
        self.slots = [*range(n), *sorted(inputs), *sorted(consts)]
        own = [*carries_in, *(inputs[i] for i in sorted(inputs)), *(consts[i] for i in sorted(consts))]
        if isinstance(loop, While):
            flag = _storage(results[n])
            self.graph = _Graph(
                list(zip(carries_out, new[:n], strict=True)), [x.base for x in (*carries_out, *own)], None
            )
            self.test = _Graph([(flag, new[n])], [x.base for x in (flag, *own)], None)
            return
        stacks = [_storage(x, length) for x in results[n:]]
        writes = [
            *zip(carries_out, new, strict=False),
            *((_slice(y, at), x) for y, x in zip(stacks, new[n:], strict=True)),
        ]
        self.graph = _Graph(writes, [x.base for x in (*carries_out, *stacks, *own)], self.var)


def _slice(x: UOp, at: Any) -> UOp:
    """The entry of one step."""
    out: UOp = x.shrink(((at, at + 1), *((0, s) for s in x.shape[1:]))).reshape(x.shape[1:])
    return out


_steps: dict[str, _Step] = {}


def _step(name: str) -> _Step:
    if name not in _steps:
        _steps[name] = _Step(Loop._made[name])
    return _steps[name]


# ---- running ----


def run(ctx: Any, call: UOp, ast: UOp) -> list[float | None] | None:
    return _run(ctx, call, ast) if ast.arg.startswith(PREFIX) else None


@disable_gc()
def _run(ctx: Any, call: UOp, ast: UOp) -> list[float | None]:
    step = _step(ast.arg)
    loop = step.loop
    n = loop.carries
    given = tg_realize.resolve_params(call, ctx.input_uops)
    k = len(loop.step.src) - isinstance(loop, While)
    outs, args = given[:k], given[k:]
    spare = [UOp.new_buffer(x.device, x.max_numel(), x.dtype) for x in outs[:n]]
    rest = [args[i] for i in step.slots[n:]]
    if isinstance(loop, Scan):
        _run_scan(loop, step, ctx, outs, args, spare, rest)
    else:
        _run_while(loop, step, ctx, outs, args, spare, rest)
    return []


def _run_scan(
    loop: Scan, step: _Step, ctx: Any, outs: list[UOp], args: list[UOp], spare: list[UOp], rest: list[UOp]
) -> None:
    n, length = loop.carries, loop.length
    finals, stacks, first = outs[:n], outs[n:], args[:n]

    def bound(to: list[UOp], of: list[UOp]) -> Callable[[int], None]:
        return step.graph.bound([*to, *stacks, *of, *rest], ctx)

    steps = range(length - 1, -1, -1) if loop.reverse else range(length)
    # the last step writes the result, and each other one what the next reads
    into_finals, into_spare = bound(finals, spare), bound(spare, finals)
    (bound(finals, first) if length % 2 else bound(spare, first))(steps[0])
    for done, i in enumerate(steps[1:], 1):
        (into_finals if (length - done) % 2 else into_spare)(i)


def _run_while(
    loop: Loop, step: _Step, ctx: Any, outs: list[UOp], args: list[UOp], spare: list[UOp], rest: list[UOp]
) -> None:
    flag = UOp.new_buffer(outs[0].device, 1, dtypes.bool)

    def bound(to: list[UOp], of: list[UOp]) -> tuple[Callable[[int], None], Callable[[int], None]]:
        return step.test.bound([flag, *of, *rest], ctx), step.graph.bound([*to, *of, *rest], ctx)

    state, other = args[: loop.carries], outs
    read = _buffer(flag)
    again = None
    pairs: dict[bool, Any] = {}
    while True:
        key = other is outs
        if again is None or key not in pairs:
            test, go = bound(other, state)
            if again is not None:
                pairs[key] = test, go
        else:
            test, go = pairs[key]
        test(0)
        if not read.as_memoryview()[0]:
            break
        go(0)
        state, other = other, spare if other is outs else outs
        again = True
    if state is not outs:
        for to, x in zip(outs, state, strict=True):
            _buffer(to).copy_from(_buffer(x))


def _realized(g: UOp, t: UOp) -> UOp | None:
    """A result that is realized as it is stays the tensor's own: tinygrad would compute it anew at the next read."""
    if not g.tag:
        return None
    out: UOp = t.src[g.arg].contiguous(tag=g.tag)
    return out


def install() -> None:
    loops = UPat(Ops.FUNCTION, name="u")
    results = UPat(Ops.GETTUPLE, src=(UPat(Ops.TUPLE, name="t"),), name="g")
    first = PatternMatcher([(loops, lowered)])
    tg_tensor.pm_early_transform_tensor_graph = (
        first + PatternMatcher([(results, _realized)]) + tg_tensor.pm_early_transform_tensor_graph
    )
    tg_rangeify.earliest_rewrites = first + tg_rangeify.earliest_rewrites
    mine = UPat(Ops.CALL, src=(UPat(Ops.CUSTOM_FUNCTION, name="ast"),), allow_any_len=True, name="call")
    tg_realize.pm_exec = PatternMatcher([(mine, run)]) + tg_realize.pm_exec
    for module in (tg_realize, tg_jit):
        module.estimate_uop = _for_loops(module.estimate_uop, lambda call: Estimates())
        module.get_call_outs_ins = _for_loops(module.get_call_outs_ins, _outs_ins)
    tg_realize.get_call_name = _for_loops(tg_realize.get_call_name, lambda call, *_: call.src[0].arg.split(".")[1])


def _for_loops(original: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    def either(call: UOp, *args: Any, **kwargs: Any) -> Any:
        ast = call.src[0]
        mine = ast.op is Ops.CUSTOM_FUNCTION and ast.arg.startswith(PREFIX)
        return (ours if mine else original)(call, *args, **kwargs)

    return either


def _outs_ins(call: UOp) -> tuple[tuple[int, ...], tuple[int, ...]]:
    loop = Loop._made[call.src[0].arg]
    k = len(loop.step.src) - isinstance(loop, While)
    return tuple(range(k)), tuple(range(k, len(call.src) - 1))
