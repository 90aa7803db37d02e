"""How each kind of container is made again with other children, and the order of the keys of a dict."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterable, Sequence, Set
from typing import Any

from branded.errors import TreeError
from branded.tree.formatting import short_repr


def with_entries(cls: Any, static: Sequence[tuple[str, Any]], values: Sequence[Any]) -> Any:
    """Return a NamedTuple with these static values and entries."""
    value_of, rest = dict(static), iter(values)
    return tuple.__new__(cls, [value_of[name] if name in value_of else next(rest) for name in cls._fields])


def with_fields(cls: Any, derived: Sequence[str], static: Sequence[tuple[str, Any]], values: Sequence[Any]) -> Any:
    """Return a dataclass with these static values and field values, bypassing its `__init__` if possible.

    Attributes that are not fields are derived from the fields: a class with such attributes is called to compute them.
    """
    fields, static_of, rest = dataclasses.fields(cls), dict(static), iter(values)
    value_of = {f.name: static_of[f.name] if f.name in static_of else next(rest) for f in fields}
    if not derived and cls.__new__ is object.__new__:
        new = object.__new__(cls)
    else:
        try:
            new = cls(**{f.name: value_of[f.name] for f in fields if f.init})
        except Exception as error:
            not_fields = ", ".join(f"`{name}`" for name in derived) or "none"
            raise TreeError(
                f"tree: {cls.__name__} cannot be made with other leaves: it raises {type(error).__name__}",
                ("error", short_repr(str(error))),
                ("derived", f"attributes that are not fields: {not_fields}"),
                fix=f"add a field for each of them, or register_pytree_node({cls.__name__}, flatten, unflatten)",
            ) from error
    for name, value in value_of.items():
        object.__setattr__(new, name, value)
    return new


def in_order(keys: Iterable[Any]) -> tuple[Any, ...]:
    """Return the keys of a dict in sorted order, independent of insertion order."""
    order = tuple(keys)
    if len(order) < 2:
        return order
    try:
        if not any(isinstance(key, Set) for key in order):  # `<` is not a total order for sets
            return tuple(sorted(order))
    except TypeError:  # such as an int and a str
        pass
    return tuple(sorted(order, key=lambda key: (type(key).__qualname__, repr(key))))


def with_items(empty: Any, order: Sequence[Any], keys: Sequence[Any], values: Sequence[Any]) -> Any:
    """Return a dict with other values, with its keys in this order."""
    new, value_of = {} if empty is None else copy.copy(empty), dict(zip(keys, values, strict=True))
    for key in order:
        new[key] = value_of[key]
    return new


def empty_copy(x: Any) -> Any:
    """Return an empty dict of the same class; None for a plain dict."""
    if type(x) is dict:
        return None
    empty = copy.copy(x)
    empty.clear()
    return empty
