"""`in_axes` and `out_axes`, read as literals into types: ints, None, tuples, and TypedDicts for dicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from mypy.checker import TypeChecker
from mypy.errorcodes import ErrorCode
from mypy.nodes import (
    ARG_NAMED,
    ARG_POS,
    ARG_STAR,
    ARG_STAR2,
    Context,
    DictExpr,
    Expression,
    IntExpr,
    ListExpr,
    NameExpr,
    StarExpr,
    StrExpr,
    TupleExpr,
    TypeInfo,
    UnaryExpr,
)
from mypy.types import (
    AnyType,
    Instance,
    LiteralType,
    NoneType,
    ProperType,
    TupleType,
    Type,
    TypedDictType,
    UnionType,
    get_proper_type,
)

from branded.mypy.analysis.untyped_modules import is_untyped_class
from branded.mypy.codes import AXES, AXIS_TYPE, ERROR
from branded.mypy.rows.algebra import CONTAINERS, UNKNOWN, is_shared, row_of
from branded.mypy.rows.callables import Arg
from branded.mypy.rows.leaves import REGISTERED, fields_of, unmappable
from branded.mypy.rows.reporting import fail


def tree_of(e: Expression | None, api: TypeChecker) -> Type:
    """Return the tree of axes for an expression; unknown if neither a literal nor its type determines it."""
    match e:
        case None:
            return _int_type(0, api)
        case IntExpr():
            return _int_type(e.value, api)
        case UnaryExpr(op="-", expr=IntExpr() as n):
            return _int_type(-n.value, api)
        case NameExpr(name="None"):
            return NoneType()
        case TupleExpr() | ListExpr():
            items = [t for i in e.items for t in _entries(i, api)]
            return UNKNOWN if None in items else tuple_type([t for t in items if t is not None], api)
        case DictExpr() if all(isinstance(k, StrExpr) for k, _ in e.items):
            each = {k.value: tree_of(v, api) for k, v in e.items if isinstance(k, StrExpr)}
            return TypedDictType(each, set(each), set(), api.named_generic_type("typing._TypedDict", []))
    return _axes_from_type(api.get_expression_type(e))


def _entries(e: Expression, api: TypeChecker) -> list[Type | None]:
    """Return the trees of an entry; None for a star-expression of unknown length."""
    if not isinstance(e, StarExpr):
        return [tree_of(e, api)]
    t = get_proper_type(tree_of(e.expr, api))
    return [*t.items] if isinstance(t, TupleType) else [None]


def _int_type(value: int, api: TypeChecker) -> Instance:
    t = api.named_generic_type("builtins.int", [])
    return t.copy_modified(last_known_value=LiteralType(value, t))


def tuple_type(items: list[Type], api: TypeChecker) -> TupleType:
    return TupleType(items, api.named_generic_type("builtins.tuple", [api.named_generic_type("builtins.object", [])]))


def _axes_from_type(t: Type) -> Type:
    """Return the axes that the type of a non-literal expression determines."""
    t = get_proper_type(t)
    if isinstance(t, TupleType) and t.partial_fallback.type.is_named_tuple:
        return UNKNOWN  # a named tuple of axes, whose declared field types are tensors
    if isinstance(t, TupleType):
        return t.copy_modified(items=[_axes_from_type(i) for i in t.items])
    exact = isinstance(t, NoneType | TypedDictType) or (isinstance(t, Instance) and t.type.fullname not in CONTAINERS)
    return t if exact else UNKNOWN


def format_axes(axes: Type) -> str:
    """Return the tree in Python syntax, with 0 for every int."""
    axes = get_proper_type(axes)
    match axes:
        case NoneType():
            return "None"
        case TupleType():
            return "(" + ", ".join(map(format_axes, axes.items)) + ("," if len(axes.items) == 1 else "") + ")"
        case TypedDictType():
            return "{" + ", ".join(f'"{k}": {format_axes(v)}' for k, v in axes.items.items()) + "}"
        case Instance() if axes.type.fullname == "builtins.int":
            return "0"
    return "..."


def axes_mismatches(axes: Type, t: Type, what: str) -> Iterator[tuple[ErrorCode, str]]:
    """Find mismatches between `axes`, a prefix tree, and a value of type `t` called `what`.

    axes  ((0, None), 0)     "(0, None) has 2 axes, but argument 1[0] has 3 items"
    t     a pair of a tuple of three tensors, and a tensor
    """
    axes, t = get_proper_type(axes), get_proper_type(t)
    if isinstance(axes, Instance) and axes.type.fullname in ("builtins.bool", "builtins.str", "builtins.float"):
        yield AXIS_TYPE, f"the axis of {what} is a {axes.type.name}: an axis is an int or None"
    elif row_of(axes) is not None:
        yield AXIS_TYPE, "a tensor is not an axis: call vmap(f)(x), not vmap(f, x)"
    elif isinstance(axes, UnionType | AnyType) or isinstance(t, UnionType | AnyType):
        return
    elif isinstance(axes, TupleType):
        yield from _tuple_mismatches(axes, t, what)
    elif isinstance(axes, TypedDictType):
        yield from _dict_mismatches(axes, t, what)


def _tuple_mismatches(axes: TupleType, t: ProperType, what: str) -> Iterator[tuple[ErrorCode, str]]:
    if not isinstance(t, TupleType):
        if kind := _describe_other(t, "tuple"):
            yield AXES, f"{format_axes(axes)} is a tuple of axes, but {what} is {kind}"
    elif len(axes.items) != len(items := list(fields_of(t).values())):
        yield (
            AXES,
            f"{format_axes(axes)} has {plural(len(axes.items), 'axis', 'axes')}, but {what} has {len(items)} items",
        )
    else:
        for i, (a, item) in enumerate(zip(axes.items, items, strict=True)):
            yield from axes_mismatches(a, item, f"{what}[{i}]")


def _dict_mismatches(axes: TypedDictType, t: ProperType, what: str) -> Iterator[tuple[ErrorCode, str]]:
    if not isinstance(t, TypedDictType):
        if kind := _describe_other(t, "dict"):
            yield AXES, f"{format_axes(axes)} is a dict of axes, but {what} is {kind}"
        return
    alone = [k for k in axes.items if k not in t.items]
    alone += [k for k in t.items if k in t.required_keys and k not in axes.items]
    if alone:
        keys = " and ".join(f"`{key}`" for key in alone)
        where = f"{keys} {'is' if len(alone) == 1 else 'are'} in one of them"
        yield AXES, f"{format_axes(axes)} and {what} have different keys: {where}"
    for key in [k for k in axes.items if k in t.items]:
        yield from axes_mismatches(axes.items[key], t.items[key], f"{what}[{key!r}]")


def _describe_other(t: ProperType, kind: str) -> str | None:
    """Describe a value that certainly is not a tree of this kind; None for others."""
    if row_of(t) is not None:
        return "one tensor"
    if isinstance(t, TypedDictType) or (isinstance(t, Instance) and t.type.fullname == "builtins.dict"):
        return None if kind == "dict" else "a dict"
    return "a tuple" if kind == "dict" and isinstance(t, TupleType) else None


def plural(n: int, one: str, many: str) -> str:
    """Format a count: `1 axis`, `2 axes`."""
    return f"{n} {one if n == 1 else many}"


def axes_of_call(axes: Type, args: Sequence[Arg], exact: bool, context: Context, api: TypeChecker) -> list[Type]:
    """Return the axes of each argument; keyword arguments are mapped over axis 0."""
    positional = sum(a.kind == ARG_POS for a in args)
    tree = get_proper_type(axes)
    if isinstance(tree, TypedDictType):
        fix = "try:   in_axes=({...},), with one entry per positional argument"
        fail(api, context, AXES, "in_axes: a dict cannot give the axes of all arguments", fix)
        tree = UNKNOWN
    each: list[Type] = list(tree.items) if isinstance(tree, TupleType) else [tree] * positional
    if len(each) != positional:
        if exact and not any(a.kind in (ARG_STAR, ARG_STAR2) for a in args):
            axes_count = plural(len(each), "axis", "axes")
            wanted = plural(positional, "positional argument", "positional arguments")
            fail(
                api,
                context,
                AXES,
                f"in_axes: {axes_count} for {wanted}",
                f"axes:  {format_axes(tree)}",
                "try:   give one entry per positional argument; keyword arguments are always mapped over axis 0",
            )
            each = []
        first = next((i for i, a in enumerate(args) if a.kind != ARG_POS), positional)  # `*xs` has the others
        each = [*each[:first], *[UNKNOWN] * positional][:positional]
    positional_axes, zero = iter(each), tree_of(None, api)
    shared = tree if isinstance(tree, NoneType) else UNKNOWN
    return [next(positional_axes) if a.kind == ARG_POS else shared if a.kind == ARG_STAR else zero for a in args]


def check_axes(args: Sequence[Arg], ways: Sequence[Type], axis_size: bool, context: Context, api: TypeChecker) -> bool:
    """Return whether the axes match the arguments and something is mapped; report errors if not."""
    wrong = list(_wrong_axes(args, ways, axis_size, context, api))
    for code, message, *notes in wrong:
        fail(api, context, code, message, *notes)
    return not wrong


def _wrong_axes(
    args: Sequence[Arg], ways: Sequence[Type], axis_size: bool, context: Context, api: TypeChecker
) -> Iterator[tuple[ErrorCode, str, *tuple[str, ...]]]:
    for i, (arg, way) in enumerate(zip(args, ways, strict=True), 1):
        what = arg.label(i)
        for code, wrong in axes_mismatches(way, arg.type, what):
            yield code, f"in_axes: {wrong}"
        share = "functools.partial(f, ...)" if arg.name else "use in_axes=None for this argument"
        for where, why, fix in unmappable(arg.type, way, what, plain=partial(_is_untyped, context=context, api=api)):
            fixes = " with fields of type Vec[S], or ".join([fix, share] if fix else [share])
            yield AXIS_TYPE, f"in_axes: {where} is {why}: there is no axis to map over", f"try:   {fixes}"
    is_complete = all(a.kind in (ARG_POS, ARG_NAMED) for a in args)
    if is_complete and all(map(is_shared, ways)) and not axis_size:
        fix = "try:   give a mapped argument an int in in_axes, or pass axis_size=n"
        yield AXES, "in_axes: nothing is mapped, so the batch size is unknown", fix


def _is_untyped(info: TypeInfo, context: Context, api: TypeChecker) -> bool:
    """Return whether a class is from a file without `Vec`: its type shows no brands.

    The fields of dataclasses and named tuples are followed all the same, and those of registered classes are not.
    """
    if is_untyped_class(info, api) and REGISTERED in info.metadata:
        unchecked = f"vmap: {info.name} is a class without brands, so its tensors are not checked"
        api.note(f"{unchecked}; class {info.name}(Generic[S]) has brands", context, code=ERROR)
    return is_untyped_class(info, api)
