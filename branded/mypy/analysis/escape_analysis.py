"""Side effects of a mapped function: batched values that it stores, and operations that lose brands."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import TypeGuard

from mypy.checker import TypeChecker
from mypy.errors import ErrorInfo
from mypy.nodes import (
    AssignmentStmt,
    Block,
    CallExpr,
    ComparisonExpr,
    Context,
    Expression,
    FuncDef,
    IndexExpr,
    IntExpr,
    LambdaExpr,
    MemberExpr,
    NameExpr,
    Node,
    OperatorAssignmentStmt,
    OpExpr,
    RaiseStmt,
    RefExpr,
    StrExpr,
    TryStmt,
    TypeInfo,
    Var,
)
from mypy.type_visitor import TypeQuery
from mypy.types import (
    AnyType,
    CallableType,
    Instance,
    NoneType,
    ProperType,
    TupleType,
    Type,
    TypedDictType,
    TypeVarType,
    get_proper_type,
)

from branded.mypy.analysis.caches import new_cache
from branded.mypy.analysis.function_source import describes_value
from branded.mypy.analysis.reads import known_brands
from branded.mypy.analysis.recheck import recheck_function
from branded.mypy.analysis.source.walk import own_parts, walk
from branded.mypy.analysis.stores import STORES, Put, find_stores, is_outside, outlives, shared_defaults
from branded.mypy.analysis.untyped_modules import is_in_file
from branded.mypy.codes import ERROR, ESCAPE, is_brand_code
from branded.mypy.rows.algebra import CONTAINERS, Brand, hides_brands, occurs, row_of, row_variables
from branded.mypy.rows.reporting import add_errors, fail, show

OBJECT = "builtins.object"
MOST_CALLS = 3
"""The maximum depth of calls followed to the function that stores a value."""


def check_escapes(f: Expression, api: TypeChecker, shared: Collection[int] = ()) -> None:
    """Report batched values stored by a mapped function, if it is a lambda or a function of this file.

    Args:
        f: The function passed to vmap.
        api: The type checker.
        shared: The positions of the unmapped arguments, which outlive the call.
    """
    if isinstance(f, LambdaExpr):
        return check_body_escapes(f, api, {f.arg_names[i] for i in shared if i < len(f.arg_names)})
    node, n_bound = resolve_function(f, api)
    if node is None or not is_in_file(node, api) or not isinstance(node.type, CallableType):
        return None
    names = {n for i, n in enumerate(node.arg_names) if i < n_bound or i - n_bound in shared} | shared_defaults(node)
    return _recheck_escapes(node, api, names)


def report_kept(outer: Sequence[Var], brand: Brand, context: Context, api: TypeChecker) -> None:
    """Report outer variables whose inferred type has the brand: `kept = []`, and `kept.append(x)` in the function."""
    for v in outer:
        if v.type is not None and occurs(brand, v.type):
            fail(
                api,
                context,
                ESCAPE,
                f'escape: brand "{show(brand, api)}" of this vmap is kept in `{v.name}`, which outlives vmap',
                f'value: "{show(v.type, api)}"',
                "try:   return it from the mapped function",
            )


_looking: list[FuncDef] = []
"""The functions whose stores are being looked for."""
_escapes: dict[tuple[FuncDef, frozenset[str | None]], list[ErrorInfo]] = new_cache()


def _recheck_escapes(node: FuncDef, api: TypeChecker, names: Collection[str | None]) -> None:
    """Recheck a function that may store a value: mypy may not have checked its body yet, so it has no types."""
    if node in _looking:
        return
    key = node, frozenset(names)
    if key not in _escapes:
        _looking.append(node)
        try:
            _escapes[key] = _find_escapes(node, api, names)
        finally:
            _looking.pop()
    add_errors(api, _escapes[key])


def _find_escapes(node: FuncDef, api: TypeChecker, names: Collection[str | None]) -> list[ErrorInfo]:
    puts, calls, raised = _stores_calls_and_raises(node.body)
    if not isinstance(node.type, CallableType):
        return []
    is_raised = bool(raised) and any(isinstance(part, RaiseStmt) for part in own_parts(node))
    is_stored = any(is_outside(put, node, names) for put in puts)
    if is_raised or is_stored or any(_hands_over(c, node, api, names) for c in calls):
        copy = recheck_function(node, node.type, api, then=lambda copy: check_body_escapes(copy, api, names))
        return [e for e in {id(e): e for e in copy.errors}.values() if is_brand_code(e.code)]
    return []


_LOOKED_AT = {*STORES, CallExpr, RaiseStmt}


@lru_cache(maxsize=1024)
def _stores_calls_and_raises(body: Block) -> tuple[list[Put], list[CallExpr], list[RaiseStmt]]:
    """Return the stores in a body, its calls that have arguments, and its `raise` statements."""
    parts = [p for p in walk(body) if type(p) in _LOOKED_AT]
    calls = [p for p in parts if isinstance(p, CallExpr) and p.args]
    return [put for p in parts for put in find_stores(p)], calls, [p for p in parts if isinstance(p, RaiseStmt)]


def _hands_over(
    call: CallExpr, f: FuncDef, api: TypeChecker, names: Collection[str | None], most: int = MOST_CALLS
) -> bool:
    """Return whether `f` passes a value that outlives its call to a function that stores a batched value in it."""
    node, n_bound = resolve_function(call.callee, api, f) if most else (None, 0)
    owner = [call.callee.expr] if isinstance(call.callee, MemberExpr) and n_bound else []
    if node is None or not is_in_file(node, api) or not any(outlives(e, f, names) for e in [*owner, *call.args]):
        return False
    puts, calls, _ = _stores_calls_and_raises(node.body)
    return any(is_outside(put, node, node.arg_names) for put in puts) or any(
        _hands_over(c, node, api, node.arg_names, most - 1) for c in calls
    )


def resolve_function(
    f: Expression, api: TypeChecker, within: FuncDef | LambdaExpr | None = None
) -> tuple[FuncDef | None, int]:
    """Return the function that a name, a bound method or a callable object refers to, and its bound parameters.

    `within` is the function in which `f` is called.
    """
    node = f.node if isinstance(f, RefExpr) else None
    if isinstance(node, FuncDef):
        return node, 0
    name = "__call__"
    match f:
        case CallExpr(callee=RefExpr(node=TypeInfo() as info)):
            owner: TypeInfo | None = info
        case MemberExpr(expr=e) if node is None:
            owner, name = _class_of(e, api, within), f.name
        case _:
            owner = _class_of(f, api, within)
    symbol = owner.get(name) if owner is not None else None
    node = symbol.node if symbol is not None else None
    return (node, 1) if isinstance(node, FuncDef) and not node.is_static else (None, 0)


def _class_of(e: Expression, api: TypeChecker, within: FuncDef | LambdaExpr | None) -> TypeInfo | None:
    """Return the class of an object; also of a class, whose class methods are called by its name."""
    if isinstance(e, RefExpr) and isinstance(e.node, TypeInfo):
        return e.node
    t = _expression_type(e, api)
    if t is None and isinstance(within, FuncDef) and isinstance(within.type, CallableType):
        # mypy has not checked the body yet, so it knows only the types of parameters
        types = dict(zip(within.arg_names, within.type.arg_types, strict=True))
        t = get_proper_type(types.get(e.name)) if isinstance(e, NameExpr) else None
    return t.type if isinstance(t, Instance) else None


_MAY_STORE = {AssignmentStmt, CallExpr, ComparisonExpr, OperatorAssignmentStmt, OpExpr, RaiseStmt}
"""The nodes that store or raise a value, or lose its brands."""


def check_body_escapes(
    f: FuncDef | LambdaExpr, api: TypeChecker, shared: Collection[str | None], is_again: bool = False
) -> None:
    """Report batched values that a type-checked body stores.

    Args:
        f: The function. For a rechecked copy, mypy's own errors are dropped.
        api: The type checker.
        shared: The parameters whose arguments outlive the call.
        is_again: Whether the annotations have no rows. A `list[Tensor]` can then hide brands as `Any` does.
    """
    part_ids = {id(part) for part in own_parts(f)}
    for part in walk(f.body):
        if type(part) not in _MAY_STORE:
            continue
        for put in find_stores(part):
            t = _captured_type(put.value, api)
            if t is None or not (brands := captured_brands(t)) or not is_outside(put, f, shared, is_again):
                continue
            if _hides(put, api) or (is_again and _lacks(put, brands, api)):
                _report_store(part, put.place, t, api)
        if isinstance(part, RaiseStmt) and id(part) in part_ids:
            _check_raise(part, f, api)
        if isinstance(part, CallExpr) and not is_again:
            _check_called_function(part, f, api, shared)
        if isinstance(part, OpExpr | ComparisonExpr) and id(part) in part_ids:
            _report_lost_brands(part, api)


def _check_raise(raised: RaiseStmt, f: FuncDef | LambdaExpr, api: TypeChecker) -> None:
    """Report a batched value in an exception that leaves the call: `raise Diverged(x)`."""
    given = raised.expr.args if isinstance(raised.expr, CallExpr) else []
    value = next((t for e in given if (t := _expression_type(e, api)) is not None and captured_brands(t)), None)
    caught = (p for p in own_parts(f) if isinstance(p, TryStmt) and p.handlers and _is_within(raised, p.body))
    if value is not None and not any(caught):
        message = "escape: a value that varies is raised in an exception, which outlives vmap"
        fail(api, raised, ESCAPE, message, f'value: "{show(value, api)}"', "try:   return it from the mapped function")


def _is_within(node: Node, block: Block) -> bool:
    return any(part is node for part in walk(block))


def _check_called_function(
    call: CallExpr, f: FuncDef | LambdaExpr, api: TypeChecker, shared: Collection[str | None]
) -> None:
    """Look for stores in a called function, if one of its arguments outlives the call of `f`."""
    outer_args = [e for e in call.args if outlives(e, f, shared)]
    node, n_bound = resolve_function(call.callee, api, f)
    if node is None or not is_in_file(node, api) or not isinstance(node.type, CallableType):
        return
    owner = call.callee.expr if isinstance(call.callee, MemberExpr) and n_bound else call.callee
    is_kept = bool(n_bound) and outlives(owner, f, shared)
    if not outer_args and not is_kept and not shared_defaults(node):
        return
    if not row_variables(node.type):  # plain_functions checks functions without row variables
        return
    given = {n: e for e, n in zip(call.args, node.arg_names[n_bound:], strict=False)}
    given |= {n: e for e, n in zip(call.args, call.arg_names, strict=True) if n is not None}
    names = {n for n, e in given.items() if e in outer_args} | (shared_defaults(node) - given.keys())
    names |= set(node.arg_names[:1]) if is_kept else set()
    _recheck_escapes(node, api, names)


def _expression_type(e: Expression, api: TypeChecker) -> ProperType | None:
    t = api.lookup_type_or_none(e)
    return get_proper_type(t) if t is not None else None


_KEPT = "escape: a value that varies is kept"


def is_object(t: Type) -> bool:
    """Return whether vmap passes a value of this type unchanged instead of rebuilding it as a pytree."""
    t = get_proper_type(t)
    if isinstance(t, Instance):
        return not (t.type.fullname in CONTAINERS or "dataclass" in t.type.metadata or row_of(t) is not None)
    return not isinstance(t, TupleType | TypedDictType)


def _hides(put: Put, api: TypeChecker) -> bool:
    """Return whether the type of a place hides the brands of its value: it is unknown, Any or object."""
    t = _stored_type(put, api)
    return t is None or isinstance(t, AnyType) or (isinstance(t, Instance) and t.type.fullname == OBJECT)


def _lacks(put: Put, row: list[ProperType], api: TypeChecker) -> bool:
    """Return whether a place is declared for tensors that lack a brand of `row`."""
    t = _stored_type(put, api)
    return t is not None and not isinstance(t, NoneType) and not set(row) <= set(captured_brands(t))


def _captured_type(e: Expression, api: TypeChecker) -> ProperType | None:
    """Return the type of a value; for a partial, which may be a `partial[Any]`, of a batched argument."""
    t = _expression_type(e, api)
    if isinstance(e, CallExpr) and isinstance(e.callee, RefExpr) and e.callee.fullname == "functools.partial":
        types = [a for a in (_expression_type(arg, api) for arg in e.args) if a is not None]
        return next((a for a in types if captured_brands(a)), t)
    return t


class _Captured(TypeQuery[list[Brand]]):
    """The brands in any part of a type: of a tree, a function's result, a `functools.partial`."""

    def strategy(self, items: list[list[Brand]]) -> list[Brand]:
        return [b for item in items for b in item]

    def visit_instance(self, t: Instance) -> list[Brand]:
        return [*known_brands(t), *super().visit_instance(t)]

    def visit_callable_type(self, t: CallableType) -> list[Brand]:
        own = {v.id for v in t.variables}
        return [b for b in t.ret_type.accept(self) if not isinstance(b, TypeVarType) or b.id not in own]


def captured_brands(t: Type) -> list[Brand]:
    """Return the brands of a value, including values that a function or an object has captured."""
    return list(dict.fromkeys([*known_brands(t), *t.accept(_Captured())]))


_HOLDERS = (
    *("builtins.set", "_contextvars.ContextVar", "concurrent.futures._base.Future", "_asyncio.Future"),
    *("queue.Queue", "queue.SimpleQueue", "asyncio.queues.Queue"),
)
"""Classes with one argument, which is the type of the values that they hold."""


def _stored_type(put: Put, api: TypeChecker) -> ProperType | None:
    """Return the type of a place, or of the items of a container."""
    t = _expression_type(put.place, api)
    if isinstance(t, Instance) and t.type.fullname in (*CONTAINERS, *_HOLDERS):
        return get_proper_type(t.args[-1]) if t.args else None
    is_unknown = t is None or isinstance(t, AnyType) or (isinstance(t, Instance) and t.type.fullname == OBJECT)
    if is_unknown or not put.into or (put.is_write and t is not None and row_of(t) is not None):
        return t
    return NoneType()  # `opt.update(...)` puts nothing into a container


def _report_store(context: Context, place: Expression, t: Type, api: TypeChecker) -> None:
    where, fix = (
        f"{_KEPT} in `{_expression_text(place)}`, which outlives vmap",
        "return it from the mapped function",
    )
    fail(api, context, ESCAPE, where, f'value: "{show(t, api)}"', f"try:   {fix}")


def _report_lost_brands(e: OpExpr | ComparisonExpr, api: TypeChecker) -> None:
    """Report an operation whose result is Any because an operand is: `x * cfg["scale"]`."""
    operands = [e.left, e.right] if isinstance(e, OpExpr) else e.operands
    types = [_expression_type(o, api) for o in operands]
    result = _expression_type(e, api)
    if (
        not isinstance(result, AnyType)
        or not hides_brands(result)
        or not any(t is not None and known_brands(t) for t in types)
    ):
        return
    unknown = next((o for o, t in zip(operands, types, strict=True) if isinstance(t, AnyType)), None)
    if unknown is not None:
        text = _expression_text(unknown)
        api.note(f"vmap: the brands are lost here, because `{text}` has the type Any; try: annotate it", e, code=ERROR)


def _expression_text(e: Expression) -> str:
    """Return a short Python text for an expression."""
    match e:
        case NameExpr():
            return e.name
        case MemberExpr():
            return f"{_expression_text(e.expr)}.{e.name}"
        case IndexExpr():
            return f"{_expression_text(e.base)}[{_expression_text(e.index)}]"
        case CallExpr():
            return f"{_expression_text(e.callee)}(...)"
        case OpExpr():
            return f"{_expression_text(e.left)} {e.op} {_expression_text(e.right)}"
        case StrExpr() | IntExpr():
            return repr(e.value)
    return "..."


def may_make_objects(f: Expression) -> TypeGuard[LambdaExpr]:
    """Return whether a mapped function is a lambda that calls a class or a function, which may return an object."""
    return isinstance(f, LambdaExpr) and any(
        isinstance(e, CallExpr) and isinstance(e.callee, RefExpr) and e.callee.node is not None and not _is_of_values(e)
        for e in walk([f.expr()])
    )


def _is_of_values(call: CallExpr) -> bool:
    """Return whether a call is of a function that takes and returns only tensors and numbers, or `vmap(lambda …)`."""
    f = call.callee
    assert isinstance(f, RefExpr)
    if f.fullname == "branded.core.vmap.vmap":
        return bool(call.args) and isinstance(call.args[0], LambdaExpr)
    t = f.node.type if isinstance(f.node, FuncDef) else None
    return isinstance(t, CallableType) and all(map(describes_value, (*t.arg_types, t.ret_type)))
