"""The source cells of each cell of a result: the cells of the operands that it may depend on.

The module interprets a graph without brands, in which each cell stands for a set of operand cells. An elementwise
operation returns the union over its operands, a movement moves the sets, and a reduction returns the union along its
axes. A `where` uses the value of its condition: tinygrad writes `x[i]` as a masked sum, and the result depends only on
the index and the selected cell, not on all of `x`. A loop of known length is interpreted step by step.

Law: a cell does not change if only cells outside of its set change.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from tinygrad.uop.ops import GroupOp, Ops, UOp

from branded.control_flow.scan import Scan
from branded.core.sharding.resharding import copied_part
from branded.graph.primitive import params, primitive_of
from branded.graph.uops import tensor
from branded.ir.terms import Eqn
from branded.tinygrad_compat.private_api import all_int, exec_alu, truncate

T = TypeVar("T")

MAX_CELLS = 1 << 18
"""The maximum number of cells in all values of a graph; a larger graph is not interpreted."""

MAX_OPERAND_CELLS = 1 << 12
"""The maximum number of cells in all operands: a set has one bit for each of them."""

Sets = list[int]
"""For each cell, a set of operand cells, stored as the bits of an int, because `|` computes unions fast."""
Numbers = list[Any]


def sources(
    out: UOp, operands: Sequence[UOp], values: Sequence[Sequence[Any] | None] = ()
) -> list[list[tuple[int, int]]] | None:
    """Return, for each flat cell of `out`, the cells `(operand, flat cell)` that it may depend on.

    Args:
        out: A graph without brands that contains the operands.
        operands: The values to which the cells are traced.
        values: The flat cells of each operand, if known. They determine the conditions; other values that a condition
            depends on are read from their buffers.

    Returns:
        A list for each cell of `out`, ordered by operand and cell; None if there are too many cells.

    Example:
        >>> from branded.explain.source_cells import sources
        >>> from tinygrad import Tensor
        >>> a, b = Tensor([1, 2]).realize(), Tensor([3, 4]).realize()
        >>> sources((a.reshape(2, 1) + b).uop, [a.uop, b.uop])
        [[(0, 0), (1, 0)], [(0, 0), (1, 1)], [(0, 1), (1, 0)], [(0, 1), (1, 1)]]
    """
    sets: dict[UOp, Sets] = {}
    known: dict[UOp, Callable[[], Numbers]] = {}
    names: list[tuple[int, int]] = []
    if sum(math.prod(x.max_shape) for x in operands) > MAX_OPERAND_CELLS:
        return None
    for i, x in enumerate(operands):
        bits = [1 << (len(names) + cell) for cell in range(_size(x))]
        names += [(i, cell) for cell in range(len(bits))]
        sets[x] = [a | b for a, b in zip(bits, sets[x], strict=True)] if x in sets else bits
        if i < len(values) and (cells := values[i]) is not None:
            known[x] = functools.partial(list, cells)
    try:
        out_sets = _Graph(sets, known, _Budget()).sets(out)
    except _TooLargeError:
        return None
    return [[name for bit, name in enumerate(names) if cell >> bit & 1] for cell in out_sets]


def source_cells(e: Eqn) -> list[int]:
    """Return, for each cell of a value that entered or left a brand, the index of the same cell before that step."""
    x, y, b, axis = e.operands[0].type, e.results[0].type, e.params["brand"], e.params["axis"]  # type: ignore[union-attr]
    axes: list[Any] = list(range(len(x.shape)))
    if e.op == "enter":
        axes[axis] = b
        after = [*y.row, *(a for a in axes if a is not b)]
    else:
        after = [*y.row, *axes[:axis], b, *axes[axis:]]
    before = [*x.row, *axes]
    size = dict(zip(after, (*(name.size for name in y.row), *y.shape), strict=True))
    out = []
    for cell in itertools.product(*(range(size[a]) for a in after)):
        index = dict(zip(after, cell, strict=True))
        out.append(functools.reduce(lambda flat, a: flat * size[a] + index[a], before, 0))
    return out


class _TooLargeError(Exception):
    """Raised for a graph with too many cells."""


class _UnknownError(Exception):
    """Raised for a value whose numbers are unknown."""


class _Budget:
    """The number of cells that may still be interpreted."""

    def __init__(self) -> None:
        self.left = MAX_CELLS

    def spend(self, cells: int) -> None:
        self.left -= cells
        if self.left < 0:
            raise _TooLargeError


class _Graph:
    """The source cells and the numbers of all values in one graph, or in one function call."""

    def __init__(self, sets: Mapping[UOp, Sets], known: Mapping[UOp, Callable[[], Numbers]], budget: _Budget) -> None:
        self._sets, self._known, self._budget = dict(sets), known, budget
        self._numbers: dict[UOp, Numbers] = {}
        self._calls: dict[UOp, list[Sets]] = {}

    def sets(self, root: UOp) -> Sets:
        """Return the source cells of a value."""
        for u in _in_order(root, self._sets):
            self._budget.spend(_size(u))
            self._sets[u] = self._sets_of(u)
        return self._sets[root]

    def numbers(self, root: UOp) -> Numbers:
        """Return the numbers in the cells of a value."""
        for u in _in_order(root, self._numbers, self._known):
            self._budget.spend(_size(u))
            self._numbers[u] = self._known[u]() if u in self._known else self._numbers_of(u)
        return self._numbers[root]

    def _sets_of(self, u: UOp) -> Sets:
        operands = [self._sets[s] for s in _cell_operands(u)]
        if u.op is Ops.WHERE:
            return self._where(u)
        if u.op in GroupOp.Elementwise or u.op in _SAME or copied_part(u) is not None:
            return [functools.reduce(int.__or__, cells, 0) for cells in zip(*_align_cells(u, operands), strict=True)]
        if u.op in GroupOp.Movement and not _is_of_each_device(u):
            return [operands[0][i] if i >= 0 else 0 for i in _source_positions(u)]
        if u.op is Ops.REDUCE:
            n = _size(u)
            return [functools.reduce(int.__or__, operands[0][i::n], 0) for i in range(n)]
        if u.op is Ops.STACK:
            return list(itertools.chain(*operands))
        if u.op is Ops.GETTUPLE:
            return self._sets[u.src[0].src[u.arg]] if u.src[0].op is Ops.TUPLE else self._call(u.src[0])[u.arg]
        if u.op is Ops.AFTER and (sets := self._written(u)) is not None:
            return sets
        return [functools.reduce(int.__or__, itertools.chain(*operands), 0)] * _size(u)

    def _where(self, u: UOp) -> Sets:
        flag, if_true, if_false = _align_cells(u, [self._sets[s] for s in u.src])
        try:
            (conditions,) = _align_cells(u, [self.numbers(u.src[0])])
        except _UnknownError:
            return [a | b | c for a, b, c in zip(flag, if_true, if_false, strict=True)]
        return [f | (y if t else n) for f, y, n, t in zip(flag, if_true, if_false, conditions, strict=True)]

    def _written(self, u: UOp) -> Sets | None:
        """Return the source cells of a buffer after a write into it or into a view of it; None for other writes."""
        x, write = u.src[0], u.src[1]
        if len(u.src) == 2 and write.op is Ops.STORE and write.src[0] is x:
            whole = self.sets(write.src[1])
            return whole if len(whole) == _size(u) else None
        if len(u.src) != 2 or write.op is not Ops.AFTER or len(write.src) != 2 or write.src[1].op is not Ops.STORE:
            return None
        view, value = write.src[1].src[:2]
        positions, v = list(range(_size(view))), view
        while v is not x:
            if v.op not in GroupOp.Movement or v.op is Ops.PAD:
                return None
            inner = _source_positions(v)
            positions, v = [inner[i] for i in positions], v.src[0]
        cells, out = self.sets(value), list(self._sets[x])
        if len(cells) != len(positions):
            return None
        for i, cell in zip(positions, cells, strict=True):
            out[i] = cell
        return out

    def _call(self, call: UOp) -> list[Sets]:
        if call in self._calls:
            return self._calls[call]
        body, *args = call.src
        primitive = primitive_of(call)
        if isinstance(primitive, Scan):
            out = self._scan(primitive, args)
        elif primitive is not None:
            read_operands = [primitive.uses(call, i) for i in range(len(body.src))]
            joined = [
                functools.reduce(int.__or__, itertools.chain(*(self._sets[args[i]] for i in sorted(use))), 0)
                for use in read_operands
            ]
            out = [[all_of_them] * _size(x) for all_of_them, x in zip(joined, body.src, strict=True)]
        else:
            slots = {p: args[p.arg.slot] for p in params(body)}
            inner = self._inner(
                {p: self._sets[x] for p, x in slots.items()},
                {p: functools.partial(self.numbers, x) for p, x in slots.items()},
            )
            out = [inner.sets(x) for x in body.src]
        self._calls[call] = out
        return out

    def _scan(self, loop: Scan, args: Sequence[UOp]) -> list[Sets]:
        params_by_slot, n = {p.arg.slot: p for p in loop.params()}, loop.carries
        parts, places = loop.cut(args), loop.cut([params_by_slot.get(i) for i in range(len(args))])
        inputs, fixed = [*_used(places.inputs, parts.inputs)], [*_used(places.fixed, parts.fixed)]
        carried = [self._sets[x] for x in parts.carries]
        numbers: list[Callable[[], Numbers]] = [functools.partial(self.numbers, x) for x in parts.carries]
        stacked: list[list[Sets]] = [[] for _ in loop.step.src[n:]]
        strides = range(loop.length)
        for t in reversed(strides) if loop.reverse else strides:
            sets, known = dict(_used(places.carries, carried)), dict(_used(places.carries, numbers))
            for p, x in inputs:
                sets[p] = _slice_cells(self._sets[x], t, loop.length)
                known[p] = functools.partial(self._slice, x, t, loop.length)
            for p, x in fixed:
                sets[p], known[p] = self._sets[x], functools.partial(self.numbers, x)
            inner = self._inner(sets, known)
            carried = [inner.sets(x) for x in loop.step.src[:n]]
            numbers = [functools.partial(inner.numbers, x) for x in loop.step.src[:n]]
            for ys, x in zip(stacked, loop.step.src[n:], strict=True):
                ys.append(inner.sets(x))
        if loop.reverse:
            stacked = [ys[::-1] for ys in stacked]
        return [*carried, *(list(itertools.chain(*ys)) for ys in stacked)]

    def _slice(self, x: UOp, t: int, length: int) -> Numbers:
        return _slice_cells(self.numbers(x), t, length)

    def _inner(self, sets: Mapping[UOp, Sets], known: Mapping[UOp, Callable[[], Numbers]]) -> _Graph:
        return _Graph(sets, known, self._budget)

    def _numbers_of(self, u: UOp) -> Numbers:
        """Compute the numbers in the cells of `u` from the numbers of its operands.

        For a buffer x = [1, 2]:

        y = x.expand(2, 2)    a movement, which takes the cells 0, 1, 0, 1 of x    [1, 2, 1, 2]
        z = y + 1             an elementwise operation                             [2, 3, 2, 3]
        z.sum(0)              a reduction over every second cell                   [4, 6]
        """
        if u.op is Ops.CONST:
            return [u.val]
        if u.op is Ops.BUFFER:
            return _buffer_numbers(u)
        operands = [self._numbers[s] for s in _cell_operands(u)]
        if u.op is Ops.CAST:
            return [_cast(x, u) for x in operands[0]]
        if u.op in _SAME:
            return operands[0]
        if u.op in GroupOp.ALU:
            try:
                return [exec_alu(u.op, u.dtype, xs) for xs in zip(*_align_cells(u, operands), strict=True)]
            except (KeyError, TypeError):
                raise _UnknownError from None
        if u.op in GroupOp.Movement:
            return [operands[0][i] if i >= 0 else 0 for i in _source_positions(u)]
        if u.op is Ops.REDUCE:
            n, op = _size(u), u.arg[0]
            return [functools.reduce(lambda a, b: exec_alu(op, u.dtype, (a, b)), operands[0][i::n]) for i in range(n)]
        if u.op is Ops.STACK:
            return list(itertools.chain(*operands))
        raise _UnknownError


_SAME = {Ops.CAST, Ops.CONTIGUOUS, Ops.CONTIGUOUS_BACKWARD, Ops.DETACH, Ops.COPY, Ops.MSELECT, Ops.NOOP}
"""Operations that do not move cells.  BITCAST is not among them, because it may change the number of cells."""


def _cell_operands(u: UOp) -> tuple[UOp, ...]:
    """Return the operands that have cells, without sizes and offsets."""
    if u.op in GroupOp.Movement:
        return u.src[:1]
    if (part := copied_part(u)) is not None:
        return part[:1]
    if u.op in {Ops.BUFFER, Ops.CONST, Ops.PARAM, Ops.RANGE}:
        return ()
    if u.op is Ops.GETTUPLE:
        call = u.src[0]
        return (call.src[u.arg],) if call.op is Ops.TUPLE else call.src[1:]
    if u.op is Ops.AFTER:
        return (u.src[0], *(s for w in u.src[1:] for s in _cell_operands(w)))
    if u.op is Ops.STORE:
        return u.src[:2]
    return u.src


def _in_order(root: UOp, *done: Mapping[UOp, Any]) -> list[UOp]:
    """Return the nodes that `root` depends on, in order, followed by `root`."""
    order: list[UOp] = []
    seen: set[UOp] = set()
    stack: list[tuple[UOp, bool]] = [(root, False)]
    while stack:
        u, ready = stack.pop()
        if ready:
            order.append(u)
        elif u not in seen and u not in done[0]:
            seen.add(u)
            stack.append((u, True))
            if all(u not in d for d in done):
                stack += [(s, False) for s in _cell_operands(u)]
    return order


def _shape(u: UOp) -> list[int]:
    sizes = [n for n in u.shape if isinstance(n, int)]
    if len(sizes) < len(u.shape):
        raise _TooLargeError  # a symbolic size allows any number of cells
    return sizes


def _size(u: UOp) -> int:
    return math.prod(_shape(u))


def _axis_offsets(shape: Sequence[int]) -> list[list[int]]:
    """Return, for each axis, the distance of each of its entries from the first cell."""
    strides = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
    return [[i * s for i in range(n)] for n, s in zip(shape, strides, strict=True)]


def _is_of_each_device(u: UOp) -> bool:
    """Return whether the operation selects a different part on each device."""
    return u.op in {Ops.SHRINK, Ops.PAD} and not all_int([x for pair in u.marg for x in pair])


def _source_positions(u: UOp) -> list[int]:
    """Return, for each cell of a movement, the index of the source cell; -1 for padding."""
    if u.op is Ops.RESHAPE:
        return list(range(_size(u)))
    shape, axes = _shape(u), _axis_offsets(_shape(u.src[0]))
    if u.op is Ops.EXPAND:
        axes = [[0] * n for n in shape[: len(shape) - len(axes)]] + axes
    elif u.op is Ops.PERMUTE:
        axes = [axes[a] for a in u.arg]
    elif u.op is Ops.FLIP:
        axes = [axis[::-1] if flips else axis for axis, flips in zip(axes, u.arg, strict=True)]
    elif u.op is Ops.SHRINK:
        axes = [axis[a : a + n] for axis, (a, _), n in zip(axes, u.marg, shape, strict=True)]
    else:
        pads = zip(axes, u.marg, shape, strict=True)
        axes = [[-1] * a + axis + [-1] * (n - a - len(axis)) for axis, (a, _), n in pads]
    return [-1 if -1 in offsets else sum(offsets) for offsets in itertools.product(*axes)]


def _align_cells(u: UOp, operands: Sequence[list[Any]]) -> list[list[Any]]:
    """Broadcast the cells of each operand to the shape of the elementwise `u`."""
    to = _shape(u)
    return [_broadcast_cells(cells, _shape(s), to) for cells, s in zip(operands, u.src, strict=False)]


def _broadcast_cells(cells: list[Any], shape: Sequence[int], to: Sequence[int]) -> list[Any]:
    if shape == to:
        return cells
    axes = [[0] * n for n in to[: len(to) - len(shape)]]
    axes += [
        axis * n if len(axis) == 1 else axis for axis, n in zip(_axis_offsets(shape), to[len(axes) :], strict=True)
    ]
    return [cells[sum(offsets)] for offsets in itertools.product(*axes)]


def _used(places: Sequence[UOp | None], values: Sequence[T]) -> Iterator[tuple[UOp, T]]:
    """Yield the parameters that a body uses, each with its value."""
    return ((p, x) for p, x in zip(places, values, strict=True) if p is not None)


def _slice_cells(cells: list[Any], t: int, length: int) -> list[Any]:
    """Return the cells at index `t` of a leading axis of size `length`."""
    n = len(cells) // length
    return cells[t * n : (t + 1) * n]


def _buffer_numbers(buffer: UOp) -> Numbers:
    """Return the numbers in a realized buffer."""
    if not buffer.is_realized or _size(buffer) > MAX_CELLS:
        raise _UnknownError
    return list(tensor(buffer).tolist())


def _cast(x: Any, u: UOp) -> Any:
    try:
        as_number = u.dtype.const(x)
    except (OverflowError, ValueError):  # inf or NaN as an int: the result differs from device to device
        raise _UnknownError from None
    wrap: Callable[[Any], Any] = truncate.get(u.dtype, lambda n: n)
    return wrap(as_number)
