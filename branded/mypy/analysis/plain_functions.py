"""Functions annotated with `Tensor` only: their results for batched arguments.

A file that imports `Vec` declares which values are batched, and its `Tensor`s are unbatched. In a file that does not
import `Vec`, functions are generic in brands, as lambdas are. A call with batched arguments checks the body again, with
the types of the arguments instead of `Tensor`. This finds reads in the body.

    def norm(x: Tensor) -> Tensor:          vmap(norm)(X): checked with x: Vec[x, Tensor], it returns a Vec[x, Tensor]
        return x.square().sum().sqrt()

Only bodies in the same file can be checked again. For a function of another file, `source.reads` looks for reads in its
source.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from mypy.checker import TypeChecker
from mypy.errorcodes import TRUTHY_BOOL
from mypy.errors import ErrorInfo
from mypy.nodes import (
    CallExpr,
    Decorator,
    DictExpr,
    Expression,
    FuncDef,
    LambdaExpr,
    ListExpr,
    MemberExpr,
    Node,
    OverloadedFuncDef,
    ReturnStmt,
    TypeInfo,
    Var,
)
from mypy.plugin import FunctionContext, FunctionSigContext, MethodSigContext
from mypy.types import AnyType, CallableType, FunctionLike, Instance, NoneType, Type, TypeVarType, get_proper_type

from branded.mypy.analysis.caches import new_cache
from branded.mypy.analysis.dependence import flow_of, is_reduced, restrict_rows
from branded.mypy.analysis.escape_analysis import check_body_escapes, resolve_function
from branded.mypy.analysis.external_calls import knows_us
from branded.mypy.analysis.function_source import Names, unused_parameters, without_decorator
from branded.mypy.analysis.recheck import recheck_function
from branded.mypy.analysis.source.called_function import (
    at_bounds,
    body_of,
    entries_called,
    held_function,
    initializer,
    owner_of,
    partial_signature,
)
from branded.mypy.analysis.source.computed_bodies import brands_of_result
from branded.mypy.analysis.source.handed_functions import (
    accept_brands,
    accept_tensor_functions,
    add_brands_to_function,
    calls_with_variables,
    is_variable,
    passed_readers,
    tensor_function,
)
from branded.mypy.analysis.source.reads import effects_of, reads_in, report_read, report_stored
from branded.mypy.analysis.source.walk import own_parts
from branded.mypy.analysis.stores import outlives, shared_defaults
from branded.mypy.analysis.untyped_modules import definition_of, is_in_file, is_untyped_function
from branded.mypy.codes import is_brand_code
from branded.mypy.rows.algebra import (
    Brand,
    Change,
    add_brands,
    change,
    hides_brands,
    is_unbatched,
    row_variables,
    rows_in,
)
from branded.mypy.rows.brand_env import NUMBERED, OpenBrands, renaming, unnamed_brands
from branded.mypy.rows.callables import arguments_by_formal
from branded.mypy.rows.operands import is_deep, partly_batched_dict, without_name
from branded.mypy.rows.reporting import (
    ONE_PLACE,
    ErrorPlace,
    add_errors,
    checker,
    new_errors,
    place_of,
    times_told,
    trying,
)
from branded.mypy.rows.widening import flat_entries

MOST = 16
"""The maximum number of checks per function. After them, the result varies over the brands of all arguments."""

DEEPEST = 24
"""The maximum depth of checks within checks. The checks below it follow after the outermost one, to limit the stack."""

Known = dict[tuple[object, ...], tuple[Type, list[ErrorInfo]]]


class _Check(NamedTuple):
    """A check of a body with the types of the arguments."""

    f: FuncDef
    types: list[Type]
    result: Type
    rows: list[Brand]
    shared: Names
    """The parameters whose arguments outlive the call."""


@dataclass(eq=False, repr=False, match_args=False)
class Instances:
    """The cache of bodies that were checked again: one instance for each combination of argument types."""

    scope: OpenBrands
    known: dict[FuncDef, Known] = field(default_factory=new_cache)
    clean: dict[FuncDef, dict[tuple[object, ...], Type]] = field(default_factory=new_cache)
    """The results of checks without errors, which are the same for other brands without names."""
    later: list[_Check] = field(default_factory=list)
    """The checks that are deeper than `DEEPEST`, which run later."""
    busy: list[tuple[FuncDef, Names]] = field(default_factory=list)
    """The functions being checked, each with the parameters whose arguments outlive the call."""
    own: dict[FuncDef, set[ErrorPlace]] = field(default_factory=new_cache)
    """For each function, the places of the errors that mypy reports for its declared types."""

    def called(self, ctx: FunctionSigContext | MethodSigContext, node: Node | None) -> CallableType | None:
        """Return the signature for a call with batched arguments; None if the function is of another kind."""
        api = checker(ctx)
        if not knows_us(api):
            return None
        accept_tensor_functions(ctx)
        sig = at_bounds(ctx.default_signature, ctx.args, self.scope, api)
        if isinstance(node, Var) and isinstance(held := definition_of(sig, node, api), FuncDef | Decorator):
            node = held
        node = held_function(ctx, sig, api) or node
        is_overloaded = isinstance(node, OverloadedFuncDef)  # a call has one of its types
        wide = [es if is_overloaded or _is_wide(t) else [] for t, es in zip(sig.arg_types, ctx.args, strict=False)]
        self._report_object_reads(ctx, sig, wide, node, api)
        if (
            row_variables(sig)
            or not is_untyped_function(definition_of(sig, node, api) if isinstance(node, Var) else node, api)
            or not any(is_unbatched(t) or tensor_function(t) for t in sig.arg_types)
        ):
            return None
        passes_variables = any(map(calls_with_variables, sig.arg_types))
        rows = [
            self._rows(actuals, api) if passes_variables and is_variable(t) else self._passed_rows(t, actuals, api)
            for t, actuals in zip(sig.arg_types, ctx.args, strict=False)
        ]
        if passes_variables:
            accept_tensor_functions(ctx)
        readers = passed_readers(sig, ctx.args, node, api)
        if not any(rows) and not readers:
            return None
        node = without_decorator(node, api)
        everything = list(dict.fromkeys(chain(*rows)))
        types = [
            readers.get(i)
            or (add_brands_to_function(t, everything) if row or calls_with_variables(t) else None)
            or partly_batched_dict(t, ctx.args[i], self.scope, api)
            or without_name(add_brands(t, row), row, api)
            for i, (t, row) in enumerate(zip(sig.arg_types, rows, strict=True))
        ]
        for row, t, actuals in zip(rows, types, ctx.args, strict=False):
            if row:
                accept_brands(t, actuals, api)
        shared = self._shared(ctx, node, api) if isinstance(node, FuncDef) else frozenset()
        idle = unused_parameters(node, api, shared) if isinstance(node, FuncDef) else frozenset()
        used = [row for n, row in zip(sig.arg_names, rows, strict=True) if n not in idle]
        united = list(dict.fromkeys(b for row in used for b in row))
        result = _change_result(sig.ret_type, lambda row: [*row, *united])
        for entry in entries_called(ctx, sig, api):
            if is_in_file(entry, api):
                self._result(_Check(entry, types, sig.ret_type, united, self._shared(ctx, entry, api)), api)
            elif reads := reads_in(entry, sig, types, None, api):
                report_read(reads, united, ctx.context, api)
        f = body_of(node, sig, api)
        if f is not None and is_in_file(f, api):
            told = times_told[0]
            body_result = self._result(_Check(f, types, result, united, shared), api)
            result = self._by_flow(node, ctx, body_result, api) if isinstance(node, FuncDef) else result
            # for the calls that mypy does not ask a plugin about
            looks = told == times_told[0] and not self.busy and brands_of_result(f, types, api) is None
        else:
            looks = f is not None
        f = initializer(node) if isinstance(node, TypeInfo) else f
        if (looks or isinstance(node, TypeInfo)) and f is not None and united:
            effects = effects_of(f, sig, types, owner_of(ctx), api)
            kept = [reads for n, reads in effects.stores.items() if not n or n in shared]
            if effects.reads:
                report_read(effects.reads, united, ctx.context, api)
            elif kept and not is_in_file(f, api):
                report_stored(kept[0], united, ctx.context, api)
        return sig.copy_modified(arg_types=types, ret_type=result)

    def _report_object_reads(
        self,
        ctx: FunctionSigContext | MethodSigContext,
        sig: CallableType,
        wide: Sequence[Sequence[Expression]],
        node: Node | None,
        api: TypeChecker,
    ) -> None:
        """Report reads of the batched arguments for parameters that accept any object: `isinstance(o, Tensor)`."""
        f = without_decorator(node.impl if isinstance(node, OverloadedFuncDef) else node, api)
        if not isinstance(f, FuncDef) or self.busy or not any(wide):
            return
        nothing, types = NoneType(), list[Type]()
        for es in wide:
            with trying(api):
                types.append(api.get_expression_type(es[0]) if len(es) == 1 and not is_deep(es[0]) else nothing)
        brands = [b for t in types for b in rows_in(t) if not isinstance(b, AnyType)]
        if brands and (reads := reads_in(f, sig, types, owner_of(ctx), api)):
            report_read(reads, list(dict.fromkeys(brands)), ctx.context, api)

    def called_cached(self, ctx: MethodSigContext) -> FunctionLike:
        """Return the signature for a call of a function with `functools.cache`, as if it were not decorated."""
        call = ctx.context
        node = getattr(call.callee, "node", None) if isinstance(call, CallExpr) else None
        if isinstance(node, Decorator) and isinstance(f := node.func.type, CallableType) and isinstance(call, CallExpr):
            api = checker(ctx)
            inner = FunctionSigContext(arguments_by_formal(f, call, api), f, call, ctx.api)
            if self.called(inner, node.func) is None:
                # the wrapper accepts any object
                wide = [es if is_unbatched(t) else [] for t, es in zip(f.arg_types, inner.args, strict=True)]
                self._report_object_reads(inner, f, wide, node.func, api)
        return ctx.default_signature

    def called_partial(self, ctx: MethodSigContext) -> FunctionLike:
        """Return the signature for a call of a `functools.partial`, if it has batched arguments."""
        f, call = partial_signature(ctx.type), ctx.context
        if f is None or not isinstance(call, CallExpr):
            return ctx.default_signature
        api = checker(ctx)
        args, held = arguments_by_formal(f, call, api), getattr(call.callee, "node", None)
        if not isinstance(held, Var) or is_in_file(held, api):
            held = f.definition  # from `made_partial`
        sig = self.called(ctx._replace(default_signature=f, args=args), held)
        if sig is None:
            return ctx.default_signature
        return sig.copy_modified(ret_type=add_brands(sig.ret_type, rows_in(f.ret_type)))

    def made_partial(self, ctx: FunctionContext) -> FunctionContext:
        """Return the context of `partial(f, x)` with the type of `f` for its batched arguments, and its definition."""
        f, api = get_proper_type(ctx.arg_types[0][0]) if ctx.arg_types and ctx.arg_types[0] else None, checker(ctx)
        if not isinstance(f, CallableType):
            return ctx
        args, kinds = list(chain(*ctx.args[1:])), list(chain(*ctx.arg_kinds[1:]))
        call = CallExpr(ctx.args[0][0], args, kinds, list(chain(*ctx.arg_names[1:])))
        by_formal = arguments_by_formal(f, call, api)
        held = definition_of(f, getattr(call.callee, "node", None), api)
        sig = self.called(FunctionSigContext(by_formal, f, ctx.context, ctx.api), held)
        made = (f if sig is None else sig).copy_modified(definition=held)
        return ctx._replace(arg_types=[[made], *ctx.arg_types[1:]])

    def _shared(self, ctx: FunctionSigContext | MethodSigContext, f: FuncDef, api: TypeChecker) -> Names:
        """Return the parameters whose arguments outlive the call: globals, and arguments that vmap does not map."""
        around, names = self.busy[-1] if self.busy else (f, frozenset())

        def is_shared(e: Expression) -> bool:
            return e in self.scope.unmapped or outlives(e, around, names)

        callee = getattr(ctx.context, "callee", None)
        owner = callee.expr if isinstance(callee, MemberExpr) and resolve_function(callee, api)[1] == 1 else None
        owner = callee if f.info and f.name == "__call__" and owner is None else owner
        bound = isinstance(owner, Expression) and is_shared(owner)
        named_args = zip(ctx.default_signature.arg_names, ctx.args, strict=False)
        defaults = shared_defaults(f) if is_in_file(f, api) else set()
        kept = [n for n, es in named_args if any(map(is_shared, es)) or (n in defaults and not es)]
        return frozenset([*(f.arg_names[:1] if bound else []), *kept])

    def _by_flow(self, f: FuncDef, ctx: FunctionSigContext | MethodSigContext, result: Type, api: TypeChecker) -> Type:
        """Remove the brands of arguments that a part of the result does not depend on."""
        call, sig = ctx.context, ctx.default_signature
        if not isinstance(call, CallExpr) or any(k.is_star() for k in call.arg_kinds) or None in sig.arg_names:
            return result
        args_by_name = {n or "": es for n, es in zip(sig.arg_names, ctx.args, strict=False)}
        flow = flow_of(f, {n: len(es) for n, es in args_by_name.items()}, api)
        if flow is None:
            return result
        declared = {n or "": t for n, t in zip(sig.arg_names, sig.arg_types, strict=False)}
        rows = {
            (n, i): self._passed_rows(declared[n], [e], api) if tensor_function(declared[n]) else self._rows([e], api)
            for n, es in args_by_name.items()
            for i, e in enumerate(es)
        }
        return restrict_rows(result, flow, rows)

    def _passed_rows(self, declared: Type, expressions: Sequence[Expression], api: TypeChecker) -> list[Brand]:
        """Return the brands of the arguments for a parameter: of tensors, or of the results of functions."""
        if is_unbatched(declared):
            return self._rows(expressions, api)
        f = tensor_function(declared)
        if f is None:
            return []
        rows: list[Brand] = []
        for e in expressions:
            api.expr_checker.type_overrides.pop(e, None)  # from a check with other brands
            if not is_deep(e):
                with trying(api):
                    context = f.copy_modified(ret_type=api.named_type("builtins.object"))
                    t = get_proper_type(api.get_expression_type(e, type_context=context))
                rows += rows_in(t.ret_type) if isinstance(t, CallableType) and not row_variables(t) else []
        return [b for b in dict.fromkeys(rows) if not isinstance(b, AnyType)]

    def _rows(self, expressions: Sequence[Expression], api: TypeChecker) -> list[Brand]:
        rows: list[Brand] = []
        for e in expressions:
            if isinstance(e, DictExpr | ListExpr) and not is_deep(e):  # mypy's join of the entries may have no rows
                rows += self._rows(list(flat_entries([e])), api)
            elif not isinstance(e, LambdaExpr) and not is_deep(e):
                with trying(api):
                    rows += rows_in(api.get_expression_type(e))
        return [b for b in dict.fromkeys(rows) if not isinstance(b, AnyType)]

    def _result(self, check: _Check, api: TypeChecker) -> Type:
        """Return the result type of a function of this file for these argument types."""
        f, types, result, _, shared = check
        if any(f is g for g, _ in self.busy) or not isinstance(f.type, CallableType):
            return result
        handed = [t.definition for t in types if isinstance(t, CallableType)]
        known, key = self.known.setdefault(f, {}), (shared, *types, *handed)
        brands = unnamed_brands(types)
        numbered = (shared, *(change(t, renaming(brands, NUMBERED)) for t in types), *handed)
        if key not in known and len(brands) <= len(NUMBERED) and numbered in self.clean.get(f, {}):
            return _change_result(self.clean[f][numbered], renaming(NUMBERED, brands))
        if key not in known:
            if len(known) >= MOST:
                return result
            if len(self.busy) >= DEEPEST:
                self.later.append(check)
                return result
            self.busy.append((f, shared))
            try:
                known[key] = self._look(check, api)
            finally:
                self.busy.pop()
        body_result, errors = known[key]
        if not errors and len(brands) <= len(NUMBERED):
            self.clean.setdefault(f, {})[numbered] = _change_result(body_result, renaming(brands, NUMBERED))
        add_errors(api, errors)
        while self.later and not self.busy:
            self._result(self.later.pop(), api)
        return body_result

    def _look(self, check: _Check, api: TypeChecker) -> tuple[Type, list[ErrorInfo]]:
        """Check a body; return the result type and the brand errors."""
        f, types, result, rows, shared = check
        assert isinstance(f.type, CallableType)
        if not shared and (brands := brands_of_result(f, types, api)) is not None:
            return add_brands(f.type.ret_type, [b for b in rows if b in brands]), []
        self_types = f.type.arg_types[: len(f.type.arg_types) - len(types)]  # self
        t = f.type.copy_modified(arg_types=[*self_types, *types], ret_type=result)
        copy = recheck_function(f, t, api, rows, lambda copy: check_body_escapes(copy, api, shared, is_again=True))
        # two calls of a function report the same errors
        errors = {id(e): e for e in copy.errors}.values()
        told = [e for e in errors if is_brand_code(e.code) or e.code is TRUTHY_BOOL]
        n_told = len(told)
        told = new_errors(told, self._own_places(f, api)) if told else told
        values = [r.expr for r in own_parts(copy.function) if isinstance(r, ReturnStmt) and r.expr is not None]
        returned = [(e, api.lookup_type_or_none(e)) for e in values]
        certain = [
            t
            for e, t in returned
            if t is not None and not hides_brands(t) and (rows_in(t) or is_reduced(e, copy.function, api))
        ]
        if len(errors) > n_told or len(certain) < len(returned) or not returned:
            return result, told
        found = {b for t in certain for b in rows_in(t)}
        return add_brands(f.type.ret_type, [b for b in rows if b in found]), told

    def _own_places(self, f: FuncDef, api: TypeChecker) -> set[ErrorPlace]:
        """Return the places of the errors that mypy reports in the function itself, for its declared types."""
        if f not in self.own:
            assert isinstance(f.type, CallableType)
            errors = recheck_function(f, f.type, api).errors
            self.own[f] = {place_of(e) for e in errors if e.severity == "error" and e.code in ONE_PLACE}
        return self.own[f]


def _change_result(t: Type, f: Change) -> Type:
    """Change the rows of a result. A function that is returned depends on the batched values that it uses."""
    p = get_proper_type(t)
    return p.copy_modified(ret_type=change(p.ret_type, f)) if isinstance(p, CallableType) else change(t, f)


def _is_wide(t: Type) -> bool:
    """Return whether a parameter accepts any object."""
    p = get_proper_type(t)
    p = get_proper_type(p.upper_bound) if isinstance(p, TypeVarType) else p
    return isinstance(p, AnyType) or (isinstance(p, Instance) and p.type.fullname == "builtins.object")
