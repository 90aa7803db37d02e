"""The functions of Python itself: built-in functions, `functools` and `operator`; see also `iterables`."""

from __future__ import annotations

from functools import partial, reduce

from mypy.nodes import CallExpr, Context, Expression

from branded.mypy.axes.table import SYMBOLS
from branded.mypy.codes import CALL
from branded.mypy.rows.algebra import TENSOR
from branded.mypy.shapes.brands import check_read, check_truth
from branded.mypy.shapes.rules import special_methods
from branded.mypy.shapes.rules.iterables import ITERABLES, Rule
from branded.mypy.shapes.state import FileState
from branded.mypy.shapes.values import (
    NONE,
    NUMBER,
    UNKNOWN,
    Arguments,
    Class,
    Const,
    Fact,
    LibraryName,
    Mutable,
    Shaped,
    Size,
    Stream,
    Tuple,
    Wrapped,
    as_number,
    brands_of,
    is_int,
    is_number,
    items_of,
    join,
    list_of,
    size_of,
)

_PURE_METHODS = {"items", "keys", "values", "get", "index", "count", "copy", "join", "format", "split"}


def _length(run: FileState, given: Arguments, at: Context) -> Fact:
    value = given.positional[0] if given.positional else UNKNOWN
    if isinstance(value, Shaped) and value.axes:
        return size_of(value.axes[0])
    if isinstance(value, Shaped) and value.axes == ():
        run.report(at, CALL, "len: len() of a 0-d tensor", "try:   x.numel() for the number of its elements")
    items = items_of(value)
    if isinstance(value, Mutable) and value.kind == "dict" and value.items is not None:
        return Const(len(value.items))
    return Const(len(items)) if items is not None else Size()


def _python_range(run: FileState, given: Arguments, at: Context) -> Fact:
    bounds = [as_number(v) for v in given.positional]
    if bounds and None not in bounds and len(bounds) <= 3 and 0 not in bounds[2:]:
        numbers = range(*(b for b in bounds if b is not None))
        if len(numbers) <= 64:
            return Tuple(tuple(Const(i) for i in numbers))
    return Mutable("range", None)


def _sequence(run: FileState, given: Arguments, at: Context, kind: str) -> Fact:
    items = items_of(given.positional[0]) if given.positional else []
    if items is None:
        each = run.iterate(given.positional[0])
        return Stream(each) if isinstance(each, Fact) else UNKNOWN
    return list_of(items) if kind == "list" else Tuple(tuple(items))


def _dict(run: FileState, given: Arguments, at: Context) -> Fact:
    named: dict[object, Fact] = dict(given.keywords.items())
    first = given.positional[0] if given.positional else Mutable("dict", {})
    items = first.items if isinstance(first, Mutable) and first.kind == "dict" else _entries(run, first)
    return Mutable("dict", None if items is None or not given.exact else items | named)


def _entries(run: FileState, pairs: Fact) -> dict[object, Fact] | None:
    """Return the entries of `dict(pairs)`, such as `dict(zip(names, values))`."""
    items: dict[object, Fact] = {}
    each = run.iterate(pairs)
    for pair in each if isinstance(each, list) else [UNKNOWN]:
        key, *values = items_of(pair) or [UNKNOWN]
        if not isinstance(key, Const) or len(values) != 1:
            return None
        items[key.value] = values[0]
    return items


def _isinstance(run: FileState, given: Arguments, at: Context) -> Fact:
    if len(given.positional) != 2:
        return UNKNOWN
    value, wanted = given.positional
    if isinstance(value, Shaped) and isinstance(wanted, LibraryName):
        if wanted.name == TENSOR:
            return Const(True) if value.brands else UNKNOWN  # an array of numpy is not a tensor
        return Const(False) if wanted.name.startswith("builtins.") else UNKNOWN
    if isinstance(value, Const) and isinstance(wanted, LibraryName) and wanted.name == TENSOR:
        return Const(False)
    if isinstance(value, Mutable) and value.info is not None and isinstance(wanted, Class):
        return Const(wanted.info in value.info.mro)
    return UNKNOWN


def _sum(run: FileState, given: Arguments, at: Context) -> Fact:
    items, start = items_of(given.get(0, "iterable")), given.get(1, "start") or Const(0)
    if not isinstance(at, CallExpr):
        return UNKNOWN
    if items is None:
        each = run.iterate(given.get(0, "iterable") or UNKNOWN)
        items = [each, each] if isinstance(each, Fact) else None
    if items is None:
        return UNKNOWN
    for item in items:
        start = run.binary("+", start, item, at, at, at)
    return start


def _first_argument(run: FileState, given: Arguments) -> Fact:
    items = run.iterate(given.positional[0]) if len(given.positional) == 1 else None
    return items[0] if isinstance(items, list) and items else items if isinstance(items, Fact) else UNKNOWN


def _follow_sorted(run: FileState, given: Arguments, at: Context) -> Fact:
    value = given.positional[0] if given.positional else UNKNOWN
    _compare_all(run, value, given.keywords.get("key", NONE), at)
    items = items_of(value)
    return Stream(reduce(join, items)) if items else UNKNOWN


def _any(run: FileState, given: Arguments, at: Context) -> Fact:
    items = run.iterate(given.get(0, "iterable") or UNKNOWN)
    for item in items if isinstance(items, list) else [items] if items is not None else ():
        check_truth(run, item, at)
    return UNKNOWN


def _compare_all(run: FileState, value: Fact, key: Fact, at: Context) -> None:
    """Report items with brands that are compared with each other, or by what the function `key` returns for them."""
    items = run.iterate(value)
    if key != NONE:
        items = [run.call(key, Arguments([item]), at) for item in ([items] if isinstance(items, Fact) else items or ())]
    if isinstance(items, list) and len(items) > 1:
        if isinstance(items[0], Mutable):
            run.special(items[1], "__lt__", [items[0]], at)
        check_truth(run, next((i for i in items if brands_of(i)), NONE), at)
    elif isinstance(value, Stream):
        check_truth(run, items[0] if isinstance(items, list) and items else value.each, at)


def _replace(run: FileState, given: Arguments, at: Context) -> Fact:
    made = given.positional[0] if given.positional else UNKNOWN
    if not isinstance(made, Mutable) or made.items is None or not given.exact:
        return UNKNOWN
    return Mutable("object", made.items | given.keywords, made.info)


def _type(run: FileState, given: Arguments, at: Context) -> Fact:
    value = given.positional[0] if len(given.positional) == 1 else UNKNOWN
    return Class(value.info) if isinstance(value, Mutable) and value.info is not None else UNKNOWN


def _smallest(run: FileState, given: Arguments, at: Context) -> Fact:
    first = items_of(given.positional[0]) if given.positional else None
    values = given.positional if len(given.positional) > 1 else first
    if given.positional:
        compared = Tuple(tuple(given.positional)) if len(given.positional) > 1 else given.positional[0]
        _compare_all(run, compared, given.keywords.get("key", NONE), at)
    return (
        Size() if values and all(map(is_int, values)) else NUMBER if values and all(map(is_number, values)) else UNKNOWN
    )


def _number(run: FileState, given: Arguments, at: Context, kind: str) -> Fact:
    value = given.positional[0] if given.positional else UNKNOWN
    if isinstance(value, Shaped):
        check_read(run, value, kind, at)
    if kind == "int":
        return value if is_int(value) else Size()
    return NUMBER if kind == "float" else UNKNOWN


def _format(run: FileState, given: Arguments, at: Context) -> Fact:
    value, *spec = given.positional or [UNKNOWN]
    if isinstance(value, Shaped) and spec and spec != [Const("")]:
        check_read(run, value, "format", at)
    return UNKNOWN


def _partial(run: FileState, given: Arguments, at: Context) -> Fact:
    if not given.positional:
        return UNKNOWN
    f, *first = given.positional

    def called(more: Arguments) -> Fact:
        exact = given.exact and more.exact
        return run.call(f, Arguments([*first, *more.positional], given.keywords | more.keywords, exact), at)

    return Wrapped(called, f, len(first))


def _getattr(run: FileState, given: Arguments, at: Context) -> Fact:
    match given.positional:
        case [owner, Const(value=str(name)), *_] if owner is not UNKNOWN:
            return run.attribute(owner, name, at)
    return UNKNOWN


def _itemgetter(run: FileState, given: Arguments, at: Context) -> Fact:
    """Return `operator.itemgetter("a")`; mypy knows its function, but not its keys."""
    match given.positional:
        case [Const() as key] if given.exact:
            return Wrapped(lambda more: run.item(more.positional[0], key, at) if more.positional else UNKNOWN)
    return UNKNOWN


def _operator(run: FileState, given: Arguments, at: Context, symbol: str) -> Fact:
    """Return the value of `operator.add(a, b)`."""
    if len(given.positional) != 2 or not isinstance(at, Expression):
        return UNKNOWN
    left, right = given.positional
    return run.binary(symbol, left, right, at, at, at)


RULES: dict[str, Rule] = {
    **ITERABLES,
    **{f"_operator.{name}": partial(_operator, symbol=symbol) for name, symbol in SYMBOLS.items()},
    **{f"operator.{name}": partial(_operator, symbol=symbol) for name, symbol in SYMBOLS.items()},
    "builtins.len": _length,
    "builtins.range": _python_range,
    "builtins.list": partial(_sequence, kind="list"),
    "builtins.tuple": partial(_sequence, kind="tuple"),
    "builtins.dict": _dict,
    "builtins.isinstance": _isinstance,
    "builtins.min": _smallest,
    "builtins.max": _smallest,
    "builtins.sum": _sum,
    "builtins.sorted": _follow_sorted,
    "builtins.iter": lambda run, given, at: given.positional[0] if given.positional else UNKNOWN,
    "builtins.next": lambda run, given, at: _first_argument(run, given),
    "builtins.any": _any,
    "builtins.all": _any,
    "builtins.getattr": _getattr,
    "operator.itemgetter": _itemgetter,
    "functools.partial": _partial,
    "builtins.type": _type,
    "builtins.float": partial(_number, kind="float"),
    "builtins.bool": partial(_number, kind="bool"),
    "builtins.format": _format,
    "dataclasses.replace": _replace,
    "builtins.int": partial(_number, kind="int"),
}


def method(run: FileState, f: LibraryName, given: Arguments, at: Context) -> Fact:
    """Return the result of a method of a list, a dict, a named tuple or a layer."""
    owner = f.owner
    if owner == Const("{:{}}") and f.name == "format" and len(given.positional) == 2:  # f"{x:.2f}"
        _format(run, given, at)
    special_methods.of_format(run, f, given, at)
    if isinstance(owner, Mutable) and owner.kind == "dict" and owner.items is not None:
        match f.name:
            case "values":
                return list_of(list(owner.items.values()))
            case "keys":
                return list_of([Const(k) for k in owner.items])
            case "items":
                return list_of([Tuple((Const(k), v)) for k, v in owner.items.items()])
            case "copy":
                return Mutable("dict", dict(owner.items))
            case "get" if isinstance(key := given.get(0, "key"), Const):
                return owner.items.get(key.value, given.get(1, "default") or NONE)
    if isinstance(owner, Mutable) and f.name == "_replace" and owner.items is not None and given.exact:
        return owner.with_items(owner.items | given.keywords)
    if isinstance(owner, Mutable) and owner.kind == "list" and f.name == "append" and owner.items is not None:
        if run.uncertain or len(given.positional) != 1 or len(owner.items) > 64:
            owner.forget()
        else:
            owner.changes()
            owner.items[len(owner.items)] = given.positional[0]
            run.stored(owner, len(owner.items) - 1, at)
        return NONE
    if isinstance(owner, Mutable) and f.name not in _PURE_METHODS:
        owner.forget()
    return UNKNOWN
