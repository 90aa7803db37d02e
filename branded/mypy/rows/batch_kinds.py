"""Abstract values of the analysis of sources: whether a value is, holds or may hold a batched tensor."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import IntEnum
from typing import NamedTuple, TypeVar

from mypy.nodes import FuncDef, TypeInfo
from mypy.types import Instance, NoneType, TupleType, Type, UnionType, get_proper_type

from branded.mypy.rows.algebra import CONTAINERS, each_row, holds_tensors, is_recursive, row_of


class BatchKind(IntEnum):
    """The kind of a value, as far as it is known."""

    PLAIN = 0
    """The same for all examples."""
    HOLDS = 1
    """It may be or hold a batched tensor."""
    ENTRIES = 2
    """It is a list or tuple of batched tensors."""
    BATCHED = 3
    """It is a batched tensor."""


def kind_of(t: Type) -> BatchKind:
    """Return the kind of a value of this type, from its brands."""
    if is_recursive(t):  # a tensor or nested lists of them
        return BatchKind.HOLDS if any(each_row(t)) else BatchKind.PLAIN
    t = get_proper_type(t)
    if isinstance(t, UnionType):  # `if b:` tests the tensor of `Tensor | None`
        kinds = {kind_of(i) for i in t.items if not isinstance(get_proper_type(i), NoneType)}
        return kinds.pop() if len(kinds) == 1 else min(max(kinds, default=BatchKind.PLAIN), BatchKind.HOLDS)
    if (row := row_of(t)) is not None:
        return BatchKind.BATCHED if row else BatchKind.PLAIN
    entries = entry_types(t)
    if entries and all(kind_of(i) is BatchKind.BATCHED for i in entries):
        return BatchKind.ENTRIES
    return BatchKind.HOLDS if any(each_row(t)) else BatchKind.PLAIN


def entry_types(t: Type) -> list[Type]:
    """Return the types of the entries of a list or tuple; empty for other types."""
    t = get_proper_type(t)
    if isinstance(t, TupleType):
        return t.items
    is_sequence = isinstance(t, Instance) and t.type.fullname in CONTAINERS and len(t.args) == 1
    return list(t.args) if is_sequence and isinstance(t, Instance) else []


def result_kind(t: Type, used: BatchKind) -> BatchKind:
    """Return the kind of a result that is declared with this type, computed from arguments of the kind `used`."""
    if row_of(t) is not None:
        return BatchKind.BATCHED if used > BatchKind.HOLDS else used
    entries = entry_types(t)
    if used is BatchKind.BATCHED and entries and all(row_of(i) is not None for i in entries):
        return BatchKind.ENTRIES
    return min(used, BatchKind.HOLDS) if holds_tensors(t) else BatchKind.PLAIN


def entry_kind(kind: BatchKind) -> BatchKind:
    """Return the kind of an entry of a value."""
    return BatchKind.BATCHED if kind is BatchKind.ENTRIES else kind


def either_kind(kinds: Collection[BatchKind]) -> BatchKind:
    """Return the kind of a value that has one of these kinds."""
    return max(kinds) if len({*kinds}) == 1 else min(max(kinds), BatchKind.HOLDS)


def display_kind(kinds: Collection[BatchKind]) -> BatchKind:
    """Return the kind of a list or tuple with entries of these kinds."""
    if kinds and all(k is BatchKind.BATCHED for k in kinds):
        return BatchKind.ENTRIES
    return min(max(kinds, default=BatchKind.PLAIN), BatchKind.HOLDS)


Env = dict[str, BatchKind]
"""The kinds of local variables, and of the attributes of objects: `point` and `point.x`.

Names that are missing are the same for all examples.
"""


def join_kinds(*envs: Env) -> Env:
    """Return the kinds after branches: a value is certain to be batched only if it is in all of them."""
    joined = Env()
    for name in {n for env in envs for n in env}:
        joined[name] = either_kind([env.get(name, BatchKind.PLAIN) for env in envs])
    return joined


class Made(NamedTuple):
    """An object that a followed function has made: values by path, "" for the object and "x" for an attribute."""

    classes: dict[str, TypeInfo]
    kinds: dict[str, BatchKind]

    def part(self, name: str) -> Made | None:
        """Return the object in an attribute; None if it is not known to be one."""
        if name not in self.classes:
            return None
        return Made(below(self.classes, name), below(self.kinds, name))

    def key(self) -> frozenset[tuple[str, TypeInfo | BatchKind]]:
        return frozenset([*self.classes.items(), *self.kinds.items()])

    @property
    def holds(self) -> BatchKind:
        return min(max(self.kinds.values(), default=BatchKind.PLAIN), BatchKind.HOLDS)


V = TypeVar("V")


def below(values: Mapping[str, V], name: str) -> dict[str, V]:
    """Return the values below a name, without it."""
    return {
        n.removeprefix(name).removeprefix("."): v for n, v in values.items() if n == name or n.startswith(f"{name}.")
    }


def above(values: Mapping[str, V], name: str) -> dict[str, V]:
    return {f"{name}.{n}" if n else name: v for n, v in values.items()}


def is_generated(f: FuncDef) -> bool:
    """Return whether a method was added by mypy: `__init__` of a dataclass."""
    symbol = f.info.names.get(f.name)
    return symbol is not None and symbol.plugin_generated


def field_names(info: TypeInfo) -> list[str]:
    """Return the parameters of a dataclass or a NamedTuple."""
    init = info.get("__new__" if info.is_named_tuple else "__init__")
    node = init.node if init is not None else None
    return [n for n in node.arg_names[1:] if n is not None] if isinstance(node, FuncDef) else []
