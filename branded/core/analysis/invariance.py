"""Invariance: find in its graph whether a value is the same along an axis, or for all examples of a brand."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import TypeVar, cast

from tinygrad import dtypes
from tinygrad.uop.ops import GroupOp, Ops, UOp

from branded.core.boundary import enter, stack_examples
from branded.graph.primitive import primitive_of, uses
from branded.graph.rows import has_brand, row_of
from branded.graph.scope import Scope, brand_of, scope_at
from branded.graph.tags import is_symbolic_zero, is_tagged
from branded.graph.uops import again, behind, expand, like, permute, reshape

T = TypeVar("T")
_Part = tuple[UOp, "int | Scope"]
_How = tuple[list[_Part], Callable[[Sequence[UOp]], UOp]]


def invariant_slice(x: UOp, axis: int, marks: Collection[UOp] = ()) -> UOp | None:
    """Return `x` without this axis if its graph shows that `x` is the same along it, else None.

        a: f32[3]    x = (a.reshape(1, 3).expand(4, 3) * 2).permute(1, 0)
        invariant_slice(x, 1) is a * 2: it is axis 0 before `permute`, and `expand` created it
        invariant_slice(x, 0) is None: the graph does not show that `a` is constant along its axis

    A value with a tag, such as a leaf of a derivative, counts as different at each place unless `marks` contains it.
    """
    done: dict[_Part, UOp] = {}
    todo: list[_Part] = [(x, axis)]
    while todo:
        if (part := todo[-1]) in done:
            todo.pop()
            continue
        if (derivation := _of(*part, marks)) is None:
            return None
        below, make = derivation
        if missing := [p for p in below if p not in done]:
            todo += missing
            continue
        done[todo.pop()] = make([done[p] for p in below])
    return done[x, axis]


def _of(u: UOp, axis: int | Scope, marks: Collection[UOp]) -> _How | None:
    """Return the operands that must be the same for `u` to be the same, and how to rebuild `u` from them."""
    if not isinstance(axis, int) and axis not in row_of(u):
        return [], lambda _: u
    x = u.src[0] if u.src else u
    if is_tagged(u):
        if is_symbolic_zero(u):  # stays a zero
            return [(x, axis)], lambda xs: again(u, xs[0])
        return ([(x, axis)], lambda xs: xs[0]) if u in marks or u.arg.is_over else None
    return _of_axis(u, x, axis) if isinstance(axis, int) else _of_brand(u, x, axis)


def _of_brand(u: UOp, x: UOp, b: Scope) -> _How | None:
    if u.op is Ops.INDEX and len(u.src) == 2:
        if u.src[1] is b.range:
            return ([(x, 0)], lambda xs: xs[0]) if b not in row_of(x) else None
        return [(x, b)], lambda xs: enter(xs[0], scope_at(u))
    if u.op is Ops.STAGE:
        return [(x, b)], lambda xs: stack_examples(xs[0], scope_at(u))
    if u.op in _EACH or u.op in GroupOp.Movement or u.op in {Ops.REDUCE, Ops.STACK}:
        return [(s, b) for s in u.src], lambda xs: like(u, again(u, *xs))
    if u.op is Ops.GETTUPLE and (p := primitive_of(x)) is not None and p.is_rule and not has_brand(x.src[0]):
        return _of_call(u, x, b)
    return None


def _of_call(u: UOp, call: UOp, b: Scope) -> _How:
    """Apply a function with a rule to unbatched arguments: its result is the same if its arguments are."""
    slots = [slot for slot in sorted(uses(call, u.arg)) if b in row_of(call.src[1 + slot])]

    def make(xs: Sequence[UOp]) -> UOp:
        src = list(call.src)
        for slot, x in zip(slots, xs, strict=True):
            src[1 + slot] = x
        return again(call, *src).gettuple(u.arg)

    return [(call.src[1 + slot], b) for slot in slots], make


def _of_axis(u: UOp, x: UOp, axis: int) -> _How | None:
    if (rule := _BY_OP.get(u.op)) is not None:
        return rule(u, x, axis)
    if u.op is Ops.INDEX and len(u.src) == 2 and (b := brand_of(u.src[1])) is not None:
        return [(x, axis + 1)], lambda xs: enter(xs[0], b)
    if u.op is Ops.GETTUPLE and (p := primitive_of(x)) is not None and u.shape[axis]:
        needed = p.invariant_inputs(x, u.arg, axis)
        return (
            None
            if needed is None
            else ([(x.src[1 + slot], input_axis) for slot, input_axis in needed], lambda _: _first_entry(u, axis))
        )
    return _elementwise_rule(u, axis) if u.op in _EACH else None


def _expand_rule(u: UOp, x: UOp, axis: int) -> _How:
    """Return `x` itself if `expand` created the axis; otherwise the same axis of `x` must be invariant."""
    sizes = cast("tuple[int, ...]", u.shape[: len(u.shape) - len(x.shape)])
    if axis < len(sizes):
        return [], lambda _: expand(x, _without(sizes, axis))
    return [(x, axis - len(sizes))], lambda xs: expand(xs[0], sizes)


def _permute_rule(u: UOp, x: UOp, axis: int) -> _How:
    gone = u.arg[axis]
    order = tuple(i - (i > gone) for i in _without(u.arg, axis))
    return [(x, gone)], lambda xs: permute(xs[0], order)


def _flip_rule(u: UOp, x: UOp, axis: int) -> _How:
    return [(x, axis)], lambda xs: UOp(Ops.FLIP, u.dtype, (xs[0],), _without(u.arg, axis))


def _shrink_rule(u: UOp, x: UOp, axis: int) -> _How:
    """Require that the axis of the operand is invariant: a slice of an invariant axis is invariant."""
    return [(x, axis)], lambda xs: _bounds_without_axis(u, xs[0], axis)


def _pad_rule(u: UOp, x: UOp, axis: int) -> _How | None:
    """Require an invariant axis of the operand; give up if the axis is padded, because the padding differs."""
    return _shrink_rule(u, x, axis) if x.shape[axis] == u.shape[axis] else None


def _reduce_rule(u: UOp, x: UOp, axis: int) -> _How | None:
    """Require an invariant axis of the operand, in which the reduced axes come first."""
    return ([(x, axis + u.arg[1])], lambda xs: again(u, xs[0])) if len(u.src) == 1 else None


def _stage_rule(u: UOp, x: UOp, axis: int) -> _How:
    """Require that the value is the same for all examples if the axis is the leading one, which stacks them."""
    brand = scope_at(u)
    return [(x, axis - 1 if axis else brand)], lambda xs: stack_examples(xs[0], brand) if axis else xs[0]


def _first_entry(u: UOp, axis: int) -> UOp:
    out: UOp = u.shrink(tuple((0, 1 if i == axis else n) for i, n in enumerate(u.shape)))
    return reshape(out, _without(u.shape, axis))


_EACH = {*GroupOp.Unary, *GroupOp.Broadcastable, Ops.CAST, Ops.CONTIGUOUS, Ops.CONTIGUOUS_BACKWARD, Ops.DETACH}


def _elementwise_rule(u: UOp, axis: int) -> _How:
    """Require an invariant axis of each operand that has the axis; operands are aligned to the right."""
    rank, n = len(u.shape), u.shape[axis]
    axes = [axis - rank + len(s.shape) for s in u.src]
    has = [i >= 0 and s.shape[i] == n for s, i in zip(u.src, axes, strict=True)]

    def make(xs: Sequence[UOp]) -> UOp:
        slices = iter(xs)
        one = [reshape(s, _without(s.shape, i)) if i >= 0 else s for s, i in zip(u.src, axes, strict=True)]
        return again(u, *(next(slices) if h else s for h, s in zip(has, one, strict=True)))

    return [(s, i) for s, i, h in zip(u.src, axes, has, strict=True) if h], make


def _reshape_rule(u: UOp, x: UOp, axis: int) -> _How | None:
    shape = _without(u.shape, axis)
    if x.shape == shape:  # a new axis of size 1
        return [], lambda _: x
    front = math.prod(u.shape[:axis])
    for k, n in enumerate(x.shape):
        if (
            n == u.shape[axis]
            and math.prod(x.shape[:k]) == front
            and math.prod(_without(x.shape, k)) == math.prod(shape)
        ):
            return [(x, k)], lambda xs: reshape(xs[0], shape)
    return None


_BY_OP: dict[Ops, Callable[[UOp, UOp, int], _How | None]] = {
    Ops.EXPAND: _expand_rule,
    Ops.PERMUTE: _permute_rule,
    Ops.RESHAPE: _reshape_rule,
    Ops.FLIP: _flip_rule,
    Ops.SHRINK: _shrink_rule,
    Ops.PAD: _pad_rule,
    Ops.REDUCE: _reduce_rule,
    Ops.STAGE: _stage_rule,
}


def _bounds_without_axis(u: UOp, x: UOp, axis: int) -> UOp:
    """Apply the padding or shrinking `u` to the other axes."""
    begins, sizes = (_without(s.src if s.op is Ops.STACK else (s,), axis) for s in u.src[1:])
    return again(u, x, behind(begins, _NO_SIZES), behind(sizes, _NO_SIZES)) if begins else x


_NO_SIZES = UOp(Ops.STACK, dtypes.void)


def _without(xs: Sequence[T], i: int) -> tuple[T, ...]:
    return (*xs[:i], *xs[i + 1 :])
