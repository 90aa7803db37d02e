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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mypy.checker import TypeChecker
from mypy.errorcodes import TRUTHY_BOOL
from mypy.errors import ErrorInfo
from mypy.nodes import CallExpr, Decorator, Expression, FuncDef, LambdaExpr, MemberExpr, MypyFile, Node, ReturnStmt
from mypy.plugin import FunctionSigContext, MethodSigContext
from mypy.types import AnyType, CallableType, TupleType, Type, get_proper_type

from branded.mypy.again import is_here, look_again
from branded.mypy.codes import is_ours
from branded.mypy.flow import Flow, Place, flow_of, joined
from branded.mypy.foreign import knows_us
from branded.mypy.keeping import function_of, look_in, outlives
from branded.mypy.opening import OpenBrands, checker, trying
from branded.mypy.operands import is_deep
from branded.mypy.quiet import is_quiet_function
from branded.mypy.rows import Brand, change, hides, is_plain, row_variables, rows_in, widened
from branded.mypy.sources import Names, reads, unused
from branded.mypy.walking import own_parts

MOST = 16
"""How often the body of one function is looked at; what it gives after that varies over all that it is given."""


@dataclass
class Instances:
    """What has been found out about bodies."""

    scope: OpenBrands
    known: dict[tuple[object, ...], tuple[FuncDef, Type, list[ErrorInfo]]] = field(default_factory=dict)
    busy: list[tuple[FuncDef, Names]] = field(default_factory=list)
    """The functions that are looked at, and the parameters of each that stand for what is there after its call."""
    asked: tuple[MypyFile | None, bool] = (None, False)
    """The file that is looked at, and whether it imports us or tinygrad: in another nothing varies."""

    def called(self, ctx: FunctionSigContext | MethodSigContext, node: Node | None) -> CallableType | None:
        """The signature of a call of such a function with values that vary; None if it is of another kind."""
        sig, api = ctx.default_signature, checker(ctx)
        if isinstance(node, Decorator) and not node.decorators:  # @staticmethod and @classmethod are none to mypy
            node = node.func
        if self.asked[0] is not api.tree:
            self.asked = api.tree, knows_us(api)
        if (
            not self.asked[1]
            or row_variables(sig)
            or not is_quiet_function(node, api)
            or not any(map(is_plain, sig.arg_types))
        ):
            return None
        rows = [
            self._rows(given, api) if is_plain(t) else [] for t, given in zip(sig.arg_types, ctx.args, strict=False)
        ]
        if not any(rows):
            return None
        types = [widened(t, row) for t, row in zip(sig.arg_types, rows, strict=True)]
        shared = self._shared(ctx, node, api) if isinstance(node, FuncDef) else frozenset()
        idle = unused(node, api, shared) if isinstance(node, FuncDef) else frozenset()
        used = [row for n, row in zip(sig.arg_names, rows, strict=True) if n not in idle]
        united = list(dict.fromkeys(b for row in used for b in row))
        result = widened(sig.ret_type, united)
        if isinstance(node, FuncDef):
            found = self._result(node, types, result, united, shared, api)
            if found is None:
                return None
            result = self._by_flow(node, ctx, found, api)
        return sig.copy_modified(arg_types=types, ret_type=result)

    def _shared(self, ctx: FunctionSigContext | MethodSigContext, f: FuncDef, api: TypeChecker) -> Names:
        """The parameters that are given what is there after the call: global variables, and what vmap does not map."""
        around, names = self.busy[-1] if self.busy else (f, frozenset())

        def is_shared(e: Expression) -> bool:
            return e in self.scope.unmapped or outlives(e, around, names)

        callee = getattr(ctx.context, "callee", None)
        owner = callee.expr if isinstance(callee, MemberExpr) and function_of(callee, api)[1] == 1 else None
        owner = callee if f.info and f.name == "__call__" and owner is None else owner
        bound = isinstance(owner, Expression) and is_shared(owner)
        own = zip(ctx.default_signature.arg_names, ctx.args, strict=False)
        return frozenset([*(f.arg_names[:1] if bound else []), *(n for n, es in own if any(map(is_shared, es)))])

    def _by_flow(self, f: FuncDef, ctx: FunctionSigContext | MethodSigContext, result: Type, api: TypeChecker) -> Type:
        """The result with no rows of arguments on which it does not depend, as far as that is known."""
        call, sig = ctx.context, ctx.default_signature
        if not isinstance(call, CallExpr) or any(k.is_star() for k in call.arg_kinds):
            return result
        given = {n or "": es for n, es in zip(sig.arg_names, ctx.args, strict=False)}
        flow = flow_of(f, {n: len(es) for n, es in given.items()}, api)
        if flow is None:
            return result
        rows = {(n, i): self._rows([e], api) for n, es in given.items() for i, e in enumerate(es)}
        return _less(result, flow, rows)

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
        return widened(f.type.ret_type, [b for b in rows if b in found]), told


def _less(t: Type, flow: Flow, rows: Mapping[Place, list[Brand]]) -> Type:
    """A tree whose parts vary over no more than what they depend on."""
    p = get_proper_type(t)
    is_tuple = isinstance(p, TupleType) and not p.partial_fallback.type.is_named_tuple
    if isinstance(flow, tuple) and isinstance(p, TupleType) and is_tuple and len(flow) == len(p.items):
        return p.copy_modified(items=[_less(item, x, rows) for item, x in zip(p.items, flow, strict=True)])
    own = [b for place in joined(flow) for b in rows[place]]
    return change(t, lambda row: [b for b in row if b in own])


def _returns(f: FuncDef) -> Iterator[ReturnStmt]:
    """The statements by which a function itself returns."""
    return (part for part in own_parts(f) if isinstance(part, ReturnStmt))
