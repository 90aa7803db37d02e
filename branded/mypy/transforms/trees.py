"""Functions of trees: each leaf of the result has the rows that the function returns for it."""

from __future__ import annotations

from collections.abc import Sequence

from mypy.types import Instance, NoneType, ProperType, TupleType, Type, TypedDictType, get_proper_type

from branded.mypy.rows.algebra import ARRAY, CONTAINERS, UNKNOWN, row_of
from branded.mypy.rows.leaves import NUMBERS
from branded.mypy.transforms.function_calls import Rule, TransformCall, unique_brands


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
    match t:
        case TupleType() if not t.partial_fallback.type.is_named_tuple:
            tuples = [x.items for x in proper_types if isinstance(x, TupleType) and len(x.items) == len(t.items)]
            if len(tuples) == len(proper_types):
                return t.copy_modified(items=[_map_type(call, each) for each in zip(*tuples, strict=True)])
        case TypedDictType():
            dicts = [x.items for x in proper_types if isinstance(x, TypedDictType) and x.items.keys() == t.items.keys()]
            if len(dicts) == len(proper_types):
                return t.copy_modified(item_types=[_map_type(call, [d[k] for d in dicts]) for k in t.items])
        case Instance() if t.type.fullname in CONTAINERS and t.args:
            return _map_container(call, t, proper_types)
    return UNKNOWN


def _map_container(call: TransformCall, t: Instance, trees: Sequence[ProperType]) -> Type:
    alike = [x for x in trees if isinstance(x, Instance) and x.type is t.type]
    if len(alike) < len(trees):
        return UNKNOWN
    return t.copy_modified(args=[*t.args[:-1], _map_type(call, [x.args[-1] for x in alike])])


def ravel(call: TransformCall) -> Type:
    """Return the type of `tree.ravel(tree)`: the vector has the brands of all leaves."""
    fallback = call.api.named_generic_type("builtins.tuple", [UNKNOWN])
    return TupleType([call.vec(unique_brands(call.type_of("tree"))), UNKNOWN], fallback)


TREES: dict[str, Rule] = {"branded.tree.api.map": map_, "branded.tree.ravel.ravel": ravel}
