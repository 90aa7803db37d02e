"""Loops, branches and exchanges of values: the checks of their arguments that need shapes or lengths."""

from __future__ import annotations

from collections import Counter

from mypy.nodes import Context

from branded.mypy.axes.types import known_length, unify_axes
from branded.mypy.codes import AXES, AXIS_RANGE, CARRY, DERIVATIVE
from branded.mypy.shapes import tensors
from branded.mypy.shapes.state import FileState
from branded.mypy.shapes.values import (
    UNKNOWN,
    Arguments,
    Class,
    Const,
    Fact,
    Mutable,
    Shaped,
    Size,
    Tuple,
    as_number,
    items_of,
    join,
)


def control(run: FileState, name: str, given: Arguments, at: Context) -> Fact:
    """Return the value of a loop or a branch, if all steps or branches give the same."""
    p = given.positional
    if name == "cond" and len(p) > 2:
        fix = "try:   use .any() or .all(), where() for an elementwise choice, or vmap for one choice per example"
        _check_scalar(run, p[0], "cond: the predicate", fix, at)
        results = [run.call(f, Arguments(p[3:]), at) for f in p[1:3]]
        return join(*results)
    if name == "fori_loop" and len(p) == 4:
        after = run.call(p[2], Arguments([Size(), p[3]]), at)
        check_carry(run, name, p[3], after, at)
        return join(p[3], after)
    if name == "while_loop" and len(p) == 3:
        fix = "try:   return a scalar bool: use a comparison, .any() or .all()"
        _check_scalar(run, run.call(p[0], Arguments([p[2]]), at), "while_loop: the condition", fix, at)
        after = run.call(p[1], Arguments([p[2]]), at)
        check_carry(run, name, p[2], after, at)
        return join(p[2], after)
    return UNKNOWN


def _check_scalar(run: FileState, value: Fact, what: str, fix: str, at: Context) -> None:
    if isinstance(value, Shaped) and value.axes and not run.declared_only:
        run.report(at, CARRY, f"{what} has the shape {tensors.format_axes(value.axes)}, and is not a scalar", fix)


def check_carry(run: FileState, name: str, before: Fact, after: Fact, at: Context) -> None:
    """Report a carry whose shape changes from step to step."""
    fix = "try:   reshape it, before the loop or in the body, so that the two agree"
    _check_same(run, before, after, f"{name}: carry changes its shape from step to step", "before", "after", fix, at)


def _check_same(run: FileState, a: Fact, b: Fact, message: str, first: str, second: str, fix: str, at: Context) -> None:
    if isinstance(a, Shaped) and isinstance(b, Shaped):
        if a.axes is None or b.axes is None:
            return
        pairs = list(zip(a.axes, b.axes, strict=False))
        lengths = [(known_length(x), known_length(y)) for x, y in pairs]
        differ = any(x is not None and y is not None and x != y for x, y in lengths)
        if len(a.axes) != len(b.axes) or differ or any(unify_axes(x, y) is None for x, y in pairs):
            shown = (f"{n}: {tensors.format_axes(v.axes)}" for n, v in ((first, a), (second, b)) if v.axes is not None)
            run.report(at, DERIVATIVE if "tangent" in message else CARRY, message, *shown, fix)
        return
    xs, ys = items_of(a), items_of(b)
    if isinstance(a, Mutable) and isinstance(b, Mutable) and xs is None and a.items and b.items:
        same = a.items.keys() == b.items.keys()
        xs, ys = (list(a.items.values()), [b.items[k] for k in a.items]) if same else (None, None)
    for x, y in zip(xs, ys, strict=True) if xs is not None and ys is not None and len(xs) == len(ys) else ():
        _check_same(run, x, y, message, first, second, fix, at)


def jvp(run: FileState, given: Arguments, at: Context) -> Fact:
    """Return the value and the tangent of `jvp(f, primals, tangents)`."""
    f, primals, tangents = given.get(0, "f"), given.get(1, "primals"), given.get(2, "tangents")
    args = items_of(primals)
    if f is None or args is None or tangents is None:
        return UNKNOWN
    message = "jvp: the tangent of a primal has another shape"
    fix = "try:   use the same shape"
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
    size = next((n for opened, n in reversed(run.opened) if name is not None and is_name(opened, name)), None)
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


def is_name(opened: Fact, name: Fact) -> bool:
    """Return whether a collective names the brand of a vmap."""
    if isinstance(opened, Class) and isinstance(name, Class):
        return opened.info is name.info
    return isinstance(opened, Const) and opened == name and isinstance(name, Const)
