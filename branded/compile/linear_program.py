"""`Linear`: a scheduled and compiled graph with its buffers as parameters, replayed from Python or from C.

The parameters are the buffers that a run supplies, results first. tinygrad plans the memory of intermediate values,
and a table for C addresses them relative to one base address.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tinygrad import dtypes
from tinygrad.device import Buffer
from tinygrad.helpers import Context
from tinygrad.uop.ops import Ops, UOp

from branded.backends.cpu.autotune import config
from branded.backends.cpu.gemm import blas
from branded.backends.cpu.renderer.kernel_marks import LOOPS
from branded.backends.cpu.renderer.materialize_shared import materialize_shared_values
from branded.backends.cpu.runtime import cores, host_calls, native
from branded.backends.cpu.runtime.native import Address, Ref
from branded.backends.cpu.runtime.shared_kernels import pass_parts, share_kernels
from branded.backends.cuda.launch import launcher
from branded.compile.kernel_order import find_invariant, flush_terms, join_calls, order_calls, update_in_place
from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.activation import in_engine


class Arena:
    """A stack allocator for offsets into slot 0: values that are not in use at the same time share memory."""

    def __init__(self) -> None:
        self.used = self.most = 0

    def take(self, size: int) -> Ref:
        offset = self.used
        self.used += -(-size // 256) * 256
        self.most = max(self.most, self.used)
        return Ref(0, offset)


def allocate_working_memory(size: int, device: str, api_name: str) -> Buffer:
    """Allocate the memory for the intermediate values of a program; raise if there is not enough."""
    try:
        return Buffer(device, max(size, 1), dtypes.uint8, preallocate=True)
    except (MemoryError, OSError) as error:  # tinygrad's CPU device gets its memory from `mmap`
        raise native.full(api_name) from error


Tables = Callable[[UOp, Sequence[Sequence[Address]], Arena], Sequence[native.Table] | None]
"""A function that lowers a call that is not a kernel to one table per turn, or returns None if C cannot run it."""


@dataclass(frozen=True, eq=False)
class Linear:
    """A scheduled tinygrad program whose buffers are parameters, in the given order."""

    linear: UOp
    """The calls in execution order; intermediate values share memory."""
    unplanned: UOp
    """The calls before memory planning, with separate buffers for all values."""
    kernels: Sequence[UOp]
    """The kernels of the calls before compilation."""
    vals: dict[str, int]
    """The values of bound variables."""
    var: str | None
    """The name of the variable that holds the step index."""
    own: Sequence[UOp]
    """The buffers of intermediate values."""
    outside: Sequence[UOp]
    """The buffers that existed before, such as captured tensors."""
    once: int
    """The number of calls, at the beginning, that only the first step of a loop has to run."""
    in_place: frozenset[int]
    """Which of the `pairs` of `schedule` are updated in place."""

    def bind(self, buffers: Sequence[UOp], ctx: Any) -> Callable[[int], None]:
        """Return a function of the step index that replays the calls on these buffers."""
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

            def run_other(i: int) -> None:
                inner = replace(ctx, input_uops=buffers, var_vals=self._vals(ctx, i))
                inner.within = True
                private_api.pm_exec.rewrite(call, inner)

            return run_other
        uops, device = private_api.resolve_params(call, buffers), call.src[1].device
        runtime = private_api.get_runtime(device, program)
        bufs = [buffer_of(uops[k]).get_buf(device) for k in program.arg.globals]
        dims = program.arg.launch_dims(self._vals(ctx, 0))

        def run(i: int) -> None:
            vals = program.arg.vals(self._vals(ctx, i))
            runtime(*bufs, global_size=dims[0], local_size=dims[1], vals=vals)

        return run

    def _vals(self, ctx: Any, i: int) -> dict[str, int]:
        """Return the values of variables; when a TinyJit replays, its new values override the bound ones."""
        outside = ctx.var_vals if ctx is not None else {}
        new = outside if ctx is not None and ctx.jit else {}
        return {**outside, **self.vals, **new, **({self.var: i} if self.var else {})}

    def ops(self, turns: Sequence[Sequence[Address]], memory: Arena, tables: Tables) -> list[native.Op] | None:
        """Return the calls with their arguments in each turn, or None if C cannot run all of them."""
        if not set().union(*map(_variables, self.linear.src)) <= {*self.vals, self.var, "core_id"}:
            return None  # an unbound variable
        ref_of = {b: memory.take(b.max_numel() * b.dtype.itemsize) for b in {u.buf_uop: None for u in self.own}}
        ops: list[native.Op] = []
        for call in self.linear.src:
            places = [_place(u) for u in private_api.get_call_arg_uops(call)]
            devices = {str(p[0].device) for p in places if p is not None}
            if None in places or not are_run_from_c(devices):
                return None
            args = [[_address(*p, turn, ref_of) for p in places if p is not None] for turn in turns]
            op: native.Op | None
            if call.src[0].op is Ops.PROGRAM:
                op = self._kernel(call, args)
            elif isinstance(call.src[0].arg, blas.ProductName):
                op = blas.kernel(call, args, self.var, self.vals)
            elif isinstance(name := call.src[0].arg, host_calls.HostName):
                op = host_calls.host_call(name, args, str(call.src[1].device))
            else:
                op = _inner(call, args, memory, tables)
            if op is None:
                return None
            ops.append(op)
        return ops

    def _kernel(self, call: UOp, args: Sequence[Sequence[Address]]) -> native.KernelCall | native.Hosted | None:
        program, device = call.src[0].arg, call.src[1].device
        cuda = launcher(device)
        if not (cuda or native.can_run(device)) or len(program.globals) + len(program.vars) > native.MAX_ARGS:
            return None
        runtime = private_api.get_runtime(device, call.src[0])
        variables = self._vals(None, 0)
        # None is the thread index, which C writes before each call
        vals = [0 if x is None else x for x in program.vals(variables)]
        names, first = [v.expr for v in program.vars], len(program.globals)
        operands = [[*(a[k] for k in program.globals), *vals] for a in args]
        dims, step = program.launch_dims(variables), first + names.index(self.var) if self.var in names else -1
        if cuda is not None:
            return cuda.kernel(runtime, dims, operands, step)
        return native.KernelCall(
            runtime.addr,
            operands,
            dims[0][0],
            runtime.runtimevars.get("core_id", -1),
            step,
            cores.work(call.src[0], LOOPS in call.src[0].src[0].arg.applied_opts),
        )

    @property
    def alignment(self) -> int:
        """The alignment in bytes that the vector loads of the kernels require."""
        sources = [s.arg for c in self.linear.src for s in c.src[0].src if s.op is Ops.SOURCE]
        return max((int(n) for source in sources for n in re.findall(r"aligned\((\d+)\)", source)), default=16)


@in_engine
def schedule(
    results: Sequence[tuple[UOp, UOp]],
    params: Sequence[UOp],
    var: UOp | None = None,
    *,
    fixed: Sequence[UOp] = (),
    pairs: Sequence[tuple[UOp, UOp]] = (),
    is_compiled: bool = True,
) -> Linear:
    """Schedule `results`, pairs of a destination and a value; `params` are the buffers that each run supplies.

    A program may update the first buffer of one of the `pairs` in place, and then not read the second one.

    For `to.store(x + w)` with the buffers [to, x, w] as `params`, there is one call. It runs the compiled kernel of the
    sum on the parameters 0, 1 and 2. With `is_compiled=False`, the program only reports how much memory it needs.
    The calls that only read parameters in `fixed` come first.
    """
    with config.in_steps_with(fixed):
        calls, vals = _create_calls(results, params)
    at = {u: UOp.param(params.index(u), u.dtype, u.shape, u.device) for pair in pairs for u in pair}
    updated, done = update_in_place(calls.src, writes, [(at[to], at[before]) for to, before in pairs])
    calls = calls.replace(src=flush_terms(updated, writes))
    if config.how() is not None:
        calls = _tune_kernels(calls, is_compiled)
    shared, parts = share_kernels(calls) if is_compiled else (calls, [])
    compiled = _compile(shared, params) if is_compiled else calls
    slots = {params.index(u) for u in fixed}
    once = find_invariant(compiled.src, writes, slots, lambda call: _may_vary(call, var)) if fixed else []
    order = [*once, *(i for i in order_calls(compiled.src, writes) if i not in once)]
    unplanned = compiled.replace(src=tuple(compiled.src[i] for i in order))
    kept = {u.buf_uop for i in once for u in compiled.src[i].src[1:]}
    outside = [u for s in _arguments(unplanned) for u in s.toposort() if u.op is Ops.BUFFER and u.is_realized]
    # the addresses in queued kernels are those of whole buffers, not of parts of a common one
    is_planned = not (is_compiled and native.are_queued())
    linear = private_api.memory_plan_rewrite(unplanned, {*outside, *kept}) if is_planned else unplanned
    if is_compiled:
        linear = private_api.link_linear(pass_parts(linear, [parts[i] for i in order]))
    temporaries = [u for u in _arguments(linear) if u.buf_uop.op is Ops.BUFFER and not u.buf_uop.is_realized]
    return Linear(
        linear=linear,
        unplanned=unplanned,
        kernels=[calls.src[i].src[0] for i in order],
        vals=vals,
        var=var.expr if var is not None else None,
        own=list(dict.fromkeys(temporaries)),
        outside=list(dict.fromkeys(outside)),
        once=len(once),
        in_place=frozenset(done),
    )


def _create_calls(results: Sequence[tuple[UOp, UOp]], params: Sequence[UOp]) -> tuple[UOp, dict[str, int]]:
    """Return tinygrad's schedule over parameters instead of buffers, and the values of variables."""
    values = materialize_shared_values([value for _, value in results])
    sink = UOp.sink(*(_store_into(dest, value) for (dest, _), value in zip(results, values, strict=True)))
    with Context(CAPTURING=0, NO_MEMORY_PLANNER=1):  # type: ignore[no-untyped-call]
        big, _ = private_api.transform_to_call(sink)
        with config.waiting():
            linear, vals = private_api.create_linear_with_vars(big)
    slots = {p: UOp.param(i, p.dtype, p.shape, p.device) for i, p in enumerate(params)}
    return _copy_nothing_from_hosts(linear.substitute(slots, walk=True)), vals


def _copy_nothing_from_hosts(linear: UOp) -> UOp:
    """Let a host call write directly to the result of the program, without a buffer that a kernel then copies."""
    calls = list(linear.src)
    uses = Counter(u.buf_uop for u in _arguments(linear))
    for copy in linear.src:
        if (ends := _ends_of_copy(copy)) is None or [uses[u] for u in ends] != [1, 2]:
            continue
        for i, call in enumerate(calls):
            if isinstance(name := call.src[0].arg, host_calls.HostName) and ends[1] in call.src[1 : 1 + name.outs]:
                calls[i] = call.replace(src=tuple(ends[0] if u is ends[1] else u for u in call.src))
                calls.remove(copy)
                break
    return linear.replace(src=join_calls(calls, writes))


def _ends_of_copy(call: UOp) -> tuple[UOp, UOp] | None:
    """Return the parameter and the buffer of a kernel that only copies the whole buffer, or None."""
    stores = [u for u in call.src[0].toposort() if u.op is Ops.STORE] if call.src[0].op is Ops.SINK else []
    if len(stores) != 1 or len(call.src) != 3 or any(x.op is not Ops.INDEX for x in stores[0].src):
        return None
    to, source = stores[0].src
    args = [call.src[1 + x.src[0].arg.slot] if x.src[0].op is Ops.PARAM else None for x in (to, source)]
    if to.src[1:] != source.src[1:] or None in args or args[0] is args[1]:
        return None
    (dest, buffer), sizes = args, {(u.dtype, u.max_numel(), u.device) for u in args if u is not None}
    if dest is None or buffer is None or len(sizes) > 1:
        return None
    return (dest, buffer) if dest.op is Ops.PARAM and buffer.op is Ops.BUFFER else None


def _tune_kernels(linear: UOp, is_compiled: bool) -> UOp:
    """Return the calls with the fastest variant of each kernel; without compilation, with the default variants."""
    from branded.backends.cpu.autotune import search  # imported on first use

    return search.tune_kernels(linear) if is_compiled else search.by_rule(linear)


def _compile(linear: UOp, params: Sequence[UOp]) -> UOp:
    width = max((config.beam(u.device) for u in params), default=0)
    out: UOp = private_api.compile_linear(linear, beam=max(width, private_api.BEAM.value))
    return out


def _arguments(linear: UOp) -> Iterator[UOp]:
    return (u for call in linear.src for u in call.src[1:] if not u.is_bound_var)


def _variables(call: UOp) -> set[str]:
    """Return the names of the variables that a kernel or a product uses."""
    code = call.src[0]
    if code.op is Ops.PROGRAM:
        return {v.expr for v in code.arg.vars}
    if code.op is Ops.SINK or isinstance(code.arg, blas.ProductName):
        return {v.expr for v in code.variables()}
    return set()


def _may_vary(call: UOp, var: UOp | None) -> bool:
    """Return whether a call uses the step index, or is neither a kernel nor a product, so that it may have effects."""
    is_computation = call.src[0].op in (Ops.SINK, Ops.PROGRAM) or isinstance(call.src[0].arg, blas.ProductName)
    return not is_computation or (var is not None and var.expr in _variables(call))


def writes(call: UOp) -> Sequence[int]:
    """Return which arguments a call writes to, also for a kernel before compilation."""
    if call.src[0].op is not Ops.SINK:
        indices: Sequence[int] = private_api.get_call_outs_ins(call)[0]
        return indices
    stored = [u.src[0].src[0].buf_uop for u in call.src[0].toposort() if u.op is Ops.STORE]
    return sorted({p.arg.slot for p in stored if p.op is Ops.PARAM})


def _inner(call: UOp, args: Sequence[Sequence[Address]], memory: Arena, tables: Tables) -> native.Op | None:
    if call.src[0].op is Ops.COPY:  # from one buffer to another of the same device, or of this process
        to = call.src[1]
        words = [[a[0], a[1], to.max_numel() * to.dtype.itemsize] for a in args]
        if (cuda := launcher(to.device)) is not None:
            return cuda.copy(words)
        return native.KernelCall(native.memmove(), words)
    before = memory.used
    inner_tables = tables(call, args, memory)
    memory.used = before  # later calls may reuse it
    return None if inner_tables is None else native.Inner(inner_tables)


def _place(u: UOp) -> tuple[UOp, int] | None:
    """Return the parameter or buffer that an argument is a part of, and its offset in bytes, or None."""
    if u.op in (Ops.MSELECT, Ops.MSTACK) or isinstance(u.device, tuple):
        return None
    if u.op in (Ops.PARAM, Ops.BUFFER):
        return u, 0
    if (place := _planned_place(u)) is not None:
        return place
    view = u.contiguous_view()
    if view is None or view[0].base.op not in (Ops.PARAM, Ops.BUFFER):
        return None
    return view[0].base, view[1] * view[0].dtype.itemsize


def _planned_place(u: UOp) -> tuple[UOp, int] | None:
    """Return the buffer and byte offset of a part of tinygrad's planned memory, or None.

    This does not use tinygrad's rewrite rules, which are slow.
    """
    part = u.src[0] if u.op is Ops.BITCAST else u
    if part.op is not Ops.SHRINK or part.src[0].op not in (Ops.PARAM, Ops.BUFFER) or len(part.src[0].shape) != 1:
        return None
    begin = part.marg[0][0]
    return (part.src[0], begin * part.dtype.itemsize) if isinstance(begin, int) else None


def _address(base: UOp, offset: int, turn: Sequence[Address], ref_of: dict[UOp, Ref]) -> Address:
    if base.op is Ops.PARAM:
        return native.behind(turn[base.arg.slot], offset)
    return native.behind(ref_of[base] if base in ref_of else address_of(base), offset)


def without_copies(values: Sequence[UOp]) -> list[UOp]:
    """Return the values without a `contiguous` at their end that no other value reads: each is stored anyway."""
    readers = Counter(s for u in UOp.sink(*values).toposort(enter_calls=False) for s in dict.fromkeys(u.src))
    out = []
    for value in values:
        u = value
        while u.op in {Ops.PERMUTE, Ops.RESHAPE} and readers[u] == 1:
            u = u.src[0]
        is_copy = u.op is Ops.CONTIGUOUS and u.arg is None and readers[u] == 1 and values.count(value) == 1
        out.append(value.substitute({u: u.src[0]}, walk=True) if is_copy else value)
    return out


def _store_into(dest: UOp, value: UOp) -> UOp:
    """Return a buffer after `value` was written to `dest`, which may be a view of it."""
    write = dest.store(value)
    out: UOp = dest.base.after(write if dest is dest.base else dest.after(write))
    return out


def buffer_of(u: UOp) -> Buffer:
    b = u.buffer
    assert isinstance(b, Buffer)
    return b.ensure_allocated()


def address_of(u: UOp) -> int:
    """Return the address of a buffer in C; for a device that C does not run, a number that identifies the buffer."""
    b = buffer_of(u)
    return memory_address(b) or id(b)


def memory_address(b: Buffer) -> int:
    """Return the address of a buffer in C; 0 on a device that C does not run."""
    memory = b.get_buf(b.device)
    if b.device.startswith("CPU"):
        return int(memory.va_addr)
    return int(memory.value) if launcher(b.device) else 0


def are_run_from_c(devices: Collection[str | tuple[str, ...]]) -> bool:
    """Return whether one program of C can run kernels on these devices: on CPUs, or on one CUDA device."""
    names = [d for d in devices if isinstance(d, str)]
    if len(names) < len(devices):
        return False
    return all(d.split(":")[0] == "CPU" for d in names) or (len(names) == 1 and launcher(*names) is not None)
