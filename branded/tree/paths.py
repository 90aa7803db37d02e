"""Paths to the leaves of a tree: the keys on the way from the root, as values and as text for messages."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tinygrad import Tensor

from branded.errors import CallError
from branded.errors.calls import check_calls
from branded.tree.formatting import describe
from branded.tree.nodes import Flat, IsLeaf, Node, PyTree, flat, is_registered


@dataclasses.dataclass(frozen=True, slots=True)
class DictKey:
    """The value of a dict at `key`.

    Attributes:
        key: The key in the dict.
    """

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"


@dataclasses.dataclass(frozen=True, slots=True)
class SequenceKey:
    """The entry `idx` of a tuple, a list or a deque.

    Attributes:
        idx: The index, from 0.
    """

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx}]"


@dataclasses.dataclass(frozen=True, slots=True)
class GetAttrKey:
    """The field `name` of a NamedTuple or a dataclass.

    Attributes:
        name: The name of the field.
    """

    name: str

    def __str__(self) -> str:
        return f".{self.name}"


@dataclasses.dataclass(frozen=True, slots=True)
class FlattenedIndexKey:
    """The child `key` of an object of a registered class.

    Attributes:
        key: The position among the children, from 0.
    """

    key: int

    def __str__(self) -> str:
        return f"[<flat index {self.key}>]"


Key = DictKey | SequenceKey | GetAttrKey | FlattenedIndexKey
Path = tuple[Key, ...]


@check_calls
def keystr(path: Path) -> str:
    """Return a path as a Python expression.

    Args:
        path: A tuple of keys, as `leaves_with_path` returns it.

    Returns:
        The text that follows the name of the tree: `['a'][0].x`.

    Raises:
        CallError: `path` is not a path.

    Example:
        >>> from branded import tree
        >>> [tree.keystr(path) for path, _ in tree.leaves_with_path({"w": [1, 2]})]
        ["['w'][0]", "['w'][1]"]

    Source: `jax.tree_util.keystr`.
    """
    if not isinstance(path, tuple | list):
        raise CallError(f"tree.keystr: {describe(path)} is not a path", fix="pass a path from tree.leaves_with_path")
    return "".join(map(str, path))


@check_calls
def leaves_with_path(tree: PyTree, is_leaf: IsLeaf | None = None) -> list[tuple[Path, Any]]:
    """Return the leaves of a tree in order, each with its path.

    Args:
        tree: Any tree.
        is_leaf: A predicate; a part of the tree for which it returns true is a leaf.

    Returns:
        Pairs of a path (a tuple of keys) and a leaf.

    Raises:
        TreeError: A container contains itself, or `is_leaf` is not a function.

    Example:
        >>> from branded import tree
        >>> tree.leaves_with_path({"w": (1, 2)})
        [((DictKey(key='w'), SequenceKey(idx=0)), 1), ((DictKey(key='w'), SequenceKey(idx=1)), 2)]

    Source: `jax.tree.leaves_with_path`.
    """
    parts = flat(tree, is_leaf)
    return [(path, x) for path, (x, n) in zip(part_paths(parts), parts, strict=True) if n is None]


def part_paths(parts: Flat) -> Iterator[Path]:
    """Return the path to each part of a tree."""
    waiting: list[Path] = [()]
    for x, n in parts:
        yield (path := waiting.pop())
        if n is not None:
            waiting.extend([(*path, key) for key in reversed(_keys(x, n))])


def _keys(x: Any, n: Node) -> list[Key]:
    if isinstance(x, dict) and not is_registered(x):
        return [DictKey(key) for key in n.keys]
    if n.keys and isinstance(n.keys[0], str):
        return [GetAttrKey(key) for key in n.keys]
    if isinstance(x, tuple | list | collections.deque) and not is_registered(x):
        return [SequenceKey(i) for i in n.keys]
    return [FlattenedIndexKey(i) for i in n.keys]


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
            waiting.extend([place + step_text(y, key) for key in n.keys[::-1]])


def step_text(x: Any, key: Any) -> str:
    """Return the text that follows the name of a container to select a child: `[0]`, `['w']` or `.bias`."""
    by_name = isinstance(key, str) and not isinstance(x, dict)
    return f".{key}" if by_name else f"[{key!r}]"
