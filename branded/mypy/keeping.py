"""What a mapped function does beside giving a result: values that it keeps, and rows that are lost in it."""

from __future__ import annotations

from collections.abc import Iterator

from mypy.checker import TypeChecker
from mypy.nodes import (
    GDEF,
    AssignmentStmt,
    CallExpr,
    ComparisonExpr,
    Context,
    Expression,
    FuncDef,
    GlobalDecl,
    IndexExpr,
    IntExpr,
    LambdaExpr,
    MemberExpr,
    NameExpr,
    Node,
    NonlocalDecl,
    OpExpr,
    RefExpr,
    StrExpr,
)
from mypy.types import AnyType, CallableType, Instance, ProperType, Type, get_proper_type

from branded.mypy.again import is_here, look_again
from branded.mypy.opening import ERROR, fail, show
from branded.mypy.reading import known
from branded.mypy.rows import CONTAINERS, hides, holds, rows_in
from branded.mypy.walking import own_parts, walk

PUTTERS = {"add", "append", "appendleft", "extend", "insert", "put", "setdefault", "update"}
"""The methods that put a value into a container."""


def look(f: Expression, api: TypeChecker) -> None:
    """Say what is kept by a mapped function: a lambda, or a function of this file that seems to keep something."""
    if isinstance(f, LambdaExpr):
        return look_in(f, api)
    node = f.node if isinstance(f, RefExpr) else None
    if not isinstance(node, FuncDef) or not is_here(node, api) or not isinstance(node.type, CallableType):
        return None
    if any(_is_outside(place, node) for part in walk(node.body) for place, _ in _puts(part)):
        copy = look_again(node, node.type, api, then=lambda copy: look_in(copy, api))
        api.msg.add_errors([e for e in copy.errors if e.code is ERROR])
    return None


def look_in(f: FuncDef | LambdaExpr, api: TypeChecker, is_again: bool = False) -> None:
    """The same of a body whose types are known.

    Where it is looked at again, mypy's own errors are not told: there a global `kept: list[Tensor]` is a place like one
    of Any.
    """
    own = {id(part) for part in own_parts(f)}
    for part in walk(f.body):
        for place, value in _puts(part):
            if (t := _type(value, api)) is None or not known(t) or not _is_outside(place, f):
                continue
            if _hides(place, api) or (is_again and _is_global(place) and _lacks(place, known(t), api)):
                _tell(part, place, t, api)
        if isinstance(part, OpExpr | ComparisonExpr) and id(part) in own:
            _lost(part, api)


def _type(e: Expression, api: TypeChecker) -> ProperType | None:
    t = api.lookup_type_or_none(e)
    return get_proper_type(t) if t is not None else None


# ---- values that are kept ----

_KEPT = "escape: a value that varies is kept"


def _puts(node: Node) -> Iterator[tuple[Expression, Expression]]:
    """The places that a node puts values into, and the values."""
    match node:
        case AssignmentStmt():
            for lvalue in node.lvalues:
                if isinstance(lvalue, NameExpr | MemberExpr | IndexExpr):
                    yield lvalue, node.rvalue
        case CallExpr(callee=MemberExpr(name=name, expr=container)) if name in PUTTERS:
            for e in node.args:
                yield container, e


def _is_outside(place: Expression, f: FuncDef | LambdaExpr) -> bool:
    """Is this a place that is there after the call: of a global variable, or in what an argument is?"""
    root = _root(place)
    if not isinstance(root, NameExpr):
        return False
    return root.kind == GDEF or root.name in _declared(f) or (root is not place and root.name in f.arg_names)


def _is_global(place: Expression) -> bool:
    root = _root(place)
    return isinstance(root, NameExpr) and root.kind == GDEF


def _root(place: Expression) -> Expression:
    """`a` of `a.b[c]`"""
    while isinstance(place, MemberExpr | IndexExpr):
        place = place.expr if isinstance(place, MemberExpr) else place.base
    return place


def _declared(f: FuncDef | LambdaExpr) -> set[str]:
    """The names that a function says are not its own."""
    return {n for p in walk(f.body) if isinstance(p, GlobalDecl | NonlocalDecl) for n in p.names}


def _hides(place: Expression, api: TypeChecker) -> bool:
    """Does the type of a place say nothing of what is put there?"""
    t = _held(place, api)
    return t is None or isinstance(t, AnyType) or (isinstance(t, Instance) and t.type.fullname == "builtins.object")


def _lacks(place: Expression, row: list[ProperType], api: TypeChecker) -> bool:
    """Is a place for tensors that do not vary over all of a row?"""
    t = _held(place, api)
    return t is not None and holds(t) and not set(row) <= set(rows_in(t))


def _held(place: Expression, api: TypeChecker) -> ProperType | None:
    """The type of a place, or of what a container holds."""
    t = _type(place, api)
    if isinstance(t, Instance) and t.type.fullname in (*CONTAINERS, "builtins.set"):
        return get_proper_type(t.args[-1]) if t.args else None
    return t


def _tell(at: Context, place: Expression, t: Type, api: TypeChecker) -> None:
    where, fix = f"{_KEPT} in `{_text(place)}`, which outlives the call", "return it from the mapped function"
    fail(api, at, where, f'value: "{show(t, api)}"', f"try:   {fix}")


# ---- rows that are lost ----


def _lost(e: OpExpr | ComparisonExpr, api: TypeChecker) -> None:
    """`x * cfg["scale"]`, of which mypy says Any, whatever `x` is."""
    operands = [e.left, e.right] if isinstance(e, OpExpr) else e.operands
    types = [_type(o, api) for o in operands]
    result = _type(e, api)
    if not isinstance(result, AnyType) or not hides(result) or not any(t is not None and known(t) for t in types):
        return
    unknown = next((o for o, t in zip(operands, types, strict=True) if isinstance(t, AnyType)), None)
    if unknown is not None:
        text = _text(unknown)
        api.note(f"vmap: the row is lost here, as `{text}` has the type Any; try: a type for it", e, code=ERROR)


def _text(e: Expression) -> str:
    """An expression in a few words of Python."""
    match e:
        case NameExpr():
            return e.name
        case MemberExpr():
            return f"{_text(e.expr)}.{e.name}"
        case IndexExpr():
            return f"{_text(e.base)}[{_text(e.index)}]"
        case CallExpr():
            return f"{_text(e.callee)}(...)"
        case OpExpr():
            return f"{_text(e.left)} {e.op} {_text(e.right)}"
        case StrExpr() | IntExpr():
            return repr(e.value)
    return "..."
