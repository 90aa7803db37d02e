"""Pytrees: the containers through which vmap looks for tensors.

A tuple, list, dict, NamedTuple, dataclass, None, or an instance of a class given to `register_pytree_node` is a
node; everything else is a leaf.  The children of a dict are addressed by key, those of a dataclass by field.
"""

from __future__ import annotations

import collections
import copy
import dataclasses
import inspect
import operator
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from tinygrad import Tensor
from tinygrad.dtype import DType
from tinygrad.uop.ops import UOp

from branded.errors import AxesError, AxisTypeError, ProgramTypeError
from branded.rows import type_text

C = TypeVar("C")
Axis = int | None


class Node(NamedTuple):
    """One container: its children by key, and how to make the like with other children."""

    keys: tuple[Any, ...]
    children: tuple[Any, ...]
    rebuild: Callable[[Sequence[Any]], Any]


class _Registered(NamedTuple):
    flatten: Callable[[Any], tuple[Iterable[Any], Hashable]]
    unflatten: Callable[[Hashable, Iterable[Any]], Any]


_registry: dict[type, _Registered] = {}
_LEAVES = frozenset({Tensor, UOp, DType, np.ndarray, int, float, bool, str, bytes, complex})


def register_pytree_node(
    cls: type[C],
    flatten: Callable[[C], tuple[Iterable[Any], Hashable]],
    unflatten: Callable[[Hashable, Iterable[Any]], C],
) -> type[C]:
    """Make instances of `cls` nodes of pytrees, as `jax.tree_util.register_pytree_node` does.

    Args:
        cls: The class.  Subclasses are not included.
        flatten: `flatten(obj) -> (children, aux)`; `aux` is anything hashable.
        unflatten: `unflatten(aux, children) -> obj`.

    Returns:
        `cls`, so that it can stand in an expression.

    Raises:
        ValueError: `cls` is registered already.

    Example:
        >>> from branded import register_pytree_node, vmap
        >>> from tinygrad import Tensor
        >>> class Line:
        ...     def __init__(self, a, b): self.a, self.b = a, b
        >>> _ = register_pytree_node(Line, lambda l: ((l.a, l.b), None), lambda _, ab: Line(*ab))
        >>> lines = Line(Tensor([1, 2]), Tensor([10, 20]))
        >>> vmap(lambda line: line.a * 5 + line.b)(lines).tolist()
        [15, 30]

    Source: JAX, `jax.tree_util`; optree, `optree.register_pytree_node`.
    """
    if cls in _registry:
        raise ValueError(f"{cls.__name__} is registered as a pytree node already")
    _registry[cls] = _Registered(flatten, unflatten)
    return cls


def _with_fields(obj: Any, values: Sequence[Any]) -> Any:
    """A dataclass made anew, so that what it derives from its fields is derived from the new ones."""
    fields = list(zip(dataclasses.fields(obj), values, strict=True))
    new = dataclasses.replace(obj, **{f.name: value for f, value in fields if f.init})
    for f, value in fields:
        if not f.init:
            object.__setattr__(new, f.name, value)
    return new


def _with_items(obj: Any, keys: Sequence[Any], values: Sequence[Any]) -> Any:
    new = copy.copy(obj)
    for key, value in zip(keys, values, strict=True):
        new[key] = value
    return new


def node(x: Any) -> Node | None:
    """The container that `x` is, or None for a leaf."""
    cls = type(x)
    if cls in _LEAVES:
        return None
    if x is None:
        return Node((), (), lambda _: None)
    if (reg := _registry.get(cls)) is not None:
        children, aux = reg.flatten(x)
        kids = tuple(children)
        return Node(tuple(range(len(kids))), kids, lambda new: reg.unflatten(aux, new))
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return Node(x._fields, tuple(x), lambda new: cls(*new))
    if isinstance(x, tuple | list | collections.deque):
        return Node(tuple(range(len(x))), tuple(x), lambda new: cls(new))
    if isinstance(x, dict):
        keys = tuple(x)
        return Node(keys, tuple(x.values()), lambda new: _with_items(x, keys, new))
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        names = tuple(f.name for f in dataclasses.fields(x))
        return Node(names, tuple(getattr(x, n) for n in names), lambda new: _with_fields(x, new))
    return None


def leaves(x: Any) -> list[Any]:
    """The leaves of `x` in order."""
    if type(x) is Tensor:
        return [x]
    n = node(x)
    return [x] if n is None else [leaf for child in n.children for leaf in leaves(child)]


def rebuild(x: Any, new: Iterator[Any]) -> Any:
    """The like of `x` with its leaves taken from `new`, in the order of `leaves`."""
    n = node(x)
    return next(new) if n is None else n.rebuild([rebuild(child, new) for child in n.children])


def structure(x: Any) -> Any:
    """What a tree is beside its leaves: equal for trees that differ in leaves, and in the order of dicts, alone."""
    n = node(x)
    if n is None:
        return _LEAF
    inside = tuple(zip(n.keys, map(structure, n.children), strict=True))
    reg = _registry.get(type(x))
    aux = None if reg is None else reg.flatten(x)[1]
    return (type(x), frozenset(inside) if isinstance(x, dict) else inside, aux)


_LEAF = "leaf"


def static(f: Callable[..., Any], static_argnums: int | Sequence[int], n: int) -> tuple[frozenset[int], frozenset[str]]:
    """The positions, of `n`, and the names of the arguments of `f` that are part of a program."""
    nums = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    try:
        names = [p.name for p in inspect.signature(f).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    except (TypeError, ValueError):
        names = []
    total = max(n, len(names))
    at = [i + total if i < 0 else i for i in nums]
    return frozenset(i for i in at if i < n), frozenset(names[i] for i in at if i < len(names))


def paths(x: Any, at: str) -> list[str]:
    """How each leaf of `x` is reached from it, as Python would write it: `['w'][0].bias`."""
    n = node(x)
    if n is None:
        return [at]
    return [p for key, child in zip(n.keys, n.children, strict=True) for p in paths(child, at + _step(x, key))]


def _step(x: Any, key: Any) -> str:
    by_name = isinstance(key, str) and not isinstance(x, dict)
    return f".{key}" if by_name else f"[{key!r}]"


def check_axis(axis: Any, option: str) -> Axis:
    """`axis` as an int or None; anything else is a mistake."""
    if axis is None or type(axis) is int:
        return axis
    if isinstance(axis, bool):
        raise AxisTypeError(
            f"{option}: {axis} is a bool, not an axis", fix="0 for the first axis, or None for a value that all share"
        )
    try:
        return operator.index(axis)
    except TypeError:
        pass
    hint = (
        "call vmap(f)(x), not vmap(f, x)"
        if isinstance(axis, Tensor | np.ndarray)
        else "an int, None, or a tree of them"
    )
    raise AxisTypeError(f"{option}: {describe(axis)} is not an axis", fix=hint)


def check_axes(axes: Any, option: str) -> None:
    """Look for mistakes in a tree of axes before anything is mapped."""
    n = None if axes is None else node(axes)
    if n is None:
        check_axis(axes, option)
        return
    for child in n.children:
        check_axes(child, option)


def spread(axes: Any, x: Any, option: str, at: str) -> list[Axis]:
    """One axis for each leaf of `x`, from a prefix tree of axes: an axis for a container holds for all in it."""
    n = node(x)
    ax = None if axes is None else node(axes)
    if ax is None:
        axis = check_axis(axes, option)
        return [axis] if n is None else [axis] * len(leaves(x))
    if n is None:
        raise AxesError(
            f"{option}: a {type(axes).__name__} of axes stands where {at} is a single leaf",
            ("axes", repr(axes)),
            ("value", describe(x)),
            fix="one int or None for it",
        )
    if isinstance(axes, dict) != isinstance(x, dict) or set(ax.keys) != set(n.keys):
        if not (isinstance(x, tuple) and isinstance(axes, tuple | list) and len(ax.keys) == len(n.keys)):
            raise AxesError(
                f"{option}: the axes do not fit {at}",
                ("axes", f"{axes!r}  ({_count(axes, ax)})"),
                ("value", f"{type(x).__name__} with {_count(x, n)}"),
                fix="an axis for each of them, or one int or None for all",
            )
        by_key = dict(zip(n.keys, ax.children, strict=True))
    else:
        by_key = dict(zip(ax.keys, ax.children, strict=True))
    return [
        axis
        for key, child in zip(n.keys, n.children, strict=True)
        for axis in spread(by_key[key], child, option, at + _step(x, key))
    ]


def _count(x: Any, n: Node) -> str:
    if isinstance(x, dict) or (n.keys and isinstance(n.keys[0], str)):
        return f"keys {', '.join(map(repr, n.keys))}"
    return f"{len(n.keys)} entries" if len(n.keys) != 1 else "1 entry"


def as_tensor(x: Any) -> Tensor | None:
    """The tensor that a leaf is, or that a number or an array of numbers could be; None for anything else."""
    if isinstance(x, Tensor):
        return x
    if isinstance(x, bool | int | float):
        return Tensor(x)
    if isinstance(x, np.ndarray | np.generic) and x.dtype.kind in "biuf":  # bools, ints, floats
        return Tensor(np.asarray(x))
    return None


def results(out: Any, what: str) -> list[Tensor]:
    """The leaves of what a function gave, as tensors."""
    found = []
    for x, at in zip(leaves(out), paths(out, "the result"), strict=True):
        if (t := as_tensor(x)) is None:
            raise ProgramTypeError(f"{what}: {at} is {describe(x)}", fix="return tensors, numbers, or trees of them")
        found.append(t)
    return found


def outline(x: Any) -> str:
    """A tree in a few words, for messages: `(f32[3], dict(f32[]))`."""
    n = node(x)
    if n is None or x is None:
        return "None" if x is None else describe(x)
    inside = ", ".join(map(outline, n.children))
    return f"({inside})" if isinstance(x, tuple) else f"{type(x).__name__}({inside})"


def describe(x: Any) -> str:
    """A value in a few words, for messages: `f32[3, 8]`, `the str 'train'`, `a Linear`."""
    if isinstance(x, Tensor):
        return type_text(x.uop)
    if isinstance(x, np.ndarray):
        return f"numpy {x.dtype}[{', '.join(map(str, x.shape))}]"
    if isinstance(x, int | float | complex | str | bytes | bool):
        text = repr(x)
        return f"the {type(x).__name__} {text if len(text) < 40 else text[:36] + '...'}"
    return f"a {getattr(type(x), '__name__', type(x))}"
