"""The stores in the body of a function, and whether their places outlive the call."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import NamedTuple

from mypy.nodes import (
    GDEF,
    AssignmentStmt,
    CallExpr,
    DictExpr,
    Expression,
    FuncDef,
    GlobalDecl,
    IndexExpr,
    LambdaExpr,
    ListExpr,
    MemberExpr,
    NameExpr,
    Node,
    NonlocalDecl,
    OperatorAssignmentStmt,
    RefExpr,
    SetExpr,
    StrExpr,
    TypeInfo,
    Var,
)

from branded.mypy.analysis.source.walk import walk
from branded.mypy.rows.widening import flat_entries

PUTTERS = {"add", "append", "appendleft", "extend", "insert", "put", "put_nowait", "set", "set_result", "setdefault"}
PUTTERS |= {"update"}
"""Methods that put a value into a container."""
PUSHERS = {f"_heapq.{name}" for name in ("heappush", "heappushpop", "heapreplace")}
"""Functions that put their second argument into the first."""
SETTERS = {"builtins.setattr", "builtins.object.__setattr__"}
VIEWS = {"builtins.vars", "builtins.getattr"}
"""Functions whose result is a part of their first argument."""


class Put(NamedTuple):
    """A store: `place = value`, or `place.append(value)` with a container as place, or `place.assign(value)`."""

    place: Expression
    value: Expression
    into: bool = False
    is_write: bool = False
    """Whether the place is a tensor whose memory gets the value."""


STORES = (AssignmentStmt, OperatorAssignmentStmt, CallExpr)
"""The kinds of nodes that may store a value."""


def find_stores(node: Node) -> Iterator[Put]:
    """Find the values that a node stores, and their places."""
    match node:
        case AssignmentStmt():
            for lvalue in node.lvalues:
                if isinstance(lvalue, IndexExpr) and isinstance(node.rvalue, ListExpr):  # `kept[:] = [x]`
                    yield from (Put(lvalue.base, e, into=True) for e in flat_entries([node.rvalue]))
                elif isinstance(lvalue, NameExpr | MemberExpr | IndexExpr):
                    yield Put(lvalue, node.rvalue)
        case OperatorAssignmentStmt(op="+" | "|", rvalue=ListExpr() | DictExpr() | SetExpr() as added):
            yield from (Put(node.lvalue, e, into=True) for e in flat_entries([added]))
        case CallExpr(callee=RefExpr(fullname=name), args=[owner, attribute, value]) if name in SETTERS:
            yield Put(MemberExpr(owner, attribute.value if isinstance(attribute, StrExpr) else "..."), value)
        case CallExpr(callee=RefExpr(fullname=name), args=[owner, value]) if name in PUSHERS:
            yield Put(owner, value, into=True)
        case CallExpr(callee=MemberExpr(name="assign", expr=tensor), args=[value]):
            yield Put(tensor, value, into=True, is_write=True)
        case CallExpr(callee=MemberExpr(name=name, expr=container)) if name in PUTTERS:
            yield from (Put(container, e, into=True) for e in flat_entries(node.args))


def is_outside(put: Put, f: FuncDef | LambdaExpr, shared: Collection[str | None], is_again: bool = False) -> bool:
    """Return whether a place outlives the call: a global, or part of an argument or of an enclosing variable.

    In a function whose annotations have no rows, only the arguments in `shared` count: the caller may have created the
    others.
    """
    root = root_of(put.place)
    if isinstance(root, NameExpr) and root is put.place and not put.into:  # `x = ...` binds a local name
        return root.kind == GDEF or root.name in _declared_names(f)
    if put.into and isinstance(root, NameExpr) and _is_reset(root, f):
        return False
    return outlives(root, f, shared) or (not is_again and _is_in_object(put.place, f))


def _is_reset(variable: NameExpr, f: FuncDef | LambdaExpr) -> bool:
    """Return whether a function takes a value back: `token = level.set(x)`, and then `level.reset(token)`."""
    calls = [p.callee for p in walk(f.body) if isinstance(p, CallExpr) and isinstance(p.callee, MemberExpr)]
    owners = [callee.expr for callee in calls if callee.name == "reset"]
    return any(isinstance(e, NameExpr) and e.node is variable.node for e in owners)


def _is_in_object(place: Expression, f: FuncDef | LambdaExpr) -> bool:
    """Return whether a place is in an attribute of a parameter: vmap rebuilds dicts and lists, but not objects."""
    while isinstance(place, MemberExpr | IndexExpr):
        below = place.expr if isinstance(place, MemberExpr) else place.base
        if isinstance(below, NameExpr):
            return isinstance(place, MemberExpr) and below.kind != GDEF and below.name in f.arg_names
        place = below
    return False


def outlives(e: Expression, f: FuncDef | LambdaExpr, shared: Collection[str | None]) -> bool:
    """Return whether the value of an expression outlives a call of `f`."""
    root = root_of(e)
    if _is_class(root, f):
        return True
    if not isinstance(root, NameExpr) or not isinstance(root.node, Var):
        return False
    if root.kind == GDEF or root.name in shared or root.name in _declared_names(f):
        return True
    # a variable of the enclosing function
    return root.name not in f.arg_names and 0 < root.node.line < f.line


def _is_class(e: Expression, f: FuncDef | LambdaExpr) -> bool:
    """Return whether an expression is a class, which outlives every call unless the function defines it."""
    match e:
        case CallExpr(callee=RefExpr(fullname="builtins.type"), args=[_]) | MemberExpr(name="__class__"):
            return True
        case NameExpr(node=TypeInfo() as info):
            return e.kind == GDEF or info.line < f.line
        case NameExpr(name=name):
            return isinstance(f, FuncDef) and f.is_class and name == f.arg_names[0]
    return False


def shared_defaults(f: FuncDef) -> set[str | None]:
    """Return the parameters whose default is a list, dict or set, which all calls share."""
    makers = {f"builtins.{name}" for name in ("list", "dict", "set")}
    return {
        a.variable.name
        for a in f.arguments
        if isinstance(d := a.initializer, ListExpr | DictExpr | SetExpr)
        or (isinstance(d, CallExpr) and isinstance(d.callee, RefExpr) and d.callee.fullname in makers)
    }


def root_of(place: Expression) -> Expression:
    """Return the root of a place: `a` for `a.b[c]` and `vars(a)["b"]`, the class for `a.__class__.b`."""
    while True:
        match place:
            case MemberExpr(name="__class__"):
                return place
            case MemberExpr(expr=below) | IndexExpr(base=below):
                place = below
            case CallExpr(callee=RefExpr(fullname=name), args=[below, *_]) if name in VIEWS:
                place = below
            case _:
                return place


@lru_cache(maxsize=256)
def _declared_names(f: FuncDef | LambdaExpr) -> set[str]:
    """Return the names that a function declares global or nonlocal."""
    return {n for p in walk(f.body) if isinstance(p, GlobalDecl | NonlocalDecl) for n in p.names}
