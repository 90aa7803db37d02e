"""Data-flow analysis: the arguments that each part of a function's result depends on.

    def pair(a, b): return a, b         (a, b): the first item depends on `a`, the second on `b`
    def last(a, b): c = b; c = a; ...   return c: depends on `a`
    def second(*xs): return xs[1]       depends on the second item of `xs`

A function is followed only if its body is straight-line: assignments, nested functions and a return. It may call tensor
methods and functions that are straight-line too. No statement can then modify a value through another name.
"""

from __future__ import annotations

import ast
from collections import ChainMap
from collections.abc import Hashable, Iterable, Mapping, MutableMapping, Sequence
from typing import NamedTuple, TypeAlias

from mypy.checker import TypeChecker
from mypy.nodes import (
    AssignmentStmt,
    CallExpr,
    Expression,
    FuncDef,
    MemberExpr,
    NameExpr,
    OperatorAssignmentStmt,
    OpExpr,
    RefExpr,
    TypeInfo,
    Var,
)
from mypy.types import CallableType, Instance, TupleType, Type, get_proper_type

from branded.mypy.analysis.caches import new_cache
from branded.mypy.analysis.function_source import OF_ALL, describes_value, source_of
from branded.mypy.analysis.source.walk import own_parts
from branded.mypy.analysis.untyped_modules import is_in_file
from branded.mypy.rows.algebra import TENSOR, Brand, change
from branded.mypy.rows.leaves import NUMBERS

Place = tuple[str, int]
"""A parameter and the index of an argument in it: 0, except for a `*xs`."""
Flow: TypeAlias = "frozenset[Place] | tuple[Flow, ...]"
"""The places that a value depends on, or a tuple with one flow for each of its items."""

NONE: frozenset[Place] = frozenset()
WRITES = {"assign", "replace", "append", "extend", "insert", "put", "setdefault", "update", "add_", "backward", "pop"}
"""Methods that can modify a value which another name refers to."""


_known: dict[Hashable, Flow | None] = new_cache()
"""The flows of module-level functions for numbered arguments; None for a call that is not followed.

A call runs each call in its body, so a recursion ends at any of its functions, whichever was called first.
"""


class NotFollowed(Exception):
    """The function uses a construct that the analysis does not follow."""


class Local(NamedTuple):
    """A function defined inside another function, and the names around it."""

    source: ast.FunctionDef
    names: MutableMapping[str, Flow | Local]


Names = MutableMapping[str, "Flow | Local"]


def flow_of(f: FuncDef, counts: Mapping[str, int], api: TypeChecker) -> Flow | None:
    """Return the flow of a function's result; None if unknown. `counts` has the number of arguments by parameter."""
    if f.info or "." not in f.fullname:
        return None
    try:
        source = _followable_source(f, api)
        spec = source.args
        positional = [frozenset({(a.arg, 0)}) for a in (*spec.posonlyargs, *spec.args) if counts.get(a.arg)]
        rest = [frozenset({(spec.vararg.arg, i)}) for i in range(counts.get(spec.vararg.arg, 0))] if spec.vararg else []
        named = {a.arg: frozenset({(a.arg, 0)}) for a in spec.kwonlyargs if counts.get(a.arg)}
        if len(positional) < sum(map(bool, counts.values())) - len(named) - bool(rest):
            return None  # arguments are missing before others, or passed with `**`
        return _Follower(api)._of_global(f, [*positional, *rest], named)
    except (NotFollowed, RecursionError):
        return None


def all_places(flow: Flow | Local) -> frozenset[Place]:
    """Return all places that a value depends on."""
    if isinstance(flow, Local):
        raise NotFollowed
    return flow if isinstance(flow, frozenset) else union_places(flow)


def union_places(flows: Iterable[Flow]) -> frozenset[Place]:
    return frozenset(place for x in flows for place in all_places(x))


def _followable_source(f: FuncDef, api: TypeChecker) -> ast.FunctionDef:
    source = source_of(f, api) if is_in_file(f, api) and isinstance(f.type, CallableType) else None
    if source is None or not isinstance(f.type, CallableType) or not all(map(describes_value, f.type.arg_types)):
        raise NotFollowed
    return source


class _Follower:
    def __init__(self, api: TypeChecker) -> None:
        self.api = api
        self.running: list[ast.FunctionDef] = []

    def result(self, source: ast.FunctionDef, around: Names, args: Sequence[Flow], named: Mapping[str, Flow]) -> Flow:
        """Return the flow of a function's result for these arguments."""
        if source in self.running or source.decorator_list:  # calls are inlined, so recursion does not end
            raise NotFollowed
        self.running.append(source)
        flow = self._given(source, around, args, named)
        self.running.pop()
        return flow

    def _given(self, source: ast.FunctionDef, around: Names, args: Sequence[Flow], named: Mapping[str, Flow]) -> Flow:
        names: Names = ChainMap({}, around)
        names.update(self._bound(source.args, around, list(args), dict(named)))
        for s in source.body:
            match s:
                case ast.Return(value=None):
                    break
                case ast.Return(value=ast.expr() as e):
                    return self.value(e, names)
                case ast.Assign(targets=targets, value=e):
                    flow = self.value(e, names)
                    for t in targets:
                        self._assign(t, flow, names)
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as e):
                    names[name] = self.value(e, names)
                case ast.FunctionDef(name=name):
                    names[name] = Local(s, names)
                case ast.Pass() | ast.Expr(value=ast.Constant()):
                    pass
                case _:
                    raise NotFollowed
        return NONE

    def _bound(self, spec: ast.arguments, around: Names, args: list[Flow], named: dict[str, Flow]) -> Names:
        """Bind the parameters to their flows."""
        parameters = [*spec.posonlyargs, *spec.args]
        names: Names = {a.arg: x for a, x in zip(parameters, args, strict=False)}
        if len(args) > len(parameters) and spec.vararg is None:
            raise NotFollowed
        if spec.vararg is not None:
            names[spec.vararg.arg] = tuple(args[len(parameters) :])
        defaults = [*zip(parameters[len(parameters) - len(spec.defaults) :], spec.defaults, strict=True)]
        defaults += [(a, e) for a, e in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if e is not None]
        for a, e in defaults:
            if a.arg not in names and a.arg not in named:
                names[a.arg] = self.value(e, around)
        names.update(named)
        if names.keys() != {a.arg for a in (*parameters, *spec.kwonlyargs, *([spec.vararg] if spec.vararg else []))}:
            raise NotFollowed  # an argument is given twice, or is missing
        return names

    def _assign(self, target: ast.expr, flow: Flow, names: Names) -> None:
        match target:
            case ast.Name(id=name):
                names[name] = flow
            case ast.Tuple(elts=items) | ast.List(elts=items):
                each = flow if isinstance(flow, tuple) and len(flow) == len(items) else [all_places(flow)] * len(items)
                for item, x in zip(items, each, strict=True):
                    self._assign(item, x, names)
            case _:
                raise NotFollowed

    def value(self, e: ast.expr, names: Names) -> Flow:
        """Return the flow of an expression."""
        match e:
            case ast.Constant():
                return NONE
            case ast.Name(id=name):
                flow = names.get(name, NONE)
                if isinstance(flow, Local):
                    raise NotFollowed
                return flow
            case ast.Tuple(elts=items) | ast.List(elts=items):
                return tuple(self.value(item, names) for item in items)
            case ast.Subscript(value=base, slice=index):
                whole, i = self.value(base, names), _literal_index(index)
                if isinstance(whole, tuple) and i is not None and -len(whole) <= i < len(whole):
                    return whole[i]
                return all_places(whole) | self._all(
                    ast.iter_child_nodes(index) if isinstance(index, ast.Slice) else [index], names
                )
            case ast.Attribute(value=base, attr=attr):
                return NONE if attr in OF_ALL else all_places(self.value(base, names))
            case ast.BinOp() | ast.UnaryOp() | ast.Compare() | ast.BoolOp() | ast.IfExp():
                return self._all(ast.iter_child_nodes(e), names)
            case ast.Call():
                return self._called(e, names)
        raise NotFollowed

    def _all(self, parts: Iterable[ast.AST], names: Names) -> frozenset[Place]:
        return union_places(self.value(x, names) for x in parts if isinstance(x, ast.expr))

    def _called(self, e: ast.Call, names: Names) -> Flow:
        args = list[Flow]()
        for a in e.args:
            flow = self.value(a.value if isinstance(a, ast.Starred) else a, names)
            if isinstance(a, ast.Starred) and not isinstance(flow, tuple):
                raise NotFollowed
            args += flow if isinstance(a, ast.Starred) and isinstance(flow, tuple) else [flow]
        named = {k.arg: self.value(k.value, names) for k in e.keywords if k.arg is not None}
        if len(named) < len(e.keywords):
            raise NotFollowed
        places = union_places((*args, *named.values()))
        match e.func:
            case ast.Name(id=name) if isinstance(local := names.get(name), Local):
                return self.result(local.source, local.names, args, named)
            case ast.Name(id=name) if name not in names:
                node = self._global(name)
                if isinstance(node, FuncDef):
                    return self._of_global(node, args, named)
                if isinstance(node, TypeInfo) and node.fullname == TENSOR:
                    return places
            case ast.Attribute(value=base, attr=attr) if not (attr in WRITES or attr.endswith("_")):
                root = base
                while not isinstance(root, ast.Name):
                    below = getattr(root, "value", None) or getattr(root, "func", None) or getattr(root, "left", None)
                    if not isinstance(below, ast.expr):
                        raise NotFollowed
                    root = below
                node = self._global(root.id) if root.id not in names else None
                if root.id in names or (isinstance(node, TypeInfo) and node.fullname == TENSOR):
                    return places | all_places(self.value(base, names))
        raise NotFollowed

    def _of_global(self, f: FuncDef, args: Sequence[Flow], named: Mapping[str, Flow]) -> Flow:
        """Return the flow of a call of a module-level function, memoized by the structure of its arguments."""
        given = list[frozenset[Place]]()
        numbered = tuple(_number_places(x, given) for x in args)
        by_name = {n: _number_places(x, given) for n, x in named.items()}
        call = f, numbered, tuple(by_name.items())
        if call not in _known:
            try:
                _known[call] = self.result(_followable_source(f, self.api), {}, numbered, by_name)
            except NotFollowed:
                _known[call] = None
        if (flow := _known[call]) is None:
            raise NotFollowed
        return _fill_places(flow, given)

    def _global(self, name: str) -> object:
        symbol = self.api.tree.names.get(name)
        return symbol.node if symbol is not None else None


def _number_places(flow: Flow, given: list[frozenset[Place]]) -> Flow:
    """Replace the places of an argument by numbers, and append them to `given`."""
    if isinstance(flow, tuple):
        return tuple(_number_places(x, given) for x in flow)
    given.append(flow)
    return frozenset({("", len(given) - 1)})


def _fill_places(flow: Flow, given: Sequence[frozenset[Place]]) -> Flow:
    """Replace the numbers in a result by the places of the arguments."""
    if isinstance(flow, tuple):
        return tuple(_fill_places(x, given) for x in flow)
    return frozenset(place for _, i in flow for place in given[i])


def _literal_index(e: ast.expr) -> int | None:
    match e:
        case ast.Constant(value=int(i)):
            return i
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(i))):
            return -i
    return None


REDUCTIONS = {f"branded.collectives.reductions.{name}" for name in ("psum", "pmean", "pmax", "pmin", "all_gather")}


def restrict_rows(t: Type, flow: Flow, rows: Mapping[Place, list[Brand]]) -> Type:
    """Restrict each part of a tree to the brands of the arguments that it depends on."""
    p = get_proper_type(t)
    is_tuple = isinstance(p, TupleType) and not p.partial_fallback.type.is_named_tuple
    if isinstance(flow, tuple) and isinstance(p, TupleType) and is_tuple and len(flow) == len(p.items):
        return p.copy_modified(items=[restrict_rows(item, x, rows) for item, x in zip(p.items, flow, strict=True)])
    brands = [b for place in all_places(flow) for b in rows[place]]
    return change(t, lambda row: [b for b in row if b in brands])


def is_reduced(e: Expression, f: FuncDef, api: TypeChecker, followed: frozenset[Var] = frozenset()) -> bool:
    """Return whether an expression has no brands because collectives have removed them: `pmean(x, "batch") + 1`."""
    match e:
        case CallExpr(callee=RefExpr(fullname=name)) if name in REDUCTIONS:
            return True
        case CallExpr(callee=MemberExpr(expr=owner), args=args):
            return all(is_reduced(part, f, api, followed) for part in (owner, *args))
        case OpExpr(left=left, right=right):
            return is_reduced(left, f, api, followed) and is_reduced(right, f, api, followed)
        case NameExpr(node=Var() as node) if node not in followed:
            parts = list(own_parts(f))
            values = [s.rvalue for s in parts if isinstance(s, AssignmentStmt) and _binds(s.lvalues, node)]
            values += [s.rvalue for s in parts if isinstance(s, OperatorAssignmentStmt) and _binds([s.lvalue], node)]
            if len(values) == 1:
                return is_reduced(values[0], f, api, followed | {node})
    t = get_proper_type(api.lookup_type_or_none(e))
    return isinstance(t, Instance) and t.type.fullname in NUMBERS


def _binds(targets: Sequence[Expression], node: Var) -> bool:
    return any(isinstance(target, NameExpr) and target.node is node for target in targets)
