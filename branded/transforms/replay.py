"""How a loop runs: its step is compiled once, and replayed.

In the graph that tinygrad schedules, a loop is one CALL of a CUSTOM_FUNCTION with the buffers of its results and of its
arguments, so it is scheduled, captured by TinyJit and replayed as any kernel is.  Running it replays the kernels of the
step; the number of the step is a variable of these kernels, by which they index the inputs and the outputs.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from tinygrad.device import Buffer
from tinygrad.dtype import DType
from tinygrad.helpers import Context, disable_gc
from tinygrad.renderer import Estimates
from tinygrad.schedule import create_linear_with_vars
from tinygrad.uop.ops import Ops, PatternMatcher, UOp, UPat

from branded.primitive import primitive_of, results
from branded.transforms import native
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
    inputs = [_in_memory(x, dtype, loop.device) for x, dtype in zip(u.src[1:], loop.dtypes(u), strict=True)]
    outs = [x.empty_like() for x in results(u)]
    call = UOp(Ops.CUSTOM_FUNCTION, src=(), arg=loop.name).call(*outs, *inputs)
    out: UOp = UOp.maketuple(*(o.after(call) for o in outs))
    return out


def _in_memory(x: UOp, dtype: DType, device: Any) -> UOp:
    """An argument in a buffer of its own, of its own dtype.

    tinygrad may yet find out that it is a mere number, and a view would begin where vector loads must not.
    """
    if x.has_buffer_identity(after_ok=True):  # type: ignore[no-untyped-call]
        return x
    out: UOp = x.cast(dtype).clone(device=device)
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
        programs = [call.src[0] for call in self.linear.src if call.src[0].op is Ops.PROGRAM]
        self.names = sorted({v.expr for program in programs for v in program.arg.vars})

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
        uops, device = tg_realize.resolve_params(call, buffers), call.src[1].device
        runtime = tg_realize.get_runtime(device, program)
        bufs = [_buffer(uops[k]).get_buf(device) for k in program.arg.globals]
        dims = program.arg.launch_dims(self._vals(ctx, 0))

        def run(i: int) -> None:
            runtime(*bufs, global_size=dims[0], local_size=dims[1], vals=program.arg.vals(self._vals(ctx, i)))

        return run

    def kernels(self, turns: Sequence[Sequence[UOp]], ctx: Any) -> list[native.Kernel] | None:
        """The kernels with their arguments in each turn; None where they are not all functions of this process."""
        found = []
        for call in self.linear.src:
            program = call.src[0]
            if program.op is not Ops.PROGRAM or not native.can_run(device := call.src[1].device):
                return None
            runtime = tg_realize.get_runtime(device, program)
            vals = list(program.arg.vals(self._vals(ctx, 0)))
            args = []
            for buffers in turns:
                uops = tg_realize.resolve_params(call, tuple(buffers))
                args.append([*(_buffer(uops[k]).get_buf(device).va_addr for k in program.arg.globals), *vals])
            names, first = [v.expr for v in program.arg.vars], len(program.arg.globals)
            core = runtime.runtimevars.get("core_id", -1)
            if len(args[0]) > native.MAX_ARGS:
                return None
            args = [[0 if x is None else x for x in a] for a in args]
            step = first + names.index(self.var) if self.var in names else -1
            threads = program.arg.launch_dims(self._vals(ctx, 0))[0][0]
            found.append(native.Kernel(runtime.addr, (args[0], args[1], args[2]), threads, core, step))
        return found

    def used(self, ctx: Any) -> tuple[Any, ...]:
        """The values of variables from outside of the loop that the kernels use."""
        return tuple((name, ctx.var_vals[name]) for name in self.names if name != self.var and name in ctx.var_vals)

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


class _Step:
    """The compiled step of a loop, and the buffers that every run of it uses."""

    def __init__(self, loop: Loop) -> None:
        self.loop, n, m = loop, loop.carries, loop.inputs
        of = {p.arg.slot: p for p in loop.params()}
        outs = loop.step.src
        self.results = len(outs) - isinstance(loop, While)
        length = loop.length if isinstance(loop, Scan) else 1
        var = UOp.variable("branded_step", 0, max(length - 1, 1)) if isinstance(loop, Scan) else None
        at = var.bind(0) if var is not None else None
        to, of_before = [_storage(x) for x in outs[:n]], [_storage(x) for x in outs[:n]]
        # what the step does not use keeps its place among the arguments, and is not given to it
        inputs = {i: _storage(of[i], length) for i in range(n, n + m) if i in of}
        fixed = {i: _storage(p) for i, p in of.items() if i >= n + m}
        stand_ins = {of[i]: x for i, x in enumerate(of_before) if i in of}
        stand_ins |= {of[i]: _slice(x, at) for i, x in inputs.items()} | {of[i]: x for i, x in fixed.items()}
        new = [x.substitute(stand_ins, walk=True) for x in outs]
        self.slots = [*range(n), *sorted(inputs), *sorted(fixed)]
        given = [*of_before, *(inputs[i] for i in sorted(inputs)), *(fixed[i] for i in sorted(fixed))]
        stacks = [_storage(x, length) for x in outs[n : self.results]]
        writes = [*zip(to, new, strict=False), *((_slice(y, at), x) for y, x in zip(stacks, new[n:], strict=False))]
        self.graph = _Graph(writes, _bases(*to, *given[:n], *stacks, *given[n:]), var)
        self.spare = [UOp.new_buffer(x.device, x.max_numel(), x.dtype) for x in to]
        self.test: _Graph | None = None
        if isinstance(loop, While):
            self.flag = _storage(outs[n])
            self.test = _Graph([(self.flag, new[n])], _bases(self.flag, *given), None)
            self.flag = self.flag.base
        self._plans: dict[Any, native.Plan | None] = {}

    def plan(self, turns: Sequence[tuple[list[UOp], list[UOp]]], rest: list[UOp], ctx: Any) -> native.Plan | None:
        """The replay from C, where it can be; the last few are kept, for a loop in a loop meets the same buffers."""
        uops = [u for to, of in turns for u in (*to, *of)] + rest
        used = self.graph.used(ctx) + (self.test.used(ctx) if self.test is not None else ())
        key = (*(_address(u) for u in uops), *used)
        if key not in self._plans:
            if len(self._plans) >= 8:
                del self._plans[next(iter(self._plans))]
            self._plans[key] = self._plan(turns, rest, ctx)
        return self._plans[key]

    def _plan(self, turns: Sequence[tuple[list[UOp], list[UOp]]], rest: list[UOp], ctx: Any) -> native.Plan | None:
        kernels = self.graph.kernels([[*to, *of, *rest] for to, of in turns], ctx)
        if not kernels:
            return None
        if isinstance(self.loop, Scan):
            return native.Plan((), kernels, 0, self.loop.length, self.loop.reverse)
        assert self.test is not None
        tests = self.test.kernels([[self.flag, *of, *rest] for _, of in turns], ctx)
        return None if tests is None else native.Plan(tests, kernels, _address(self.flag), native.WITHOUT_END, False)


def _bases(*xs: UOp) -> list[UOp]:
    return [x.base for x in xs]


def _address(u: UOp) -> int:
    b = _buffer(u)
    return int(getattr(b.get_buf(b.device), "va_addr", 0) or id(b))


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
    n = step.loop.carries
    given = tg_realize.resolve_params(call, ctx.input_uops)
    outs, args = given[: step.results], given[step.results :]
    finals, rest = outs[:n], [*outs[n:], *(args[i] for i in step.slots[n:])]
    # the first step reads what the loop was given; then the result and the spare change places
    spare = step.spare
    turns = [(finals, args[:n]), (finals, spare), (spare, finals)]
    if isinstance(step.loop, Scan) and step.loop.length % 2 == 0:
        turns[0] = (spare, args[:n])
    plan = step.plan(turns, rest, ctx)
    done = _by_hand(step, turns, rest, ctx) if plan is None else plan.run()
    if isinstance(step.loop, While) and done % 2 == 0:
        for to, x in zip(finals, spare if done else args, strict=False):
            _buffer(to).copy_from(_buffer(x))
    return []


def _by_hand(step: _Step, turns: Sequence[tuple[list[UOp], list[UOp]]], rest: list[UOp], ctx: Any) -> int:
    """The replay by Python, on any device; the number of steps that were made."""
    loop = step.loop
    runs = [step.graph.bound([*to, *of, *rest], ctx) for to, of in turns]
    if isinstance(loop, Scan):
        n = loop.length
        for k, i in enumerate(range(n - 1, -1, -1) if loop.reverse else range(n)):
            runs[0 if k == 0 else 2 - (n - k) % 2](i)
        return n
    assert step.test is not None
    tests = [step.test.bound([step.flag, *of, *rest], ctx) for _, of in turns]
    k = 0
    while True:
        which = 0 if k == 0 else 2 - (k + 1) % 2
        tests[which](0)
        if not _buffer(step.flag).as_memoryview()[0]:
            return k
        runs[which](0)
        k += 1


def _realized(g: UOp, t: UOp) -> UOp | None:
    """A result that is realized as it is stays the tensor's own: tinygrad would compute it anew at the next read."""
    if not g.tag:
        return None
    out: UOp = t.src[g.arg].contiguous(tag=g.tag)
    return out


def install() -> None:
    loops = UPat(Ops.FUNCTION, name="u")
    realized = UPat(Ops.GETTUPLE, src=(UPat(Ops.TUPLE, name="t"),), name="g")
    first = PatternMatcher([(loops, lowered)])
    tg_tensor.pm_early_transform_tensor_graph = (
        first + PatternMatcher([(realized, _realized)]) + tg_tensor.pm_early_transform_tensor_graph
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
