"""CPU kernels as plain loops, which clang vectorizes.

tinygrad writes tiles of 4 x 4 elements, vectors of 4, and each sum as one chain of additions.  That suits a GPU, but
clang cannot undo it.  Clang vectorizes plain loops at the full width of the machine, except float sums, whose last bits
depend on the order of the terms.  So a kernel that `suits` gets no tinygrad options, and its sums may be reassociated.
Everything else is computed as written: NaN, infinities and signed zeros keep their meaning, and kernels without sums
are bitwise unchanged.

tinygrad's compile processes install this module too, so it imports only modules of `tinygrad_compat` that they have.
The choice is part of the kernel's source, tinygrad's cache key.  The option is part of the key of each program.
"""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Callable
from typing import Any

from tinygrad import dtypes
from tinygrad.uop.ops import AxisType, GroupOp, Ops, PatternMatcher, UOp

from branded.backends.cpu.renderer import denormals, kernel_marks, remainders, wrapped
from branded.backends.cpu.renderer.accumulations import C_FLOATS, as_calls
from branded.backends.cpu.renderer.kernel_marks import FLUSH, LOOPS
from branded.backends.cpu.renderer.reads import DEAR as DEAR
from branded.backends.cpu.renderer.reads import LONG as LONG
from branded.backends.cpu.renderer.reads import (
    adjacent,
    gathers,
    has_fixed_shape,
    in_memory_order,
    indices,
    is_gated,
    slow_on_distant,
    with_options,
)
from branded.backends.cpu.renderer.reads import are_gathers as are_gathers
from branded.backends.cpu.renderer.reads import in_order as in_order
from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.fixes.kernels.buffer_layouts import step as step
from branded.tinygrad_compat.private_api import AddrSpace, KernelOptError, Opt, OptOps, Scheduler
from branded.tinygrad_compat.thread_local_options import PerThread

LONG_SUM, LONG_SUM_OF_NUMBERS = 28, 37
"""The minimum lengths for a maximum or a sum of cheap terms, and for a sum of plain elements."""
WRITTEN_OUT = 128
"""The limit on unrolled copies of a loop's body, where each `exp` or similar counts.

A convolution tile with 3 x 3 terms takes half a second to compile and is then a quarter faster, or even slower.
"""
MAXIMA_WRITTEN_OUT = 16
"""The limit for maxima of ints and bools: clang unrolls their loops itself, with wider vectors."""
ROW, ROWS = 8, 8
"""A row of up to `ROW` elements is unrolled if there are at least `ROWS` rows."""
PARTS = (32, 16, 12, 8, 6, 5, 4, 3, 2)
FEW, FEW_NUMBERS = 9, 12
"""The minimum lengths for summing neighboring rows together: for computed terms, and for plain elements."""
ABREAST = ((8, FEW), (4, LONG))
"""Pairs of a number of rows to sum together and the minimum number of terms in each row."""
MANY, NARROW = 64, 64
"""The minimum number of terms for plain loops down columns that span less than `NARROW` bytes."""
STEPS, DEAREST, FLAT = 1 << 17, 8, 1 << 14
"""The minimum steps of a part, the weight of a slow operation in it, and the minimum steps of a loop to divide."""


class _CpuCodegen(PerThread):
    """The switch, per thread, between CPU code generation here and in tinygrad."""

    def __init__(self, key: str) -> None:
        self.own = threading.local()
        super().__init__(key, 1)
        self.at_first: int = self.own.value


cpu_codegen = _CpuCodegen("BRANDED_CPU")


class _Looks(threading.local):
    raises: Callable[[Scheduler], BaseException] | None = None
    """If set, it returns an exception for the unoptimized kernel, which is raised instead of building the kernel."""


looks = _Looks()


def reduces_in_order(reduce: UOp, inner: UOp) -> bool:
    """Return whether the innermost loop of a reduction reads contiguously and is long enough to vectorize."""
    is_dear = any(u.op in DEAR for u in reduce.src[0].backward_slice_with_self)
    least = LONG if is_dear else LONG_SUM if reduce.arg[0] is Ops.MAX else _long_sum(reduce)
    return in_order(indices(reduce), inner, least)


def _works(reduce: UOp) -> bool:
    """Return whether the terms are computed, and not plain elements."""
    return any(u.op in GroupOp.ALU and u.dtype == reduce.dtype for u in reduce.src[0].backward_slice_with_self)


def _long_sum(reduce: UOp) -> int:
    return LONG_SUM if _works(reduce) else LONG_SUM_OF_NUMBERS


def suits(k: Scheduler) -> bool:
    """Return whether this kernel is fastest as plain loops, judged by its form alone without timing.

    It is if the innermost loop, of the reduction or else of the result, accesses memory contiguously.
    """
    if not k.rngs or any(len(b.src) < 2 for b in k.bufs):
        return False
    if not (reduces := k.reduceops):
        return in_order([b.src[1] for b in k.bufs], k.rngs[-1])
    return all((inner := _innermost(k, reduce)) is not None and reduces_in_order(reduce, inner) for reduce in reduces)


def _innermost(k: Scheduler, reduce: UOp) -> UOp | None:
    return max((r for r in reduce.src[1:] if r in k.rngs), key=k.rngs.index, default=None)


def _with_plain_loops(original: Callable[[Scheduler], Scheduler]) -> Callable[[Scheduler], Scheduler]:
    @functools.wraps(original)
    def hand_coded_optimizations(k: Scheduler) -> Scheduler:
        if k.ast.arg.dont_use_locals and FLUSH not in k.applied_opts:  # set by `denormal_terms`
            k = with_options(k, [FLUSH])
        if (look := looks.raises) is not None:
            raise look(k)
        if not _is_ours(k.ren):
            return original(k)
        k = in_memory_order(k)
        forms = (
            (over_rows, abreast, plain)
            if is_short(k)
            else (plain, over_rows, narrow, gathers, adjacent, slow_on_distant)
        )
        variant = next((candidate for form in forms if (candidate := form(k)) is not None), None)
        return _shorter(k, original(k)) if variant is None else divide_among_cores(variant)

    return hand_coded_optimizations


def plain(k: Scheduler) -> Scheduler | None:
    return with_options(k, [LOOPS]) if suits(k) else None


def over_rows(k: Scheduler) -> Scheduler | None:
    """Unroll short innermost loops, so that vectors run across rows; None if the kernel does not fit.

    Rows of two to eight elements are contiguous, and each element of a vector comes from another row.
    """
    if is_gated(k) or not has_fixed_shape(k):
        return None
    axes, dear = k.axes_of(AxisType.WEAK), sum(u.op in DEAR for u in k.ast.toposort())
    last = axes[-1] if axes else -1
    int_loops = _int_loops(k)
    unrolled_axes = [i for i in k.axes_of(AxisType.REDUCE) if k.full_shape[i] > 1]
    options = [Opt(OptOps.UNROLL, 0, 0) for _ in unrolled_axes]
    if int_loops:
        unrolled_axes = [i for i in unrolled_axes if k.rngs[i] in int_loops]
        options = [kernel_marks.unrolled_by_clang(int_loops)]
    if last >= 0 and 1 < k.full_shape[last] <= ROW:
        unrolled_axes.append(axes.pop())
        options.insert(0, Opt(OptOps.UPCAST, last, 0))
    if not (unrolled_axes or dear) or not axes or k.full_shape[axes[-1]] < ROWS:
        return None
    if math.prod(k.full_shape[i] for i in unrolled_axes) * max(dear, 1) > WRITTEN_OUT:
        return None
    r = k.rngs[axes[-1]]
    if any((by := step(b.src[1], r)) is None or not 0 <= by <= ROW for b in k.bufs):
        return None
    try:
        return with_options(k, [LOOPS, *options])
    except KernelOptError:
        return None


def _int_loops(k: Scheduler) -> list[UOp]:
    """Return the loops of the reductions of ints, if all other reductions are maxima that are the same for all rows.

    Clang may unroll them, since the order of the terms does not matter.
    """
    rows = {k.rngs[i] for i in k.axes_of(AxisType.WEAK)}
    of_rows = [u for u in k.reduceops if not rows.isdisjoint(u.src[0].ranges)]
    others = [u for u in k.reduceops if u not in of_rows]
    if any(dtypes.is_float(u.dtype) for u in of_rows) or any(u.arg[0] is not Ops.MAX for u in others):
        return []
    return [r for u in of_rows for r in u.src[1:] if r.vmax > 0]


def _sums(k: Scheduler) -> list[tuple[UOp, UOp]]:
    """Return the reductions with their innermost loops, or an empty list unless all are float sums or products."""
    if is_gated(k) or not has_fixed_shape(k):
        return []
    sums = [(reduce, inner) for reduce in k.reduceops if (inner := _innermost(k, reduce)) is not None]
    are_sums = all(reduce.arg[0] in (Ops.ADD, Ops.MUL) and reduce.dtype in C_FLOATS for reduce, _ in sums)
    return sums if are_sums and len(sums) == len(k.reduceops) else []


def is_short(k: Scheduler) -> bool:
    """Return whether all reductions are float sums of a few contiguous terms."""
    sums = _sums(k)
    for reduce, inner in sums:
        least = FEW if _works(reduce) else FEW_NUMBERS
        if inner.vmax + 1 >= _long_sum(reduce) or not in_order(indices(reduce), inner, least):
            return False
    return bool(sums)


def abreast(k: Scheduler) -> Scheduler | None:
    """Compute several rows of short sums at a time, so that clang vectorizes across rows.

    Clang unrolls the short loop of a single row and then adds element by element.  If several results share every
    element that is read, as in products of small matrices, tinygrad's tile reads less; then return None.
    """
    axes, sums = k.axes_of(AxisType.WEAK), _sums(k)
    terms = min(int(inner.vmax + 1) for _, inner in sums)
    read = [i for reduce, _ in sums for i in indices(reduce)]
    if terms < LONG and not any(all(step(i, k.rngs[axis]) != 0 for axis in axes) for i in read):
        return None
    for n in (n for n, least in ABREAST if terms >= least):
        for axis in (axis for axis in reversed(axes) if k.full_shape[axis] % n == 0):
            return with_options(k, [LOOPS, Opt(OptOps.UPCAST, axis, n)])
    return None


def narrow(k: Scheduler) -> Scheduler | None:
    """Sum down a few long adjacent float columns with all columns at a time; None if the kernel does not fit."""
    sums, axes = _sums(k), k.axes_of(AxisType.WEAK)
    if not sums or not axes or not all(is_narrow(reduce, inner, k.rngs[axes[-1]]) for reduce, inner in sums):
        return None
    return with_options(k, [LOOPS, Opt(OptOps.UPCAST, axes[-1], 0)])


def is_narrow(reduce: UOp, inner: UOp, columns: UOp) -> bool:
    """Return whether a sum goes down a few long adjacent columns."""
    n = int(columns.vmax + 1)
    if inner.vmax + 1 < MANY or not 1 < n <= ROW or n * reduce.dtype.itemsize >= NARROW:
        return False
    return in_order(indices(reduce), columns, 1)


def divide_among_cores(k: Scheduler, steps: int | None = None) -> Scheduler:
    """Divide plain loops into parts, one per core, as tinygrad divides its kernels; slow operations count more here.

    The innermost loop of a result is not divided unless it is long enough.  `steps` is the number of steps if some
    loops are unrolled.
    """
    most = k.ren.global_max[0] if k.ren.has_threads and k.ren.global_max else 1
    if not has_fixed_shape(k):
        return k
    steps = (steps or math.prod(k.full_shape)) * (1 + DEAREST * sum(u.op in DEAR for u in k.ast.toposort()))
    axes = [i for i in k.axes_of(AxisType.WEAK) if i + 1 < len(k.rngs) or k.full_shape[i] >= FLAT]
    for n in (n for n in PARTS if n <= min(most, steps // STEPS)):
        for axis in (i for i in axes if k.full_shape[i] % n == 0):
            try:
                return with_options(k, [Opt(OptOps.THREAD, axis, n)])
            except KernelOptError:  # a loop that not all results have
                continue
    return k


def _shorter(k: Scheduler, variant: Scheduler) -> Scheduler:
    """Keep tinygrad's kernel, without unrolling its reductions if that would copy the body too many times."""
    dear = sum(u.op in DEAR for u in k.ast.toposort())
    are_maxima = k.reduceops and all(r.arg[0] is Ops.MAX and not dtypes.is_float(r.dtype) for r in k.reduceops)
    if variant.upcast_size() * max(dear, 1) <= (MAXIMA_WRITTEN_OUT if are_maxima else WRITTEN_OUT):
        return variant
    return with_options(k, [opt for opt in variant.applied_opts if opt.op is not OptOps.UNROLL])


def _is_ours(renderer: object) -> bool:
    return bool(cpu_codegen.value) and type(renderer) is private_api.cstyle.ClangRenderer


def _has_loops(renderer: object, uops: list[UOp]) -> bool:
    return type(renderer) is private_api.cstyle.ClangRenderer and LOOPS in kernel_marks.marks(uops[-1])


def _with_reassociated_sums(original: Callable[..., str]) -> Callable[..., str]:
    @functools.wraps(original)
    def render(self: Any, uops: list[UOp]) -> str:
        functions: list[str] = []
        if _is_ours(self):
            uops = wrapped.for_clang(uops)
        if _has_loops(self, uops):
            uops, functions = as_calls(uops)
        text = original(self, uops)
        macros = [m.MACRO for m in (remainders, denormals) if m.NAME in text]
        return "\n".join([*macros, *functions, text])

    return render


def _for_clang(original: Callable[..., str]) -> Callable[..., str]:
    """Help clang: it does not vectorize a short loop at an unbounded offset, nor the last elements of a row.

    Flush denormal numbers in sums of products.
    """

    @functools.wraps(original)
    def render_kernel(self: Any, name: str, lines: list[str], bufs: list[Any], uops: list[UOp], *rest: Any) -> str:
        if _has_loops(self, uops):
            numbers = [(x, u) for x, (u, _) in bufs if u.addrspace is AddrSpace.ALU and dtypes.is_int(u.dtype)]
            lines = [
                *(f"  __builtin_assume({u.vmin} <= {x} && {x} <= {u.vmax});" for x, u in numbers),
                *remainders.vectorize(kernel_marks.unroll(lines, uops[-1])),
            ]
        if _is_ours(self):
            lines = denormals.flush(lines, uops)
            if any(wrapped.NAME in line for line in lines):
                lines = [wrapped.DEFINITION, *lines]
        return original(self, name, lines, bufs, uops, *rest)

    return render_kernel


def _one_by_one(original: Callable[..., UOp]) -> Callable[..., UOp]:
    @functools.wraps(original)
    def memory_coalescing(sink: UOp, ctx: Any) -> UOp:
        return sink if LOOPS in kernel_marks.marks(sink) else original(sink, ctx)

    return memory_coalescing


def _conditional(rules: PatternMatcher) -> PatternMatcher:
    """Return rules that move a condition on a value into its load, except where clang can vectorize a plain load."""
    (first, move), (second, _) = rules.patterns

    # `move` is a default: without our functions for patterns, tinygrad compiles rules, which must not be closures
    def move_unless_safe(cond: UOp, buf: UOp, idx: UOp, or_cast: UOp, move: Any = move) -> UOp | None:
        return None if _is_safe(buf, idx) else move(cond, buf, idx, or_cast)

    def move_negated_unless_safe(cond: UOp, buf: UOp, idx: UOp, or_cast: UOp, move: Any = move) -> UOp | None:
        return None if _is_safe(buf, idx) else move(cond.logical_not(), buf, idx, or_cast)

    return PatternMatcher([(first, move_unless_safe), (second, move_negated_unless_safe)])


def _is_safe(buf: UOp, idx: UOp) -> bool:
    """Return whether a load is in bounds without a condition, in a kernel for the CPU."""
    return bool(cpu_codegen.value) and idx.get_valid().op is Ops.CONST and idx.vmin >= 0 and idx.vmax < buf.max_numel()


def install() -> None:
    private_api.codegen.pm_move_where_on_load = _conditional(private_api.codegen.pm_move_where_on_load)
    private_api.codegen.memory_coalescing = _one_by_one(private_api.codegen.memory_coalescing)
    private_api.heuristic.hand_coded_optimizations = _with_plain_loops(private_api.heuristic.hand_coded_optimizations)
    private_api.cstyle.ClangRenderer.render_kernel = _for_clang(private_api.cstyle.ClangRenderer.render_kernel)
    private_api.cstyle.ClangRenderer.render = _with_reassociated_sums(private_api.cstyle.ClangRenderer.render)
    private_api.codegen.to_program_config += (cpu_codegen,)
    private_api.codegen.to_program_context += (cpu_codegen,)
    private_api.realize.to_program_context = private_api.codegen.to_program_context
