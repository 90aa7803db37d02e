"""A memory layout for each stored value that follows the layout of the values from which it is computed.

tinygrad stores a value in the order of its axes. For `x.permute(1, 0).softmax()`, it writes and reads the exponentials
column by column. A vmap over the last axis moves that axis to the front, and took five times as long as handwritten
code. Here the axes of a stored value are in the order of the memory that its computation reads along all axes. If there
is no such memory, or if two orders conflict, the axes keep their order. The loops of a kernel follow the order of its
writes.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tinygrad import dtypes
from tinygrad.uop.ops import AxisType, GroupOp, Ops, UOp

from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.uops import inverse

_MEMORY = {Ops.STAGE, Ops.AFTER, Ops.PARAM, Ops.BUFFER, Ops.MSTACK, Ops.MSELECT}
WIDE = 4
"""The minimum number of bytes of an int in which indices do not wrap around."""
FAR = 8
"""If one buffer has this many times as many elements as every other buffer that is read, its order is used."""


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
            if (permutation := _order(loops, _reads(v.src[0]))) is not None:
                axes[u] = permutation
                v = _with_loop_order(v, [loops[i] for i in permutation])
        elif u.op is Ops.END and v.src[0].op is Ops.STORE and v.src[0].src[0].op is Ops.INDEX:
            loops = v.src[1:]
            if (permutation := _order(loops, [v.src[0].src[0]])) is not None:
                v = _with_loop_order(v, [loops[i] for i in permutation])
        if v is not u:
            new[u] = v
    return new.get(sink, sink)


def _reads(value: UOp) -> list[UOp]:
    """Return the buffers and indices that the computation of a value reads, without the mask of an index."""
    return [u for u in _all_reads(value) if not _is_mask(u.src[0])]


def _all_reads(value: UOp) -> list[UOp]:
    return [u for u in value.toposort(gate=lambda u: u.op not in _MEMORY) if u.op is Ops.INDEX]


def _is_mask(memory: UOp) -> bool:
    """Return whether this is the one-hot mask of an index, which is larger than its inputs and is not stored."""
    if memory.op is not Ops.STAGE or memory.dtype != dtypes.bool:
        return False
    sources = [u.src[0] for u in _all_reads(memory.src[0])]
    return memory.max_numel() > FAR * sum(x.max_numel() for x in sources) or any(map(_is_mask, sources))


def _order(loops: Sequence[UOp], reads: Sequence[UOp]) -> list[int] | None:
    """Return the order of the axes by the strides of their loops in memory, or None if the axes already have it."""
    numbers = [i for i, r in enumerate(loops) if r.op is Ops.RANGE]
    if len(numbers) < 2 or not all(_is_plain(loops[i]) for i in numbers):
        return None
    order = None
    for read in reads:
        steps = [_step(read, loops[i]) for i in numbers]
        if None in steps or 0 in steps or len(set(steps)) < len(steps):
            continue  # does not depend on all loops
        one = [i for _, i in sorted(zip(steps, numbers, strict=True), reverse=True)]
        if order is not None and one != order:
            return None
        order = one
    if order is None and (last := _innermost(loops, numbers, reads)) is not None:
        order = [*(i for i in numbers if i != last), last]
    if order is None or order == numbers:
        return None
    return [*(i for i in range(len(loops)) if i not in numbers), *order]


def _innermost(loops: Sequence[UOp], numbers: Sequence[int], reads: Sequence[UOp]) -> int | None:
    """Return the axis along which the read elements are adjacent, in all memory or in the dominant one.

    An example is the batch axis in a product of `w` and `x`, if both are batched, or only `x` with many examples.
    """
    size_of: dict[int, int] = {}
    for read in reads:
        for i in numbers:
            if _step(read, loops[i]) == 1:
                size_of[i] = max(size_of.get(i, 0), int(read.src[0].max_numel()))
    return _dominant(size_of)


def _dominant(sizes: dict[int, int]) -> int | None:
    """Return the axis whose memory dominates the others, or None."""
    if not sizes:
        return None
    last = max(sizes, key=lambda i: sizes[i])
    return last if all(size * FAR <= sizes[last] for i, size in sizes.items() if i != last) else None


def _is_plain(r: UOp) -> bool:
    return r.arg[-1] is AxisType.WEAK and r.src[0].op is Ops.CONST


def step(index: UOp, loop: UOp) -> int | None:
    """Return the index's increment per step of the loop, or None if it is not constant."""
    return _increment(index.get_idx(), loop)


def _increment(u: UOp, loop: UOp) -> int | None:
    if u is loop:
        return 1
    if u.op is Ops.ADD:
        left, right = (_increment(s, loop) for s in u.src)
        return None if left is None or right is None else left + right
    if u.op is Ops.MUL and u.src[1].op is Ops.CONST:
        return None if (n := _increment(u.src[0], loop)) is None else n * int(u.src[1].val)
    if u.op is Ops.CAST and all(dtypes.is_int(x.dtype) and x.dtype.itemsize >= WIDE for x in (u, u.src[0])):
        return _increment(u.src[0], loop)
    return None if loop in u.backward_slice else 0


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
    new = {r: r.replace(arg=number) for r, number in zip(ranges, numbers, strict=True)}
    loops = [new.get(r, r) for r in loops]
    inside = frozenset(ranges)
    for x in u.src[0].toposort(gate=lambda x: not inside.isdisjoint(x.ranges)):  # only this kernel
        if x not in new and (src := tuple(new.get(s, s) for s in x.src)) != x.src:
            new[x] = x.replace(src=src)
    return u.replace(src=(new.get(u.src[0], u.src[0]), *loops))


_MOVES = {Ops.PERMUTE, Ops.RESHAPE}
"""Movement operations that keep all elements."""
_COMPUTED = GroupOp.ALU | {Ops.CAST, Ops.DETACH, Ops.CONTIGUOUS_BACKWARD, Ops.REDUCE, Ops.STACK}
_STORED = _COMPUTED | {Ops.GETTUPLE}
_SEEN_THROUGH = _COMPUTED | GroupOp.Movement | {Ops.INDEX}
_LAYOUTS = "_branded_layouts"


class MemoryLayout(NamedTuple):
    """The memory from which a value is computed: its size, and its stride along each axis of the value, or 0."""

    size: int
    strides: tuple[int, ...]


def moved_back(values: Sequence[UOp]) -> dict[UOp, UOp]:
    """Return the value to store for each computed value whose axes are permuted, if all results permute them back.

    tinygrad stores a result before its last permutations and reshapes, with the axes in the order of that moment.  The
    value to store is the result itself, or the same value with another last axis.
    """
    results: dict[UOp, list[UOp]] = {}
    for u in values:
        results.setdefault(u.base, []).append(u)
    return {x: _form_to_store(x, us) for x, us in results.items() if x.op in _STORED and all(map(_is_back, us))}


def _is_back(u: UOp) -> bool:
    """Return whether a result, but not its base, has its axes in the order of the memory that is read."""
    return u is not u.base and _order_of(u) > _order_of(u.base)


def _form_to_store(x: UOp, results: Sequence[UOp]) -> UOp:
    u, *others = results
    if not others and _base_of_moves(u) is x:
        return u
    last = layout.strides.index(1) if (layout := layout_of(x)) is not None else len(x.shape) - 1
    return x.permute((*(i for i in range(len(x.shape)) if i != last), last))


def _base_of_moves(u: UOp) -> UOp:
    while u.op in _MOVES:
        u = u.src[0]
    return u


def _undo_moves(u: UOp, memory: UOp) -> UOp:
    """Return the value before the permutations and reshapes of `u`, as a view of the stored `u`."""
    while u.op in _MOVES:
        below = u.src[0]
        memory = memory.reshape(below.shape) if u.op is Ops.RESHAPE else memory.permute(inverse(u.arg))
        u = below
    return memory


def _stored_in_order(sink: UOp, forms: dict[UOp, UOp]) -> dict[UOp, UOp]:
    """Return the rewritten values of the graph, which read the stored values."""
    new = dict[UOp, UOp]()
    for u in sink.toposort(enter_calls=False):
        src = tuple(new.get(s, s) for s in u.src)
        v = u if src == u.src else u.replace(src=src)
        if (form := forms.get(u)) is not None:
            new[form] = form.substitute({u: v}, walk=True).contiguous()
            v = _undo_moves(form, new[form])
        if v is not u:
            new.setdefault(u, v)
    return new


def _order_of(value: UOp) -> tuple[bool, bool]:
    """Return whether the last axis of a value is the last one in memory, and whether all axes are in order there."""
    if (layout := layout_of(value)) is None:
        return False, False
    strides = [s for s, n in zip(layout.strides, value.shape, strict=True) if n != 1]
    return strides[-1] == 1, 0 not in strides and strides == sorted(strides, reverse=True)


def layout_of(value: UOp) -> MemoryLayout | None:
    """Return the layout of the memory from which a value is computed, or of the dominant one; None if it is unknown."""
    for u in value.toposort(gate=lambda u: _LAYOUTS not in u.__dict__ and u.op in _SEEN_THROUGH and not _is_memory(u)):
        _layouts(u)
    layouts = _layouts(value)
    last = _dominant({axis: layout.size for axis, layout in layouts.items()})
    return None if last is None else layouts[last]


def _layouts(u: UOp) -> dict[int, MemoryLayout]:
    """Return the largest memory for each axis along which the elements that are read are adjacent."""
    if (layouts := u.__dict__.get(_LAYOUTS)) is None:
        layouts = u.__dict__[_LAYOUTS] = {}
        for layout in _all_layouts(u):
            strides = tuple(s if n != 1 else 0 for s, n in zip(layout.strides, u.shape, strict=True))
            if 1 in strides and ((axis := strides.index(1)) not in layouts or layout.size > layouts[axis].size):
                layouts[axis] = MemoryLayout(layout.size, strides)
    return layouts


def _all_layouts(u: UOp) -> list[MemoryLayout]:
    if not private_api.has_shape(u) or not all(isinstance(n, int) and n > 0 for n in u.shape):
        return []
    if _is_memory(u):
        return [MemoryLayout(math.prod(_sizes(u)), _steps(_sizes(u)))]
    operands = u.src if u.op in _COMPUTED else u.src[:1] if u.op in _SEEN_THROUGH else ()
    if u.op is Ops.GETTUPLE and _is_read_in_order(u.src[0]):
        operands = (u.src[0].src[0].src[u.arg],)
    return [MemoryLayout(size, _strides_of(u, s, strides)) for s in operands for size, strides in _layouts(s).values()]


def _is_memory(u: UOp) -> bool:
    if u.op is Ops.GETTUPLE:
        return u.src[0].op is Ops.FUNCTION and bool(u.src[0].arg.precompile)
    return u.op in {Ops.CONTIGUOUS, Ops.COPY} or bool(u.has_buffer_identity())  # type: ignore[no-untyped-call]


def _is_read_in_order(call: UOp) -> bool:
    """Return whether the parameters in the body of a function are in the order of the memory that the call reads."""
    in_order = [_order_of(x)[0] for x in call.src[1:] if layout_of(x) is not None] if call.op is Ops.FUNCTION else []
    return bool(in_order) and all(in_order)


def _strides_of(u: UOp, s: UOp, strides: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides along the axes of `u`, from the strides of its operand `s`."""
    match u.op:
        case Ops.PERMUTE:
            return tuple(strides[i] for i in u.arg)
        case Ops.REDUCE:
            return strides[u.arg[1] :]
        case Ops.INDEX:
            return strides[len(u.src) - 1 :]
        case Ops.RESHAPE:
            return tuple(_stride_of_step(_sizes(s), strides, step) for step in _steps(_sizes(u)))
    return (0,) * (len(u.shape) - len(strides)) + strides


def _sizes(u: UOp) -> tuple[int, ...]:
    return tuple(map(int, u.shape))


def _steps(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the number of elements in a step along each axis, counted in the order of the axes."""
    return tuple(math.prod(sizes[i + 1 :]) for i in range(len(sizes)))


def _stride_of_step(shape: tuple[int, ...], strides: tuple[int, ...], step: int) -> int:
    """Return the stride of a step over this number of elements."""
    for n, stride in zip(reversed(shape), reversed(strides), strict=True):
        if step < n:
            return stride * step
        step //= n
    return 0


def install() -> None:
    call: Callable[..., tuple[UOp, dict[UOp, UOp]]] = private_api.tensor.transform_to_call

    @functools.wraps(call)
    def transform_to_call(big_sink: UOp) -> tuple[UOp, dict[UOp, UOp]]:
        if not (forms := moved_back(big_sink.src)):
            return call(big_sink)
        new = _stored_in_order(big_sink, forms)
        big, became = call(big_sink.replace(src=tuple(new.get(u, u) for u in big_sink.src)))
        old = {v: u for u, v in new.items()}
        became = {old.get(v, v): memory for v, memory in became.items()}
        for x, form in forms.items():
            if (memory := became.get(form)) is not None:
                became[x] = _undo_moves(form, memory)
        return big, became

    private_api.tensor.transform_to_call = transform_to_call
    run: Callable[..., UOp] = private_api.rangeify.run_rangeify

    @functools.wraps(run)
    def run_rangeify(sink: UOp, debug: bool = False) -> UOp:
        return laid_out(run(sink, debug))

    private_api.rangeify.run_rangeify = run_rangeify
