"""Functions that only compute with their arguments: the brands of a result, without a second check of the body.

    def norm(x: Tensor, k: float) -> Tensor:     the result has the brands of x
        y = x.square().sum() + k
        return x / y.sqrt()

Such a body contains numbers, names, operators, elementwise methods, reductions, and calls of such functions. None of
them can be wrong for batched arguments. For other bodies the result is unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from mypy.checker import TypeChecker
from mypy.nodes import (
    ARG_POS,
    AssignmentStmt,
    CallExpr,
    Expression,
    ExpressionStmt,
    FloatExpr,
    FuncDef,
    IntExpr,
    MemberExpr,
    NameExpr,
    Node,
    OpExpr,
    ReturnStmt,
    StrExpr,
    UnaryExpr,
    Var,
)
from mypy.types import AnyType, CallableType, Instance, Type, get_proper_type

from branded.mypy.analysis.caches import new_cache
from branded.mypy.analysis.dependence import NotFollowed, all_places, flow_of
from branded.mypy.analysis.function_source import unused_parameters
from branded.mypy.analysis.needed_names import needed_names
from branded.mypy.analysis.source.reads import effects_of
from branded.mypy.analysis.source_digest import Kept, depend_on_sources, keep, use
from branded.mypy.analysis.untyped_modules import is_in_file, is_untyped_function
from branded.mypy.axes.types import has_axes
from branded.mypy.rows.algebra import TENSOR, VEC, Brand, add_brands, rows_in
from branded.mypy.rows.brand_env import NUMBERED, is_unnamed
from branded.mypy.rows.leaves import NUMBERS
from branded.mypy.rows.operands import is_deep

Brands = frozenset[Brand]
OPERATORS = {"+", "-", "*", "/", "**"}
_ELEMENTWISE = """
    abs acos acosh asin asinh atan atanh ceil celu cos cosh elu erf exp exp2 floor gelu leaky_relu log log10 log2 mish
    neg reciprocal relu relu6 round rsqrt selu sigmoid sign silu sin sinh softplus softsign sqrt square swish tan tanh
    trunc
"""
_ALONG = "log_softmax logsumexp max mean min prod softmax softmin std sum var"
METHODS = {*_ELEMENTWISE.split(), *_ALONG.split()}
DEEPEST = 100
"""The maximum depth of calls. A deeper call is followed first, and its result is cached."""


Call = tuple[FuncDef, tuple[Brands | None, ...]]


class TooDeep(Exception):
    """Raised for a call that is deeper than `DEEPEST`."""

    def __init__(self, call: Call) -> None:
        self.call = call


_known: dict[Call, Kept[Brands | None]] = new_cache()


def brands_of_result(f: FuncDef, types: Sequence[Type], api: TypeChecker) -> Brands | None:
    """Return the brands of a function's result for these types of its arguments; None if its body must be checked."""
    depend_on_sources({api.tree}, api)
    try:
        left: list[Call] = [(f, tuple(_brands_of(t) for t in types))]
        while True:
            try:
                result = _of_function(*left[-1], api, DEEPEST)
            except TooDeep as deeper:
                if deeper.call in left:  # a recursion
                    return None
                left.append(deeper.call)
            else:
                left.pop()
                if not left:
                    return result
    except NotFollowed:
        return None


def _brands_of(t: Type) -> Brands | None:
    """Return the brands of a tensor without axes; None for a number."""
    p = get_proper_type(t)
    name = p.type.fullname if isinstance(p, Instance) else ""
    if name in NUMBERS:
        return None
    brands = frozenset(rows_in(t))
    if name not in (TENSOR, VEC) or has_axes(t) or any(isinstance(b, AnyType) for b in brands):
        raise NotFollowed
    return brands


def _of_function(f: FuncDef, given: tuple[Brands | None, ...], api: TypeChecker, depth: int) -> Brands:
    """Return the brands of the result of a function of this file, followed once for all brands without names."""
    numbers = _numbered(given)
    given = tuple(g and frozenset(numbers.get(b, b) for b in g) for g in given) if numbers else given
    call = f, given
    if call not in _known:
        if not depth:
            raise TooDeep(call)
        _known[call] = None, set()  # a recursion is not followed
        try:
            _known[call] = keep(lambda: _of_body(f, given, api, depth))
        except TooDeep:
            del _known[call]
            raise
    result = use(_known[call], api)
    if result is None:
        raise NotFollowed
    brands = {number: b for b, number in numbers.items()}
    return frozenset(brands.get(b, b) for b in result)


def _numbered(given: Sequence[Brands | None]) -> dict[Brand, Brand]:
    """Return the brands that stand for the brands without names; arguments with these brands keep them."""
    each = (sorted(filter(is_unnamed, g or ()), key=lambda b: b.id.namespace) for g in given)
    brands = list(dict.fromkeys(chain.from_iterable(each)))
    return dict(zip(brands, NUMBERED, strict=False)) if len(brands) <= len(NUMBERED) else {}


def _of_body(f: FuncDef, given: tuple[Brands | None, ...], api: TypeChecker, depth: int) -> Brands | None:
    try:
        return _follow_body(f, given, api, depth)
    except NotFollowed:
        return None


def _follow_body(f: FuncDef, given: tuple[Brands | None, ...], api: TypeChecker, depth: int) -> Brands:
    declared = f.type
    if not isinstance(declared, CallableType) or f.info or f.is_coroutine or f.is_generator:
        raise NotFollowed
    if not f.body.body:  # mypy removes bodies in a file whose errors it does not report
        raise NotFollowed
    wanted = [_brands_of(t) for t in declared.arg_types]
    is_plain = all(k == ARG_POS for k in declared.arg_kinds) and not declared.variables
    is_same = [w is None for w in wanted] == [g is None for g in given]
    if not is_plain or not is_same or any(wanted) or _brands_of(declared.ret_type) != frozenset():
        raise NotFollowed
    names: dict[Node, Brands | None] = {a.variable: g for a, g in zip(f.arguments, given, strict=True)}
    *before, last = f.body.body
    for s in before:
        match s:
            case ExpressionStmt(expr=StrExpr()):
                pass
            case AssignmentStmt(lvalues=[NameExpr(node=Var() as node)], type=None) if (
                node not in names and "." not in node.fullname
            ):
                names[node] = _of_expression(s.rvalue, names, api, depth)
            case _:
                raise NotFollowed
    result = _of_expression(last.expr, names, api, depth) if isinstance(last, ReturnStmt) else None
    if not result:  # mypy's type of the result has no brands
        raise NotFollowed
    return result


def _of_expression(
    e: Expression | None, names: dict[Node, Brands | None], api: TypeChecker, depth: int
) -> Brands | None:
    match e:
        case IntExpr() | FloatExpr():
            return None
        case NameExpr(node=node) if node in names:
            return names[node]
        case UnaryExpr(op="-"):
            return _of_expression(e.expr, names, api, depth)
        case OpExpr() if e.op in OPERATORS and not is_deep(e.left) and not is_deep(e.right):
            sides = [_of_expression(side, names, api, depth) for side in (e.left, e.right)]
            tensors = [side for side in sides if side is not None]
            return _union(tensors) if tensors else None
        case CallExpr(callee=MemberExpr() as method) if method.name in METHODS and all(map(_is_literal, e.args)):
            owner = _of_expression(method.expr, names, api, depth)
            if owner is not None:
                return owner
        case CallExpr(callee=NameExpr(node=FuncDef() as f)) if not any(map(is_deep, e.args)):
            is_simple = all(k == ARG_POS for k in e.arg_kinds) and len(e.args) == len(f.arg_names)
            if is_simple and "." in f.fullname and is_untyped_function(f, api) and not needed_names(f, api):
                return _of_call(f, tuple(_of_expression(arg, names, api, depth) for arg in e.args), api, depth - 1)
    raise NotFollowed


def _is_literal(e: Expression) -> bool:
    e = e.expr if isinstance(e, UnaryExpr) and e.op == "-" else e
    return isinstance(e, IntExpr) or (isinstance(e, NameExpr) and e.name in ("True", "False"))


def _of_call(f: FuncDef, given: tuple[Brands | None, ...], api: TypeChecker, depth: int) -> Brands:
    """Return the brands of the result of a function that is called in the body."""
    if is_in_file(f, api):
        if not any(given):
            return _of_plain_call(f, given)
        flow = flow_of(f, dict.fromkeys(map(str, f.arg_names), 1), api)
        if isinstance(flow, tuple):
            raise NotFollowed
        result = _of_function(f, given, api, depth)
        by_name = dict(zip(f.arg_names, given, strict=True))
        return result if flow is None else result & _union([by_name[name] for name, _ in all_places(flow)])
    plain = _of_plain_call(f, given)
    if not any(given):
        return plain
    assert isinstance(f.type, CallableType)
    types = [add_brands(t, list(g or ())) for t, g in zip(f.type.arg_types, given, strict=True)]
    effects = effects_of(f, f.type, types, None, api)
    if effects.reads or effects.stores:
        raise NotFollowed
    unused = unused_parameters(f, api, frozenset())
    return _union([g for name, g in zip(f.arg_names, given, strict=True) if name not in unused])


def _of_plain_call(f: FuncDef, given: Sequence[Brands | None]) -> Brands:
    """Return the empty brands of a call without batched arguments, if it takes and returns tensors and numbers."""
    t = f.type
    if not isinstance(t, CallableType) or t.variables or not all(k == ARG_POS for k in t.arg_kinds):
        raise NotFollowed
    wanted = [_brands_of(a) for a in (*t.arg_types, t.ret_type)]
    if any(wanted) or wanted[-1] is None or [w is None for w in wanted[:-1]] != [g is None for g in given]:
        raise NotFollowed
    return frozenset()


def _union(rows: Sequence[Brands | None]) -> Brands:
    return frozenset[Brand]().union(*(row for row in rows if row))
