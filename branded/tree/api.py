"""Functions on all leaves of a tree: map, reduce, all, transpose."""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from branded.errors import CallError, TreeError
from branded.errors.calls import check_calls
from branded.tree.formatting import describe
from branded.tree.nodes import Flat, IsLeaf, PyTree, aux_of, flat, node, outline
from branded.tree.paths import part_paths, places
from branded.tree.structures import Structure, check_structure

T = TypeVar("T")


@check_calls
def map(f: Callable[..., Any], tree: PyTree, *rest: PyTree, is_leaf: IsLeaf | None = None) -> PyTree:
    """Apply `f` to each leaf: `map(f, tree)` is the tree of `f(leaf)`; `map(f, tree, other)` passes two leaves.

    Args:
        f: A function of a leaf of each tree.
        tree: Any tree.
        rest: Trees with the structure of `tree`; in the place of a leaf they may have any subtree, which `f` receives.
        is_leaf: A predicate; a part of `tree` for which it returns true is a leaf.

    Returns:
        A tree with the structure of `tree`, and with the same order of dict keys.

    Raises:
        TreeError: A tree has a different structure than the first tree.
        CallError: `f` is not a function.

    Example:
        >>> from branded import tree
        >>> tree.map(lambda p, g: p - 0.5 * g, {"w": 1.0, "b": [2.0]}, {"b": [4.0], "w": 2.0})
        {'w': 0.0, 'b': [0.0]}

    Source: `jax.tree.map`.
    """
    return map_leaves("tree.map", f, tree, rest, is_leaf)


@check_calls
def map_with_path(f: Callable[..., Any], tree: PyTree, *rest: PyTree, is_leaf: IsLeaf | None = None) -> PyTree:
    """Apply `f` to the path and value of each leaf, like `map`.

    Args:
        f: A function of a path, as returned by `leaves_with_path`, and of a leaf of each tree.
        tree: Any tree.
        rest: Trees with the structure of `tree`.
        is_leaf: A predicate; a part of `tree` for which it returns true is a leaf.

    Returns:
        A tree with the structure of `tree`.

    Raises:
        TreeError: A tree has a different structure than the first tree.
        CallError: `f` is not a function.

    Example:
        >>> from branded import tree
        >>> tree.map_with_path(lambda path, x: f"{tree.keystr(path)}={x}", {"w": [1, 2]})
        {'w': ["['w'][0]=1", "['w'][1]=2"]}

    Source: `jax.tree.map_with_path`.
    """
    return map_leaves("tree.map_with_path", f, tree, rest, is_leaf, with_path=True)


_FIRST = "the first one"
_SAME = "use the same containers in both"


def map_leaves(
    api_name: str,
    f: Callable[..., Any],
    tree: Any,
    rest: Sequence[Any],
    is_leaf: IsLeaf | None = None,
    with_path: bool = False,
    names: Sequence[str] = (_FIRST,),
) -> Any:
    """Apply `f` like `map`; messages call the trees by `names`."""
    if not callable(f):
        raise CallError(f"{api_name}: {describe(f)} is not a function", fix=f"{api_name}(f, tree)")
    parts = flat(tree, is_leaf)
    names = [*names[: len(rest) + 1], *(f"tree {i + 1}" for i in range(len(names), len(rest) + 1))]
    columns = [[x for x, n in parts if n is None]]
    columns += [_along(api_name, parts, x, (names[0], name)) for x, name in zip(rest, names[1:], strict=True)]
    if with_path:
        columns.insert(0, [path for path, (_, n) in zip(part_paths(parts), parts, strict=True) if n is None])
    values = [f(*xs) for xs in zip(*columns, strict=True)]
    stack: list[Any] = []
    for _, n in reversed(parts):  # children before their container, the last container first
        stack.append(values.pop() if n is None else n.rebuild([stack.pop() for _ in n.children]))
    return stack[0]


def _along(api_name: str, parts: Flat, other: Any, names: tuple[str, str]) -> list[Any]:
    """Return the subtrees of `other` at the leaves of this tree."""
    first, second = names
    subtrees, waiting = [], [other]
    for i, (x, n) in enumerate(parts):
        y = waiting.pop()
        if n is None:
            subtrees.append(y)
            continue
        m = node(y)
        if type(x) is not type(y) or m is None or m.keys != n.keys or aux_of(x) != aux_of(y):
            path = list(places(parts, "tree"))[i]
            raise TreeError(
                f"{api_name}: {second} {'have' if second.endswith('s') else 'has'} another structure than {first}",
                (_label(first), outline(x)),
                (_label(second), outline(y)),
                *([("where", path)] if i else []),
                fix=_SAME if first != _FIRST else f"{_SAME}, or set is_leaf where the first one ends",
            )
        waiting.extend(m.children[::-1])
    return subtrees


def _label(name: str) -> str:
    return name.removeprefix("the ").removesuffix(" one")


@check_calls
def flatten(tree: PyTree, is_leaf: IsLeaf | None = None) -> tuple[list[Any], Structure]:
    """Return the leaves of a tree, and its structure; `unflatten(structure, leaves)` rebuilds the tree.

    Args:
        tree: Any tree.
        is_leaf: A predicate; a part of the tree for which it returns true is a leaf.

    Returns:
        The results of `leaves` and `structure`.

    Raises:
        TreeError: A container contains itself, or `is_leaf` is not a function.

    Example:
        >>> from branded import tree
        >>> tree.flatten({"w": [1, 2], "b": 3})
        ([3, 1, 2], Structure({'w': [*, *], 'b': *}))

    Source: `jax.tree.flatten`.
    """
    parts = flat(tree, is_leaf)
    return [x for x, n in parts if n is None], Structure(parts)


@check_calls
def unflatten(structure: Structure, leaves: Iterable[Any]) -> PyTree:
    """Return the tree with this structure and these leaves.

    Args:
        structure: A result of `structure` or `flatten`.
        leaves: The leaves, in the order of `leaves`; their number must match.

    Returns:
        The tree.

    Raises:
        TreeError: The number of leaves does not match, or `structure` is not a structure.

    Example:
        >>> from branded import tree
        >>> tree.unflatten(tree.structure({"w": [0, 0], "b": 0}), "xyz")
        {'w': ['y', 'z'], 'b': 'x'}

    Source: `jax.tree.unflatten`.
    """
    return check_structure(structure, "tree.unflatten", "the structure").unflatten(leaves)


_NOTHING: Any = object()


@check_calls
def reduce(
    f: Callable[[Any, Any], Any], tree: PyTree, initializer: Any = _NOTHING, is_leaf: IsLeaf | None = None
) -> Any:
    """Reduce the leaves `a`, `b`, `c` and `d` of a tree to `f(f(f(a, b), c), d)`.

    Args:
        f: A function of the last result and a leaf.
        tree: Any tree.
        initializer: The value before the first leaf, and the result for a tree without leaves.
        is_leaf: A predicate; a part of the tree for which it returns true is a leaf.

    Returns:
        The last result of `f`.

    Raises:
        TreeError: The tree has no leaves, and `initializer` is missing.
        CallError: `f` is not a function.

    Example:
        >>> from branded import tree
        >>> tree.reduce(lambda a, b: a + b, {"w": [1, 2], "b": 3})
        6

    Source: `jax.tree.reduce`.
    """
    if not callable(f):
        raise CallError(f"tree.reduce: {describe(f)} is not a function", fix="tree.reduce(f, tree)")
    values = [x for x, n in flat(tree, is_leaf) if n is None]
    if initializer is not _NOTHING:
        return functools.reduce(f, values, initializer)
    if not values:
        raise TreeError("tree.reduce: the tree has no leaves", fix="tree.reduce(f, tree, 0), with an initializer")
    return functools.reduce(f, values)


@check_calls
def all(tree: PyTree, *, is_leaf: IsLeaf | None = None) -> bool:
    """Return whether all leaves of a tree are true.

    Args:
        tree: Any tree.
        is_leaf: A predicate; a part of the tree for which it returns true is a leaf.

    Returns:
        True if no leaf is false, also for a tree without leaves.

    Raises:
        ReadError: A leaf differs between examples.

    Example:
        >>> from branded import tree
        >>> tree.all({"w": [True, 1], "b": 0}), tree.all([])
        (False, True)

    Source: `jax.tree.all`.
    """
    return builtins.all(x for x, n in flat(tree, is_leaf) if n is None)


@check_calls
def transpose(outer: Structure, inner: Structure | None, tree: PyTree) -> PyTree:
    """Transpose an outer tree of inner trees into an inner tree of outer trees.

    Args:
        outer: The structure of the outer tree.
        inner: The structure of each inner tree; None uses the structure of the first inner tree.
        tree: The outer tree of inner trees.

    Returns:
        A tree of structure `inner` whose leaves are trees of structure `outer`.

    Raises:
        TreeError: The tree does not have this structure.

    Example:
        >>> from branded import tree
        >>> pairs = {"w": (1, 2), "b": (3, 4)}
        >>> tree.transpose(tree.structure({"w": 0, "b": 0}), tree.structure((0, 0)), pairs)
        ({'w': 1, 'b': 3}, {'w': 2, 'b': 4})

    Source: `jax.tree.transpose`.
    """
    api_name = "tree.transpose"
    outer = check_structure(outer, api_name, "outer")
    inside = _along(api_name, flat(outer.unflatten([0] * outer.num_leaves)), tree, ("outer", "the tree"))
    if inner is None:
        if not inside:
            raise TreeError(f"{api_name}: the inner structure is missing", fix="inner=tree.structure(...)")
        inner = flatten(inside[0])[1]
    inner = check_structure(inner, api_name, "inner")
    columns = []
    for x in inside:
        row, s = flatten(x)
        if s != inner:
            raise TreeError(
                f"{api_name}: an inner tree has another structure than inner",
                ("inner", repr(inner)),
                ("tree", repr(s)),
                fix="use inner trees of the same structure",
            )
        columns.append(row)
    return inner.unflatten([outer.unflatten([c[i] for c in columns]) for i in range(inner.num_leaves)])
