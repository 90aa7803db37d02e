"""Searches: `x in xs`, `xs.index(x)` and `xs == ys` compare entries, except where these are the same object.

Python compares the identity of two objects before it asks for the truth value of `==`. So `x in [x, y]` reads nothing,
and `y in [x, y]` reads `x == y`.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile

from mypy.nodes import ComparisonExpr
from mypy.plugin import FunctionContext, MethodContext
from mypy.types import Instance, Type, get_proper_type

from branded.mypy.analysis.function_source import bound_names
from branded.mypy.analysis.reads import TRUTH, known_brands, reject_batched, reject_tested, tested_type
from branded.mypy.analysis.source.syntax import children, nodes_of
from branded.mypy.analysis.source_digest import file_version, parse
from branded.mypy.codes import READ
from branded.mypy.rows.algebra import each_row
from branded.mypy.rows.reporting import checker

SEARCHES = {
    *(f"builtins.{c}.{name}" for c in ("list", "tuple") for name in ("__contains__", "index", "count", "remove")),
    *(f"typing.{c}.__contains__" for c in ("Container", "Collection", "Sequence")),
    *(f"typing.Sequence.{name}" for name in ("index", "count")),
    *(f"collections.deque.{name}" for name in ("index", "count", "remove")),
}
OPERATOR_SEARCHES = {
    f"{module}.{n}" for module in ("operator", "_operator") for n in ("contains", "indexOf", "countOf")
}
LOOKUPS = {f"builtins.{c}.__contains__" for c in ("set", "frozenset", "dict")}
"""Methods that compare hashes first: a tensor is found only where it is an entry."""
_APPENDING = {"append", "extend"}
_CHANGING = {"insert", "pop", "remove", "clear", "reverse", "sort"}
"""Methods of lists that may change which entry is the first."""


def reject_search(ctx: FunctionContext | MethodContext) -> Type:
    """Reject batched values in `x in [1, 2]` and `[x].index(y)`, which need the truth value of a comparison."""
    of = list(ctx.args[0]) if ctx.args else []
    types = [t for types in ctx.arg_types for t in types]
    if isinstance(ctx, MethodContext):
        types.append(tested_type(ctx.type))
    reject_tested(ctx, of, types, lambda: isinstance(ctx, MethodContext) and _compares_objects(ctx))
    return ctx.default_return_type


def reject_lookup(ctx: MethodContext) -> Type:
    """Reject a batched value in `x in {1, 2}`, which no number equals."""
    t = get_proper_type(ctx.type)
    return ctx.default_return_type if isinstance(t, Instance) and t.args and each_row(t.args[0]) else reject_search(ctx)


def reject_container_comparison(ctx: MethodContext) -> Type:
    """Reject `(x, 1) == (y, 1)`, which needs the truth value of `x == y`."""
    for t in (ctx.type, *(t for types in ctx.arg_types for t in types)):
        if known_brands(t):
            if not _compares_objects(ctx):
                fix = "(x == y).all(), for each pair of tensors"
                reject_batched(checker(ctx), ctx.context, t, READ, TRUTH, fix)
            break
    return ctx.default_return_type


def _compares_objects(ctx: MethodContext) -> bool:
    path, kind = checker(ctx).path, "Compare" if isinstance(ctx.context, ComparisonExpr) else "Call"
    return (kind, ctx.context.line, ctx.context.column) in identity_searches(path, file_version(path))


@lru_cache(maxsize=8)
def identity_searches(path: str, version: int) -> set[tuple[str, int, int]]:
    """Return the searches of a file that certainly compare the identity of objects only, by kind and position."""
    tree = parse(path, version)
    return set() if tree is None else {(type(e).__name__, e.lineno, e.col_offset) for e in _searches_in(tree, ())}


@dataclass(eq=False, repr=False, match_args=False)
class _Scope:
    """The names that a function or a module binds."""

    bound: Counter[str]
    values: dict[str, ast.expr]
    changes: dict[str, list[ast.expr]]
    """The expressions that change the list of a name."""


_Scopes = Sequence[_Scope]
_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def _searches_in(node: ast.AST, outer: _Scopes) -> Iterator[ast.Compare | ast.Call]:
    """Find the searches in a function or a module that compare the identity of objects only."""
    scopes = (_scope_of(node), *outer)
    rest = children(node)
    while rest:
        match part := rest.pop():
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                yield from _searches_in(part, scopes)
                continue
            case ast.Compare(left=x, ops=[ast.In() | ast.NotIn()], comparators=[xs]):
                if _finds_first(part, xs, x, scopes):
                    yield part
            case ast.Compare(left=xs, ops=[ast.Eq() | ast.NotEq()], comparators=[ys]):
                a, b = _entries(xs, scopes), _entries(ys, scopes)
                if a is not None and b is not None and (len(a) != len(b) or all(map(_equals, a, b, [scopes] * len(a)))):
                    yield part
            case ast.Call(func=ast.Attribute(value=xs, attr="index" | "remove" | "__contains__"), args=[x, *_]):
                if _finds_first(part, xs, x, scopes):
                    yield part
            case ast.Call(func=ast.Attribute(value=xs, attr="count"), args=[x]):
                entries = _entries(xs, scopes)
                if entries is not None and all(_is_same(entry, x, scopes) for entry in entries):
                    yield part
        rest += children(part)


def _scope_of(node: ast.AST) -> _Scope:
    scope, rest = _Scope(Counter(), {}, {}), children(node)
    while rest:
        part = rest.pop()
        scope.bound.update(bound_names(part))
        match part:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                scope.values[name] = value
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                pairs = zip(targets, values, strict=False)
                scope.values.update({t.id: v for t, v in pairs if isinstance(t, ast.Name)})
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                scope.values[name] = value
        if not isinstance(part, _FUNCTIONS):
            rest += children(part)
    for part in nodes_of(node):  # functions within this one may change its lists too
        match part:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)) if attr in _APPENDING | _CHANGING:
                scope.changes.setdefault(name, []).append(part)
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()):
                scope.changes.setdefault(name, []).append(part)
    return scope


def _finds_first(search: ast.expr, xs: ast.expr, x: ast.expr, scopes: _Scopes) -> bool:
    """Return whether the first entry of a container is the object that is searched, or the container is empty."""
    match x:
        case ast.Subscript(value=base, slice=ast.Constant(value=0)) if _is_same(base, xs, scopes):
            return True
    entries = _entries(xs, scopes, search)
    return entries is not None and all(_is_same(entry, x, scopes) for entry in entries[:1])


def _entries(e: ast.expr, scopes: _Scopes, search: ast.expr | None = None) -> list[ast.expr] | None:
    """Return the entries of a list or tuple, or of a variable that holds it; with `search`, its first entries."""
    scope, value = _binding(e, scopes)
    display = e if scope is None else value
    if not isinstance(display, ast.List | ast.Tuple):
        return None
    first = [*takewhile(lambda item: not isinstance(item, ast.Starred), display.elts)]
    if len(first) < len(display.elts) and (search is None or not first):
        return None
    changes = scope.changes.get(e.id, []) if scope is not None and isinstance(e, ast.Name) else []
    is_kept = search is not None and all(c is search or (first and _appends(c)) for c in changes)
    return first if not changes or is_kept else None


def _appends(change: ast.expr) -> bool:
    match change:
        case ast.Call(func=ast.Attribute(attr=attr)):
            return attr in _APPENDING
    return False


def _binding(e: ast.expr, scopes: _Scopes) -> tuple[_Scope | None, ast.expr | None]:
    """Return where a name is bound, and its value if it is bound once by an assignment."""
    scope = next((s for s in scopes if isinstance(e, ast.Name) and s.bound[e.id]), None)
    if scope is None or not isinstance(e, ast.Name) or scope.bound[e.id] != 1:
        return scope, None
    return scope, scope.values.get(e.id)


def _equals(a: ast.expr, b: ast.expr, scopes: _Scopes) -> bool:
    return _is_same(a, b, scopes) or (isinstance(a, ast.Constant) and isinstance(b, ast.Constant))


def _is_same(a: ast.expr, b: ast.expr, scopes: _Scopes = ()) -> bool:
    """Return whether two expressions are the same object: names that are bound once, and their attributes."""
    match a, b:
        case ast.Attribute(value=x, attr=name), ast.Attribute(value=y, attr=other):
            return name == other and _is_same(x, y, scopes)
    a, b = _alias(a, scopes), _alias(b, scopes)
    if not isinstance(a, ast.Name) or not isinstance(b, ast.Name) or a.id != b.id:
        return False
    scope, _ = _binding(a, scopes)
    return scope is None or scope.bound[a.id] == 1


def _alias(e: ast.expr, scopes: _Scopes) -> ast.expr:
    """Return the variable that a name is another name of, or the expression itself."""
    _, value = _binding(e, scopes)
    return value if isinstance(value, ast.Name) and value is not e else e
