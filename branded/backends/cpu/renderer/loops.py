"""Kernels of the CPU as plain loops, which the vectorizer of clang makes vectors of.

tinygrad writes tiles of 4 x 4 numbers, vectors of 4, and each sum as one chain of additions.  That suits a GPU; clang
has no way out of it.  Of the loops as they stand it makes vectors as wide as the machine has them, where it may: not of
a sum of floats, which another order of the terms changes in the last bits.  So a kernel that `suits` gets no options of
tinygrad's, and what it adds up may be added in any order, and that alone: all else is worked out as it was written, so
NaN, infinities and signed zeros keep their meaning, and what has no sums keeps its bits.

The processes in which tinygrad compiles install this module too, so of this package it imports no more than they have:
`tg` and an option.  What is chosen stands in the source of the kernel, by which tinygrad keeps what it compiled; the
option is a part of the key of each program.
"""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Callable, Sequence
from typing import Any

from tinygrad import dtypes
from tinygrad.dtype import DType
from tinygrad.uop.ops import AxisType, GroupOp, Ops, UOp

from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.private_api import AddrSpace, KernelOptError, Opt, OptOps, Scheduler
from branded.tinygrad_compat.thread_local_options import PerThread

LONG = 16
"""A loop of fewer steps than this is no gain as vectors."""
LONG_SUM, LONG_SUM_OF_NUMBERS, LONG_MAX = 28, 37, 96
"""Nor is a sum of so few cheap terms, of so few numbers as they stand, or the largest of so few."""
DEAR = {Ops.EXP2, Ops.LOG2, Ops.SIN, Ops.SQRT, Ops.RECIPROCAL, Ops.POW, Ops.FDIV}
"""What takes so long that vectors of it are a gain in any loop that is long enough for one."""
WRITTEN_OUT = 128
"""So many times tinygrad may write out what is in the innermost loops: a tile of a convolution with its 3 x 3 terms
takes half a second to be made, and is then faster by a fourth, or slower.  Each `exp` and the like counts."""
ROW, ROWS = 8, 8
"""A row of so few numbers is written out, if there are so many rows."""
PARTS = (32, 16, 12, 8, 6, 5, 4, 3, 2)
FEW, FEW_NUMBERS = 9, 12
"""A sum of so many terms is a gain with those of the rows beside it, or of so many numbers as they stand."""
ABREAST = ((8, FEW), (4, LONG))
"""So many rows are added up at a time, if each has so many terms or more."""
MANY, NARROW = 64, 64
"""Down narrow columns, which lie in less than so many bytes, so many terms are a gain as plain loops."""
STEPS, DEAREST, FLAT = 1 << 17, 8, 1 << 14
"""A part of a kernel has so many steps, in which what is dear counts so often; a loop that is divided has so many."""
LOOPS = Opt(OptOps.NOLOCALS)
"""The mark of a kernel that was chosen: an option that means nothing on the CPU, where tinygrad never takes it."""


class _Room(PerThread):
    """Are kernels made here, or as tinygrad makes them?  Each thread has its own answer."""

    def __init__(self, key: str) -> None:
        self.own = threading.local()
        super().__init__(key, 1)
        self.at_first: int = self.own.value


room = _Room("BRANDED_CPU")


class _Looks(threading.local):
    raises: Callable[[Scheduler], BaseException] | None = None
    """Where a kernel is not made: what is raised of its loops, before any option."""


looks = _Looks()

# ---- which kernels ----


def step(index: UOp, r: UOp) -> int | None:
    """How far the index goes when the loop goes on by one; None where that is not always as far."""
    found = 0
    for term in index.get_idx().split_uop(Ops.ADD):
        if term is r:
            found += 1
        elif term.op is Ops.MUL and term.src[0] is r and term.src[1].op is Ops.CONST:
            found += term.src[1].val
        elif r in term.backward_slice:
            return None
    return found


def in_order(indices: list[UOp], r: UOp, least: int = LONG) -> bool:
    """Does a loop go through memory number by number, or stay where it is, and that for long enough?"""
    return r.vmax + 1 >= least and all(step(i, r) in (0, 1) for i in indices)


def reduces_in_order(reduce: UOp, inner: UOp) -> bool:
    """Are the numbers that a reduction reads in the order of memory in its innermost loop, and are they enough?"""
    least = LONG if _is_dear(reduce) else LONG_MAX if reduce.arg[0] is Ops.MAX else _long_sum(reduce)
    return in_order(_indices(reduce), inner, least)


def _indices(reduce: UOp) -> list[UOp]:
    return [u.src[1] for u in reduce.src[0].backward_slice_with_self if u.op is Ops.INDEX]


def _is_dear(reduce: UOp) -> bool:
    return any(u.op in DEAR for u in reduce.src[0].backward_slice_with_self)


def _works(reduce: UOp) -> bool:
    """Are the terms worked out from numbers, and not these themselves?"""
    return any(u.op in GroupOp.ALU and u.dtype == reduce.dtype for u in reduce.src[0].backward_slice_with_self)


def _long_sum(reduce: UOp) -> int:
    return LONG_SUM if _works(reduce) else LONG_SUM_OF_NUMBERS


def is_gated(k: Scheduler) -> bool:
    """Has a load a condition?  Then clang is kept from making vectors of it."""
    return any(len(b.src) < 2 or b.src[1].get_valid().op is not Ops.CONST for b in k.bufs)


def suits(k: Scheduler) -> bool:
    """Is this kernel fastest as plain loops?  By its form alone; nothing is timed.

    It is where the innermost loop, that of the sum or else that of the result, goes through memory in order.
    """
    if not k.rngs or is_gated(k):
        return False
    if not (reduces := k.reduceops):
        return in_order([b.src[1] for b in k.bufs], k.rngs[-1])
    return all((inner := _innermost(k, reduce)) is not None and reduces_in_order(reduce, inner) for reduce in reduces)


def _innermost(k: Scheduler, reduce: UOp) -> UOp | None:
    """The innermost loop of a reduction."""
    return max((r for r in reduce.src[1:] if r in k.rngs), key=k.rngs.index, default=None)


def _chosen(original: Callable[[Scheduler], Scheduler]) -> Callable[[Scheduler], Scheduler]:
    @functools.wraps(original)
    def hand_coded_optimizations(k: Scheduler) -> Scheduler:
        if (look := looks.raises) is not None:
            raise look(k)
        if not (room.value and type(k.ren) is private_api.cstyle.ClangRenderer):
            return original(k)
        forms = (over_rows, abreast, plain) if is_short(k) else (plain, over_rows, narrow)
        found = next((made for form in forms if (made := form(k)) is not None), None)
        return _shorter(k, original(k)) if found is None else parted(found)

    return hand_coded_optimizations


def plain(k: Scheduler) -> Scheduler | None:
    return _with(k, [LOOPS]) if suits(k) else None


def over_rows(k: Scheduler) -> Scheduler | None:
    """A kernel whose innermost loops are of few steps, with these written out: its vectors go from row to row.

    Rows of two to eight numbers lie one behind another, and each number of a vector is of another row.
    """
    if is_gated(k) or not all(isinstance(n, int) for n in k.full_shape):
        return None
    found, dear = k.axes_of(AxisType.WEAK), sum(u.op in DEAR for u in k.ast.toposort())
    last = found[-1] if found else -1
    written = [i for i in k.axes_of(AxisType.REDUCE) if k.full_shape[i] > 1]
    options = [Opt(OptOps.UNROLL, 0, 0) for _ in written]
    if last >= 0 and 1 < k.full_shape[last] <= ROW:
        written.append(found.pop())
        options.insert(0, Opt(OptOps.UPCAST, last, 0))
    if not (written or dear) or not found or k.full_shape[found[-1]] < ROWS:
        return None
    if math.prod(k.full_shape[i] for i in written) * max(dear, 1) > WRITTEN_OUT:
        return None
    r = k.rngs[found[-1]]
    if any((by := step(b.src[1], r)) is None or not 0 <= by <= ROW for b in k.bufs):
        return None
    try:
        return _with(k, [LOOPS, *options])
    except KernelOptError:
        return None


def _sums(k: Scheduler) -> list[tuple[UOp, UOp]]:
    """The reductions of a kernel with their innermost loops, if all are sums or products of floats."""
    if is_gated(k) or not all(isinstance(n, int) for n in k.full_shape):
        return []
    found = [(reduce, inner) for reduce in k.reduceops if (inner := _innermost(k, reduce)) is not None]
    are_sums = all(reduce.arg[0] in (Ops.ADD, Ops.MUL) and reduce.dtype in _FLOATS for reduce, _ in found)
    return found if are_sums and len(found) == len(k.reduceops) else []


def is_short(k: Scheduler) -> bool:
    """Is this a kernel of sums of floats, each of a few terms that lie one beside another?"""
    found = _sums(k)
    for reduce, inner in found:
        least = FEW if _works(reduce) else FEW_NUMBERS
        if inner.vmax + 1 >= _long_sum(reduce) or not in_order(_indices(reduce), inner, least):
            return False
    return bool(found)


def abreast(k: Scheduler) -> Scheduler | None:
    """Several rows of a kernel of short sums at a time: of their loop clang makes vectors.

    The loop of one row it writes out, being short, and then it adds number by number.  Where no result has numbers of
    its own, as in products of small matrices, a tile has less to read.
    """
    axes, sums = k.axes_of(AxisType.WEAK), _sums(k)
    terms = min(int(inner.vmax + 1) for _, inner in sums)
    indices = [i for reduce, _ in sums for i in _indices(reduce)]
    if terms < LONG and not any(all(step(i, k.rngs[axis]) != 0 for axis in axes) for i in indices):
        return None
    for n in (n for n, least in ABREAST if terms >= least):
        for axis in (axis for axis in reversed(axes) if k.full_shape[axis] % n == 0):
            return _with(k, [LOOPS, Opt(OptOps.UPCAST, axis, n)])
    return None


def narrow(k: Scheduler) -> Scheduler | None:
    """A kernel of long sums of floats down a few columns that lie side by side, with all columns at a time."""
    sums, axes = _sums(k), k.axes_of(AxisType.WEAK)
    if not sums or not axes or not 1 < k.full_shape[axes[-1]] <= ROW:
        return None
    columns = k.rngs[axes[-1]]
    for reduce, inner in sums:
        if inner.vmax + 1 < MANY or k.full_shape[axes[-1]] * reduce.dtype.itemsize >= NARROW:
            return None
        if not in_order(_indices(reduce), columns, 1):
            return None
    return _with(k, [LOOPS, Opt(OptOps.UPCAST, axes[-1], 0)])


def parted(k: Scheduler, steps: int | None = None) -> Scheduler:
    """Plain loops in parts, one for each core, as tinygrad divides its own kernels; what is dear counts more here.

    The innermost loop of a result is left as it is, if it is not long enough for all of them.  `steps` is how many
    there are, if some are written out.
    """
    most = k.ren.global_max[0] if k.ren.has_threads and k.ren.global_max else 1
    if not all(isinstance(n, int) for n in k.full_shape):
        return k
    steps = (steps or math.prod(k.full_shape)) * (1 + DEAREST * sum(u.op in DEAR for u in k.ast.toposort()))
    axes = [i for i in k.axes_of(AxisType.WEAK) if i + 1 < len(k.rngs) or k.full_shape[i] >= FLAT]
    for n in (n for n in PARTS if n <= min(most, steps // STEPS)):
        for axis in (i for i in axes if k.full_shape[i] % n == 0):
            try:
                return _with(k, [Opt(OptOps.THREAD, axis, n)])
            except KernelOptError:  # not a loop that all results have
                continue
    return k


def _shorter(k: Scheduler, found: Scheduler) -> Scheduler:
    """A kernel as tinygrad has it, but with the loops of its sums, where it would be written out too many times."""
    dear = sum(u.op in DEAR for u in k.ast.toposort())
    if found.upcast_size() * max(dear, 1) <= WRITTEN_OUT:
        return found
    return _with(k, [opt for opt in found.applied_opts if opt.op is not OptOps.UNROLL])


def _with(k: Scheduler, opts: Sequence[Opt]) -> Scheduler:
    k = k.copy()
    for opt in opts:
        k.apply_opt(opt)
    return k


# ---- sums in any order ----

# a product that is one operation with the sum, as clang makes it otherwise, is worked out under the conditions of its
# factors, and then there are no vectors
_BODIES = {
    "sum": "({t} a, {t} b) {{\n#pragma clang fp reassociate(on)\n  return a + b;\n}}",
    "sum_of_products": "({t} a, {t} b, {t} c) {{\n#pragma clang fp reassociate(on) contract(fast)\n"
    "  return a + b * c;\n}}",
    "product": "({t} a, {t} b) {{\n#pragma clang fp reassociate(on)\n  return a * b;\n}}",
    "largest": "({t} a, {t} b) {{\n  return __builtin_fmax{f}(a, b);\n}}",
}
_FLOATS = {dtypes.float32: "float", dtypes.float64: "double"}


def _name(what: str, dtype: DType) -> str:
    return f"{what}_{_FLOATS[dtype]}"


def _function(what: str, dtype: DType) -> str:
    body = _BODIES[what].format(t=_FLOATS[dtype], f="f" if dtype == dtypes.float32 else "")
    return f"static inline __attribute__((always_inline)) {_FLOATS[dtype]} {_name(what, dtype)}{body}"


def _reduction(store: UOp) -> tuple[str, tuple[UOp, ...]] | None:
    """What a store does with the number that it replaces, and with what else."""
    at, value = store.src[0], store.src[1]
    if at.addrspace is not AddrSpace.REG or value.dtype not in _FLOATS or value.max_numel() != 1:
        return None
    if value.op in (Ops.ADD, Ops.MUL):
        terms = list(value.split_uop(value.op))
        before = [t for t in terms if t.op is Ops.LOAD and t.src[0] is at]
        if len(before) != 1 or len(terms) == 1:
            return None
        others = [t for t in terms if t is not before[0]]
        if value.op is Ops.ADD and len(others) == 1 and others[0].op is Ops.MUL:
            return "sum_of_products", (*before, *others[0].src)
        rest = functools.reduce(lambda a, b: UOp(value.op, src=(a, b)), others)
        return "sum" if value.op is Ops.ADD else "product", (*before, rest)
    if value.op is Ops.WHERE and value.src[0].op is Ops.CMPLT:
        (less, new, old) = value.src
        if old.op is Ops.LOAD and old.src[0] is at and less.src == (old, new):
            return "largest", (old, new)
    return None


def any_order(uops: list[UOp]) -> tuple[list[UOp], list[str]]:
    """The program with what is added up in each step as a call, and the functions that are called."""
    new: dict[UOp, UOp] = {}
    made: dict[str, None] = {}

    def put(u: UOp) -> UOp:
        """A line of the program, or what stands for it; that which it is worked out from comes before it."""
        if u not in new:
            new[u] = u.replace(src=tuple(put(s) for s in u.src))
        return new[u]

    for u in uops:
        if u.op is Ops.STORE and (found := _reduction(u)) is not None:
            what, args = found
            made[_function(what, u.src[1].dtype)] = None
            places = ", ".join(f"{{{i}}}" for i in range(len(args)))
            name = _name(what, u.src[1].dtype)
            call = put(UOp(Ops.CUSTOMI, src=args, arg=f"{name}({places})"))
            new[u] = u.replace(src=(put(u.src[0]), call))
        else:
            put(u)
    return (_used(list(new.values())), list(made)) if made else (uops, [])


def _used(lines: list[UOp]) -> list[UOp]:
    """Without what only the replaced sums used."""
    there = lines[-1].backward_slice_with_self
    return [u for u in lines if u in there]


def _is_chosen(renderer: object, uops: list[UOp]) -> bool:
    return type(renderer) is private_api.cstyle.ClangRenderer and LOOPS in getattr(uops[-1].arg, "applied_opts", ())


def _rendered(original: Callable[..., str]) -> Callable[..., str]:
    @functools.wraps(original)
    def render(self: Any, uops: list[UOp]) -> str:
        functions: list[str] = []
        if _is_chosen(self, uops):
            uops, functions = any_order(uops)
        return "\n".join([*functions, original(self, uops)])

    return render


def _with_bounds(original: Callable[..., str]) -> Callable[..., str]:
    """Says how many parts or steps there are: clang makes no vectors of a short loop at a place that has no bounds."""

    @functools.wraps(original)
    def render_kernel(self: Any, name: str, lines: list[str], bufs: list[Any], uops: list[UOp], *rest: Any) -> str:
        if _is_chosen(self, uops):
            numbers = [(x, u) for x, (u, _) in bufs if u.addrspace is AddrSpace.ALU and dtypes.is_int(u.dtype)]
            lines = [*(f"  __builtin_assume({u.vmin} <= {x} && {x} <= {u.vmax});" for x, u in numbers), *lines]
        return original(self, name, lines, bufs, uops, *rest)

    return render_kernel


def _one_by_one(original: Callable[..., UOp]) -> Callable[..., UOp]:
    @functools.wraps(original)
    def memory_coalescing(sink: UOp, ctx: Any) -> UOp:
        return sink if LOOPS in getattr(sink.arg, "applied_opts", ()) else original(sink, ctx)

    return memory_coalescing


def install() -> None:
    private_api.codegen.memory_coalescing = _one_by_one(private_api.codegen.memory_coalescing)
    private_api.heuristic.hand_coded_optimizations = _chosen(private_api.heuristic.hand_coded_optimizations)
    private_api.cstyle.ClangRenderer.render_kernel = _with_bounds(private_api.cstyle.ClangRenderer.render_kernel)
    private_api.cstyle.ClangRenderer.render = _rendered(private_api.cstyle.ClangRenderer.render)
    private_api.codegen.to_program_config += (room,)
    private_api.codegen.to_program_context += (room,)
    private_api.realize.to_program_context = private_api.codegen.to_program_context
