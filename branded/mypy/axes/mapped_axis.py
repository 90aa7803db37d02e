"""The axis that a vmap removes from its arguments and inserts into its results.

`vmap(f, in_axes=1)` of `X: Axes[Users, Items]` removes `Items`: `f` receives `Axes[Users]` for one item. Arguments that
are mapped together share one axis, so two different names are an error. Each result has the axis at its position in
out_axes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from mypy.checker import TypeChecker
from mypy.nodes import ARG_STAR, ARG_STAR2, CallExpr, Context, TypeAlias
from mypy.plugin import FunctionContext
from mypy.typeops import make_simplified_union
from mypy.types import (
    Instance,
    LiteralType,
    NoneType,
    ProperType,
    TupleType,
    Type,
    TypedDictType,
    TypeType,
    UnionType,
    get_proper_type,
)

from branded.mypy.axes.calls import Known
from branded.mypy.axes.rules import length_text
from branded.mypy.axes.types import axes_of, erase_axes, has_axes, is_named, unify_axes, with_axes
from branded.mypy.codes import AXIS_RANGE, ERROR
from branded.mypy.rows.algebra import (
    AXES,
    CONTAINERS,
    UNKNOWN,
    VEC,
    Brand,
    change,
    each_row,
    has_rows,
    is_recursive,
    keep_row,
)
from branded.mypy.rows.brand_env import OpenBrands, class_of
from branded.mypy.rows.reporting import checker, fail, show


@dataclass(eq=False, repr=False, match_args=False)
class Mapped:
    """The named axis that a vmap maps, as far as the types of its arguments show it."""

    at: Context
    api: TypeChecker
    scope: OpenBrands
    brand: Brand
    axis: Type = UNKNOWN
    told_by: tuple[str, Type] | None = None
    what: str = "vmap"
    is_disputed: bool = False
    """Whether two arguments are mapped over different axes, so that the axis of a result is unknown."""

    def __post_init__(self) -> None:
        if isinstance(self.brand, Instance):
            self.axis = self.brand

    def off(self, t: Type, way: Type, what: str) -> Type:
        """Remove the mapped axis from an argument; `what` is its name in messages."""
        return change_axes(t, way, lambda leaf, n: self._off(leaf, n, what), self.scope)

    def _off(self, t: Instance, n: int | None, what: str) -> Known:
        axes = axes_of(t)
        if axes is None or n is None:
            return None
        if not -len(axes) <= n < len(axes):
            if axes:  # without axes, mypy reports that there is no axis to map over
                wrong = f"in_axes: axis {n} of {what}, which has {len(axes)}"
                fail(self.api, self.at, AXIS_RANGE, wrong, f'given: "{show(t, self.api)}"')
            return None
        gone = axes.pop(n)
        self._tell(gone, what, t)
        return axes

    def _tell(self, axis: Type, what: str, t: Type) -> None:
        common_axis, note = unify_axes(self.axis, axis), f'given: "{show(t, self.api)}"'
        name, other = show(axis, self.api), show(self.axis, self.api)
        if common_axis is not None:
            self.axis = common_axis
            self.told_by = self.told_by or (what, t)
        elif self.told_by is None:
            wrong = f"axis_name: {other}, and {what} is mapped over `{name}`"
            fail(self.api, self.at, ERROR, wrong, note, f"try:   use another axis in in_axes, or axis_name={name}")
            self.axis, self.told_by = axis, (what, t)
        else:
            before, tree = self.told_by
            self.is_disputed = True
            fail(
                self.api,
                self.at,
                ERROR,
                f"{self.what}: `{other}` of {before} is zipped with `{name}` of {what}",
                f'given: "{show(tree, self.api)}"',
                note,
                "try:   map the same axis of each with in_axes, or nest two vmaps for all pairs"
                if self.what == "vmap"
                else "try:   transpose one of them, so that both begin with the axis of steps",
            )

    def on(self, t: Type, way: Type) -> Type:
        """Insert the mapped axis into a result."""
        return change_axes(t, way, self.insert, self.scope)

    def insert(self, t: Instance, n: int | None) -> Known:
        """Return the axes of a tensor in a result, with the mapped axis at position `n`."""
        axes = axes_of(t)
        if axes is None or n is None or not -len(axes) - 1 <= n <= len(axes):
            return None
        axes.insert(n if n >= 0 else n + len(axes) + 1, UNKNOWN if self.is_disputed else self.axis)
        return axes


Leaf = Callable[[Instance, "int | None"], Known]
"""A function that returns the new axes of a tensor, given its mapped axis."""


def change_axes(t: Type, way: Type, f: Leaf, scope: OpenBrands, around: Sequence[TypeAlias] = ()) -> Type:
    """Change the axes of the tensors in a tree, except where `way`, a prefix of the tree, is None.

    In a class that is generic in rows the axes become unknown, because its fields are declared either for one example
    or for all. A recursive type with rows is unchanged. Without rows it is expanded once; its recursive references,
    found in `around`, become Any.
    """
    way = get_proper_type(way)
    if isinstance(way, NoneType) or not has_axes(t):
        return t
    if is_recursive(t):
        if each_row(t) or t.alias is None:
            return t
        if t.alias in around:
            return UNKNOWN
        around = (*around, t.alias)
    below = partial(change_axes, f=f, scope=scope, around=around)
    p = get_proper_type(t)
    match p:
        case TupleType() if not has_rows(p.partial_fallback.type):
            ways = list(way.items) if isinstance(way, TupleType) and len(way.items) == len(p.items) else None
            each = ways or [_axis_of_items(way)] * len(p.items)
            return p.copy_modified(items=[below(i, w) for i, w in zip(p.items, each, strict=True)])
        case TypedDictType() if not has_rows(p.fallback.type):
            keys = way.items if isinstance(way, TypedDictType) else {}
            return p.copy_modified(item_types=[below(i, keys.get(k, _axis_of_items(way))) for k, i in p.items.items()])
        case UnionType():
            return make_simplified_union([below(i, way) for i in p.items])
        case Instance() if p.type.fullname in CONTAINERS:
            return p.copy_modified(args=[below(a, _axis_of_items(way)) for a in p.args])
        case Instance() if p.type.fullname in (AXES, VEC):
            return with_axes(p, f(p, literal_axis(way)), scope)
    return erase_axes(t, scope)


def has_bare_tensor(t: Type, way: Type) -> bool:
    """Return whether a tree has a mapped tensor without axes."""
    bare = False

    def look(leaf: Instance) -> Instance:
        nonlocal bare
        bare |= axes_of(leaf) is None
        return leaf

    change(t, keep_row, way, end=look)
    return bare


def _axis_of_items(way: ProperType) -> Type:
    """Return the axis for all items of a container: `way` if it is an int, else unknown."""
    return way if literal_axis(way) is not None else UNKNOWN


def literal_axis(way: Type) -> int | None:
    """Return the int value of an entry of in_axes; None if it is unknown."""
    t = get_proper_type(way)
    literal = t.last_known_value if isinstance(t, Instance) else t
    value = literal.value if isinstance(literal, LiteralType) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def as_axes_result(ctx: FunctionContext, scope: OpenBrands) -> Type:
    """Return the type of `as_axes(X, Users, 3)`."""
    t = ctx.default_return_type
    names = [_axis_of(name) for name in ctx.arg_types[1]] if len(ctx.arg_types) > 1 else []
    if isinstance(ctx.context, CallExpr) and any(k in (ARG_STAR, ARG_STAR2) for k in ctx.context.arg_kinds):
        return t
    arg_type = ctx.arg_types[0][0] if ctx.arg_types and ctx.arg_types[0] else t
    axes = axes_of(arg_type)
    if axes is not None and len(axes) != len(names):
        wrong = f"as_axes: {length_text(names, 'name', 'names')} for a tensor with {length_text(axes)}"
        fail(checker(ctx), ctx.context, ERROR, wrong, f'value: "{show(arg_type, checker(ctx))}"')
    elif axes is not None and (conflicts := conflicting_names(axes, names)):
        i, j = conflicts[0]
        a, b = (show(t, checker(ctx)) for t in (axes[i], names[i]))
        wrong = f"as_axes: axis {i} is `{a}`, but is named `{b}`"
        fix = f"try:   use `{a}` as name {i + 1}, not {j + 1}, or leave out transpose()"
        fail(checker(ctx), ctx.context, ERROR, wrong, f'value: "{show(arg_type, checker(ctx))}"', fix)
    return with_axes(change(t, keep_row), names, scope)


def conflicting_names(old: Sequence[Type], new: Sequence[Type]) -> list[tuple[int, int]]:
    """Return where a name is given to another axis: the axis that had the name, and the axis that gets it.

    A new name for an axis is allowed; two axes that exchange their names are most often a transposed table.
    """
    return [
        (i, j)
        for i, name in enumerate(old)
        for j, given in enumerate(new)
        if is_named(name) and name == given and old[j] != name and new[i] != name
    ]


def _axis_of(name: Type) -> Type:
    """Return the axis that an argument of `as_axes` denotes."""
    t = get_proper_type(name)
    brand = t.item if isinstance(t, TypeType) else class_of(t)
    if brand is not None:
        return brand if is_named(brand) else UNKNOWN
    n = literal_axis(t)
    return UNKNOWN if n is None or n < 0 or not isinstance(t, Instance) else t.last_known_value or UNKNOWN
