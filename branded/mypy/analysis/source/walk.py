"""Traversal of a function's body in mypy's syntax tree."""

from __future__ import annotations

from collections.abc import Iterator

from mypy import nodes
from mypy.nodes import FuncDef, LambdaExpr, Node

_NAMES: dict[type[Node], str] = {
    nodes.AssertStmt: "expr",
    nodes.AssertTypeExpr: "expr",
    nodes.AssignmentExpr: "value",
    nodes.AssignmentStmt: "lvalues rvalue",
    nodes.AwaitExpr: "expr",
    nodes.Block: "body",
    nodes.CallExpr: "callee args",
    nodes.CastExpr: "expr",
    nodes.ComparisonExpr: "operands",
    nodes.ConditionalExpr: "cond if_expr else_expr",
    nodes.Decorator: "func",
    nodes.DelStmt: "expr",
    nodes.DictExpr: "items",
    nodes.DictionaryComprehension: "key value sequences condlists",
    nodes.ExpressionStmt: "expr",
    nodes.ForStmt: "expr body else_body",
    nodes.FuncDef: "body",
    nodes.GeneratorExpr: "left_expr sequences condlists",
    nodes.IfStmt: "expr body else_body",
    nodes.IndexExpr: "base index",
    nodes.LambdaExpr: "body",
    nodes.ListComprehension: "generator",
    nodes.ListExpr: "items",
    nodes.MatchStmt: "subject bodies",
    nodes.MemberExpr: "expr",
    nodes.OpExpr: "left right",
    nodes.OperatorAssignmentStmt: "lvalue rvalue",
    nodes.RaiseStmt: "expr from_expr",
    nodes.ReturnStmt: "expr",
    nodes.RevealExpr: "expr",
    nodes.SetComprehension: "generator",
    nodes.SetExpr: "items",
    nodes.SliceExpr: "begin_index end_index stride",
    nodes.StarExpr: "expr",
    nodes.TryStmt: "body handlers else_body finally_body",
    nodes.TupleExpr: "items",
    nodes.UnaryExpr: "expr",
    nodes.WhileStmt: "expr body else_body",
    nodes.WithStmt: "expr body",
    nodes.YieldExpr: "expr",
    nodes.YieldFromExpr: "expr",
    **dict.fromkeys(
        (nodes.FloatExpr, nodes.IntExpr, nodes.NameExpr, nodes.PassStmt, nodes.StrExpr, nodes.TempNode), ""
    ),
}
"""The attributes of each kind of node that hold nodes. mypy's compiled visitors cannot be subclassed in Python."""
_PARTS: dict[type, list[str]] = {kind: names.split() for kind, names in _NAMES.items()}
_REVERSED: dict[type, list[str]] = {kind: names[::-1] for kind, names in _PARTS.items()}


def own_parts(f: FuncDef | LambdaExpr) -> Iterator[Node]:
    """Find the nodes of a function's body that are not in a nested function."""
    every = list(walk(f.body))
    within = {id(part) for g in every if isinstance(g, FuncDef | LambdaExpr) for part in walk(g.body)}
    return (part for part in every if id(part) not in within)


def walk(node: object) -> Iterator[Node]:
    """Iterate over a node and its descendants, in source order."""
    nodes: list[Node] = []
    left: list[object] = [node]
    while left:
        part = left.pop()
        if part is None:
            continue
        names = _REVERSED.get(type(part))
        if names is not None:
            nodes.append(part)  # type: ignore[arg-type]  # the keys are classes of nodes
            for name in names:
                left.append(getattr(part, name))
        elif isinstance(part, list | tuple):
            left += part[::-1]
        elif isinstance(part, Node):
            nodes.append(part)
    return iter(nodes)


def parts(node: Node) -> Iterator[object]:
    """Iterate over the parts of a node: nodes, and lists of them."""
    return (getattr(node, name) for name in _PARTS.get(type(node), ()))
