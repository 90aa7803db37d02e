"""A traced function, compiled into kernels that read the arguments and write the results without copies.

On the CPU and on CUDA, a call is one call of C. On other devices, tinygrad runs the kernels on the same buffers. If a
value is on several devices or a shape is symbolic, a TinyJit runs the program, and its results are copied.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from tinygrad import Tensor, TinyJit, dtypes
from tinygrad.dtype import strong_dtype
from tinygrad.helpers import DEBUG, JIT, JIT_BATCH_SIZE, Context, GlobalCounters, disable_gc
from tinygrad.uop.ops import Ops, UOp

from branded.backends.cpu.autotune import config
from branded.backends.cpu.autotune.config import Tune, TuneLevel
from branded.backends.cpu.runtime import native
from branded.backends.cpu.runtime.native import Ref
from branded.backends.cpu.runtime.python_executor import PythonExecutor, make_executor
from branded.compile import compiled_loop, eager_cache
from branded.compile.donation import may_be_one, take_memory
from branded.compile.initial_values import copy_constants
from branded.compile.inputs import ProgramInput, computed_tensor
from branded.compile.linear_program import (
    Arena,
    allocate_working_memory,
    are_run_from_c,
    memory_address,
    schedule,
    without_copies,
)
from branded.compile.output_pool import Known, PooledBuffer, Result, value_in_memory
from branded.core.analysis.aliasing import is_no_copy
from branded.core.sharding.resharding import of_buffers
from branded.core.tracing.body import Traced
from branded.graph.primitive import primitive_of
from branded.graph.rows import row_of
from branded.graph.scope import branches, may_be_in_branch
from branded.graph.tags import untag
from branded.graph.uops import base_of, living_tensors, replace_ops, tensor, tensors
from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.activation import in_engine, running_block
from branded.tinygrad_compat.private_api import all_int, canonicalize_device

MEMORY = 1 << 22
"""The most working memory of a program of `eager_cache`, and the size of its largest result, in bytes."""
Bound = tuple[list[Any], Sequence[object]]
"""The memory of the arguments, and the values that keep it alive."""


class Executable:
    """The compiled form of a function for arguments of one type."""

    def __init__(self, traced: Traced, donated: Sequence[int] = (), tune: TuneLevel | None = None) -> None:
        self.params, self.donated, self.tune = traced.params, donated, Tune(tune, {})
        # as tensors, because tinygrad rewrites the graphs of tensors when it realizes values
        self.leaves = [tensor(u) for u in traced.leaves]
        self.outside = _outside(self.leaves, self.params)
        self.run: _Compiled | _Replayed | None = None

    def ready(self) -> _Compiled | _Replayed:
        """Return the program after compiling it, if it is new, and realizing the tensors that it captures."""
        for ref, u in self.outside:
            if (t := ref()) is not None and t.uop is not u:
                self._realize_captured()
                break
        return self.run or self._compile()

    def _realize_captured(self) -> None:
        """Realize the pending writes into tensors that the function captures."""
        there = [t for ref, _ in self.outside if (t := ref()) is not None]
        Tensor.realize(*there)
        self.outside = [(weakref.ref(t), t.uop) for t in there]

    @in_engine
    @disable_gc()
    def _compile(self) -> _Compiled | _Replayed:
        # results and the token may contain the same call, once tagged and once untagged; removing the tags makes it
        # one call
        values = replace_ops([y.uop for y in self.leaves], untag)
        leaves = list(map(tensor, values))
        if _is_plain(self.params, values):
            self.run = _Compiled(self.params, leaves, self.donated, self.tune)
        else:
            self.run = _Replayed(self.params, leaves, self.tune)
        self.leaves = []
        return self.run


def _is_plain(params: Sequence[UOp], leaves: Sequence[UOp]) -> bool:
    """Return whether every value is on one device and all shapes of arguments and results are known."""
    if not all(all_int(u.shape) for u in (*params, *leaves)):
        return False
    graph = UOp.sink(*params, *leaves).toposort(enter_calls=False)
    return not any(isinstance(u.device, tuple) for u in graph)


def _outside(leaves: Sequence[Tensor], params: Sequence[UOp]) -> list[tuple[weakref.ref[Tensor], UOp | None]]:
    """Return the tensors that the function captures, such as weights."""
    graph = UOp.sink(*(y.uop for y in leaves)).toposort(enter_calls=False)
    inputs, varies = set(params), dict[UOp, bool]()
    for u in graph:
        varies[u] = u in inputs or any(varies.get(s, False) for s in u.src)
    leaf_ids = {id(y) for y in leaves}
    alive = [t for t in living_tensors() if id(t) not in leaf_ids and t.uop in graph]
    captured = [t for t in alive if not varies[t.uop] and t.uop.op is not Ops.CONST and not row_of(t.uop)]
    return [(weakref.ref(t), None) for t in captured]


class _Compiled:
    """A program for one device; it writes its results to new buffers, which it returns.

    A call takes a few microseconds, so `bind` and `run` avoid extra lists and function calls.
    """

    def __init__(self, params: Sequence[UOp], values: Sequence[Tensor], donated: Sequence[int], tune: Tune) -> None:
        self.tune = tune
        leaves = [y.uop.cast(strong_dtype(y.dtype)) for y in values]
        default = canonicalize_device(None)
        if _can_fail(leaves):
            donated = ()  # if the call fails, the caller must still have the unchanged arguments
        self.empty = {i: _empty_result(u) for i, u in enumerate(leaves) if 0 in u.shape}
        full = [u for u in leaves if 0 not in u.shape]
        self.results = [Result(u.shape, u.dtype, u.device or default) for u in full]
        # an empty parameter gets a placeholder buffer that is never read
        sizes = [max(int(p.max_numel()), 1) for p in params]
        bases = [UOp.new_buffer(p.device, n, p.dtype) for p, n in zip(params, sizes, strict=True)]
        inputs = [p.const_like(0) if 0 in p.shape else b.reshape(p.shape) for p, b in zip(params, bases, strict=True)]
        dests = [UOp.new_buffer(r.device, r.size, r.dtype).reshape(r.shape) for r in self.results]
        full = replace_ops(full, dict(zip(params, inputs, strict=True)).get, at=_constants(full))
        with config.tuning_block(*tune):
            self.linear = schedule(list(zip(dests, without_copies(full), strict=True)), [*map(base_of, dests), *bases])
        self.inputs = [ProgramInput(p, self.linear.alignment) for p in params]
        self.plan: native.Plan | PythonExecutor | None = None
        self.fixed: list[Known] = []
        self.reused = self._find_reusable(params, donated)
        """The argument whose memory a result may reuse, by the index of the result."""
        self.graphed: UOp | None = None
        if full:
            self._lay_out()

    def _find_reusable(self, params: Sequence[UOp], donated: Sequence[int]) -> dict[int, int]:
        reused = dict[int, int]()
        for j, r in enumerate(self.results):
            for i in donated:
                p = params[i]
                alike = (p.dtype, p.max_numel(), p.device) == (r.dtype, r.size, r.device)
                if alike and i not in reused.values() and may_be_one(self.linear, j, len(self.results) + i):
                    reused[j] = i
                    break
        return reused

    def _outputs(self, leaves: Sequence[Any], donors: Mapping[int, Tensor]) -> list[PooledBuffer]:
        """Return the buffers for the results; some of them may be the memory of donated arguments."""
        if branches():  # a result that is computed in a branch needs a new buffer
            return [r.make() for r in self.results]
        buffer_ids = [id(x.buffer) for x in leaves if type(x) is Known]
        reused = dict[int, PooledBuffer]()
        for j, i in self.reused.items():
            x = leaves[i]
            sole = i in donors and type(x) is Known and buffer_ids.count(id(x.buffer)) == 1
            if sole and (h := take_memory(donors[i], self.results[j])) is not None:
                reused[j] = h
        used = reused.values()  # other results may have kept these buffers too, and would consider them free
        return [reused.get(j) or r.take(used) for j, r in enumerate(self.results)]

    def _lay_out(self) -> None:
        """Build the plan for C, if C can run the program."""
        devices = {*(x.device for x in self.inputs), *(x.device for x in self.results)}
        if not are_run_from_c(devices):
            return
        device, memory = min(devices), Arena()
        slots = [Ref(1 + i) for i in range(len(self.results) + len(self.inputs))]
        with config.tuning_block(*self.tune):  # for the steps of loops, which are compiled here
            ops = self.linear.ops([slots], memory, compiled_loop.tables)
        if not ops:
            return
        self.scratch = allocate_working_memory(memory.most, device, "jit")
        """The memory for intermediate values."""
        self.memory = memory_address(self.scratch)
        self.plan = make_executor(ops, self.memory)
        self.fixed = [k for u in self.linear.outside if (k := value_in_memory(u)) is not None]
        self.kernels = len(ops)

    def bind(self, leaves: Sequence[Any], donors: Mapping[int, Tensor]) -> Bound:
        """Return the memory of the arguments `leaves`; `donors` are the donated tensors among them, by index."""
        for k in self.fixed:
            if not k.is_there:  # its buffer was freed
                self._lay_out()
                break
        inputs: list[Any] = []
        alive: list[UOp] = []
        if self.plan is None or DEBUG.value >= 2:
            inputs += [x.buffer(leaf, alive) for x, leaf in zip(self.inputs, leaves, strict=True)]
        else:
            for leaf in leaves:
                if type(leaf) is Known:
                    inputs.append(leaf[5])
                else:
                    inputs.append(self.inputs[len(inputs)].address(leaf, alive, not donors))
        return inputs, alive

    def run(self, inputs: list[Any], leaves: Sequence[Any], donors: Mapping[int, Tensor]) -> list[Tensor]:
        """Run the kernels on this memory, and return their results."""
        # allocated only now, because computing an argument may have called this program
        outputs: list[PooledBuffer] = []
        if donors or may_be_in_branch():
            outputs = self._outputs(leaves, donors)
        else:
            for r in self.results:
                outputs.append(r.take())
        uops: list[UOp] = []
        if (plan := self.plan) is None or DEBUG.value >= 2:
            if outputs:
                self._by_tinygrad([h.base for h in outputs], inputs)
            uops += [h.uop for h in outputs]
        else:
            addresses = [self.memory]
            for h in outputs:
                addresses.append(h.address)
                uops.append(h.uop)
            addresses += inputs
            plan.run(addresses)
            GlobalCounters.kernel_count += self.kernels
        out = tensors(uops)
        if self.empty:
            for i, u in self.empty.items():
                out.insert(i, tensor(u))
        return out

    def _by_tinygrad(self, outs: list[UOp], ins: list[UOp]) -> None:
        if self.graphed is None:
            self.graphed = _in_graphs(self.linear.linear)
        with running_block(), config.tuning_block(*self.tune):
            private_api.run_linear(self.graphed, self.linear.vals, input_uops=[*outs, *ins], jit=True)


@in_engine
def _compile_whole(roots: Sequence[UOp], buffers: Sequence[UOp]) -> _Compiled | None:
    """Return the program of a graph with its buffers as parameters, or None if C cannot run it as a whole."""
    if _can_fail(roots) or not all(all_int(u.shape) and u.max_numel() * u.dtype.itemsize <= MEMORY for u in roots):
        return None
    if any(0 in u.shape for u in (*roots, *buffers)) or any(u.is_virtual for u in roots):
        return None
    if any(map(is_no_copy, roots)):  # views that `eager_cache` does not see through
        return None
    program = _Compiled(buffers, [tensor(u) for u in roots], (), Tune(None, {}))
    return program if program.plan is not None and program.scratch.nbytes <= MEMORY else None


eager_cache.compile_graph = _compile_whole


@in_engine
def _in_graphs(linear: UOp) -> UOp:
    """Return the calls with runs of kernels in graphs of the device, where it has graphs."""
    if JIT.value != 1:
        return linear
    graphs = private_api.graph_split_rewrite(linear, max_batch_size=JIT_BATCH_SIZE.value)
    linked: UOp = private_api.link_linear(graphs)
    return linked


def _can_fail(us: Sequence[UOp]) -> bool:
    """Return whether a user's function may raise at run time, after some kernels have run."""
    return any((p := primitive_of(u)) is not None and p.can_fail for u in UOp.sink(*us).toposort())


def _constants(us: Sequence[UOp]) -> dict[UOp, UOp]:
    """Realize the constants from Python numbers and arrays, which are the same in every call."""
    graph = UOp.sink(*us).toposort(enter_calls=False)
    copies = [u for u in graph if u.op is Ops.COPY and str(u.src[0].device).startswith(("PYTHON", "NPY"))]
    copies = [u for u in copies if isinstance(u.device, str) and u.dtype not in dtypes.weaks]
    memory = copy_constants(copies)
    return memory | {u: _realize_copy(u) for u in copies if u not in memory}


def _empty_result(u: UOp) -> UOp:
    """Return an empty result in memory, because the graph of `u` may refer to the arguments."""
    return _realize_copy(Tensor.empty(u.shape, dtype=u.dtype, device=u.device).uop)


def _realize_copy(u: UOp) -> UOp:
    t = tensor(u).clone()
    Tensor.realize(t)
    return t.uop


class _Replayed:
    """A program with several devices or with symbolic shapes: a TinyJit, whose results are copied."""

    def __init__(self, params: Sequence[UOp], leaves: Sequence[Tensor], tune: Tune) -> None:
        self.tune = tune
        empty = {p: p.const_like(0) for p in params if 0 in p.shape}
        self.params = params
        self.leaves = [tensor(u) for u in replace_ops([y.uop for y in leaves], empty.get)]
        # not a bound method: a reference cycle would delay the release of the memory
        self.once = functools.partial(_run, [p for p in params if p not in empty], self.leaves)
        self.replayed = TinyJit(self.once)
        used = UOp.sink(*(y.uop for y in leaves)).toposort(enter_calls=False)
        self.outside = {u for u in used if u.op is Ops.BUFFER}

    def bind(self, leaves: Sequence[Any], _: Mapping[int, Tensor]) -> Bound:
        return self._buffers(leaves), ()

    @in_engine
    def run(self, inputs: list[Tensor], *_: object) -> list[Tensor]:
        has_elements = any(0 not in y.shape for y in self.leaves)
        with config.tuning_block(*self.tune):
            width = config.beam(inputs[0].device if inputs else None)
        with Context(BEAM=max(width, private_api.BEAM.value)):  # type: ignore[no-untyped-call]
            # TinyJit returns the same buffers at each replay
            outs = [y.clone() for y in self.replayed(*inputs)] if has_elements else self.once(*inputs)
        if outs:
            Tensor.realize(*outs)
        return outs

    def _buffers(self, leaves: Sequence[Any]) -> list[Tensor]:
        """Return the inputs as TinyJit requires them: distinct buffers that the function does not capture."""
        used, out = set(self.outside), []
        for leaf, p in zip(leaves, self.params, strict=True):
            if 0 in p.shape:
                continue
            x = computed_tensor(leaf).cast(p.dtype)
            has_buffer = x.uop.is_realized and x.uop.has_buffer_identity()  # type: ignore[no-untyped-call]
            if not has_buffer or x.uop.base in used:
                x = x.clone()
            used.add(x.uop.base)
            out.append(x)
        if fresh := [x for x in out if not x.uop.is_realized]:
            Tensor.realize(*fresh)
        return out


def _run(params: Sequence[UOp], leaves: Sequence[Tensor], *xs: Tensor) -> list[Tensor]:
    value_of = dict(zip(params, [x.uop for x in xs], strict=True))
    outs = of_buffers(replace_ops([y.uop for y in leaves], value_of.get))
    copies = [tensor(u.cast(strong_dtype(u.dtype))).clone() for u in outs]
    if copies:
        Tensor.realize(*copies)
    return copies
