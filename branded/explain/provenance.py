"""The sources of a cell: for each cell of a result, the cells of the operands that it may depend on.

This is an abstract interpretation of a graph without brands. The abstract value of a cell is a set of operand cells.
An elementwise operation returns the union over its operands, a movement moves the sets, and a reduction returns the
union along its axes. A `where` uses the value of its condition. tinygrad writes `x[i]` as a masked sum, so it depends
only on the selected cell and the index, not on all of `x`. A loop of known length is interpreted step by step.

Law: changing cells that are not in the set of a cell does not change that cell.
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

MOST = 1 << 18
"""The maximum number of cells in all values of a graph; a larger graph is not interpreted."""

NAMED = 1 << 12
"""The maximum number of cells in all operands: a set has a bit for each."""

Sets = list[int]
"""A set of operand cells for each cell, as the bits of an int, because `|` computes unions fast."""
Numbers = list[Any]


def sources(
    out: UOp, operands: Sequence[UOp], values: Sequence[Sequence[Any] | None] = ()
) -> list[list[tuple[int, int]]] | None:
    """Return, for each flat cell of `out`, the cells `(operand, flat cell)` that it may depend on.

    Args:
        out: A graph without brands that contains the operands.
        operands: The values to which the cells are traced.
        values: The flat cells of each operand, if known. A condition that is computed from other values is read from
            their buffers.

    Returns:
        A list for each cell of `out`, ordered by operand and cell; None if there are too many cells.

    Example:
        >>> from branded.explain.provenance import sources
        >>> from tinygrad import Tensor
        >>> a, b = Tensor([1, 2]).realize(), Tensor([3, 4]).realize()
        >>> sources((a.reshape(2, 1) + b).uop, [a.uop, b.uop])
        [[(0, 0), (1, 0)], [(0, 0), (1, 1)], [(0, 1), (1, 0)], [(0, 1), (1, 1)]]
    """
    sets: dict[UOp, Sets] = {}
    known: dict[UOp, Callable[[], Numbers]] = {}
    names: list[tuple[int, int]] = []
    if sum(math.prod(x.max_shape) for x in operands) > NAMED:
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
    """Return, for each cell of a value that entered or left a brand, the cell before."""
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
    """The error for a graph with too many cells."""


class _UnknownError(Exception):
    """The error for a value whose numbers are unknown."""


class _Budget:
    def __init__(self) -> None:
        self.left = MOST

    def spend(self, cells: int) -> None:
        self.left -= cells
        if self.left < 0:
            raise _TooLargeError


class _Graph:
    """The cell sets and numbers of one graph, or of one function call in it."""

    def __init__(self, sets: Mapping[UOp, Sets], known: Mapping[UOp, Callable[[], Numbers]], budget: _Budget) -> None:
        self._sets, self._known, self._budget = dict(sets), known, budget
        self._numbers: dict[UOp, Numbers] = {}
        self._calls: dict[UOp, list[Sets]] = {}

    def sets(self, root: UOp) -> Sets:
        for u in _in_order(root, self._sets):
            self._budget.spend(_size(u))
            self._sets[u] = self._set(u)
        return self._sets[root]

    def numbers(self, root: UOp) -> Numbers:
        for u in _in_order(root, self._numbers, self._known):
            self._budget.spend(_size(u))
            self._numbers[u] = self._known[u]() if u in self._known else self._number(u)
        return self._numbers[root]

    def _set(self, u: UOp) -> Sets:
        below = [self._sets[s] for s in _data(u)]
        if u.op is Ops.WHERE:
            return self._where(u)
        if u.op in GroupOp.Elementwise or u.op in _SAME or copied_part(u) is not None:
            return [functools.reduce(int.__or__, cells, 0) for cells in zip(*_align_cells(u, below), strict=True)]
        if u.op in GroupOp.Movement and not _is_of_each_device(u):
            return [below[0][i] if i >= 0 else 0 for i in _positions(u)]
        if u.op is Ops.REDUCE:
            n = _size(u)
            return [functools.reduce(int.__or__, below[0][i::n], 0) for i in range(n)]
        if u.op is Ops.STACK:
            return list(itertools.chain(*below))
        if u.op is Ops.GETTUPLE:
            return self._sets[u.src[0].src[u.arg]] if u.src[0].op is Ops.TUPLE else self._call(u.src[0])[u.arg]
        if u.op is Ops.AFTER and (sets := self._written(u)) is not None:
            return sets
        return [functools.reduce(int.__or__, itertools.chain(*below), 0)] * _size(u)

    def _where(self, u: UOp) -> Sets:
        flag, yes, no = _align_cells(u, [self._sets[s] for s in u.src])
        try:
            (conditions,) = _align_cells(u, [self.numbers(u.src[0])])
        except _UnknownError:
            return [a | b | c for a, b, c in zip(flag, yes, no, strict=True)]
        return [f | (y if t else n) for f, y, n, t in zip(flag, yes, no, conditions, strict=True)]

    def _written(self, u: UOp) -> Sets | None:
        """Return the sets of a buffer after a write into it or into a view of it, or None."""
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
            inner = _positions(v)
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
            used = [primitive.uses(call, i) for i in range(len(body.src))]
            joined = [
                functools.reduce(int.__or__, itertools.chain(*(self._sets[args[i]] for i in sorted(use))), 0)
                for use in used
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
        used, n = {p.arg.slot: p for p in loop.params()}, loop.carries
        parts, places = loop.cut(args), loop.cut([used.get(i) for i in range(len(args))])
        inputs, fixed = [*_used(places.inputs, parts.inputs)], [*_used(places.fixed, parts.fixed)]
        carried = [self._sets[x] for x in parts.carries]
        numbers: list[Callable[[], Numbers]] = [functools.partial(self.numbers, x) for x in parts.carries]
        stacked: list[list[Sets]] = [[] for _ in loop.step.src[n:]]
        steps = range(loop.length)
        for t in reversed(steps) if loop.reverse else steps:
            sets, known = dict(_used(places.carries, carried)), dict(_used(places.carries, numbers))
            for p, x in inputs:
                sets[p] = _part(self._sets[x], t, loop.length)
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
        return _part(self.numbers(x), t, length)

    def _inner(self, sets: Mapping[UOp, Sets], known: Mapping[UOp, Callable[[], Numbers]]) -> _Graph:
        return _Graph(sets, known, self._budget)

    def _number(self, u: UOp) -> Numbers:
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
        below = [self._numbers[s] for s in _data(u)]
        if u.op is Ops.CAST:
            return [_cast(x, u) for x in below[0]]
        if u.op in _SAME:
            return below[0]
        if u.op in GroupOp.ALU:
            try:
                return [exec_alu(u.op, u.dtype, xs) for xs in zip(*_align_cells(u, below), strict=True)]
            except (KeyError, TypeError):
                raise _UnknownError from None
        if u.op in GroupOp.Movement:
            return [below[0][i] if i >= 0 else 0 for i in _positions(u)]
        if u.op is Ops.REDUCE:
            n, op = _size(u), u.arg[0]
            return [functools.reduce(lambda a, b: exec_alu(op, u.dtype, (a, b)), below[0][i::n]) for i in range(n)]
        if u.op is Ops.STACK:
            return list(itertools.chain(*below))
        raise _UnknownError


_SAME = {
    *(Ops.CAST, Ops.CONTIGUOUS, Ops.CONTIGUOUS_BACKWARD, Ops.DETACH, Ops.COPY, Ops.MSELECT, Ops.NOOP),
}
"""Operations that keep each cell in place, without BITCAST, which may change the number of cells."""


def _data(u: UOp) -> tuple[UOp, ...]:
    """Return the operands with cells, without the sizes and offsets of a movement or the size of a buffer."""
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
        return (u.src[0], *(s for w in u.src[1:] for s in _data(w)))
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
                stack += [(s, False) for s in _data(u)]
    return order


def _shape(u: UOp) -> list[int]:
    sizes = [n for n in u.shape if isinstance(n, int)]
    if len(sizes) < len(u.shape):
        raise _TooLargeError  # a symbolic size allows any number of cells
    return sizes


def _size(u: UOp) -> int:
    return math.prod(_shape(u))


def _strides(shape: Sequence[int]) -> list[int]:
    return [math.prod(shape[i + 1 :]) for i in range(len(shape))]


def _is_of_each_device(u: UOp) -> bool:
    """Return whether the operation selects another part on each device."""
    return u.op in {Ops.SHRINK, Ops.PAD} and not all_int([x for pair in u.marg for x in pair])


def _positions(u: UOp) -> list[int]:
    """Return, for each cell of a movement, the cell that it comes from; -1 for padding."""
    below, shape = _shape(u.src[0]), _shape(u)
    if u.op is Ops.RESHAPE:
        return list(range(_size(u)))
    steps = _strides(below)
    if u.op is Ops.EXPAND:
        axes = [[0] * n for n in shape[: len(shape) - len(below)]]
        axes += [[i * s for i in range(n)] for n, s in zip(below, steps, strict=True)]
    elif u.op is Ops.PERMUTE:
        axes = [[i * steps[a] for i in range(below[a])] for a in u.arg]
    elif u.op is Ops.FLIP:
        axes = [[i * s for i in range(n)] for n, s in zip(below, steps, strict=True)]
        axes = [axis[::-1] if flips else axis for axis, flips in zip(axes, u.arg, strict=True)]
    elif u.op is Ops.SHRINK:
        axes = [[i * s for i in range(a, a + n)] for (a, _), n, s in zip(u.marg, shape, steps, strict=True)]
    else:
        axes = [
            [(i - a) * s if 0 <= i - a < n else -1 for i in range(size)]
            for (a, _), size, n, s in zip(u.marg, shape, below, steps, strict=True)
        ]
    return [-1 if -1 in offsets else sum(offsets) for offsets in itertools.product(*axes)]


def _align_cells(u: UOp, below: Sequence[list[Any]]) -> list[list[Any]]:
    """Return the cells of each operand for each cell of an elementwise `u`: tinygrad aligns to the right."""
    to = _shape(u)
    return [_broadcast_cells(cells, _shape(s), to) for cells, s in zip(below, u.src, strict=False)]


def _broadcast_cells(cells: list[Any], shape: Sequence[int], to: Sequence[int]) -> list[Any]:
    if shape == to:
        return cells
    steps = _strides(shape)
    lead = len(to) - len(shape)
    axes = [[0] * n for n in to[:lead]]
    axes += [[0] * n if m == 1 else [i * s for i in range(n)] for n, m, s in zip(to[lead:], shape, steps, strict=True)]
    return [cells[sum(offsets)] for offsets in itertools.product(*axes)]


def _used(places: Sequence[UOp | None], values: Sequence[T]) -> Iterator[tuple[UOp, T]]:
    """Return the parameters that a body uses, each with its value."""
    return ((p, x) for p, x in zip(places, values, strict=True) if p is not None)


def _part(cells: list[Any], t: int, length: int) -> list[Any]:
    n = len(cells) // length
    return cells[t * n : (t + 1) * n]


def _buffer_numbers(buffer: UOp) -> Numbers:
    """Return the numbers in a realized buffer."""
    if not buffer.is_realized or _size(buffer) > MOST:
        raise _UnknownError
    return list(tensor(buffer).tolist())


def _cast(x: Any, u: UOp) -> Any:
    try:
        as_number = u.dtype.const(x)
    except (OverflowError, ValueError):  # inf or NaN as an int: the result differs from device to device
        raise _UnknownError from None
    cut: Callable[[Any], Any] = truncate.get(u.dtype, lambda n: n)
    return cut(as_number)
