"""Ways to compute a sum of products by BLAS, and their costs compared with a kernel."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tinygrad.dtype import DType
from tinygrad.uop.ops import AxisType, Ops, UOp

from branded.backends.cpu.gemm.blas import Beginning, Multiplication, OuterAxis, Product
from branded.backends.cpu.gemm.contraction import Contraction, contraction
from branded.backends.cpu.gemm.layout import product
from branded.backends.cpu.renderer import loops as kernels

FACTORS = 5
"""The maximum number of factors of a product that is considered."""

CALL, LAUNCH = 50.0, 150.0
"""A call of BLAS, and an additional kernel."""
IN_MATRIX, IN_VECTOR, TURNED = 0.025, 0.1, 0.5
"""A multiplication in a matrix-matrix product and in a matrix-vector one; an element of a transposed right side."""
ROWS, COLUMNS = 6, 16
"""The least rows of a contraction and the multiple of its columns that take as long as fewer ones."""
COLUMN, RUN_IN_PANEL = 6.0, 3.0
"""A column of a contraction, and a run of contiguous columns that it packs."""
IN_KERNEL, IN_KERNEL_OF_VECTOR = 0.09, 0.12
"""The same multiplications in one of tinygrad's kernels."""
IN_KERNEL_OF_WINDOWS = 0.2
"""The same multiplications where an array is read in overlapping windows, as in a convolution."""
IN_KERNEL_OF_SMALL_WINDOWS, SMALL_WINDOW = 0.07, 32
"""The same in windows of up to `SMALL_WINDOW` elements, where tinygrad unrolls the sum."""
IN_LOOPS, IN_LOOPS_OF_VECTOR = 0.036, 0.08
"""The same multiplications in a kernel of plain loops."""
ROW_OF_WINDOWS = 10.0
"""The sum of each row of overlapping windows in a kernel of plain loops, in addition to the multiplications."""
IN_COLUMN, DOWN = 0.4, 40
"""A multiplication in a kernel down a column of more than `DOWN` rows, which is a serial chain of additions."""
ELEMENT, ELEMENT_IN_ORDER, FAR, NEAR = 0.6, 0.2, 0.3, 1 << 18
"""Precomputing an element of a factor, or writing and reading a sum; more for arrays larger than the cache."""
ALONE, TOGETHER = 5.0, 0.5
"""An `exp` or similar operation alone, as after each sum of a kernel, and as one of many in a vector loop."""
ELEMENT_AGAIN, LEAST = 0.05, 1 << 13
"""Reading a precomputed element in each turn of a loop; below `LEAST` elements, recomputing is cheaper."""
STEPS = 16
"""The assumed number of steps of a loop, which a compiled step does not know."""
SMALL, SHARE = 1 << 23, 2
"""The bytes allowed for new buffers, in addition to the bytes of the kernel's own arrays divided by `SHARE`."""


class Strides(NamedTuple):
    """An affine index: an offset, and the stride of each loop and variable."""

    offset: int
    of: dict[UOp, int]

    def plus(self, other: Strides) -> Strides:
        of = {r: self.of.get(r, 0) + other.of.get(r, 0) for r in {**self.of, **other.of}}
        return Strides(self.offset + other.offset, {r: n for r, n in of.items() if n})

    def times(self, k: int) -> Strides:
        return Strides(self.offset * k, {r: n * k for r, n in self.of.items() if n * k})


def strides(index: UOp) -> Strides | None:
    """Return the strides of an affine index, or None for any other index.  With loops i and j:

    (i * 4 + j) * 2 + 1    Strides(1, {i: 8, j: 2})      i * j + 1    None
    """
    if index.op is Ops.CONST:
        return Strides(index.val, {}) if isinstance(index.val, int) else None
    if index.op is Ops.RANGE or (index.op is Ops.PARAM and index.arg.slot == -1):
        return Strides(0, {index: 1})
    if index.op is Ops.CAST:
        return strides(index.src[0])
    if index.op not in (Ops.ADD, Ops.MUL):
        return None
    left, right = map(strides, index.src)
    if left is None or right is None:
        return None
    if index.op is Ops.ADD:
        return left.plus(right)
    if left.of and right.of:
        return None
    return left.times(right.offset) if left.of else right.times(left.offset)


class Access(NamedTuple):
    """A buffer, read or written at an affine index."""

    slot: int
    place: Beginning
    of: dict[UOp, int]
    variable: UOp | None


def affine_access(u: UOp, dtype: DType) -> Access | None:
    """Return the access of an INDEX of a parameter, or None if its index is not affine."""
    if u.op is not Ops.INDEX or len(u.src) != 2 or u.dtype != dtype:
        return None
    buffer, index = u.src
    if buffer.op is not Ops.PARAM or buffer.arg.slot < 0 or (found := strides(index)) is None:
        return None
    variables = [r for r in found.of if r.op is not Ops.RANGE]
    if len(variables) > 1:
        return None
    v = variables[0] if variables else None
    of = {r: n for r, n in found.of.items() if r.op is Ops.RANGE}
    return Access(buffer.arg.slot, Beginning(found.offset, found.of[v] if v is not None else 0), of, v)


def size(r: UOp) -> int:
    return int(r.src[0].val)


def elements(ranges: Iterable[UOp]) -> int:
    return math.prod(map(size, ranges))


def transfer_cost(ranges: Iterable[UOp], each: float = ELEMENT_IN_ORDER) -> float:
    """Return the cost of writing and reading an array."""
    n = elements(ranges)
    return each * n + FAR * max(n - NEAR, 0)


class Factors(NamedTuple):
    """An operand of the product: the product of its factors, and the loops that they depend on."""

    factors: tuple[UOp, ...]
    ranges: frozenset[UOp]

    @property
    def value(self) -> UOp:
        return functools.reduce(lambda x, y: x * y, self.factors)


def factors_of(u: UOp) -> Iterator[UOp]:
    if u.op is Ops.MUL:
        for s in u.src:
            yield from factors_of(s)
    else:
        yield u


def _groupings(factors: Sequence[UOp], sums: frozenset[UOp]) -> Iterator[tuple[Factors, Factors]]:
    """Yield the ways to group factors into two operands that both have every summed axis and differ in another one."""
    ranges = [frozenset(u.ranges) for u in factors]
    for chosen in range(1, 1 << (len(factors) - 1)):
        two: list[list[int]] = [[], []]
        for i in range(len(factors)):
            two[chosen >> i & 1].append(i)
        a, b = (Factors(tuple(factors[i] for i in g), frozenset().union(*(ranges[i] for i in g))) for g in two)
        if sums <= a.ranges & b.ranges and a.ranges != b.ranges:
            yield a, b


class ProductPlan(NamedTuple):
    """A way to compute a sum of products."""

    cost: float
    product: Multiplication
    variable: UOp | None
    before: tuple[tuple[Factors, Access], ...]
    """The operands to precompute, and the arrays that receive them."""
    a: Access
    b: Access
    out: Access


NEW = 1 << 16
"""The first slot of new buffers."""


def new_array(slot: int, ranges: Iterable[UOp], near: Sequence[Mapping[UOp, int]] = ()) -> Access:
    """Return a new array with these axes, ordered as in the existing arrays `near`."""

    def key(r: UOp) -> tuple[Any, ...]:
        return (*(-of.get(r, 0) for of in near), r.arg)

    return array_in_order(slot, sorted(ranges, key=key))


def array_in_order(slot: int, axes: Sequence[UOp]) -> Access:
    """Return a new array with these axes in this order."""
    of, step = dict[UOp, int](), 1
    for r in reversed(axes):
        of[r], step = step, step * size(r)
    return Access(slot, Beginning(), of, None)


def _operand_layouts(x: Factors, other: Factors, red: UOp, result: Access, slot: int) -> Iterator[Access]:
    """Yield the existing layout of an operand and possible precomputed layouts; BLAS accepts both sides transposed."""
    if (there := _access_of(x, red.dtype)) is not None:
        yield there
    other_access = _access_of(other, red.dtype)
    own, near = x.ranges - {*red.src[1:]}, [result.of, other_access.of if other_access is not None else {}]
    yield new_array(slot, x.ranges, [dict.fromkeys(own, 1), *near])
    others = [n for r, n in result.of.items() if r not in x.ranges]
    inner = {r for r in own if others and result.of[r] < min(others)}
    if inner:  # axes that are contiguous in the result come last, after the summed ones
        order = {r: 0 if r in inner else 2 if r in own else 1 for r in x.ranges}
        yield new_array(slot, x.ranges, [order, *near])


def _access_of(x: Factors, dtype: DType) -> Access | None:
    """Return the operand's access if it is a buffer that has all its axes, else None."""
    found = affine_access(x.factors[0], dtype) if len(x.factors) == 1 else None
    return found if found is not None and found.of.keys() == x.ranges else None


def _in_order(x: Factors, to: Access) -> bool:
    """Return whether the loop that computes the operand accesses memory contiguously."""
    return kernels.in_order(indices(x.factors), min(to.of, key=to.of.__getitem__))


def indices(us: Iterable[UOp]) -> list[UOp]:
    return [u.src[1] for u in UOp.sink(*us).toposort() if u.op is Ops.INDEX]


def plan(
    red: UOp,
    by: float,
    out: Access | None,
    after: float,
    slot: int,
    limit: int,
    over: Sequence[UOp],
    always: bool = False,
    fixed: Collection[int] = (),
) -> ProductPlan | None:
    """Return the best way to compute a sum, times a number, by BLAS, or None if a kernel is faster.

    The sum may go directly to `out`.  `after` is the cost of the operations that follow.  New arrays use the slots from
    `slot` on, and at most `limit` bytes.  `always` returns the best way even if a kernel is faster.  The arrays in the
    slots `fixed` are the same in each step of a loop.
    """
    sums, factors = frozenset(red.src[1:]), list(factors_of(red.src[0]))
    every = sums | frozenset(red.ranges)
    alpha = by * math.prod(float(u.val) for u in factors if u.op is Ops.CONST)
    factors = [u for u in factors if u.op is not Ops.CONST]
    if any(u.dtype != red.dtype for u in factors) or not all(map(is_plain, every)):
        return None
    if len(factors) < 2 or len(factors) > FACTORS or not math.isfinite(alpha) or not alpha:
        return None
    if not always and after >= _max_saving(red, every, over):
        return None
    best: ProductPlan | None = None
    result = out or new_array(slot, red.ranges, [])
    for a, b in _groupings(factors, sums):
        ways = _operand_layouts(a, b, red, result, slot + 1), _operand_layouts(b, a, red, result, slot + 2)
        for places in itertools.product(*map(list, ways)):
            for found in _plan_for_layouts(red, (a, b), places, result, limit, alpha, fixed, (slot + 1, slot + 2)):
                best = found if best is None or found.cost < best.cost else best
    if best is None or always:
        return best
    each = _kernel_cost_each(red, best.product.is_vector, bool(best.before), over)
    kernel = elements(every) * each + sum(_recompute_cost(x, every) for x, _ in best.before)
    return best if best.cost + after < kernel else None


def _max_saving(red: UOp, every: Collection[UOp], over: Sequence[UOp]) -> float:
    """Return an upper bound of the cost that BLAS saves for a sum, to skip the search for the best way."""
    if slow_operations(red):
        return math.inf
    return elements(every) * (_kernel_cost_each(red, True, False, over) - IN_MATRIX) - CALL


def _recompute_cost(x: Factors, every: Collection[UOp]) -> float:
    """Return the cost of the slow operations of an operand that a kernel with these loops recomputes or precomputes."""
    slow = slow_operations(UOp.sink(*x.factors))
    turns = elements(every) // elements(x.ranges)
    copying = LAUNCH + transfer_cost(x.ranges) + ELEMENT_AGAIN * elements(every)
    return min(slow * TOGETHER * elements(x.ranges) * (turns - 1), copying)


def _kernel_cost_each(red: UOp, is_vector: bool, has_before: bool, over: Sequence[UOp]) -> float:
    """Return the cost of a multiplication if the sum is left to a kernel with these loops.

    It is higher if the sum is a product with a vector, and may be lower if BLAS needs precomputed operands.
    """
    inner = max(red.src[1:], key=lambda r: r.arg)
    in_windows = any(map(_is_in_windows, red.src[0].toposort()))
    if kernels.reduces_in_order(red, inner):
        return (IN_LOOPS_OF_VECTOR if is_vector else IN_LOOPS) + ROW_OF_WINDOWS / size(inner) * in_windows
    down = size(inner) > DOWN and any((kernels.step(i, inner) or 0) > 1 for i in indices([red.src[0]]))
    is_alone = bool(over) and frozenset(red.ranges) == frozenset(over)
    is_narrow = is_alone and kernels.is_narrow(red, inner, max(over, key=lambda r: r.arg))
    if down and not (is_narrow or (in_windows and has_before)):
        return IN_COLUMN
    if in_windows:
        return IN_KERNEL_OF_SMALL_WINDOWS if elements(red.src[1:]) <= SMALL_WINDOW else IN_KERNEL_OF_WINDOWS
    return IN_KERNEL_OF_VECTOR if is_vector else IN_KERNEL


def _is_in_windows(u: UOp) -> bool:
    """Return whether the loops around a read visit elements several times, as overlapping windows do."""
    found = affine_access(u, u.dtype)
    return found is not None and _overlaps(found)


def _overlaps(x: Access) -> bool:
    return elements(x.of) > 1 + sum(n * (size(r) - 1) for r, n in x.of.items() if n > 0)


def array_for_sum(red: UOp, value: UOp, to: UOp, slot: int) -> Access | None:
    """Return where to store a sum that plain loops compute before the rest of `value`, or None to keep one kernel.

    Slow operations after each sum run element by element; a separate kernel vectorizes them.
    """
    within = red.backward_slice_with_self
    after = [u for u in value.toposort() if u not in within]
    slow = sum(u.op in kernels.DEAR for u in after)
    if slow * (ALONE - TOGETHER) * elements(red.ranges) <= LAUNCH + transfer_cost(red.ranges):
        return None
    found = affine_access(to, value.dtype)
    out = new_array(slot, red.ranges, [] if found is None else [found.of])
    inner, indices = min(out.of, key=out.of.__getitem__), [u.src[1] for u in after if u.op is Ops.INDEX]
    sums = max(red.src[1:], key=lambda r: r.arg)
    return out if kernels.in_order(indices, inner) and kernels.reduces_in_order(red, sums) else None


def slow_operations(u: UOp) -> int:
    """Return the number of slow operations that a value takes."""
    return sum(x.op in kernels.DEAR for x in u.toposort())


def is_plain(r: UOp) -> bool:
    return r.op is Ops.RANGE and r.src[0].op is Ops.CONST and r.arg[-1] is not AxisType.DEVICE


def _is_fixed(x: Factors, fixed: Collection[int]) -> bool:
    """Return whether an operand has the same values in each step of a loop, so that only the first step stores it."""
    return all(u.arg.slot in fixed for u in UOp.sink(*x.factors).toposort() if u.op is Ops.PARAM)


def _plan_for_layouts(
    red: UOp,
    pair: Sequence[Factors],
    places: Sequence[Access],
    result: Access,
    limit: int,
    alpha: float,
    fixed: Collection[int],
    slots: Collection[int],
) -> Iterator[ProductPlan]:
    """Yield the ways to multiply with these layouts; operands in one of the new `slots` are precomputed."""
    a, b = places
    before = [(x, to) for x, to in zip(pair, places, strict=True) if to.slot in slots]
    variables = list(dict.fromkeys(x.variable for x in (a, b, result) if x.variable is not None))
    extra = sum(elements(to.of) for to in (result, *(to for _, to in before)) if to.slot >= NEW)
    if len(variables) > 1 or extra * red.dtype.itemsize > limit:
        return
    every = {*red.src[1:], *red.ranges}
    axes = [OuterAxis(size(r), a.of.get(r, 0), b.of.get(r, 0), result.of.get(r, 0)) for r in every]
    copying = 0.0
    for x, to in before:
        each = LAUNCH + transfer_cost(x.ranges, ELEMENT_IN_ORDER if _in_order(x, to) else ELEMENT)
        copying += each / STEPS if _is_fixed(x, fixed) else each
    ways = list[tuple[float, tuple[Multiplication, bool]]]()
    if (found := product(axes, red.dtype, a.place, b.place, result.place, alpha)) is not None:
        ways.append((_product_cost(found[0]), found))
    if not before and (_overlaps(a) or _overlaps(b)):  # else a copy is as small as the operand
        other = contraction(axes, red.dtype, a.place, b.place, result.place, alpha)
        ways += [(_contraction_cost(other[0]), other)] if other is not None else []
    for cost, (p, is_turned) in ways:
        first, second = (b, a) if is_turned else (a, b)
        variable = variables[0] if variables else None
        yield ProductPlan(cost + copying, p, variable, tuple(before), first, second, result)


def _product_cost(p: Product) -> float:
    calls, work = math.prod(x.size for x in p.loops), p.multiplications
    cost = calls * CALL + work * (IN_VECTOR if p.is_vector else IN_MATRIX)
    return cost + calls * p.k * p.n * TURNED if p.b_is_transposed and not p.a_is_transposed else cost


def _contraction_cost(p: Contraction) -> float:
    columns = math.ceil(p.n / COLUMNS) * COLUMNS
    last = p.columns[-1]
    packing = RUN_IN_PANEL / min(last.size, COLUMNS) if last.b == 1 else ELEMENT
    batches = p.multiplications // (p.m * p.n * p.k)
    work = IN_MATRIX * columns * max(p.m, ROWS) + packing * p.n + ELEMENT * p.m
    return LAUNCH + batches * (COLUMN * p.n + work * p.k)
