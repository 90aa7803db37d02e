"""A memory layout for stored values that follows the values from which they are computed.

tinygrad stores a value in the order of its axes. For `x.permute(1, 0).softmax()`, it writes and reads the exponentials
column by column. A vmap over the last axis moves that axis to the front, and took five times as long as handwritten
code. Here the axes follow the order of the memory that is read along all of them. Without such memory, or if two orders
conflict, the axes keep their order. The loops of a kernel follow the order of its writes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from tinygrad.uop.ops import AxisType, GroupOp, Ops, UOp

from branded.tinygrad_compat import private_api

_MEMORY = {Ops.STAGE, Ops.AFTER, Ops.PARAM, Ops.BUFFER, Ops.MSTACK, Ops.MSELECT}
FAR = 8
"""The ratio of element counts from which one memory dominates all others that are read."""
_FREE = 1 << 20
"""The first loop number that is never in use."""


def laid_out(sink: UOp) -> UOp:
    """Return the graph of loops with the new layouts."""
    order = list(sink.toposort())
    read_whole = {s for u in order for i, s in enumerate(u.src) if s.op is Ops.STAGE and (u.op is not Ops.INDEX or i)}
    new: dict[UOp, UOp] = {}
    axes: dict[UOp, list[int]] = {}
    for u in order:
        src = tuple(new.get(s, s) for s in u.src)
        if u.op is Ops.INDEX and (moved := axes.get(u.src[0])) is not None:
            src = (src[0], *(src[1 + i] for i in moved))
        v = u if src == u.src else u.replace(src=src)
        if u.op is Ops.STAGE and u not in read_whole and u.arg.removable and len(u.src) > 2:
            loops = v.src[1:]
            if (found := _order(loops, _reads(v.src[0]))) is not None:
                axes[u] = found
                v = _with_loop_order(v, [loops[i] for i in found])
        elif u.op is Ops.END and v.src[0].op is Ops.STORE and v.src[0].src[0].op is Ops.INDEX:
            loops = v.src[1:]
            if (found := _order(loops, [v.src[0].src[0]])) is not None:
                v = _with_loop_order(v, [loops[i] for i in found])
        if v is not u:
            new[u] = v
    return new.get(sink, sink)


def _reads(value: UOp) -> list[UOp]:
    """Return the memory reads in the computation of a value."""
    return [u for u in value.toposort(gate=lambda u: u.op not in _MEMORY) if u.op is Ops.INDEX]


def _order(loops: Sequence[UOp], reads: Sequence[UOp]) -> list[int] | None:
    """Return the order of the axes by the strides of their loops in memory, or None if they are in order."""
    numbers = [i for i, r in enumerate(loops) if r.op is Ops.RANGE]
    if len(numbers) < 2 or not all(_is_plain(loops[i]) for i in numbers):
        return None
    found = None
    for read in reads:
        steps = [_step(read, loops[i]) for i in numbers]
        if None in steps or 0 in steps or len(set(steps)) < len(steps):
            continue  # does not depend on all loops
        one = [i for _, i in sorted(zip(steps, numbers, strict=True), reverse=True)]
        if found is not None and one != found:
            return None
        found = one
    if found is None and (last := _innermost(loops, numbers, reads)) is not None:
        found = [*(i for i in numbers if i != last), last]
    if found is None or found == numbers:
        return None
    return [*(i for i in range(len(loops)) if i not in numbers), *found]


def _innermost(loops: Sequence[UOp], numbers: Sequence[int], reads: Sequence[UOp]) -> int | None:
    """Return the axis along which the read elements are adjacent, in all memory or in the dominant one.

    An example is the batch axis in a product of `w` and `x`, if both are batched, or only `x` with many examples.
    """
    found: dict[int, int] = {}
    for read in reads:
        for i in numbers:
            if _step(read, loops[i]) == 1:
                found[i] = max(found.get(i, 0), int(read.src[0].max_numel()))
    if not found:
        return None
    last = max(found, key=lambda i: found[i])
    return last if all(size * FAR <= found[last] for i, size in found.items() if i != last) else None


def _is_plain(r: UOp) -> bool:
    return r.arg[-1] is AxisType.WEAK and r.src[0].op is Ops.CONST


def step(index: UOp, loop: UOp) -> int | None:
    """Return the index's increment per step of the loop, or None if it is not constant."""
    found = 0
    for term in index.get_idx().split_uop(Ops.ADD):
        if term is loop:
            found += 1
        elif term.op is Ops.MUL and term.src[0] is loop and term.src[1].op is Ops.CONST:
            found += term.src[1].val
        elif loop in term.backward_slice:
            return None
    return found


def _step(read: UOp, loop: UOp) -> int | None:
    """Return the stride of a loop in the memory that is read, or None if it is not constant."""
    whole, stride = 0, 1
    for size, index in zip(reversed(read.src[0].shape), reversed(read.src[1:]), strict=True):
        if not isinstance(size, int):
            return None
        if (by := step(index, loop)) is None:
            return None
        whole += stride * by
        stride *= size
    return abs(whole)


def _with_loop_order(u: UOp, loops: Sequence[UOp]) -> UOp:
    """Return `u` with its loops in this order, renumbered in order like the loops of kernels."""
    ranges = [r for r in loops if r.op is Ops.RANGE]
    numbers = sorted(r.arg for r in ranges)
    between = [r.replace(arg=(_FREE + i, *r.arg[1:])) for i, r in enumerate(ranges)]
    after = [r.replace(arg=number) for r, number in zip(ranges, numbers, strict=True)]
    value = (
        u.src[0].substitute(dict(zip(ranges, between, strict=True))).substitute(dict(zip(between, after, strict=True)))
    )
    own = dict(zip(ranges, after, strict=True))
    return u.replace(src=(value, *(own.get(r, r) for r in loops)))


# ---- results ----

_AS_THEY_ARE = GroupOp.ALU | {Ops.CAST, Ops.DETACH, Ops.CONTIGUOUS_BACKWARD}
_SEEN_THROUGH = _AS_THEY_ARE | {Ops.PERMUTE, Ops.FLIP, Ops.PAD, Ops.SHRINK}


def moved_back(values: Sequence[UOp]) -> dict[UOp, UOp]:
    """Return the values to store whose axes were moved and are moved back, with the values before the last move.

    tinygrad stores a permuted value in the order of the value before the permutation.
    """
    found = {
        u: u.src[0]
        for u in values
        if u.op is Ops.PERMUTE and u.src[0].op in _AS_THEY_ARE and _axes(u) == tuple(range(len(u.shape)))
    }
    others = {u.base for u in values if u not in found}
    return {u: x for u, x in found.items() if x not in others and list(found.values()).count(x) == 1}


def _axes(value: UOp) -> tuple[int, ...] | None:
    """Return the axes of a value in the order of the memory from which it is computed, or None if it is unknown."""
    axes: dict[UOp, tuple[int, ...] | None] = {}

    def of(u: UOp) -> tuple[int, ...] | None:
        if u not in axes:  # a leaf of the traversal
            is_memory = private_api.has_shape(u) and u.has_buffer_identity()  # type: ignore[no-untyped-call]
            axes[u] = tuple(range(len(u.shape))) if is_memory else None
        return axes[u]

    for u in value.toposort(gate=lambda u: u.op in _SEEN_THROUGH):
        if u.op is Ops.PERMUTE:
            there = of(u.src[0])
            axes[u] = there and tuple(u.arg.index(i) for i in there)
        elif u.op in _AS_THEY_ARE:
            said = {of(s) for s in u.src if s.shape == u.shape} - {None}
            axes[u] = said.pop() if len(said) == 1 else None
        else:
            axes[u] = of(u.src[0])
    return axes[value]


def install() -> None:
    call: Callable[..., tuple[UOp, dict[UOp, UOp]]] = private_api.tensor.transform_to_call

    @functools.wraps(call)
    def transform_to_call(big_sink: UOp) -> tuple[UOp, dict[UOp, UOp]]:
        if not (moved := moved_back(big_sink.src)):
            return call(big_sink)
        there = {u: u.contiguous() for u in moved}
        big, became = call(big_sink.replace(src=tuple(there.get(u, u) for u in big_sink.src)))
        for u, x in moved.items():
            if (memory := became.pop(there[u], None)) is not None:
                became |= {u: memory, x: memory.permute(tuple(u.arg.index(i) for i in range(len(u.arg))))}
        return big, became

    private_api.tensor.transform_to_call = transform_to_call
    run: Callable[..., UOp] = private_api.rangeify.run_rangeify

    @functools.wraps(run)
    def run_rangeify(sink: UOp, debug: bool = False) -> UOp:
        return laid_out(run(sink, debug))

    private_api.rangeify.run_rangeify = run_rangeify
