"""Injected calls around expressions: displays, and functions without a name that are called.

kept = [a, b]           kept = <display>([a, b])    a list[Vec[S | S1, Tensor]], not a list[Vec[Brand, Tensor]]
OPS["add"](x, y)        <function>(OPS["add"])(x, y)   in a file without `Vec`, accepts batched arguments
"""

from __future__ import annotations

from mypy.checker import TypeChecker
from mypy.nodes import (
    ARG_POS,
    AssignmentStmt,
    CallExpr,
    ConditionalExpr,
    Decorator,
    DictExpr,
    Expression,
    FloatExpr,
    ForStmt,
    FuncDef,
    GeneratorExpr,
    IndexExpr,
    IntExpr,
    LambdaExpr,
    ListExpr,
    MemberExpr,
    NameExpr,
    Node,
    RefExpr,
    ReturnStmt,
    SetExpr,
    StarExpr,
    StrExpr,
    TempNode,
    TupleExpr,
    UnaryExpr,
    Var,
)
from mypy.types import AnyType, CallableType, Instance, TypeOfAny, TypeVarId, TypeVarType, get_proper_type

from branded.mypy.analysis.caches import new_cache
from branded.mypy.analysis.source.walk import walk
from branded.mypy.analysis.source_digest import LIBRARIES
from branded.mypy.rows.reporting import trying

DISPLAY, FUNCTION = "<display>", "<function>"


def injected_call(name: str, f: CallableType, args: list[Expression], node: Node) -> CallExpr:
    callee = TempNode(f.copy_modified(name=name))
    call = CallExpr(callee, args, [ARG_POS] * len(args), [None] * len(args))
    callee.set_line(node)
    call.set_line(node)
    return call


def is_injected(e: Node, name: str) -> bool:
    """Return whether this is an injected call."""
    t = e.callee.type if isinstance(e, CallExpr) and isinstance(e.callee, TempNode) else None
    return isinstance(t, CallableType) and t.name == name


def _wrap(e: Expression, name: str, function: Instance) -> CallExpr:
    """Wrap an expression in an injected call that returns its argument."""
    object_, default = AnyType(TypeOfAny.special_form), AnyType(TypeOfAny.from_omitted_generics)
    v = TypeVarType("T", "T", TypeVarId(-1, namespace=name), [], object_, default)
    return injected_call(name, CallableType([v], [ARG_POS], [None], v, function, variables=[v]), [e], e)


def inject_function(call: CallExpr, function: Instance) -> None:
    """Wrap the function that is called if it has no name: mypy has no hook for such a call."""
    if _is_nameless(call.callee):
        call.callee = _wrap(call.callee, FUNCTION, function)


def _is_nameless(e: Expression) -> bool:
    """Return whether a function is an entry, one of two, or the result of a call, but not of a transform."""
    match e:
        case IndexExpr():
            return e.analyzed is None  # else `Box[int]`
        case CallExpr(callee=RefExpr(node=FuncDef() | Decorator() as maker)):
            return not maker.fullname.startswith(LIBRARIES)
        case CallExpr(callee=MemberExpr(node=None)):
            return True
        case CallExpr(callee=callee):
            return is_injected(callee, FUNCTION) or _is_nameless(callee)
    return isinstance(e, ConditionalExpr)


_called_in: dict[LambdaExpr, list[CallExpr]] = new_cache()
"""The calls in lambdas whose functions may have no name; their types decide when mypy checks the lambda."""


def find_calls(f: LambdaExpr) -> None:
    """Find the calls in a lambda for `inject_into_lambda`."""
    every = list(walk(f))
    own = {a.variable for g in every if isinstance(g, LambdaExpr) for a in g.arguments}
    if calls := [e for e in every if isinstance(e, CallExpr) and _root(e.callee) not in own]:
        _called_in[f] = calls


def inject_into_lambda(f: LambdaExpr, api: TypeChecker) -> None:
    """Wrap the functions that have no name by their types, which are known when a lambda is checked."""
    for call in _called_in.pop(f, ()):
        if is_without_hook(call.callee, api):
            call.callee = _wrap(call.callee, FUNCTION, api.named_type("builtins.function"))


def _root(e: Expression) -> object:
    """Return the variable that an expression begins with: `self` for `self.model.predict`."""
    while isinstance(e, MemberExpr | CallExpr):
        e = e.expr if isinstance(e, MemberExpr) else e.callee
    return e.node if isinstance(e, NameExpr) else None


def is_without_hook(f: Expression, api: TypeChecker) -> bool:
    """Return whether mypy asks no plugin about a call of a function.

    power(3)            the result of a function, but not of a transform, whose rule waits for the arguments
    make(3)             the same for a variable that holds a function
    model.predict       a method of an object whose type is a type variable, such as Self
    """
    match f:
        case CallExpr(callee=RefExpr(node=Var()) as maker):
            with trying(api):
                t = get_proper_type(api.get_expression_type(maker))
            if isinstance(t, Instance):
                return t.type.is_protocol and not t.type.fullname.startswith(LIBRARIES)
            return isinstance(t, CallableType) and isinstance(get_proper_type(t.ret_type), CallableType)
        case MemberExpr(node=None):
            with trying(api):
                return isinstance(get_proper_type(api.get_expression_type(f.expr)), TypeVarType)
        case NameExpr(node=Var()):
            with trying(api):
                t = get_proper_type(api.get_expression_type(f))
            return isinstance(t, TypeVarType) and isinstance(get_proper_type(t.upper_bound), CallableType)
    return _is_nameless(f)


WITH_DISPLAYS = {AssignmentStmt, ForStmt, GeneratorExpr, LambdaExpr}


def inject_displays(node: Node, function: Instance) -> None:
    """Inject calls around the displays without a type context, for which mypy would join the types of the entries."""
    match node:
        case AssignmentStmt() if node.type is None and not node.is_final_def:
            if any(map(_is_declared, node.lvalues)):
                return
            if isinstance(node.rvalue, TupleExpr) or not any(isinstance(v, TupleExpr | ListExpr) for v in node.lvalues):
                node.rvalue = _wrap_display(node.rvalue, function)
        case ForStmt():
            node.expr = _wrap_display(node.expr, function)
        case GeneratorExpr():
            node.sequences[:] = [_wrap_display(e, function) for e in node.sequences]
        case LambdaExpr() if isinstance(returned := node.body.body[-1], ReturnStmt) and returned.expr is not None:
            returned.expr = _wrap_display(returned.expr, function)


def _is_declared(target: Expression) -> bool:
    """Return whether an assignment has a type context: `params: Params` is declared elsewhere."""
    return isinstance(target, RefExpr) and isinstance(target.node, Var) and target.node.type is not None


def _wrap_display(e: Expression, function: Instance) -> Expression:
    """Wrap a display that may hold several rows in an injected call; in a tuple, wrap each item."""
    if isinstance(e, TupleExpr):
        e.items[:] = [_wrap_display(i, function) for i in e.items]
    if len(display_entries(e)) < 2 or _is_literal(e):
        return e
    return _wrap(e, DISPLAY, function)


def _is_literal(e: Expression) -> bool:
    """Return whether a display contains only literals."""
    held = display_entries(e) or (e.items if isinstance(e, TupleExpr) else [])
    return all(map(_is_literal, held)) if held else isinstance(e, IntExpr | FloatExpr | StrExpr | UnaryExpr)


def display_entries(e: Expression) -> list[Expression]:
    """Return the entries of a display; empty for other expressions, and for displays with stars."""
    match e:
        case ListExpr() | SetExpr():
            entries = list(e.items)
        case DictExpr() if all(k is not None for k, _ in e.items):
            entries = [v for _, v in e.items]
        case _:
            return []
    return [] if any(isinstance(i, StarExpr) for i in entries) else entries
