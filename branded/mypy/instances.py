"""Functions that speak of `Tensor` alone: what they give for values that vary.

A file that imports `Vec` says of each function what may vary, and there a `Tensor` varies over nothing.  A file that
does not says nothing of rows: its functions are generic in them, as lambdas are.  Where one is called with a value that
varies, its body is looked at once more, with that value's type in the place of `Tensor`: so a read in it is found.

    def norm(x: Tensor) -> Tensor:          vmap(norm)(X): looked at with x: Vec[x, Tensor], it returns a Vec[x, Tensor]
        return x.square().sum().sqrt()

The body is at hand if the function is of the same file.  Of another file its source is read, and a function that has a
method in it by which values are read stays one of plain tensors.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from mypy.checker import TypeChecker
from mypy.errorcodes import TRUTHY_BOOL
from mypy.errors import ErrorInfo
from mypy.nodes import Expression, FuncDef, LambdaExpr, MemberExpr, MypyFile, Node, ReturnStmt
from mypy.plugin import FunctionSigContext, MethodSigContext
from mypy.types import AnyType, CallableType, Instance, Type, get_proper_type

from branded.mypy.again import is_here, look_again
from branded.mypy.codes import is_ours
from branded.mypy.foreign import knows_us
from branded.mypy.keeping import function_of, look_in, outlives
from branded.mypy.leaves import NUMBERS
from branded.mypy.opening import Scope, checker, trying
from branded.mypy.operands import is_deep
from branded.mypy.quiet import is_quiet_function, module_of
from branded.mypy.rows import Brand, change, each_row, hides, row_variables, rows_in
from branded.mypy.walking import own_parts

MOST = 16
"""How often the body of one function is looked at; what it gives after that varies over all that it is given."""

READS = {"numpy", "data", "tolist", "item", "realize", "backward", "float", "int", "bool", "range", "while", "if"}
"""What reads values, in the source of a function that is not at hand."""

ALL_NAMES = {"locals", "vars", "dir", "eval", "exec", "inspect"}
"""What gives parameters without their names."""

Names = frozenset[str | None]
"""Parameters of a function."""


@dataclass
class Instances:
    """What has been found out about bodies."""

    scope: Scope
    known: dict[tuple[object, ...], tuple[FuncDef, Type, list[ErrorInfo]]] = field(default_factory=dict)
    busy: list[tuple[FuncDef, Names]] = field(default_factory=list)
    """The functions that are looked at, and the parameters of each that stand for what is there after its call."""
    asked: tuple[MypyFile | None, bool] = (None, False)
    """The file that is looked at, and whether it imports us or tinygrad: in another nothing varies."""

    def called(self, ctx: FunctionSigContext | MethodSigContext, node: Node | None) -> CallableType | None:
        """The signature of a call of such a function with values that vary; None if it is of another kind."""
        sig, api = ctx.default_signature, checker(ctx)
        if self.asked[0] is not api.tree:
            self.asked = api.tree, knows_us(api)
        if (
            not self.asked[1]
            or row_variables(sig)
            or not is_quiet_function(node, api)
            or not any(map(_is_plain, sig.arg_types))
        ):
            return None
        rows = [
            self._rows(given, api) if _is_plain(t) else [] for t, given in zip(sig.arg_types, ctx.args, strict=False)
        ]
        if not any(rows):
            return None
        types = [_widened(t, row) for t, row in zip(sig.arg_types, rows, strict=True)]
        unused = _unused(node, api) if isinstance(node, FuncDef) else frozenset()
        used = [row for n, row in zip(sig.arg_names, rows, strict=True) if n not in unused]
        united = list(dict.fromkeys(b for row in used for b in row))
        result = _widened(sig.ret_type, united)
        if isinstance(node, FuncDef):
            found = self._result(node, types, result, united, self._shared(ctx, node, api), api)
            if found is None:
                return None
            result = found
        return sig.copy_modified(arg_types=types, ret_type=result)

    def _shared(self, ctx: FunctionSigContext | MethodSigContext, f: FuncDef, api: TypeChecker) -> Names:
        """The parameters that are given what is there after the call: global variables, and what vmap does not map."""
        around, names = self.busy[-1] if self.busy else (f, frozenset())

        def is_shared(e: Expression) -> bool:
            return e in self.scope.unmapped or outlives(e, around, names)

        callee = getattr(ctx.context, "callee", None)
        bound = isinstance(callee, MemberExpr) and function_of(callee, api)[1] == 1 and is_shared(callee.expr)
        own = zip(ctx.default_signature.arg_names, ctx.args, strict=False)
        return frozenset([*(f.arg_names[:1] if bound else []), *(n for n, es in own if any(map(is_shared, es)))])

    def _rows(self, given: Sequence[Expression], api: TypeChecker) -> list[Brand]:
        rows: list[Brand] = []
        for e in given:
            if not isinstance(e, LambdaExpr) and not is_deep(e):
                with trying(api):
                    rows += rows_in(api.get_expression_type(e))
        return [b for b in dict.fromkeys(rows) if not isinstance(b, AnyType)]

    def _result(
        self,
        f: FuncDef,
        types: list[Type],
        result: Type,
        rows: list[Brand],
        shared: Names,
        api: TypeChecker,
    ) -> Type | None:
        """What a function gives for arguments of these types; None if it is one of plain tensors."""
        if not is_here(f, api):
            return None if reads(f, api) else result
        if any(f is g for g, _ in self.busy) or not isinstance(f.type, CallableType):
            return result
        key = (api.path, f.line, f.column, f.name, shared, *types)
        kept = self.known.get(key)
        if kept is None or kept[0] is not f:
            if sum(k[:4] == key[:4] and v[0] is f for k, v in self.known.items()) >= MOST:
                return result
            self.busy.append((f, shared))
            try:
                kept = self.known[key] = (f, *self._look(f, types, result, rows, shared, api))
            finally:
                self.busy.pop()
        _, found, errors = kept
        api.msg.add_errors(errors)
        return found

    def _look(
        self,
        f: FuncDef,
        types: list[Type],
        result: Type,
        rows: list[Brand],
        shared: Names,
        api: TypeChecker,
    ) -> tuple[Type, list[ErrorInfo]]:
        """Look at a body with arguments of these types: what it returns, and what is wrong with brands in it."""
        assert isinstance(f.type, CallableType)
        own = f.type.arg_types[: len(f.type.arg_types) - len(types)]  # self
        t = f.type.copy_modified(arg_types=[*own, *types], ret_type=result)
        copy = look_again(f, t, api, rows, lambda copy: look_in(copy, api, shared, is_again=True))
        told = [e for e in copy.errors if is_ours(e.code) or e.code is TRUTHY_BOOL]
        returned = [api.lookup_type_or_none(r.expr) for r in _returns(copy.function) if r.expr is not None]
        certain = [t for t in returned if t is not None and not hides(t) and rows_in(t)]
        if len(copy.errors) > len(told) or len(certain) < len(returned) or not returned:
            return result, told
        found = {b for t in certain for b in rows_in(t)}
        return _widened(f.type.ret_type, [b for b in rows if b in found]), told


def _unused(f: FuncDef, api: TypeChecker) -> Names:
    """The parameters that a function does not speak of, so that what it gives cannot vary over what they do.

    Within another function, in a method, and with an object of a class, there is what no type tells of.
    """
    t = f.type
    if "." not in f.fullname or f.info or not isinstance(t, CallableType):
        return frozenset()
    words = _words(f, api)
    if words is None or words & ALL_NAMES or not all(map(_tells_all, t.arg_types)):
        return frozenset()
    return frozenset(f.arg_names) - words


def _tells_all(t: Type) -> bool:
    """Does the type of a parameter say what is in it: tensors, or a number?"""
    p = get_proper_type(t)
    return (_is_plain(t) and not hides(t)) or (isinstance(p, Instance) and p.type.fullname in NUMBERS)


def _returns(f: FuncDef) -> Iterator[ReturnStmt]:
    """The statements by which a function itself returns."""
    return (part for part in own_parts(f) if isinstance(part, ReturnStmt))


def _widened(t: Type, rows: Sequence[Brand]) -> Type:
    return change(t, lambda row: [*row, *rows])


def _is_plain(t: Type) -> bool:
    """Are there tensors in a tree, and none that varies?"""
    found = each_row(t)
    return bool(found) and not any(found)


# ---- the source of a function ----


def reads(f: FuncDef, api: TypeChecker) -> bool:
    """Is there something in the source of a function by which it may read a value?"""
    words = _words(f, api)
    return words is None or bool(words & READS)


def _words(f: FuncDef, api: TypeChecker) -> frozenset[str] | None:
    """The names that a function uses, and `if` and `while`; None if its source is not there."""
    module = module_of(f, api)
    path = Path(module.path) if module is not None else Path()
    try:
        return _words_of(path, path.stat().st_mtime_ns, f.line, f.name)
    except (OSError, SyntaxError, ValueError):
        return None


@lru_cache(maxsize=512)
def _words_of(path: Path, time: int, line: int, name: str) -> frozenset[str] | None:
    f = _functions(path, time).get((line, name))
    return frozenset(word for n in ast.walk(f) for word in _said(n)) if f is not None else None


@lru_cache(maxsize=8)
def _functions(path: Path, time: int) -> dict[tuple[int, str], ast.FunctionDef]:
    """The functions of a file as it was at this time, by their lines and names."""
    nodes = ast.walk(ast.parse(path.read_bytes()))
    return {(n.lineno, n.name): n for n in nodes if isinstance(n, ast.FunctionDef)}


def _said(n: ast.AST) -> Iterator[str]:
    match n:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            yield name
        case ast.If() | ast.IfExp() | ast.While():
            yield "if"
