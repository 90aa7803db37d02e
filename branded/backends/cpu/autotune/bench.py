"""Benchmark equivalent implementations of a kernel on scratch memory, and compare their results.

A benchmark neither reads nor writes the user's buffers.  All candidates get the same inputs.  A candidate is excluded
if its results differ from those of the default by more than rounding errors.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tinygrad import dtypes
from tinygrad.device import Buffer
from tinygrad.dtype import DType
from tinygrad.uop.ops import Ops, UOp

from branded.backends.cpu.gemm import blas
from branded.backends.cpu.runtime import native
from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.lazy_numpy import np
from branded.tinygrad_compat.speed import clang_batches

ROUNDS = 5
BATCH = 2e-4
"""The target duration of a round in seconds; a round has at least one run."""
MOST = 10_000
HOPELESS = 1.5
"""The factor by which a candidate may be slower than the fastest in the first round before it is dropped."""
TURNS = 3
"""The number of argument lists in a table: for the first step and two kinds of later steps.  Here all are equal."""
LARGEST = 1 << 30
"""The maximum total bytes of the buffers of a benchmarked call."""


Way = tuple[UOp, ...]
"""A candidate: a sequence of calls of compiled kernels and matrix multiplications that does the work."""


_DIVIDES = {Ops.CDIV, Ops.CMOD, Ops.FLOORDIV, Ops.FLOORMOD}
_OPAQUE = {Ops.CUSTOM, Ops.CUSTOMI, Ops.STAGE, Ops.SPECIAL, Ops.BARRIER}


def is_safe(kernel: UOp) -> bool:
    """Return whether a kernel may run on random inputs; check its graph before and after loop simplification.

    A random integer divisor may be 0, and a random index may be out of bounds.
    """
    for u in kernel.toposort():
        if u.op in _OPAQUE or (u.op is Ops.PARAM and u.arg.slot >= 0 and not _is_known(u.dtype)):
            return False
        if u.op in _DIVIDES and u.src[1].op is not Ops.CONST and u.src[1].base.op is not Ops.CONST:
            return False
        if u.op is Ops.RANGE and u.src[0].op is not Ops.CONST:
            return False
        if u.op is Ops.INDEX and any(s.op is Ops.INDEX for i in u.src[1:] for s in i.toposort()):
            return False
    return True


def _is_known(dtype: DType) -> bool:
    """Return whether elements of this dtype can be generated and compared."""
    to = private_api._to_np_dtype(dtype)
    return dtype == dtypes.bfloat16 or (to is not None and np.dtype(to).itemsize == dtype.itemsize)


def sizes(call: UOp) -> dict[UOp, int]:
    """Return the used size of each buffer in the first step of a kernel; in a loop, a buffer may have all steps."""
    kernel, args = call.src[0], private_api.get_call_arg_uops(call)
    first = {v: v.const_like(v.vmin) for v in kernel.variables()}
    size_of = dict[int, int]()
    for u in kernel.toposort():
        for s in u.src:
            if s.op is Ops.PARAM and s.arg.slot >= 0:
                last = u.src[1].get_idx().substitute(first).vmax if u.op is Ops.INDEX and len(u.src) == 2 else 1 << 62
                size_of[s.arg.slot] = max(size_of.get(s.arg.slot, 1), int(last) + 1)
    return {u: min(size_of.get(i, 1 << 62), int(u.max_numel())) for i, u in enumerate(args)}


class Scratch:
    """Scratch buffers for the arguments of calls, with reproducible contents."""

    def __init__(self, calls: Iterable[UOp], sizes: Mapping[UOp, int]) -> None:
        """Allocate the buffers; `sizes` gives the used size of some of them."""
        args = dict.fromkeys(u for call in calls for u in private_api.get_call_arg_uops(call))
        self.buffers = {u: _buffer(sizes.get(u, int(u.max_numel())), u.dtype) for u in args}

    def address(self, u: UOp) -> int:
        return int(self.buffers[u].get_buf("CPU").va_addr)

    def array(self, u: UOp) -> Any:
        return np.frombuffer(self.buffers[u].as_memoryview(force_zero_copy=True), np.uint8)

    def fill(self, seed: int, signs: bool) -> None:
        rng = np.random.default_rng(seed)
        for u, b in self.buffers.items():
            self.array(u)[:] = numbers(rng, b.size, b.dtype, signs)


def _buffer(size: int, dtype: DType) -> Buffer:
    """Allocate memory that is released to the system after the benchmark."""
    return Buffer("CPU", size, dtype, options=private_api.BufferSpec(nolru=True), preallocate=True)


def numbers(rng: Any, n: int, dtype: DType, signs: bool) -> Any:
    """Return `n` random elements near 1, as bytes; with `signs`, of both signs."""
    if dtypes.is_float(dtype):
        x = rng.random(n, np.float32) * 0.75 + 0.25
        if signs:
            x *= rng.integers(0, 2, n, np.int8) * 2 - 1
        if dtype == dtypes.bfloat16:
            return np.ascontiguousarray(x.view(np.uint16)[1::2]).view(np.uint8)
        return x.astype(private_api._to_np_dtype(dtype)).view(np.uint8)
    to = private_api._to_np_dtype(dtype)
    return rng.integers(0, 2 if dtype == dtypes.bool else 8, n).astype(to).view(np.uint8)


def _values(raw: Any, dtype: DType) -> Any:
    """Return the bytes of a buffer as elements that can be compared."""
    if dtype == dtypes.bfloat16:
        return (raw.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return raw.view(private_api._to_np_dtype(dtype))


_EPSILON = {dtypes.float64: 2.0**-52, dtypes.float32: 2.0**-23, dtypes.float16: 2.0**-10, dtypes.bfloat16: 2.0**-7}
_ROUNDINGS = 32


def agree(result: Any, right: Any, dtype: DType, terms: int) -> bool:
    """Return whether the results are equal up to the rounding of reordered sums of `terms` terms."""
    if dtype not in _EPSILON:
        return bool(np.array_equal(result, right))
    with np.errstate(all="ignore"):
        x, y = _values(result, dtype).astype(np.float64), _values(right, dtype).astype(np.float64)
        finite = np.isfinite(y)
        if not (np.isfinite(x) == finite).all() or not np.array_equal(x[~finite], y[~finite], equal_nan=True):
            return False
        x, y = x[finite], y[finite]
        scale = np.abs(y).max(initial=0.0)
        by = min(_ROUNDINGS * _EPSILON[dtype] * math.sqrt(max(terms, 1)), 0.05)
        return bool((np.abs(x - y) <= by * (np.abs(y) + scale)).all())


def terms_of(kernel: UOp) -> int:
    """Return the maximum number of summed terms."""
    counts = [math.prod(int(r.vmax) + 1 for r in u.src[1:]) for u in kernel.toposort() if u.op is Ops.REDUCE]
    return max(counts, default=1)


class _Noted:
    """A compiler that does not compile, but records the source."""

    cachekey = None

    def __init__(self) -> None:
        self.source = ""

    def compile_cached(self, source: str) -> bytes:
        self.source = source
        return b""


def compile_candidates(made_of: Sequence[private_api.Scheduler], renderer: Any) -> list[UOp | None]:
    """Compile these kernels to programs without caching them; None for a kernel that fails to compile.

    Kernels with the same source are compiled once.
    """
    asts = [k.copy().get_optimized_ast() for k in made_of]
    programs: list[tuple[UOp, str] | None] = []
    clang_batches.ready(renderer.compiler)
    for ast in asts:
        one = copy.copy(renderer)
        one.compiler = noted = _Noted()
        try:
            programs.append((private_api.codegen.do_to_program(ast, one), noted.source))
        except (RuntimeError, AssertionError, private_api.KernelOptError):  # a variant that tinygrad cannot render
            programs.append(None)
    sources = list(dict.fromkeys(m[1] for m in programs if m is not None))
    with ThreadPoolExecutor(max(int(private_api.worker.PARALLEL.value), 1)) as threads:
        codes = dict(zip(sources, threads.map(lambda s: _code(renderer.compiler, s), sources), strict=True))
    out = list[UOp | None]()
    for m in programs:
        code = codes[m[1]] if m is not None else None
        out.append(m[0].replace(src=(*m[0].src[:-1], UOp(Ops.BINARY, arg=code))) if m and code else None)
    return out


def _code(compiler: Any, source: str) -> bytes | None:
    try:
        return bytes(compiler.compile(source))
    except Exception:  # the benchmark continues with the other candidates
        return None


def _ops(way: Way, memory: Scratch, held: list[Any]) -> list[native.Op]:
    """Return the C calls of a candidate; the parts of a kernel run serially, to ignore the load on other cores."""
    ops: list[native.Op] = []
    for call in way:
        args = [memory.address(u) for u in private_api.get_call_arg_uops(call)]
        program = call.src[0]
        if program.op is not Ops.PROGRAM:
            ops.append(blas.kernel(call, [args] * TURNS, None, {v.expr: int(v.vmin) for v in program.src}))
            continue
        runtime: Any = private_api.get_runtime("CPU", program, cache=False)
        held.append(runtime)
        info = program.arg
        variables = {v.expr: int(v.vmin) for v in info.vars}
        variables.pop("core_id", None)
        vals = [0 if x is None else x for x in info.vals(variables)]
        ops.append(
            native.KernelCall(
                runtime.addr,
                [[*(args[k] for k in info.globals), *vals]] * TURNS,
                info.launch_dims(variables)[0][0],
                runtime.runtimevars.get("core_id", -1),
            )
        )
    return ops


def written_buffers(call: UOp) -> list[UOp]:
    stored = [u.src[0].src[0].buf_uop for u in call.src[0].toposort() if u.op is Ops.STORE]
    slots = sorted({p.arg.slot for p in stored if p.op is Ops.PARAM})
    return [private_api.get_call_arg_uops(call)[i] for i in slots]


class Trial:
    """A benchmark of named candidates for one call; the first candidate is the default."""

    def __init__(
        self, ways: Mapping[str, Way], used: Mapping[UOp, int], outs: Sequence[UOp] = (), terms: int = 1
    ) -> None:
        """Compile the plans; `used` has the used buffer sizes, `outs` the results to compare, `terms` their terms."""
        self.outs, self.terms = list(outs), terms
        self.memory = Scratch((call for way in ways.values() for call in way), used)
        self.memory.fill(0, False)
        self.held: list[Any] = []
        self.plans = {name: native.Plan(native.Table(_ops(way, self.memory, self.held))) for name, way in ways.items()}

    def agreeing(self) -> list[str]:
        """Return the candidates that agree with the first one, on positive inputs and on inputs of both signs."""
        first, remaining = next(iter(self.plans)), list(self.plans)
        for seed, signs in ((0, True), (1, False)):
            right = self._results(first, seed, signs)
            for name in remaining[1:]:
                results = self._results(name, seed, signs)
                if not all(agree(results[u], right[u], u.dtype, self.terms) for u in self.outs):
                    remaining.remove(name)
        return remaining

    def _results(self, name: str, seed: int, signs: bool) -> dict[UOp, Any]:
        self.memory.fill(seed, signs)
        self.plans[name].run([0], 1)
        return {u: self.memory.array(u).copy() for u in self.outs}

    def seconds(self, which: Sequence[str]) -> dict[str, float]:
        """Return the best time of each of these candidates, which take turns."""
        best = {name: self._time_runs(name, 1) for name in which}
        for turn in range(ROUNDS):
            least = min(best.values())
            for name in [name for name in best if not turn or best[name] <= HOPELESS * least]:
                n = max(1, min(MOST, round(BATCH / max(best[name], 1e-8))))
                best[name] = min(best[name], self._time_runs(name, n))
        return best

    def _time_runs(self, name: str, n: int) -> float:
        plan = self.plans[name]
        start = time.perf_counter()
        plan.run([0], n)
        return (time.perf_counter() - start) / n
