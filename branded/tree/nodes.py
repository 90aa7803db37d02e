"""The definition of trees, and their traversal.

A tuple, list, dict, deque, NamedTuple, dataclass, None, or an instance of a class registered by `register_pytree_node`
is a node; any other value is a leaf.  Children of a dict are addressed by key, children of a dataclass by field.  A
static field is not a child, but part of the structure.  Dict children are in the order of the sorted keys, so trees
that differ only in insertion order have the same leaves.  A rebuilt dict keeps the order of insertion.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import inspect
import operator
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, NoReturn, TypeVar

from tinygrad import Tensor
from tinygrad.dtype import DType
from tinygrad.uop.ops import UOp

from branded.errors import AxisTypeError, TreeError
from branded.errors.calls import check_calls
from branded.tinygrad_compat.lazy_numpy import np
from branded.tree.containers import empty_copy, in_order, with_entries, with_fields, with_items
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


@check_calls
def register_pytree_node(
    cls: type[C], flatten: Callable[[C], tuple[Children, Aux]], unflatten: Callable[[Aux, Children], C]
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
        rebuild = functools.partial(with_entries, cls, static_values(x, names))
        return Node(keys, tuple([getattr(x, name) for name in keys]), rebuild)
    if isinstance(x, tuple | list):
        return Node(tuple(range(len(x))), tuple(x), cls)
    if isinstance(x, collections.deque):
        return Node(tuple(range(len(x))), tuple(x), functools.partial(cls, maxlen=x.maxlen))
    if isinstance(x, dict):
        keys = in_order(x)
        maker = functools.partial(with_items, empty_copy(x), tuple(x), keys)
        return Node(keys, tuple([x[key] for key in keys]), maker)
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        every, names = tuple(f.name for f in dataclasses.fields(x)), static_fields(cls)
        keys = tuple(name for name in every if name not in names) if names else every
        derived = tuple(name for name in getattr(x, "__dict__", ()) if name not in every)
        rebuild = functools.partial(with_fields, cls, derived, static_values(x, names))
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
        raise TreeError(f"tree: {describe(x)} contains itself", fix="use a container that does not contain itself")
    raise TreeError(
        f"tree: {describe(x)} is more than {_DEEPEST} containers deep", fix="use tensors with more axes instead"
    )


@check_calls
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
