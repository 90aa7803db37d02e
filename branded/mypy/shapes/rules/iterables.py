"""Functions of Python that take iterables (`zip`, `map`, `reduce`, those of `itertools`), and unpacking."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from itertools import combinations, pairwise, product

from mypy.nodes import CallExpr, Context, Expression, NameExpr, StarExpr, TupleExpr

from branded.mypy.axes.types import known_length
from branded.mypy.codes import SHAPE
from branded.mypy.shapes.axes import format_axes
from branded.mypy.shapes.state import FileState
from branded.mypy.shapes.values import (
    NONE,
    UNKNOWN,
    Arguments,
    Const,
    Fact,
    LibraryName,
    Shaped,
    Size,
    Stream,
    Tuple,
    as_number,
    is_any_axis,
    items_of,
    join,
    list_of,
)

LONGEST = 64
"""The maximum length of a list whose items are known."""
Rule = Callable[[FileState, Arguments, Context], Fact]


def _zip(run: FileState, given: Arguments, at: Context) -> Fact:
    each = [run.iterate(v) for v in given.positional]
    if not each or all(e is None for e in each):
        return UNKNOWN
    known = [e for e in each if isinstance(e, list)]
    if len(known) == len(each):
        return list_of([Tuple(tuple(row)) for row in zip(*known, strict=False)])
    return Stream(Tuple(tuple(any_item(e) for e in each)))


def any_item(items: list[Fact] | Fact | None) -> Fact:
    """Return the facts that hold for all items."""
    return items if isinstance(items, Fact) else reduce(join, items) if items else UNKNOWN


def _enumerate(run: FileState, given: Arguments, at: Context) -> Fact:
    items = run.iterate(given.positional[0]) if given.positional else None
    if isinstance(items, Fact):
        return Stream(Tuple((Size(), items)))
    return list_of([Tuple((Const(i), v)) for i, v in enumerate(items)]) if items is not None else UNKNOWN


def _map(run: FileState, given: Arguments, at: Context) -> Fact:
    """Return the items of `map(f, xs)`."""
    if len(given.positional) != 2:
        return UNKNOWN
    f, items = given.positional[0], run.iterate(given.positional[1])
    if isinstance(items, list) and len(items) <= LONGEST:
        return list_of([run.call(f, Arguments([item]), at) for item in items])
    with run.maybe(isinstance(items, list)):
        return Stream(run.call(f, Arguments([items if isinstance(items, Fact) else UNKNOWN]), at))


def _reduce(run: FileState, given: Arguments, at: Context) -> Fact:
    """Return the value of `reduce(f, xs, initial)`."""
    f, *rest = given.positional or [UNKNOWN]
    items = run.iterate(rest[0]) if rest else None
    if isinstance(items, list) and len(items) <= LONGEST and (items or len(rest) > 1):
        value, *items = [*rest[1:], *items]
        for item in items:
            value = run.call(f, Arguments([value, item]), at)
        return value
    item = items if isinstance(items, Fact) else UNKNOWN
    once = run.call(f, Arguments([rest[1] if len(rest) > 1 else item, item]), at)
    with run.maybe():
        return join(once, run.call(f, Arguments([once, item]), at))


def _pairwise(run: FileState, given: Arguments, at: Context) -> Fact:
    items = run.iterate(given.positional[0]) if given.positional else None
    if isinstance(items, list):
        return list_of([Tuple(pair) for pair in pairwise(items)])
    return Stream(Tuple((items, items))) if items is not None else UNKNOWN


def _chain(run: FileState, given: Arguments, at: Context) -> Fact:
    each = [run.iterate(v) for v in given.positional]
    if all(isinstance(e, list) for e in each):
        return list_of([item for e in each if isinstance(e, list) for item in e])
    return Stream(reduce(join, map(any_item, each)))


def _chain_from_iterable(run: FileState, given: Arguments, at: Context) -> Fact:
    each = run.iterate(given.get(0, "iterable") or UNKNOWN)
    if isinstance(each, list):
        return _chain(run, Arguments(each), at)
    items = run.iterate(each) if each is not None else None
    return Stream(any_item(items)) if items else UNKNOWN


def _starmap(run: FileState, given: Arguments, at: Context) -> Fact:
    """Return the items of `starmap(f, rows)`."""
    f, rows = given.get(0, "function") or UNKNOWN, run.iterate(given.get(1, "iterable") or UNKNOWN)
    if isinstance(rows, list) and len(rows) <= LONGEST:
        return list_of([run.call(f, _row(row), at) for row in rows])
    with run.maybe(isinstance(rows, list)):
        return Stream(run.call(f, _row(rows if isinstance(rows, Fact) else UNKNOWN), at))


def _row(row: Fact) -> Arguments:
    items = items_of(row)
    return Arguments(items or [], exact=items is not None)


def _accumulate(run: FileState, given: Arguments, at: Context) -> Fact:
    """Return the items of `accumulate(xs, f, initial=x)`."""
    items, initial = run.iterate(given.get(0, "iterable") or UNKNOWN), given.keywords.get("initial", NONE)
    f = given.get(1, "function") or LibraryName("operator.add")
    if not isinstance(items, list) or len(items) > LONGEST:
        return UNKNOWN
    values = list[Fact]()
    for item in [*([initial] if initial != NONE else []), *items]:
        values.append(run.call(f, Arguments([values[-1], item]), at) if values else item)
    return list_of(values)


def _islice(run: FileState, given: Arguments, at: Context) -> Fact:
    items, bounds = run.iterate(given.positional[0]) if given.positional else None, given.positional[1:]
    if isinstance(items, list) and bounds and all(b == NONE or as_number(b) is not None for b in bounds):
        return list_of(items[slice(*map(as_number, bounds))])
    return Stream(any_item(items)) if items else UNKNOWN


def _product(run: FileState, given: Arguments, at: Context) -> Fact:
    each = [run.iterate(v) for v in given.positional]
    known = [e for e in each if isinstance(e, list)]
    if given.keywords or not each:
        return UNKNOWN
    if len(known) == len(each) and math.prod(map(len, known)) <= LONGEST:
        return list_of([Tuple(row) for row in product(*known)])
    return Stream(Tuple(tuple(map(any_item, each))))


def _combinations(run: FileState, given: Arguments, at: Context) -> Fact:
    items, n = run.iterate(given.get(0, "iterable") or UNKNOWN), as_number(given.get(1, "r"))
    if isinstance(items, list) and n is not None and math.comb(len(items), n) <= LONGEST:
        return list_of([Tuple(row) for row in combinations(items, n)])
    return Stream(Tuple((any_item(items),) * n)) if n is not None and 0 <= n <= LONGEST else UNKNOWN


ITERABLES: dict[str, Rule] = {
    "builtins.enumerate": _enumerate,
    "builtins.map": _map,
    "builtins.zip": _zip,
    "functools.reduce": _reduce,
    "itertools.accumulate": _accumulate,
    "itertools.chain": _chain,
    "itertools.chain.from_iterable": _chain_from_iterable,
    "itertools.combinations": _combinations,
    "itertools.islice": _islice,
    "itertools.pairwise": _pairwise,
    "itertools.product": _product,
    "itertools.starmap": _starmap,
}
"""The results of these functions, by name."""


def check_known_count(run: FileState, target: TupleExpr, e: Expression, value: Fact) -> None:
    """Report `n, d = x.shape` and `a, b = x.chunk(3)`, whose length mypy does not know, for other lengths."""
    name = getattr(e.callee if isinstance(e, CallExpr) else e, "name", "")
    if not isinstance(value, Tuple) or name not in ("shape", "chunk", "split"):
        return
    values, names = len(value.items), len(target.items)
    if values != names and not any(isinstance(t, StarExpr) for t in target.items):
        run.report(target, SHAPE, f"{name}: there are {values} values for {names} names")


def _check_count(run: FileState, value: Fact, names: int, has_star: bool, at: Context) -> None:
    """Report `a, b = x` for a tensor of another length."""
    axes = value.axes if isinstance(value, Shaped) else None
    n = known_length(axes[0]) if axes else None
    if axes and n is not None and (n < names - 1 if has_star else n != names):
        values = "is 1 value" if n == 1 else f"are {n} values"
        run.report(at, SHAPE, f"unpacking: there {values} for {names} names", f"given: shape {format_axes(axes)}")


def unpack(run: FileState, targets: list[Expression], value: Fact, at: Context) -> None:
    """Assign the items of a value: `a, *b = value`."""
    items = items_of(value)
    star = next((i for i, t in enumerate(targets) if isinstance(t, StarExpr)), None)
    _check_count(run, value, len(targets), star is not None, at)
    if items is None:
        each = run.iterate(value)
        items = [each] * len(targets) if isinstance(each, Fact) else None
        if items is not None and star is not None:
            items[star] = Stream(items[star])
    elif star is not None and len(items) >= len(targets) - 1:
        after = len(items) - (len(targets) - star - 1)
        items = [*items[:star], list_of(items[star:after]), *items[after:]]
    if items is None or len(items) != len(targets):
        items = [UNKNOWN] * len(targets)
    for target, item in zip(targets, items, strict=True):
        is_unnamed = isinstance(item, Size) and is_any_axis(item.axis)
        named = run.symbol(target.name, at.line) if is_unnamed and isinstance(target, NameExpr) else item
        run.assign(target, named)
