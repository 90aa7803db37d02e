"""The leaves of a tree: which can be mapped over, and which can be stacked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence, Sized
from functools import partial

from mypy.expandtype import expand_type_by_instance
from mypy.nodes import TypeAlias, TypeInfo
from mypy.plugin import FunctionContext
from mypy.types import (
    CallableType,
    FunctionLike,
    Instance,
    LiteralType,
    NoneType,
    ProperType,
    TupleType,
    Type,
    TypedDictType,
    get_proper_type,
    has_type_vars,
)

from branded.mypy.rows.algebra import (
    ARRAY,
    CONTAINERS,
    TENSOR,
    UNKNOWN,
    VEC,
    Brand,
    Change,
    as_vec,
    change,
    has_rows,
    holds_tensors,
    is_recursive,
    keep_row,
    row_of,
    rows_in,
    union_row,
    vec_to_tensor,
)
from branded.mypy.rows.brand_env import OpenBrands
from branded.mypy.rows.reporting import checker
from branded.mypy.rows.static_fields import static_fields

NUMBERS = {"builtins.int", "builtins.float", "builtins.bool"}
STACKED = {*NUMBERS, ARRAY, "tinygrad.uop.ops.UOp"}
"""Classes whose instances become tensors when a mapped function returns them."""


def replace_leaves(new: Type, kinds: Collection[str]) -> Callable[[Type], Type]:
    """Return a function that replaces each leaf of one of these classes by `new`, for `change`."""

    def leaf(t: Type) -> Type:
        p = get_proper_type(t)
        p = p.fallback if isinstance(p, LiteralType) else p
        return new if isinstance(p, Instance) and p.type.fullname in kinds else t

    return leaf


_STACKED = "__branded_stacked"
"""The attribute that marks the type of a dataclass whose numbers vmap has stacked to tensors."""


def stack_numbers(t: Type, f: Change, axes: Type, vec: Instance) -> Type:
    """Change the rows of a result, and replace its numbers and arrays by `vec`, also in the fields of dataclasses."""
    stacked = replace_leaves(vec, STACKED)

    def mark(t: Type) -> Type:
        p = get_proper_type(t)
        is_dataclass = isinstance(p, Instance) and "dataclass" in p.type.metadata
        return p.copy_with_extra_attr(_STACKED, vec) if is_dataclass and isinstance(p, Instance) else stacked(t)

    def end(t: Instance) -> Instance:
        marked = mark(t) if has_rows(t.type) and t.type.fullname != VEC else vec_to_tensor(t)
        return marked if isinstance(marked, Instance) else t

    return change(t, f, axes, mark, end)


def stacked_field(t: Type, owner: Type) -> Type:
    """Return the type of an object's field: if vmap has stacked the object, a number is a tensor."""
    p = get_proper_type(owner)
    vec = p.extra_attrs.attrs.get(_STACKED) if isinstance(p, Instance) and p.extra_attrs else None
    if not isinstance(vec, Instance):
        return change(t, keep_row)
    varied = as_vec(vec).copy_modified(args=[union_row(rows_in(p)), vec])
    return stack_numbers(t, keep_row, UNKNOWN, vec_to_tensor(varied))


def with_brand(t: Type, way: Type, brand: Brand, scope: OpenBrands) -> Type:
    """Add a brand to the rows of a type where `way` maps it; an array becomes a tensor."""
    vec = scope.instance(VEC, brand, scope.instance(TENSOR))
    return change(t, lambda row: [*row, brand], way, replace_leaves(vec, {ARRAY}))


def unmappable(
    t: Type,
    way: Type,
    what: str,
    result: bool = False,
    plain: Callable[[TypeInfo], bool] = lambda info: False,
    around: frozenset[TypeInfo | TypeAlias | None] = frozenset(),
) -> Iterator[tuple[str, str, str]]:
    """Find the leaves of a mapped value that have no axis to map over.

    Yields a name, a description and a fix for each; without a fix of its own, "".

    Args:
        t: The type of the value.
        way: Its axes.
        what: The name of the value in messages.
        result: Whether the value is a result. Then leaves that cannot be stacked are found. Numbers can be stacked, and
            tensors in objects without brands are shared.
        plain: A predicate for classes of tensors that need no brands.
        around: The classes and recursive types that contain the value; a part of such a type has the same leaves.
    """
    find = partial(unmappable, result=result, plain=plain)
    if is_recursive(t):
        if t.alias in around:
            return
        around |= {t.alias}
    t, way = get_proper_type(t), get_proper_type(way)
    if isinstance(way, NoneType):
        return
    fields = fields_of(t)
    if isinstance(t, FunctionLike):
        yield what, "a function", ""
    elif isinstance(t, TupleType | TypedDictType):
        info = t.partial_fallback.type if isinstance(t, TupleType) else t.fallback.type
        if info.is_named_tuple and not (result or _tracks_brands(info)) and _any_tensor(fields) and not plain(info):
            yield what, f"a {info.name}, a class without brands", f"declare class {info.name}(NamedTuple, Generic[S])"
            return
        if info not in around:
            inner = around if info.fullname == "builtins.tuple" else around | {info}
            absent = optional_items(t) - ({f"[{k!r}]" for k in way.items} if isinstance(way, TypedDictType) else set())
            for (accessor, field), each in zip(fields.items(), _item_axes(way, t, fields), strict=True):
                if accessor not in absent:
                    yield from find(field, each, f"{what}{accessor}", around=inner)
    elif not isinstance(t, Instance):
        return
    elif t.type.fullname in CONTAINERS:
        if t.args:
            yield from find(t.args[-1], way, f"each item of {what}", around=around)
    elif t.type in around:
        return
    elif REGISTERED in t.type.metadata and (has_rows(t.type) or plain(t.type)):
        return  # its `flatten` returns its leaves
    elif has_rows(t.type) or (fields and (result or _tracks_brands(t.type) or plain(t.type))):
        for accessor, field in fields.items():
            yield from find(field, way, f"{what}{accessor}", around=around | {t.type})
    elif row_of(t) is None and t.type.fullname not in (ARRAY, "builtins.object", *(STACKED if result else ())):
        yield what, *_describe_leaf(t.type, result)


def _item_axes(way: Type, t: TupleType | TypedDictType, fields: Sized) -> Sequence[Type]:
    """Return the axes of each item of a tuple or a TypedDict, as far as they are known."""
    if isinstance(t, TypedDictType):
        return [way.items.get(k, UNKNOWN) if isinstance(way, TypedDictType) else UNKNOWN for k in t.items]
    is_known = isinstance(way, TupleType) and len(way.items) == len(fields)
    return way.items if is_known and isinstance(way, TupleType) else [UNKNOWN] * len(fields)


def _describe_leaf(info: TypeInfo, result: bool) -> tuple[str, str]:
    """Describe a leaf without an axis, and its fix, `declare class Model(Generic[S])`: a class may have brands."""
    noun = f"{'an' if info.name[0] in 'aeiouAEIOU' else 'a'} {info.name}"
    bare = result or info.fullname.startswith(("builtins.", "typing.", "collections."))
    return (noun, "") if bare else (f"{noun}, a class without brands", f"declare class {info.name}(Generic[S])")


def _any_tensor(fields: dict[str, Type]) -> bool:
    return any(row_of(f) is not None for f in fields.values())


def _tracks_brands(info: TypeInfo) -> bool:
    """Return whether a class has rows, or fields with the types of its arguments, as `Box[Tensor]` has."""
    symbols = (info.get(name) for name in fields_of_class(info))
    declared = [s.type for s in symbols if s is not None and s.type is not None]
    is_generic = any(map(has_type_vars, declared))
    return has_rows(info) or (is_generic and not any(holds_tensors(t) for t in declared))


REGISTERED = "branded"
"""The key in the metadata of a class that `register_pytree_node` has registered in its own file."""


def register_class(ctx: FunctionContext) -> Type:
    """Remember that `register_pytree_node(C, ...)` registers a class of this file."""
    f = get_proper_type(ctx.arg_types[0][0]) if ctx.arg_types and ctx.arg_types[0] else None
    cls = f.type_object() if isinstance(f, CallableType) and f.is_type_obj() else None
    if cls is not None and cls.module_name == checker(ctx).tree.fullname:
        cls.metadata[REGISTERED] = {"is_registered": True}
    return ctx.default_return_type


def field_type(owner: ProperType, name: str, declared: Type) -> Type:
    """Return the type of a field, which is declared with the type `declared`, as vmap has stacked it."""
    info = owner.partial_fallback.type if isinstance(owner, TupleType) else None
    cls = info or (owner.type if isinstance(owner, Instance) else None)
    if cls is not None and name in static_fields(cls):
        return declared
    if info is None or not info.is_named_tuple or f".{name}" not in (fields := fields_of(owner)):
        return stacked_field(declared, owner)
    return change(declared if has_rows(info) and rows_in(declared) else fields[f".{name}"], keep_row)


def fields_of_class(info: TypeInfo) -> list[str]:
    """Return the names of the fields of a dataclass or a NamedTuple that are leaves."""
    if REGISTERED in info.metadata:
        return []
    dataclass, named_tuple = info.metadata.get("dataclass", {}), info.metadata.get("namedtuple", {})
    names = [a["name"] for a in dataclass.get("attributes", ())] or named_tuple.get("fields", [])
    static = static_fields(info) if names else set()
    return [name for name in names if name not in static]


def optional_items(t: ProperType) -> set[str]:
    """Return the accessors of the items that a TypedDict may lack."""
    return {f"[{k!r}]" for k in t.items.keys() - t.required_keys} if isinstance(t, TypedDictType) else set()


def fields_of(t: ProperType) -> dict[str, Type]:
    """Return the children of a tuple, TypedDict, NamedTuple or dataclass, by their accessors: `[0]`, `.name`."""
    match t:
        case TupleType() if t.partial_fallback.type.is_named_tuple:
            info = t.partial_fallback.type
            item_of = dict(zip(info.metadata["namedtuple"]["fields"], t.items, strict=True))
            return {f".{n}": item_of[n] for n in fields_of_class(info)}
        case TupleType():
            return {f"[{i}]": item for i, item in enumerate(t.items)}
        case TypedDictType():
            return {f"[{k!r}]": item for k, item in t.items.items()}
        case Instance() if "dataclass" in t.type.metadata:
            symbols = {name: t.type.get(name) for name in fields_of_class(t.type)}
            types = {f".{n}": expand_type_by_instance(s.type, t) for n, s in symbols.items() if s and s.type}
            return {n: stacked_field(field, t) for n, field in types.items()}
    return {}
