"""Functions of trees: each leaf of the result has the rows that the function returns for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mypy.erasetype import remove_instance_last_known_values
from mypy.nodes import ARG_POS, TypeInfo
from mypy.typeops import make_simplified_union
from mypy.types import (
    CallableType,
    Instance,
    NoneType,
    ProperType,
    TupleType,
    Type,
    TypedDictType,
    UnionType,
    get_proper_type,
)

from branded.mypy.analysis.reads import TRUTH, WHERE, known_brands, reject_batched
from branded.mypy.codes import READ
from branded.mypy.rows.algebra import (
    ARRAY,
    CONTAINERS,
    UNKNOWN,
    Brand,
    change,
    has_rows,
    hides_brands,
    is_recursive,
    row_of,
    rows_in,
)
from branded.mypy.rows.callables import overload_plain
from branded.mypy.rows.leaves import NUMBERS
from branded.mypy.transforms.function_calls import Rule, TransformCall, join_trees, tree_leaves, unique_brands
from branded.mypy.transforms.in_axes import tuple_type


def map_(call: TransformCall) -> Type:
    """Return the type of `tree.map(f, tree, *rest)`."""
    rest = call.types_of("rest")
    if rest is None or call.expression("is_leaf") is not None:
        return UNKNOWN
    return _map_type(call, [call.type_of("tree"), *rest])


def _map_type(call: TransformCall, trees: Sequence[Type]) -> Type:
    """Return the tree of results of `f`; unknown if the trees may have different structures."""
    proper_types = [get_proper_type(t) for t in trees]
    t, f = proper_types[0], call.expression("f")
    if f is None:
        return UNKNOWN
    if isinstance(t, NoneType):
        return t
    if row_of(t) is not None or (isinstance(t, Instance) and t.type.fullname in (*NUMBERS, ARRAY)):
        return call.result(f, trees)
    if (node := _node_class(t)) is not None:
        return _map_class(call, t, node, trees)
    match t:
        case TupleType():
            tuples = [x.items for x in proper_types if isinstance(x, TupleType) and len(x.items) == len(t.items)]
            if len(tuples) == len(proper_types):
                return t.copy_modified(items=[_map_part(call, each) for each in zip(*tuples, strict=True)])
        case TypedDictType():
            dicts = [x.items for x in proper_types if isinstance(x, TypedDictType) and x.items.keys() == t.items.keys()]
            if len(dicts) == len(proper_types):
                return t.copy_modified(item_types=[_map_part(call, [d[k] for d in dicts]) for k in t.items])
        case Instance() if t.type.fullname in CONTAINERS and t.args:
            return _map_container(call, t, proper_types)
    return UNKNOWN


def _map_part(call: TransformCall, trees: Sequence[Type]) -> Type:
    """Return the tree of results for a part of a tree; unknown for a type that contains itself."""
    return UNKNOWN if any(map(is_recursive, trees)) else _map_type(call, trees)


def _map_container(call: TransformCall, t: Instance, trees: Sequence[ProperType]) -> Type:
    alike = [x for x in trees if isinstance(x, Instance) and x.type is t.type]
    if len(alike) < len(trees):
        return UNKNOWN
    return t.copy_modified(args=[*t.args[:-1], _map_part(call, [x.args[-1] for x in alike])])


def _node_class(t: ProperType) -> TypeInfo | None:
    """Return the class of a tree that is a dataclass, a NamedTuple or another class with rows."""
    info = t.partial_fallback.type if isinstance(t, TupleType) else t.type if isinstance(t, Instance) else None
    is_class = info is not None and (info.is_named_tuple or "dataclass" in info.metadata or has_rows(info))
    return info if is_class else None


def _map_class(call: TransformCall, t: ProperType, info: TypeInfo, trees: Sequence[Type]) -> Type:
    """Return the same class with the brands that `f` returns for a tensor with the brands of all trees.

    A class without rows stays the same only if the results have no brands.
    """
    rows = [b for tree in trees for b in unique_brands(tree)]
    f = call.expression("f")
    if f is None or any(hides_brands(tree) for tree in trees):
        return UNKNOWN
    check = call.result if has_rows(info) else call.trial
    row = row_of(check(f, [call.vec(list(dict.fromkeys(rows)))] * len(trees)))
    return UNKNOWN if row is None or (row and not has_rows(info)) else change(t, lambda _: row)


def _leaf_type(call: TransformCall) -> Type | None:
    """Return the type of the leaves of `tree`: tensors, numbers, or both; None if others may be among them."""
    if call.expression("is_leaf") is not None:
        return None
    rows, others = dict[Brand, None](), list[Type]()
    has_tensors = False
    for leaf in _flat_leaves(call.type_of("tree")):
        if isinstance(leaf, Instance) and leaf.type.fullname in NUMBERS:
            others.append(leaf)
        elif row_of(leaf) is not None or _node_class(leaf) is not None:
            has_tensors, rows = True, rows | dict.fromkeys(rows_in(leaf))
        else:
            return None
    if hides_brands(out := make_simplified_union([*([call.vec([*rows])] if has_tensors else []), *others])):
        return None
    return out if has_tensors or others else None


def _flat_leaves(t: Type, above: tuple[UnionType, ...] = ()) -> Iterator[ProperType]:
    """Find the leaves of a tree, and of the items of unions; a recursive union has the leaves of one level."""
    for _, leaf in tree_leaves(t, ""):
        if not isinstance(leaf, UnionType | NoneType):
            yield leaf
        elif isinstance(leaf, UnionType) and leaf not in above:
            for item in leaf.items:
                yield from _flat_leaves(item, (*above, leaf))


def leaves(call: TransformCall) -> Type:
    """Return the type of `tree.leaves(tree)`: a list of tensors with the brands of all leaves."""
    leaf = _leaf_type(call)
    return call.api.named_generic_type("builtins.list", [UNKNOWN if leaf is None else leaf])


def flatten(call: TransformCall) -> Type:
    """Return the type of `tree.flatten(tree)`."""
    return tuple_type([leaves(call), call.scope.instance("branded.tree.structures.Structure")], call.api)


def reduce(call: TransformCall) -> Type:
    """Return the type of `tree.reduce(f, tree, initializer)`."""
    f, leaf = call.expression("f"), _leaf_type(call)
    if f is None or leaf is None:
        return UNKNOWN
    has_first = call.expression("initializer") is not None
    first = remove_instance_last_known_values(call.type_of("initializer")) if has_first else leaf
    once = call.result(f, [first, leaf])
    again = call.trial(f, [once, leaf])
    return join_trees(once, again) or UNKNOWN


def all_(call: TransformCall) -> Type:
    """Return the type of `tree.all(tree)`, and reject batched leaves."""
    if known_brands(t := call.type_of("tree")):
        reject_batched(call.api, call.at, t, READ, TRUTH, WHERE)
    return call.api.named_generic_type("builtins.bool", [])


def ravel(call: TransformCall) -> Type:
    """Return the type of `tree.ravel(tree)`: the vector has the brands of all leaves.

    `unravel` returns a tree in which each leaf has the brands of the vector that it receives.
    """
    tree = call.tensors(call.type_of("tree"))
    brand = call.scope.fresh("V", call.at, call.api, place=f"{call.at.line}:{call.at.column}:unravel")
    inverse: Type = UNKNOWN
    if not hides_brands(tree):
        function = call.api.named_generic_type("builtins.function", [])
        back = change(tree, lambda row: [brand])
        inverse = overload_plain(
            CallableType([call.vec([brand])], [ARG_POS], [None], back, function, variables=[brand])
        )
    return tuple_type([call.vec(unique_brands(tree)), inverse], call.api)


TREES: dict[str, Rule] = {
    **{f"branded.tree.api.{name}": rule for name, rule in {"map": map_, "flatten": flatten, "reduce": reduce}.items()},
    "branded.tree.api.all": all_,
    "branded.tree.nodes.leaves": leaves,
    "branded.tree.ravel.ravel": ravel,
}
