"""The definition of trees, and their traversal.

A tuple, list, dict, deque, NamedTuple, dataclass, None, or an instance of a class registered by `register_pytree_node`
is a node; any other value is a leaf.  Children of a dict are addressed by key, children of a dataclass by field.  A
static field is not a child, but part of the structure.  Dict children are in the order of the sorted keys, so trees
that differ only in insertion order have the same leaves.  A rebuilt dict keeps the order of insertion.
"""

from __future__ import annotations

import collections
import copy
import dataclasses
import functools
import inspect
import operator
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, NamedTuple, NoReturn, TypeVar

from tinygrad import Tensor
from tinygrad.dtype import DType
from tinygrad.uop.ops import UOp

from branded.errors import AxesError, AxisTypeError, TreeError
from branded.tinygrad_compat.lazy_numpy import np
from branded.tree.formatting import describe, short_repr
from branded.tree.static_fields import static_fields, static_texts, static_values

C = TypeVar("C")
Aux = TypeVar("Aux", bound=Hashable)
Children = TypeVar("Children", bound=Iterable[Any])
Axis = int | None


class Node(NamedTuple):
    """A container: its children by key, and a function that rebuilds it with other children.

    `rebuild` does not keep the children alive, and can be pickled if the class of the container can.
    """

    keys: tuple[Any, ...]
    children: tuple[Any, ...]
    rebuild: Callable[[Sequence[Any]], Any]


class _Registered(NamedTuple):
    flatten: Callable[[Any], tuple[Iterable[Any], Hashable]]
    unflatten: Callable[[Any, Any], Any]


_registry: dict[type, _Registered] = {}
_LEAVES = frozenset({Tensor, UOp, DType, int, float, bool, str, bytes, complex})


def register_pytree_node(
    cls: type[C],
    flatten: Callable[[C], tuple[Children, Aux]],
    unflatten: Callable[[Aux, Children], C],
) -> type[C]:
    """Make instances of `cls` nodes of pytrees, as `jax.tree_util.register_pytree_node` does.

    Args:
        cls: The class.  Subclasses are not included.
        flatten: `flatten(obj) -> (children, aux)`; `aux` is any hashable value.
        unflatten: `unflatten(aux, children) -> obj`; the children are a tuple.

    Returns:
        `cls`, so that the call can be used as an expression.

    Raises:
        TreeError: `cls` is not a class or is already a node, or a function does not accept its arguments.

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
    api_name = "register_pytree_node"
    if not isinstance(cls, type):
        raise TreeError(f"{api_name}: {describe(cls)} is not a class", fix=f"{api_name}(Class, flatten, unflatten)")
    builtin_nodes = {*_LEAVES, np.ndarray, tuple, list, dict, collections.deque, type(None)}
    if cls in _registry or cls in builtin_nodes:
        raise TreeError(f"{api_name}: {describe(cls)} is registered already", fix="register your own class, once")
    for name, f, parameters in (("flatten", flatten, ("object",)), ("unflatten", unflatten, ("aux", "children"))):
        if not callable(f) or not _takes(f, len(parameters)):
            problem = "is not a function" if not callable(f) else f"does not take {len(parameters)} arguments"
            raise TreeError(f"{api_name}: {name} {problem}", fix=f"{name}({', '.join(parameters)})")
    _registry[cls] = _Registered(flatten, unflatten)
    return cls


def _takes(f: Callable[..., Any], n: int) -> bool:
    try:
        signature = inspect.signature(f)
    except (TypeError, ValueError):  # implemented in C, without a signature
        return True
    try:
        signature.bind(*range(n))
    except TypeError:
        return False
    return True


def _flatten_registered(x: Any, reg: _Registered) -> tuple[tuple[Any, ...], Hashable]:
    pair = reg.flatten(x)
    if not (isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], Iterable)):
        raise TreeError(
            f"register_pytree_node: flatten of {describe(x)} returned {outline(pair)}, not a pair",
            fix="return a pair: (children, aux)",
        )
    return tuple(pair[0]), pair[1]


def _no_node(_: Sequence[Any]) -> None:
    return None


def _unflatten_registered(cls: type, aux: Hashable, children: Sequence[Any]) -> Any:
    """Return an instance of a registered class."""
    if (reg := _registry.get(cls)) is None:
        raise TreeError(
            f"tree: {cls.__name__} is not registered here", fix=f"register_pytree_node({cls.__name__}, ...) first"
        )
    return reg.unflatten(aux, tuple(children))


def _with_entries(cls: Any, static: Sequence[tuple[str, Any]], values: Sequence[Any]) -> Any:
    """Return a NamedTuple with these static values and entries."""
    value_of, rest = dict(static), iter(values)
    return tuple.__new__(cls, [value_of[name] if name in value_of else next(rest) for name in cls._fields])


def _with_fields(cls: Any, derived: Sequence[str], static: Sequence[tuple[str, Any]], values: Sequence[Any]) -> Any:
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


def _with_items(empty: Any, order: Sequence[Any], keys: Sequence[Any], values: Sequence[Any]) -> Any:
    """Return a dict with other values, with its keys in this order."""
    new, value_of = {} if empty is None else copy.copy(empty), dict(zip(keys, values, strict=True))
    for key in order:
        new[key] = value_of[key]
    return new


def _empty_copy(x: Any) -> Any:
    """Return an empty dict of the same class; None for a plain dict."""
    if type(x) is dict:
        return None
    empty = copy.copy(x)
    empty.clear()
    return empty


def node(x: Any) -> Node | None:
    """Return `x` as a container, or None for a leaf."""
    cls: Any = type(x)
    if cls in _LEAVES:
        return None
    if x is None:
        return Node((), (), _no_node)
    if (reg := _registry.get(cls)) is not None:
        kids, aux = _flatten_registered(x, reg)
        return Node(tuple(range(len(kids))), kids, functools.partial(_unflatten_registered, cls, aux))
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        if not (names := static_fields(cls)):
            return Node(x._fields, tuple(x), functools.partial(tuple.__new__, cls))
        keys = tuple(name for name in x._fields if name not in names)
        rebuild = functools.partial(_with_entries, cls, static_values(x, names))
        return Node(keys, tuple([getattr(x, name) for name in keys]), rebuild)
    if isinstance(x, tuple | list):
        return Node(tuple(range(len(x))), tuple(x), cls)
    if isinstance(x, collections.deque):
        return Node(tuple(range(len(x))), tuple(x), functools.partial(cls, maxlen=x.maxlen))
    if isinstance(x, dict):
        keys = in_order(x)
        maker = functools.partial(_with_items, _empty_copy(x), tuple(x), keys)
        return Node(keys, tuple([x[key] for key in keys]), maker)
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        every, names = tuple(f.name for f in dataclasses.fields(x)), static_fields(cls)
        keys = tuple(name for name in every if name not in names) if names else every
        derived = tuple(name for name in getattr(x, "__dict__", ()) if name not in every)
        rebuild = functools.partial(_with_fields, cls, derived, static_values(x, names))
        return Node(keys, tuple([getattr(x, name) for name in keys]), rebuild)
    return None


IsLeaf = Callable[[Any], bool]
PyTree = Any
"""Nested containers whose leaves are tensors or other values."""
Flat = list[tuple[Any, Node | None]]


def flat(x: Any, is_leaf: IsLeaf | None = None) -> Flat:
    """Return all parts of a tree, each container before its children.

    The traversal is not recursive, so a tree may have any depth.  A part that `is_leaf` accepts is not traversed.
    """
    if is_leaf is not None and not callable(is_leaf):
        raise TreeError(f"tree: is_leaf is {describe(is_leaf)}, not a function", fix="is_leaf=lambda x: x is None")
    parts: Flat = []
    waiting, around = [x], dict[int, Any]()
    watching = False
    while waiting:
        x = waiting.pop()
        if type(x) is _End:
            del around[x.of]
            continue
        if type(x) is Tensor:
            parts.append((x, None))
            continue
        n = None if is_leaf is not None and is_leaf(x) else node(x)
        parts.append((x, n))
        if n is None or not n.children:
            continue
        if watching:
            if id(x) in around or len(around) == _DEEPEST:
                _refuse_endless(x, id(x) in around)
            around[id(x)] = x
            waiting.append(_End(id(x)))
        elif len(parts) > _SUSPICIOUS:  # the tree may contain itself: check for cycles from here on
            parts, waiting, watching = [], [parts[0][0]], True
            continue
        waiting.extend(n.children[::-1])
    return parts


class _End:
    """A marker that follows the children of a container."""

    __slots__ = ("of",)

    def __init__(self, identity: int) -> None:
        self.of = identity


_SUSPICIOUS, _DEEPEST = 1000, 100_000


def _refuse_endless(x: Any, is_inside_itself: bool) -> NoReturn:
    if is_inside_itself:
        raise TreeError(
            f"tree: {describe(x)} contains itself",
            fix="use a container that does not contain itself",
        )
    raise TreeError(
        f"tree: {describe(x)} is more than {_DEEPEST} containers deep", fix="use tensors with more axes instead"
    )


def leaves(tree: PyTree, is_leaf: IsLeaf | None = None) -> list[Any]:
    """Return the leaves of a tree, in order; the leaves of a dict are in the order of its sorted keys.

    Args:
        tree: Any tree.
        is_leaf: A predicate; a part of the tree for which it returns true is a leaf.

    Returns:
        A list of the leaves.

    Raises:
        TreeError: A container contains itself.

    Example:
        >>> from branded import tree
        >>> tree.leaves({"b": [1, 2], "a": (3, None)})
        [3, 1, 2]

    Source: `jax.tree.leaves`.
    """
    if type(tree) is Tensor:
        return [tree]
    return [leaf for leaf, n in flat(tree, is_leaf) if n is None]


def rebuild(x: Any, new: Iterator[Any]) -> Any:
    """Return a copy of `x` with its leaves taken from `new`, in the order of `leaves`."""
    if type(x) is Tensor:
        return next(new)
    parts = flat(x)
    values = [next(new) for _, n in parts if n is None]
    stack: list[Any] = []
    for _, n in reversed(parts):  # children before their container, the last container first
        stack.append(values.pop() if n is None else n.rebuild([stack.pop() for _ in n.children]))
    return stack[0]


def treedef_key(x: Any) -> Hashable:
    """Return a hashable key of the structure of a tree; it ignores the leaves and the order of dicts."""
    return key_of(flat(x))


def key_of(parts: Flat) -> Hashable:
    return tuple(_LEAF if n is None else (type(y), n.keys, aux_of(y)) for y, n in parts)


def is_registered(x: Any) -> bool:
    return type(x) in _registry


def aux_of(x: Any) -> Hashable:
    """Return the aux data of an instance of a registered class, or the static fields of a dataclass or NamedTuple."""
    cls: Any = type(x)
    if cls is dict or cls is list or cls is tuple:
        return None
    if (reg := _registry.get(cls)) is not None:
        return _flatten_registered(x, reg)[1]
    is_class = hasattr(cls, "_fields") if isinstance(x, tuple) else dataclasses.is_dataclass(cls)
    return static_values(x, static_fields(cls)) or None if is_class else None


_LEAF = "leaf"


def containers(x: Any) -> list[type]:
    """Return the types of the containers of a tree, in order."""
    return [type(y) for y, n in flat(x) if n is not None]


def orders(x: Any) -> tuple[tuple[str, ...], ...]:
    """Return the keys of each dict of a tree, in insertion order."""
    return tuple(tuple(map(repr, y)) for y, n in flat(x) if n is not None and isinstance(y, dict))


def paths(x: Any, where: str) -> list[str]:
    """Return the path of each leaf of `x` as a Python expression: `['w'][0].bias`."""
    if type(x) is Tensor:
        return [where]
    parts = flat(x)
    return [place for place, (_, n) in zip(places(parts, where), parts, strict=True) if n is None]


def argument_paths(args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[str]:
    """Return the name in messages of each leaf of the arguments of a call."""
    by_name = [p for k, a in kwargs.items() for p in paths(a, f"argument `{k}`")]
    return [p for i, a in enumerate(args) for p in paths(a, f"argument {i + 1}")] + by_name


def places(parts: Flat, where: str) -> Iterator[str]:
    """Return the path of each part of a tree as a Python expression."""
    waiting = [where]
    for y, n in parts:
        yield (place := waiting.pop())
        if n is not None:
            waiting.extend([place + _step(y, key) for key in n.keys[::-1]])


def _step(x: Any, key: Any) -> str:
    by_name = isinstance(key, str) and not isinstance(x, dict)
    return f".{key}" if by_name else f"[{key!r}]"


def check_axis(axis: Any, option: str) -> Axis:
    """Return `axis` as an int or None; raise AxisTypeError for any other value."""
    if axis is None or type(axis) is int:
        return axis
    if isinstance(axis, bool):
        raise AxisTypeError(
            f"{option}: {axis} is a bool, not an axis", fix="use 0 for the first axis, or None to share the value"
        )
    try:
        return operator.index(axis)
    except TypeError:
        pass
    hint = "use an int, None, or a pytree of these"
    if isinstance(axis, Tensor | np.ndarray):
        hint = "use an int or None; in the function, w[i] selects an entry for each example"
    raise AxisTypeError(f"{option}: {describe(axis)} is not an axis", fix=hint)


def check_axes(axes: Any, option: str) -> None:
    """Check a tree of axes before any argument is mapped."""
    if isinstance(axes, Tensor | np.ndarray):
        raise AxisTypeError(f"{option}: {describe(axes)} is not an axis", fix="call vmap(f)(x), not vmap(f, x)")
    for axis in leaves(axes):
        check_axis(axis, option)


def broadcast_prefix(axes: Any, x: Any, option: str, where: str) -> list[Axis]:
    """Return one axis for each leaf of `x`, from a prefix tree: the axis of a container applies to its leaves."""
    out: list[Axis] = []
    waiting = [(axes, x, where)]
    while waiting:
        axes, x, where = waiting.pop()
        ax = None if axes is None else node(axes)
        if ax is None:
            out += [check_axis(axes, option)] * (1 if type(x) is Tensor else len(leaves(x)))
            continue
        n = node(x)
        if n is None:
            raise AxesError(
                f"{option}: a {type(axes).__name__} of axes was given for {where}, which is a single leaf",
                ("axes", short_repr(axes)),
                ("value", describe(x)),
                fix="give one int or None",
            )
        if isinstance(axes, dict) == isinstance(x, dict) and set(ax.keys) == set(n.keys):
            by_key = dict(zip(ax.keys, ax.children, strict=True))
        elif isinstance(x, tuple) and isinstance(axes, tuple | list) and len(ax.keys) == len(n.keys):
            by_key = dict(zip(n.keys, ax.children, strict=True))
        else:
            raise AxesError(
                f"{option}: the axes do not fit {where}",
                ("axes", f"{short_repr(axes)}  ({_count(axes, ax)})"),
                ("value", f"{type(x).__name__} with {_count(x, n)}"),
                fix="give one axis per entry, or a single int or None",
            )
        children = [(by_key[k], child, where + _step(x, k)) for k, child in zip(n.keys, n.children, strict=True)]
        waiting.extend(children[::-1])
    return out


def _count(x: Any, n: Node) -> str:
    if isinstance(x, dict) or (n.keys and isinstance(n.keys[0], str)):
        return f"keys {', '.join(map(repr, n.keys))}"
    return f"{len(n.keys)} entries" if len(n.keys) != 1 else "1 entry"


def outline(x: Any, levels: int = 6) -> str:
    """Describe a tree in a few words, for messages: `(f32[3], {'w': f32[]})`."""
    n = node(x)
    if n is None or x is None:
        return "None" if x is None else describe(x)
    parts = [outline(child, levels - 1) for child in n.children[:_FEW]] if levels else ["..."]
    if isinstance(x, dict) and levels:
        parts = [f"{short_repr(key)}: {part}" for key, part in zip(n.keys, parts, strict=False)]
    static = static_texts(x) if not is_registered(x) else []
    inside = ", ".join([*parts, *(["..."] if levels and len(n.children) > _FEW else []), *static])
    if type(x) is dict:
        return f"{{{inside}}}"
    return f"({inside})" if isinstance(x, tuple) else f"{type(x).__name__}({inside})"


_FEW = 16
