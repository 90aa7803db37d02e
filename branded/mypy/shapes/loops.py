"""Loops, branches, `jvp` and `ppermute`: their values, and the checks that need shapes or lengths."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import reduce

from mypy.nodes import Context

from branded.mypy.axes.types import known_length, unify_axes
from branded.mypy.codes import AXES, AXIS_RANGE, CARRY, DERIVATIVE
from branded.mypy.rows.algebra import UNKNOWN as ANY_AXIS
from branded.mypy.shapes.axes import format_axes
from branded.mypy.shapes.brands import close_brand, is_name, map_leaves, open_brand, report_kept, with_brand
from branded.mypy.shapes.rules import dtypes
from branded.mypy.shapes.state import FileState
from branded.mypy.shapes.values import (
    UNKNOWN,
    Arguments,
    Fact,
    FollowedBrand,
    Mutable,
    Shaped,
    Size,
    Tuple,
    add_brands,
    as_number,
    brands_of,
    is_number,
    is_tree,
    items_of,
    join,
    list_of,
)


def control(run: FileState, name: str, given: Arguments, at: Context) -> Fact:
    """Return the value of a loop or a branch, if all steps or branches give the same."""
    p = given.positional
    if name == "cond" and len(p) > 2:
        fix = "try:   use .any() or .all(), where() for an elementwise choice, or vmap for one choice per example"
        _check_scalar(run, p[0], "cond: the predicate", fix, at)
        results = [run.call(f, Arguments(p[3:]), at) for f in p[1:3]]
        brands = brands_of(p[0])  # a predicate without brands chooses one branch
        if brands:
            _check_branches(run, "cond", results, ("true_fun", "false_fun"), at)
        return add_brands(join_carries(*results) if brands else join(*results), brands)
    if name == "switch" and len(p) > 1:
        fix = "try:   use a scalar index, or vmap for one choice per example"
        _check_scalar(run, p[0], "switch: the index", fix, at)
        dtypes.reject(run, p[0], ("float",), "switch: the index is {}, not an int", 'use .cast("int32")', at, CARRY)
        results = [run.call(f, Arguments(p[2:]), at) for f in items_of(p[1]) or ()]
        if brands_of(p[0]):
            _check_branches(run, "switch", results, [f"branches[{i}]" for i in range(len(results))], at)
        return add_brands(reduce(join, results), brands_of(p[0])) if results else UNKNOWN
    if name == "fori_loop" and len(p) == 4:
        for bound, end in zip(p[:2], ("lower", "upper"), strict=True):
            wrong, fix = f"fori_loop: {end} is {{}}, not one int", "pass an int, or an int tensor"
            dtypes.reject(run, bound, ("float",), wrong, fix, at, CARRY)
        with step_of_loop(run, name, p[2], p[3], at) as (carry, brand):
            after = run.call(p[2], Arguments([Size(), carry]), at)
        return result_of_loop(run, name, p[3], close_brand(after, brand), at)
    if name == "while_loop" and len(p) == 3:
        fix = "try:   return a scalar bool: use a comparison, .any() or .all()"
        with step_of_loop(run, name, p[1], p[2], at) as (carry, brand):
            goes_on = run.call(p[0], Arguments([carry]), at)
            _check_scalar(run, goes_on, "while_loop: the condition", fix, at)
            wrong = "while_loop: the condition is {}, not a scalar bool"
            dtypes.reject(run, goes_on, ("weakint", "int", "float"), wrong, fix.removeprefix("try:").strip(), at, CARRY)
            after = run.call(p[1], Arguments([carry]), at)
            condition = run.call(p[0], Arguments([join_carries(carry, after)]), at)
        result = result_of_loop(run, name, p[2], close_brand(after, brand), at)
        brands = brands_of(condition) - {brand}  # each example has its own number of steps
        return map_leaves(result, lambda x: add_brands(x, brands))
    if name == "associative_scan" and len(p) == 2:
        return _associative_scan(run, p[0], p[1], at)
    return UNKNOWN


def _associative_scan(run: FileState, f: Fact, elems: Fact, at: Context) -> Fact:
    """Return the value of `associative_scan(f, elems)`: the function combines many elements of the first axis."""
    if run.declared_only or not isinstance(elems, Shaped) or elems.axes is None:
        return map_leaves(elems, lambda x: Shaped(None, brands_of(x)))
    if not elems.axes:
        fix = "try:   pass a value with at least one axis"
        run.report(at, AXIS_RANGE, "associative_scan: axis 0 is out of range for a 0-d tensor", fix)
        return Shaped(None, elems.brands)
    some = Shaped((ANY_AXIS, *elems.axes[1:]), elems.brands)
    result = run.call(f, Arguments([some, some]), at)
    fix = "try:   return a value of the same shape as one operand"
    _check_same(run, some, result, "associative_scan: the result changes its shape", "operand", "result", fix, at)
    return add_brands(elems, brands_of(result))


@contextmanager
def step_of_loop(run: FileState, name: str, f: Fact, value: Fact, at: Context) -> Iterator[tuple[Fact, FollowedBrand]]:
    """Follow the body of a loop, in which no carry and no entry of a step has a value to read."""
    brand = open_brand(run, f, None, at, name)
    first, opened = len(run.stores), list_of([])
    run.opened.append(brand)
    run.sizes.append(None)
    try:
        yield value if run.declared_only else with_brand(value, brand), brand
    finally:
        run.opened.pop()
        run.sizes.pop()
        report_kept(run, brand, opened, first)


def result_of_loop(run: FileState, name: str, before: Fact, after: Fact, at: Context) -> Fact:
    """Return the carry after a loop, with the brands that a step adds."""
    check_carry(run, name, before, after, at)
    return join_carries(before, after)


def join_carries(before: Fact, after: Fact) -> Fact:
    """Return the facts that hold for both carries, with the brands of both."""
    if isinstance(before, Shaped) and isinstance(after, Shaped):
        return add_brands(join(before, after), before.brands | after.brands)
    if isinstance(before, Tuple) and isinstance(after, Tuple) and len(before.items) == len(after.items):
        return Tuple(tuple(map(join_carries, before.items, after.items)))
    if isinstance(before, Mutable) and isinstance(after, Mutable) and is_tree(before):
        xs, ys = before.items, after.items
        if xs is not None and ys is not None and xs.keys() == ys.keys():
            return before.with_items({k: join_carries(xs[k], ys[k]) for k in xs})
    return join(before, after)


def _check_scalar(run: FileState, value: Fact, what: str, fix: str, at: Context) -> None:
    if isinstance(value, Shaped) and value.axes and not run.declared_only:
        run.report(at, CARRY, f"{what} has the shape {format_axes(value.axes)}, and is not a scalar", fix)


def check_carry(run: FileState, name: str, before: Fact, after: Fact, at: Context) -> None:
    """Report a carry whose shape or dtype changes from step to step; a number is a carry without axes."""
    before, after = (map_leaves(v, lambda x: Shaped(()) if is_number(x) else x) for v in (before, after))
    before = map_leaves(before, dtypes.of_carry)
    fix = "try:   cast or reshape it, before the loop or in the body, so that the two agree"
    _check_same(run, before, after, f"{name}: carry changes its type from step to step", "before", "after", fix, at)


def _check_branches(run: FileState, name: str, results: Sequence[Fact], labels: Sequence[str], at: Context) -> None:
    """Report branches that return different shapes or dtypes."""
    fix = "try:   cast or reshape one of them, so that the two agree"
    for result, label in zip(results[1:], labels[1:], strict=True):
        if not run.declared_only:
            message = f"{name}: the branches return different types"
            _check_same(run, results[0], result, message, labels[0], label, fix, at)


def _check_same(run: FileState, a: Fact, b: Fact, message: str, first: str, second: str, fix: str, at: Context) -> None:
    if isinstance(a, Shaped) and isinstance(b, Shaped):
        if _has_other_shape(a, b) or dtypes.differ(a.dtype, b.dtype):
            shown = (f"{n}: {dtypes.show(v, other)}" for n, v, other in ((first, a, b), (second, b, a)))
            run.report(at, DERIVATIVE if "tangent" in message else CARRY, message, *shown, fix)
        return
    xs, ys = items_of(a), items_of(b)
    if isinstance(a, Mutable) and isinstance(b, Mutable) and xs is None and a.items and b.items:
        same = a.items.keys() == b.items.keys()
        xs, ys = (list(a.items.values()), [b.items[k] for k in a.items]) if same else (None, None)
    for x, y in zip(xs, ys, strict=True) if xs is not None and ys is not None and len(xs) == len(ys) else ():
        _check_same(run, x, y, message, first, second, fix, at)


def _has_other_shape(a: Shaped, b: Shaped) -> bool:
    if a.axes is None or b.axes is None:
        return False
    pairs = list(zip(a.axes, b.axes, strict=False))
    lengths = [(known_length(x), known_length(y)) for x, y in pairs]
    differ = any(x is not None and y is not None and x != y for x, y in lengths)
    return len(a.axes) != len(b.axes) or differ or any(unify_axes(x, y) is None for x, y in pairs)


def jvp(run: FileState, given: Arguments, at: Context) -> Fact:
    """Return the value and the tangent of `jvp(f, primals, tangents)`."""
    f, primals, tangents = given.get(0, "f"), given.get(1, "primals"), given.get(2, "tangents")
    args = items_of(primals)
    if f is None or args is None or tangents is None:
        return UNKNOWN
    message = "jvp: the tangent of a primal has another shape or dtype"
    fix = "try:   use the same shape and dtype"
    for i, x in enumerate(args, 1):
        dtypes.check_float(run, "jvp", x, f"argument {i}", at)
    if not run.declared_only:
        _check_same(run, Tuple(tuple(args)), tangents, message, "primal", "tangent", fix, at)
    out = run.call(f, Arguments(args), at)
    return Tuple((out, out))


def ppermute(run: FileState, given: Arguments, at: Context) -> Fact:
    """Return the value of `ppermute(x, name, perm)`, whose pairs have different sources and different destinations."""
    x, name = given.get(0, "x"), given.get(1, "axis_name")
    pairs = [items_of(pair) for pair in items_of(given.get(2, "perm")) or []]
    ends = [[as_number(i) for i in pair] for pair in pairs if pair is not None]
    known = [(a, b) for a, b in (pair for pair in ends if len(pair) == 2) if a is not None and b is not None]
    opened = list(zip(run.opened, run.sizes, strict=True))
    size = next((n for brand, n in reversed(opened) if name is not None and is_name(brand.name, name)), None)
    if run.declared_only:  # types have no lengths
        return x or UNKNOWN
    for pair in known:
        if any(i < 0 or (size is not None and i >= size) for i in pair):
            fix = "try:   use pairs (source, destination) of indices" + (f" from 0 to {size - 1}" if size else "")
            run.report(at, AXIS_RANGE, f"ppermute: {pair} is not a pair of examples", fix)
            return x or UNKNOWN
    if any(n > 1 for i in (0, 1) for n in Counter(pair[i] for pair in known).values()):
        fix = "try:   give each example at most one source and one destination"
        run.report(at, AXES, "ppermute: perm has a duplicate source or destination", fix)
    return x or UNKNOWN
