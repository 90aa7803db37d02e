"""The structure of a tree without its leaves, as a value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from branded.errors import TreeError
from branded.errors.calls import check_calls
from branded.tree.formatting import describe
from branded.tree.nodes import Flat, IsLeaf, Node, PyTree, flat, is_registered, key_of
from branded.tree.static_fields import static_texts


class Structure:
    """The structure of a tree; structures are equal if the trees differ only in leaves or in the order of keys.

    Attributes:
        num_leaves: The number of leaves of the tree.

    Example:
        >>> from branded import tree
        >>> tree.structure({"b": 1, "a": (2, None)})
        Structure({'b': *, 'a': (*, None)})
        >>> tree.structure({"b": 1, "a": 2}) == tree.structure({"a": 3, "b": 4})
        True

    Source: JAX, `PyTreeDef`.
    """

    __slots__ = ("_key", "_makers", "_text", "num_leaves")

    def __init__(self, parts: Flat) -> None:
        self._key = key_of(parts)
        self._makers = [None if n is None else (len(n.children), n.rebuild) for _, n in parts]
        self._text = _structure_text(parts)
        self.num_leaves = sum(m is None for m in self._makers)

    def unflatten(self, leaves: Iterable[Any]) -> PyTree:
        """Return the tree with these leaves."""
        values = list(leaves)
        if len(values) != self.num_leaves:
            raise TreeError(
                f"tree.unflatten: {len(values)} leaves for a tree of {self.num_leaves}",
                ("tree", repr(self)),
                fix="pass as many leaves as tree.leaves returns",
            )
        stack: list[Any] = []
        for maker in reversed(self._makers):  # children before their container, the last container first
            stack.append(values.pop() if maker is None else maker[1]([stack.pop() for _ in range(maker[0])]))
        return stack[0]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Structure) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return f"Structure({self._text})"


@check_calls
def structure(tree: PyTree, is_leaf: IsLeaf | None = None) -> Structure:
    """Return the structure of a tree without its leaves.

    Args:
        tree: Any tree.
        is_leaf: A predicate; a part of the tree for which it returns true is a leaf.

    Returns:
        A `Structure`, which `unflatten` turns into a tree.

    Raises:
        TreeError: A container contains itself, or `is_leaf` is not a function.

    Example:
        >>> from branded import tree
        >>> tree.structure([1, (2, 3)])
        Structure([*, (*, *)])

    Source: `jax.tree.structure`.
    """
    return Structure(flat(tree, is_leaf))


def _structure_text(parts: Flat) -> str:
    """Return the tree as text, with a star for each leaf."""
    stack: list[str] = []
    for x, n in reversed(parts):
        stack.append("*" if n is None else _container(x, n, [stack.pop() for _ in n.children]))
    return stack[0]


def _container(x: Any, n: Node, inside: Sequence[str]) -> str:
    if x is None:
        return "None"
    name = type(x).__name__
    if isinstance(x, dict) and not is_registered(x):
        text_of = dict(zip(n.keys, inside, strict=True))
        text = "{" + ", ".join(f"{key!r}: {text_of[key]}" for key in x) + "}"
        return text if type(x) is dict else f"{name}({text})"
    if type(x) is tuple:
        return f"({inside[0]},)" if len(inside) == 1 else f"({', '.join(inside)})"
    if type(x) is list:
        return f"[{', '.join(inside)}]"
    named = [f"{key}={text}" if isinstance(key, str) else text for key, text in zip(n.keys, inside, strict=True)]
    return f"{name}({', '.join([*named, *([] if is_registered(x) else static_texts(x))])})"


def check_structure(x: Any, api_name: str, name: str) -> Structure:
    """Return the user's structure; raise TreeError if it is not a `Structure`."""
    if not isinstance(x, Structure):
        raise TreeError(f"{api_name}: {name} is {describe(x)}", fix=f"tree.structure(...) for {name}")
    return x
