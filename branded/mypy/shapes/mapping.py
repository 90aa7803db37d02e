"""vmap and scan of abstract values: the mapped axis is removed from the arguments and added to the results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from mypy.nodes import Context
from mypy.types import Instance, Type

from branded.mypy.axes.types import axis_length, is_named, is_size, unify_axes
from branded.mypy.codes import AXES, AXIS_RANGE, AXIS_TYPE, ERROR, NAME_TAKEN, SIZE
from branded.mypy.rows.algebra import UNKNOWN as ANY_AXIS
from branded.mypy.shapes.axes import format_axes, format_axis
from branded.mypy.shapes.brands import (
    check_unmapped_results,
    close_brand,
    is_name,
    label_of,
    map_leaves,
    open_brand,
    report_kept,
)
from branded.mypy.shapes.loops import check_carry, join_carries, result_of_loop, step_of_loop
from branded.mypy.shapes.state import FileState
from branded.mypy.shapes.values import (
    NONE,
    UNKNOWN,
    Arguments,
    Class,
    Const,
    Fact,
    FollowedBrand,
    Function,
    Mutable,
    Number,
    Shaped,
    Size,
    Stream,
    Tuple,
    Wrapped,
    as_number,
    brands_of,
    change_leaves,
    is_number,
    is_tree,
    items_of,
    list_of,
)

OPTIONS = ("in_axes", "out_axes", "axis_name", "axis_size", "chunk_size", "randomness")


def vmap(run: FileState, given: Arguments, at: Context) -> Fact:
    """Return the mapped function, or the decorator `vmap(in_axes=1)`."""
    if not given.exact:
        return UNKNOWN
    options = {name: value for i, name in enumerate(OPTIONS) if (value := given.get(i + 1, name)) is not None}
    ways = options.get("in_axes", Const(0)), options.get("out_axes", Const(0))
    named: Type = ANY_AXIS
    if isinstance(name := options.get("axis_name"), Class):
        named = Instance(name.info, [])
    needs_randomness = options.get("randomness", Const("error")) == Const("error")
    size = as_number(options.get("axis_size"))
    if size is not None and named is ANY_AXIS:
        named = run.length(size)

    def wrap(f: Fact) -> Fact:
        return Wrapped(lambda more: mapped_call(run, f, more, *ways, at, named, name, size, needs_randomness), f)

    f = given.get(0, "f")
    return wrap(f) if f is not None else Wrapped(lambda more: wrap(more.positional[0]) if more.positional else UNKNOWN)


def open_block(run: FileState, given: Arguments, at: Context) -> Fact:
    """Return the brand of `with brand(Users, n) as users`: `users.vec(x)` removes an axis, and `unvec` adds it."""
    name, size = given.get(0, "name"), as_number(given.get(1, "size"))
    length = run.length(size) if size is not None else None
    axis: Type = length or ANY_AXIS
    mapped = _Axis(run, at, Instance(name.info, [], last_known_value=length) if isinstance(name, Class) else axis)

    def change_axis(leaf: Leaf) -> Wrapped:
        def called(more: Arguments) -> Fact:
            x, way = more.get(0, "x") or UNKNOWN, more.get(1, "axis") or Const(0)
            return change(x, way, leaf, "argument 1", numbers=True)

        return Wrapped(called)

    return Mutable("brand", {"vec": change_axis(mapped.take), "unvec": change_axis(mapped.put)})


@dataclass(eq=False, repr=False, match_args=False)
class _Axis:
    """The axis that a vmap maps."""

    run: FileState
    at: Context
    axis: Type = ANY_AXIS
    brand: FollowedBrand | None = None
    found: list[tuple[str, Shaped, int, Type]] = field(default_factory=list)
    is_certain: bool = True

    def take(self, x: Shaped, way: Fact, what: str) -> Fact:
        """Return one example of an argument."""
        n = as_number(way)
        if isinstance(way, Const) and isinstance(way.value, bool) and not self.run.declared_only:
            self.run.report(self.at, AXIS_TYPE, f"in_axes: {way.value} is a bool, not an axis", f"given: for {what}")
            self.is_certain = False
        brands = x.brands | {self.brand} if self.brand is not None and n is not None else x.brands
        if x.axes is None or n is None:
            return Shaped(None, brands, x.dtype)
        if not -len(x.axes) <= n < len(x.axes):
            if x.axes:
                wrong = f"in_axes: axis {n} of {what}, which has {len(x.axes)}"
                self.run.report(self.at, AXIS_RANGE, wrong, f"given: {_describe(x)}")
            else:
                wrong = f"in_axes: {what} is a 0-d tensor: there is no axis {n} to map over"
                self.run.report(self.at, AXIS_TYPE, wrong, f"try:   None for {what} in in_axes, if it is shared")
            self.is_certain = False
            return Shaped(None, brands, x.dtype)
        axes = list(x.axes)
        gone = axes.pop(n)
        self._meet(gone, what, x, n % len(x.axes))
        return Shaped(tuple(axes), brands, x.dtype)

    def _meet(self, axis: Type, what: str, x: Shaped, n: int) -> None:
        for before, other, m, known in self.found:
            if unify_axes(known, axis) is None:
                self._report(
                    known, axis, f"{before}: {_describe(other)}, axis {m}", f"{what}: {_describe(x)}, axis {n}"
                )
                self.is_certain = False
                return
            if is_size(known) and is_size(axis) and known != axis:
                self.run.unshared += 1
                if not {known, axis} & self.run.compared:
                    self.run.report(
                        self.at,
                        ERROR,
                        f"vmap: the lengths `{format_axis(known)}` and `{format_axis(axis)}` are zipped; "
                        "try: nest two vmaps for all pairs, or use in_axes=None for a shared argument",
                        is_note=True,
                    )
        if not self.found and is_named(self.axis) and is_named(axis) and unify_axes(self.axis, axis) is None:
            wrong = f"axis_name: {format_axis(self.axis)}, and {what} is mapped over `{format_axis(axis)}`"
            self.run.report(self.at, ERROR, wrong, f"given: {_describe(x)}")
        self.found.append((what, x, n, axis))
        self.axis = unify_axes(self.axis, axis) or axis

    def _report(self, a: Type, b: Type, left: str, right: str) -> None:
        fix = "try:   use in_axes=None for a shared argument, or nest two vmaps for all pairs"
        if axis_length(a) is not None and axis_length(b) is not None:
            first, second = (side.partition(":")[0] for side in (left, right))
            wrong = f"vmap: mapped sizes differ: {first} has {format_axis(a)} examples, {second} has {format_axis(b)}"
            self.run.report(self.at, SIZE, wrong, left, right, fix)
        else:
            wrong = f"vmap: `{format_axis(a)}` is zipped with `{format_axis(b)}`"
            self.run.report(self.at, ERROR, wrong, left, right, fix)

    def put(self, x: Shaped, way: Fact, what: str = "") -> Fact:
        """Return the results of all examples."""
        n = as_number(way)
        if x.axes is None or n is None or not -len(x.axes) - 1 <= n <= len(x.axes):
            if x.axes is not None and n is not None:
                count = f"{len(x.axes) + 1} {'axis' if not x.axes else 'axes'}"
                wrong = f"out_axes: {what}: axis {n} is out of range for a result with {count}"
                self.run.report(self.at, AXIS_RANGE, wrong)
            return x.with_axes(None)
        axes = list(x.axes)
        axes.insert(n if n >= 0 else n + len(axes) + 1, self.axis)
        return x.with_axes(tuple(axes))


def _describe(x: Shaped) -> str:
    return f"shape {format_axes(x.axes)}" if x.axes is not None else "a tensor"


Leaf = Callable[[Shaped, Fact, str], Fact]


def change(value: Fact, way: Fact, leaf: Leaf, what: str = "the result", numbers: bool = False) -> Fact:
    """Change the tensors of a tree, except where `way`, a prefix of the tree, is None."""
    if way == NONE or isinstance(value, Function | Wrapped):
        return value
    if isinstance(value, Shaped):
        return leaf(value, way, what)
    if isinstance(value, Const | Size | Number):
        if not is_number(value):
            return value
        return leaf(Shaped(()), way, what) if numbers else UNKNOWN
    ways = items_of(way)

    if isinstance(value, Stream):
        return Stream(change(value.each, way, leaf, f"{what}[...]", numbers)) if ways is None else UNKNOWN

    def below(i: object, item: Fact, index: int) -> Fact:
        if isinstance(way, Mutable) and way.kind in ("dict", "object"):
            inner = (way.items or {}).get(i, UNKNOWN)
        else:
            inner = ways[index] if ways is not None and index < len(ways) else UNKNOWN if ways is not None else way
        return change(item, inner, leaf, f"{what}[{i!r}]", numbers)

    if isinstance(value, Tuple):
        return Tuple(tuple(below(i, item, i) for i, item in enumerate(value.items)))
    if isinstance(value, Mutable) and value.items is not None and is_tree(value):
        places = {k: n for n, k in enumerate(value.items)}

        def changed(k: object, item: Fact) -> Fact:
            held = map_leaves(item, lambda x: Shaped(None, brands_of(x))) if value.is_declared else item
            return below(k, held, places[k])

        return change_leaves(value, value.items, changed)
    return UNKNOWN


def _check_keys(run: FileState, value: Fact, way: Fact, what: str, at: Context, option: str = "in_axes") -> None:
    """Report a dict in `in_axes` or `out_axes` whose keys differ from those of the argument or the result."""
    if isinstance(way, Tuple) and isinstance(value, Tuple):
        for i, (item, inner) in enumerate(zip(value.items, way.items, strict=False)):
            _check_keys(run, item, inner, f"{what}[{i}]", at, option)
    ways = way.items if isinstance(way, Mutable) and way.kind == "dict" else None
    held = value.items if isinstance(value, Mutable) and value.kind == "dict" else None
    if ways is None or held is None:
        return
    if held.keys() != ways.keys() and not run.declared_only:
        given, wanted = (", ".join(map(repr, keys)) for keys in (ways, held))
        wrong = f"{option}: the keys for {what} are {given}, and {what} has {wanted}"
        run.report(at, AXES, wrong, f"try:   use the keys of {what.partition('[')[0]}")
    for k in held.keys() & ways.keys():
        _check_keys(run, held[k], ways[k], f"{what}[{k!r}]", at, option)


def _count(values: Sequence[Fact], one: str, many: str = "") -> str:
    return f"{len(values)} {one if len(values) == 1 else many or one + 's'}"


def mapped_call(
    run: FileState,
    f: Fact,
    given: Arguments,
    in_axes: Fact,
    out_axes: Fact,
    at: Context,
    axis: Type = ANY_AXIS,
    name: Fact | None = None,
    size: int | None = None,
    needs_randomness: bool = False,
) -> Fact:
    """Return the result of `vmap(f, in_axes, out_axes, axis_name=name, axis_size=size)(*given)`."""
    if name not in (None, NONE) and any(is_name(b.name, name) for b in run.opened):
        fix = "try:   use another name for the inner brand"
        run.report(at, NAME_TAKEN, f'axis_name: brand "{label_of(name)}" is already open', fix)
    ways = items_of(in_axes)
    each = ways if ways is not None else [in_axes] * len(given.positional)
    brand = open_brand(run, f, name, at, first=next((i for i, way in enumerate(each) if way != NONE), 0))
    brand.needs_randomness = needs_randomness
    mapped = _Axis(run, at, axis, None if run.declared_only else brand)
    if not given.exact or len(each) != len(given.positional):
        if given.exact and not run.declared_only:
            wrong = f"in_axes: {_count(each, 'axis', 'axes')} for {_count(given.positional, 'positional argument')}"
            run.report(at, AXES, wrong, "try:   give one entry per positional argument")
        return UNKNOWN
    first, opened = len(run.stores), list_of([])
    for i, (value, way) in enumerate(zip(given.positional, each, strict=True), 1):
        _check_keys(run, value, way, f"argument {i}", at)
    examples = [
        change(close_brand(value, brand), way, mapped.take, f"argument {i}")
        for i, (value, way) in enumerate(zip(given.positional, each, strict=True), 1)
    ]
    keywords = {k: change(v, Const(0), mapped.take, f"argument `{k}`") for k, v in given.keywords.items()}
    lengths = [axis_length(a) for a in (mapped.axis, *(found[3] for found in mapped.found))]
    n = next((n for n in lengths if n is not None), None)
    if size is not None and n is not None and n != size and mapped.found and not run.declared_only:
        what, x, m, _ = mapped.found[0]
        left, right = f"axis_size: {size}", f"{what}: {_describe(x)}, axis {m}"
        run.report(at, SIZE, f"vmap: mapped sizes differ: axis_size is {size}, {what} has {n}", left, right)
    run.inside += 1
    run.opened.append(brand)
    run.sizes.append(n)
    with run.maybe(not mapped.is_certain or run.has_mistake(at)):
        result = run.call(f, Arguments(examples, keywords), at)
    run.opened.pop()
    run.sizes.pop()
    run.inside -= 1
    report_kept(run, brand, opened, first)
    _check_keys(run, result, out_axes, "the result", at, "out_axes")
    told = run.told
    check_unmapped_results(run, result, out_axes, brand, at)
    if not mapped.is_certain or run.told > told:  # this mistake is the cause of any other mistake in the result
        result = map_leaves(result, lambda x: Shaped(None, x.brands) if isinstance(x, Shaped) else x)
    return change(close_brand(result, brand), out_axes, mapped.put, numbers=True)


def scan(run: FileState, given: Arguments, at: Context) -> Fact:
    """Return the carry and the outputs of `scan(f, init, xs)`."""
    f, init, xs = given.get(0, "f"), given.get(1, "init"), given.get(2, "xs")
    n = as_number(given.get(3, "length"))
    if f is None or init is None or (xs in (None, NONE) and given.get(3, "length") is None):
        return UNKNOWN
    xs = NONE if xs is None else xs
    mapped = _Axis(run, at, run.length(n) if n is not None and xs == NONE else ANY_AXIS)
    with step_of_loop(run, "scan", f, init, at) as (carry, brand), run.maybe(not mapped.is_certain):
        mapped.brand = None if run.declared_only else brand
        step = change(xs, Const(0), mapped.take, "the steps")
        result = items_of(run.call(f, Arguments([carry, step]), at))
        if result is None or len(result) != 2:
            return UNKNOWN
        if brands_of(result[0]) - brands_of(carry):  # later steps get a carry with more brands
            check_carry(run, "scan", init, result[0], at)
            with run.maybe():
                again = items_of(run.call(f, Arguments([join_carries(carry, result[0]), step]), at))
            result = again if again is not None and len(again) == 2 else result
        result = [close_brand(value, brand) for value in result]
    carry = result_of_loop(run, "scan", init, result[0], at)
    return Tuple((carry, change(result[1], Const(0), mapped.put, numbers=True)))
