"""Operations on rows: find, add and remove the brands in the type of a pytree.

A row is the first argument of `Vec`: a union of brands, or `Never` for the empty row. A brand is a subclass of `Brand`,
or a type variable bounded by `Brand`; vmap creates such variables, and users declare them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeGuard

from mypy.maptype import map_instance_to_supertype
from mypy.nodes import TypeAlias, TypeInfo
from mypy.type_visitor import TypeQuery
from mypy.typeops import make_simplified_union
from mypy.types import (
    AnyType,
    CallableType,
    Instance,
    NoneType,
    ProperType,
    TupleType,
    Type,
    TypeAliasType,
    TypedDictType,
    TypeOfAny,
    TypeVarType,
    UninhabitedType,
    UnionType,
    get_proper_type,
)

from branded.mypy.analysis.caches import new_cache

BRAND, VEC, TENSOR, ARRAY = "branded.core.brand.Brand", "branded.vec.Vec", "tinygrad.tensor.Tensor", "numpy.ndarray"
AXES, ANY_ROW = "branded.vec.Axes", "branded.vec.AnyRow"
CONTAINERS = frozenset(
    f"{module}.{name}"
    for module, names in {
        "builtins": ("tuple", "list", "dict"),
        "typing": ("Sequence", "MutableSequence", "Mapping", "MutableMapping"),
        "collections": ("deque", "OrderedDict", "defaultdict"),
    }.items()
    for name in names
)
"""The generic classes in which vmap looks for tensors."""
STREAMS = frozenset(
    f"{module}.{name}"
    for module, names in {
        "builtins": ("enumerate", "filter", "map", "reversed", "zip"),
        "_collections_abc": ("dict_items", "dict_values"),
        "typing": ("Iterable", "Iterator", "Generator", "Collection", "Reversible", "ItemsView", "ValuesView"),
    }.items()
    for name in names
)
"""Other classes whose entries may be tensors, as parameters and results of functions."""
_WITH_ENTRIES = CONTAINERS | STREAMS

_NUMBERS = {"builtins.bool", "builtins.float", "builtins.int", "builtins.str"}
UNKNOWN = AnyType(TypeOfAny.special_form)
Brand = ProperType
_WITH_BRANDS = TypeVarType, UnionType
"""Rows that are certainly not empty; most rows are of these kinds."""
Change = Callable[[list[Brand]], Iterable[Type]]
"""A function from the brands of a row to the new brands."""


def is_row(v: Type) -> bool:
    """Return whether this is a type variable for a row."""
    if not isinstance(v, TypeVarType):
        return False
    bound = get_proper_type(v.upper_bound)
    return isinstance(bound, Instance) and bound.type.fullname == BRAND


def is_recursive(t: Type) -> TypeGuard[TypeAliasType]:
    """Return whether a type contains itself; a traversal has to stop at it."""
    return isinstance(t, TypeAliasType) and t.is_recursive


def has_rows(info: TypeInfo) -> bool:
    return any(map(is_row, info.defn.type_vars))


def _is_generic_tree(t: Instance) -> bool:
    """Return whether this is a dataclass or a NamedTuple whose arguments may hold tensors: `Box[Tensor]`."""
    return bool(t.args) and (t.type.is_named_tuple or "dataclass" in t.type.metadata)


def brands_in_row(row: Type) -> list[Brand]:
    row = get_proper_type(row)
    if isinstance(row, UninhabitedType):
        return []
    return [b for item in row.items for b in brands_in_row(item)] if isinstance(row, UnionType) else [row]


def union_row(brands: Iterable[Type]) -> Type:
    """Return the row of these brands. Type variables are not subtypes of each other, so they need no simplification."""
    row = list(brands)
    if len(row) == 1 and isinstance(row[0], TypeVarType | Instance):
        return row[0]
    if all(isinstance(b, TypeVarType) for b in row):
        return UnionType.make_union(list(dict.fromkeys(row)))
    return make_simplified_union(row)


def is_a(t: Type, fullname: str) -> TypeGuard[Instance]:
    """Return whether this is an instance of exactly this class."""
    t = get_proper_type(t)
    return isinstance(t, Instance) and t.type.fullname == fullname


def as_vec(t: Instance) -> Instance:
    """Return a Tensor as its base `Vec[Never, Tensor]`."""
    if t.type.fullname == VEC:
        return t
    for c in t.type.mro:
        if c.fullname == VEC:
            return map_instance_to_supertype(t, c)
    return t


def vec_to_tensor(t: Instance) -> Instance:
    """Return Tensor for `Vec[Never, Tensor]`, the inverse of `as_vec`; other types are unchanged."""
    if t.type.fullname != VEC or len(t.args) != 2 or isinstance(t.args[0], _WITH_BRANDS):
        return t
    base = get_proper_type(t.args[1])
    return base if isinstance(base, Instance) and as_vec(base) == t else t


def row_of(t: Type) -> list[Brand] | None:
    """Return the brands of a Vec or a Tensor; None for other types."""
    t = get_proper_type(t)
    if isinstance(t, TypeVarType):
        t = get_proper_type(t.upper_bound)
    vec = as_vec(t) if isinstance(t, Instance) else None
    return brands_in_row(vec.args[0]) if vec is not None and vec.type.fullname == VEC else None


def _as_is(t: Type) -> Type:
    return t


def change(
    t: Type,
    f: Change,
    axes: Type = UNKNOWN,
    leaf: Callable[[Type], Type] = _as_is,
    end: Callable[[Instance], Instance] = vec_to_tensor,
) -> Type:
    """Change all rows of a tree, except where `axes`, a prefix of the tree, is None.

    Args:
        t: The type of a tree.
        f: A function from the brands of a row to the new brands.
        axes: A tree of axes, as `in_axes.tree_of` returns it.
        leaf: A function applied to types that are not containers and have no row. If it is given, iterators and other
            streams are leaves, too: a transform does not map their entries.
        end: A function applied to each visited Vec, changed or not. By default a Vec with the empty row becomes a
            Tensor.

    Returns:
        The changed type.
    """
    axes = get_proper_type(axes)
    if is_shared(axes):
        return t
    if is_recursive(t) and t.alias is not None:
        if not (rows := each_row(t)):
            return leaf(t)
        if any(map(is_row, t.alias.alias_tvars)):
            return t.copy_modified(args=_change_args(t.alias.alias_tvars, t.args, f))
        return _change_recursive(t.alias, t, rows, f, leaf, end)
    t = get_proper_type(t)
    if isinstance(t, Instance) and t.type.fullname == VEC:  # the most frequent case
        if f is keep_row and isinstance(t.args[0], TypeVarType):
            return end(t)
        row = union_row(f(brands_in_row(t.args[0])))
        return end(t if row == t.args[0] else t.copy_modified(args=[row, *t.args[1:]]))
    if isinstance(t, Instance) and t.type.fullname in _NUMBERS:
        return leaf(t)
    if f is keep_row and leaf is _as_is and end is vec_to_tensor and is_a(t, TENSOR):
        return t
    match t:
        case TupleType():
            same = isinstance(axes, TupleType) and len(axes.items) == len(t.items)
            each = axes.items if isinstance(axes, TupleType) and same else [axes] * len(t.items)
            items = [change(i, f, a, leaf, end) for i, a in zip(t.items, each, strict=True)]
            fallback = change(t.partial_fallback, f, UNKNOWN, leaf, end)
            return t.copy_modified(items=items, fallback=fallback if isinstance(fallback, Instance) else None)
        case TypedDictType():
            keys = axes.items if isinstance(axes, TypedDictType) else {}
            if has_rows(t.fallback.type):  # the items are as declared: they share a row and stay Vecs
                end, keys, axes = _identity, {}, UNKNOWN
            items = [change(i, f, keys.get(k, axes), leaf, end) for k, i in t.items.items()]
            fallback = t.fallback.copy_modified(args=_change_args(t.fallback.type.defn.type_vars, t.fallback.args, f))
            return t.copy_modified(item_types=items, fallback=fallback)
        case UnionType():
            return make_simplified_union([change(i, f, axes, leaf, end) for i in t.items])
        case Instance() if t.type.fullname in CONTAINERS:
            return t.copy_modified(args=[*t.args[:-1], *(change(a, f, UNKNOWN, leaf, end) for a in t.args[-1:])])
        case Instance() if leaf is _as_is and t.type.fullname in STREAMS:
            return t.copy_modified(args=[change(a, f, UNKNOWN, leaf, end) for a in t.args])
        case Instance() if has_rows((old := as_vec(t)).type):
            args = _change_args(old.type.defn.type_vars, old.args, f)
            if _is_generic_tree(old):
                each_arg = zip(old.type.defn.type_vars, args, strict=False)
                args = [a if is_row(v) else change(a, f, UNKNOWN, leaf, end) for v, a in each_arg]
            changed = old.copy_modified(args=args)
            return end(t if changed == old else changed)
        case Instance() if _is_generic_tree(t):
            t = t.copy_modified(args=[change(a, f, UNKNOWN, leaf, end) for a in t.args])
    return leaf(t)


_changed_aliases: dict[TypeAlias, dict[tuple[object, ...], TypeAliasType]] = new_cache()
_unchanged: dict[TypeAlias, TypeAliasType] = new_cache()


def _change_recursive(
    alias: TypeAlias,
    t: TypeAliasType,
    rows: Sequence[list[Brand]],
    f: Change,
    leaf: Callable[[Type], Type],
    end: Callable[[Instance], Instance],
) -> Type:
    """Change the rows in a type that contains itself, `Nested = Tensor | Sequence["Nested"]`: it is a new alias."""
    wanted = [union_row(f(row)) for row in rows]
    original = _unchanged.get(alias, t)
    if original.alias is None or [union_row(row) for row in each_row(original)] == wanted:
        return original
    known, key = _changed_aliases.setdefault(original.alias, {}), (*t.args, *wanted, leaf, end)
    if key not in known:
        copy = TypeAlias(alias.target, alias.fullname, alias.module, alias.line, alias.column)
        copy._is_recursive = True
        known[key] = TypeAliasType(copy, [])
        _unchanged[copy] = original
        copy.target = change(get_proper_type(t), f, UNKNOWN, leaf, end)
    return known[key]


def add_brands(t: Type, brands: Sequence[Type]) -> Type:
    """Add brands to all rows of a tree."""
    return change(t, lambda row: [*row, *brands])


def _change_args(variables: Sequence[Type], args: Sequence[Type], f: Change) -> list[Type]:
    """Change those arguments of a class or an alias that are rows."""
    return [union_row(f(brands_in_row(a))) if is_row(v) else a for v, a in zip(variables, args, strict=False)]


def rows_in(t: Type) -> list[Brand]:
    """Return all brands of a tree."""
    return [b for row in each_row(t) for b in row]


def each_row(t: Type) -> list[list[Brand]]:
    """Return the rows of a tree, in the order in which `change` visits them."""
    rows: list[list[Brand]] = []
    _find_rows(t, rows)
    return rows


def _find_rows(t: Type, rows: list[list[Brand]], open_aliases: tuple[TypeAlias, ...] = ()) -> None:
    if is_recursive(t) and t.alias is not None:
        if any(map(is_row, t.alias.alias_tvars)):
            return _find_row_args(t.alias.alias_tvars, t.args, rows)
        if t.alias in open_aliases:
            return None
        open_aliases = (*open_aliases, t.alias)
    t = get_proper_type(t)
    below: Iterable[Type] = ()
    if isinstance(t, Instance):
        if t.type.fullname == VEC:  # the most frequent case
            rows.append(brands_in_row(t.args[0]))
        elif t.type.fullname in _WITH_ENTRIES:
            below = t.args
        elif t.type.fullname == TENSOR and _is_vec_class(t.type):
            rows.append([])
        elif t.type.fullname not in _NUMBERS:
            vec = as_vec(t)
            if vec.args:  # a class without arguments has no rows
                _find_row_args(vec.type.defn.type_vars, vec.args, rows)
                below = [a for v, a in zip(vec.type.defn.type_vars, vec.args, strict=False) if not is_row(v)]
                below = below if _is_generic_tree(vec) else ()
    elif isinstance(t, TupleType):
        below = [*t.items, t.partial_fallback]
    elif isinstance(t, UnionType):
        below = t.items
    elif isinstance(t, TypedDictType):
        below = t.items.values()
    for item in below:
        _find_rows(item, rows, open_aliases)
    if isinstance(t, TypedDictType):
        _find_row_args(t.fallback.type.defn.type_vars, t.fallback.args, rows)
    return None


_vec_classes: dict[TypeInfo, bool] = new_cache()


def _is_vec_class(info: TypeInfo) -> bool:
    """Return whether a class is a subclass of Vec: the stubs of another package have no Vec."""
    if info not in _vec_classes:
        _vec_classes[info] = any(c.fullname == VEC for c in info.mro)
    return _vec_classes[info]


def _find_row_args(variables: Sequence[Type], args: Sequence[Type], rows: list[list[Brand]]) -> None:
    """Find the rows among the arguments of a class or an alias."""
    for v, a in zip(variables, args, strict=False):
        if is_row(v):
            rows.append(brands_in_row(a))


def holds_tensors(t: Type) -> bool:
    """Return whether a tree contains tensors."""
    return bool(each_row(t))


def is_unbatched(t: Type) -> bool:
    """Return whether a tree contains tensors, none of them batched."""
    rows = each_row(t)
    return bool(rows) and not any(rows)


def _identity(t: Instance) -> Instance:
    return t


def is_shared(axes: Type) -> bool:
    """Return whether this is the axis None, or a tree with None for every leaf."""
    axes = get_proper_type(axes)
    if isinstance(axes, TupleType | TypedDictType):
        items = axes.items if isinstance(axes, TupleType) else axes.items.values()
        return bool(items) and all(map(is_shared, items))
    return isinstance(axes, NoneType)


def keep_row(row: list[Brand]) -> Iterable[Type]:
    """Keep a row; used with `change`, which then turns `Vec[Never, Tensor]` into Tensor."""
    return row


def drop_brands(gone: Callable[[Brand], bool]) -> Change:
    return lambda row: [b for b in row if not gone(b)]


class _Occurs(TypeQuery[bool]):
    def __init__(self, brand: Brand) -> None:
        super().__init__()
        self.brand = brand

    def strategy(self, items: list[bool]) -> bool:
        return any(items)

    def visit_type_var(self, t: TypeVarType) -> bool:
        return t == self.brand

    def visit_instance(self, t: Instance) -> bool:
        if t.type.fullname == AXES:  # an axis name is not a row
            return False
        return t == self.brand or super().visit_instance(t)


def occurs(brand: Brand, t: Type) -> bool:
    if isinstance(t, TypeVarType):
        return t == brand
    if isinstance(t, Instance):
        return t.type.fullname != AXES and (t == brand or any(map(partial(occurs, brand), t.args)))
    if isinstance(t, UnionType):
        return any(map(partial(occurs, brand), t.items))
    return not isinstance(t, AnyType | NoneType | UninhabitedType) and t.accept(_Occurs(brand))


def hides_brands(t: Type) -> bool:
    """Return whether a tree contains an Any that no error has reported."""
    if is_recursive(t):
        return any(map(hides_brands, t.args))
    t = get_proper_type(t)
    match t:
        case AnyType():
            return (t.source_any or t).type_of_any != TypeOfAny.from_error
        case TupleType() | UnionType():
            return any(map(hides_brands, t.items))
        case Instance() if t.type.fullname in CONTAINERS or t.type.fullname == VEC:
            return any(map(hides_brands, t.args))
    return False


def row_variables(f: CallableType) -> list[TypeVarType]:
    """Return the variables of rows; a variable that occurs in `Axes` alone is the name of an axis."""
    rows = [v for v in f.variables if isinstance(v, TypeVarType) and is_row(v)]
    return [v for v in rows if any(map(partial(occurs, v), (*f.arg_types, f.ret_type)))]
