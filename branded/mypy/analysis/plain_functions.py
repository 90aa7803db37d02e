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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from mypy.checker import TypeChecker
from mypy.errorcodes import TRUTHY_BOOL
from mypy.errors import ErrorInfo
from mypy.expandtype import expand_type
from mypy.nodes import (
    AssignmentStmt,
    CallExpr,
    Decorator,
    DictExpr,
    Expression,
    FuncDef,
    LambdaExpr,
    MemberExpr,
    MypyFile,
    NameExpr,
    Node,
    OperatorAssignmentStmt,
    OpExpr,
    RefExpr,
    ReturnStmt,
    TypeInfo,
    Var,
)
from mypy.plugin import FunctionContext, FunctionSigContext, MethodSigContext
from mypy.subtypes import find_member
from mypy.types import (
    AnyType,
    CallableType,
    FunctionLike,
    Instance,
    NoneType,
    TupleType,
    Type,
    TypedDictType,
    TypeVarId,
    TypeVarType,
    get_proper_type,
)

from branded.mypy.analysis.caches import new_cache
from branded.mypy.analysis.dependence import Flow, Place, all_places, flow_of
from branded.mypy.analysis.escape_analysis import check_body_escapes, outlives, resolve_function, shared_defaults
from branded.mypy.analysis.external_calls import is_silent_library, knows_us
from branded.mypy.analysis.function_source import (
    Names,
    bound_count,
    decorators_of,
    unused_parameters,
    without_decorator,
)
from branded.mypy.analysis.recheck import recheck_function
from branded.mypy.analysis.source.computed_bodies import brands_of_result
from branded.mypy.analysis.source.handed_functions import accept_tensor_functions, tensor_function, with_brands
from branded.mypy.analysis.source.reads import certain_reads, effects_of, reads_in, report_read, report_stored
from branded.mypy.analysis.source.walk import own_parts
from branded.mypy.analysis.untyped_modules import assigned_to, definition_of, is_in_file, is_untyped_function
from branded.mypy.codes import is_brand_code
from branded.mypy.rows.algebra import (
    UNKNOWN,
    Brand,
    Change,
    add_brands,
    change,
    hides_brands,
    is_unbatched,
    row_variables,
    rows_in,
)
from branded.mypy.rows.brand_env import (
    ONE_PLACE,
    ErrorPlace,
    OpenBrands,
    add_errors,
    brand_name,
    checker,
    opened_at,
    place_of,
    times_told,
    trying,
    unreported,
)
from branded.mypy.rows.callables import arguments_by_formal
from branded.mypy.rows.leaves import NUMBERS
from branded.mypy.rows.operands import is_deep

MOST = 16
"""The maximum number of checks per function. After them, the result varies over the brands of all arguments."""

DEEPEST = 24
"""The maximum depth of checks within checks. The checks below it follow after the outermost one, to limit the stack."""

Known = dict[tuple[object, ...], tuple[Type, list[ErrorInfo]]]
Check = tuple[FuncDef, list[Type], Type, list[Brand], Names]
"""The arguments of `Instances._result`."""


@dataclass
class Instances:
    """The cache of bodies that were checked again: one instance for each combination of argument types."""

    scope: OpenBrands
    known: dict[FuncDef, Known] = field(default_factory=new_cache)
    clean: dict[FuncDef, dict[tuple[object, ...], Type]] = field(default_factory=new_cache)
    """The results of checks without errors, which are the same for other brands without names."""
    later: list[Check] = field(default_factory=list)
    """The checks that are deeper than `DEEPEST`, which run later."""
    busy: list[tuple[FuncDef, Names]] = field(default_factory=list)
    """The functions being checked, each with the parameters whose arguments outlive the call."""
    own: dict[FuncDef, set[ErrorPlace]] = field(default_factory=new_cache)
    """For each function, the places of the errors that mypy reports for its declared types."""
    asked: tuple[MypyFile | None, bool] = (None, False)
    """The current file, and whether it may have errors about batched values."""

    def called(self, ctx: FunctionSigContext | MethodSigContext, node: Node | None) -> CallableType | None:
        """Return the signature for a call with batched arguments; None if the function is of another kind."""
        api = checker(ctx)
        if self.asked[0] is not api.tree:
            self.asked = api.tree, knows_us(api) and not is_silent_library(api)
        if not self.asked[1]:
            return None
        accept_tensor_functions(ctx)
        sig = _at_bounds(ctx.default_signature)
        if isinstance(node, Var) and isinstance(held := definition_of(sig, node, api), FuncDef | Decorator):
            node = held
        node = _held_function(ctx, sig, api) or node
        wide = [es if _is_wide(t) else [] for t, es in zip(sig.arg_types, ctx.args, strict=False)]
        self._report_object_reads(ctx, sig, wide, node, api)
        if (
            row_variables(sig)
            or not is_untyped_function(definition_of(sig, node, api) if isinstance(node, Var) else node, api)
            or not any(is_unbatched(t) or tensor_function(t) for t in sig.arg_types)
        ):
            return None
        rows = [self._passed_rows(t, actuals, api) for t, actuals in zip(sig.arg_types, ctx.args, strict=False)]
        readers = _readers(sig, ctx.args, node, api)
        if not any(rows) and not readers:
            return None
        node = without_decorator(node, api)
        everything = list(dict.fromkeys(chain(*rows)))
        types = [
            readers.get(i)
            or (_add_brands_to_function(t, everything) if row else None)
            or _partly_batched_dict(t, ctx.args[i], api)
            or _without_name(add_brands(t, row), row, api)
            for i, (t, row) in enumerate(zip(sig.arg_types, rows, strict=True))
        ]
        shared = self._shared(ctx, node, api) if isinstance(node, FuncDef) else frozenset()
        idle = unused_parameters(node, api, shared) if isinstance(node, FuncDef) else frozenset()
        used = [row for n, row in zip(sig.arg_names, rows, strict=True) if n not in idle]
        united = list(dict.fromkeys(b for row in used for b in row))
        result = _change_result(sig.ret_type, lambda row: [*row, *united])
        f = _body_of(node, sig, api)
        if f is not None and is_in_file(f, api):
            told = times_told[0]
            body_result = self._result(f, types, result, united, shared, api)
            result = self._by_flow(node, ctx, body_result, api) if isinstance(node, FuncDef) else result
            looks = told == times_told[0] and not self.busy  # for the calls that mypy does not ask a plugin about
        else:
            looks = f is not None
        f = _initializer(node) if isinstance(node, TypeInfo) else f
        if (looks or isinstance(node, TypeInfo)) and f is not None and united:
            effects = effects_of(f, sig, types, _owner(ctx), api)
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
        f = without_decorator(node, api)
        if not isinstance(f, FuncDef) or self.busy or not any(wide):
            return
        nothing = NoneType()
        types: list[Type] = []
        for es in wide:
            with trying(api):
                types.append(api.get_expression_type(es[0]) if len(es) == 1 and not is_deep(es[0]) else nothing)
        brands = [b for t in types for b in rows_in(t) if not isinstance(b, AnyType)]
        if brands and (reads := reads_in(f, sig, types, _owner(ctx), api)):
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
        if not isinstance(call, CallExpr) or any(k.is_star() for k in call.arg_kinds):
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
        return _restrict_rows(result, flow, rows)

    def _passed_rows(self, declared: Type, expressions: Sequence[Expression], api: TypeChecker) -> list[Brand]:
        """Return the brands of the arguments for a parameter: of tensors, or of the results of functions."""
        if is_unbatched(declared):
            return self._rows(expressions, api)
        f = tensor_function(declared)
        if f is None:
            return []
        rows: list[Brand] = []
        for e in expressions:
            if not is_deep(e):
                with trying(api):
                    context = f.copy_modified(ret_type=api.named_type("builtins.object"))
                    t = get_proper_type(api.get_expression_type(e, type_context=context))
                rows += rows_in(t.ret_type) if isinstance(t, CallableType) and not row_variables(t) else []
        return [b for b in dict.fromkeys(rows) if not isinstance(b, AnyType)]

    def _rows(self, expressions: Sequence[Expression], api: TypeChecker) -> list[Brand]:
        rows: list[Brand] = []
        for e in expressions:
            if isinstance(e, DictExpr) and not is_deep(e):  # mypy's join of its values may have no rows
                rows += self._rows([part for item in e.items for part in item if part is not None], api)
            elif not isinstance(e, LambdaExpr) and not is_deep(e):
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
    ) -> Type:
        """Return the result type of a function of this file for these argument types."""
        if any(f is g for g, _ in self.busy) or not isinstance(f.type, CallableType):
            return result
        handed = [t.definition for t in types if isinstance(t, CallableType)]
        known, key = self.known.setdefault(f, {}), (shared, *types, *handed)
        brands = _fresh_brands(types)
        numbered = (shared, *(change(t, _renaming(brands, _NUMBERED)) for t in types), *handed)
        if key not in known and len(brands) <= len(_NUMBERED) and numbered in self.clean.get(f, {}):
            return _change_result(self.clean[f][numbered], _renaming(_NUMBERED, brands))
        if key not in known:
            if len(known) >= MOST:
                return result
            if len(self.busy) >= DEEPEST:
                self.later.append((f, types, result, rows, shared))
                return result
            self.busy.append((f, shared))
            try:
                known[key] = self._look(f, types, result, rows, shared, api)
            finally:
                self.busy.pop()
        body_result, errors = known[key]
        if not errors and len(brands) <= len(_NUMBERED):
            self.clean.setdefault(f, {})[numbered] = _change_result(body_result, _renaming(brands, _NUMBERED))
        add_errors(api, errors)
        while self.later and not self.busy:
            self._result(*self.later.pop(), api)
        return body_result

    def _look(
        self,
        f: FuncDef,
        types: list[Type],
        result: Type,
        rows: list[Brand],
        shared: Names,
        api: TypeChecker,
    ) -> tuple[Type, list[ErrorInfo]]:
        """Check a body with these argument types; return the result type and the brand errors."""
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
        told = unreported(told, self._own_places(f, api)) if told else told
        values = [r.expr for r in _return_statements(copy.function) if r.expr is not None]
        returned = [(e, api.lookup_type_or_none(e)) for e in values]
        certain = [
            t
            for e, t in returned
            if t is not None and not hides_brands(t) and (rows_in(t) or _is_reduced(e, copy.function, api))
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


_NUMBERED: list[Brand] = [
    TypeVarType(f"{i}", f"{i}", TypeVarId(-1, namespace=f"branded@{i}"), [], UNKNOWN, UNKNOWN) for i in range(8)
]


def _fresh_brands(types: Sequence[Type]) -> list[Brand]:
    """Return the brands without names that vmap has opened, in the order in which they occur."""
    brands = dict.fromkeys(b for t in types for b in rows_in(t))
    return [b for b in brands if opened_at(b) is not None and brand_name(b) is None]


def _renaming(brands: Sequence[Brand], others: Sequence[Brand]) -> Change:
    """Return the change of a row that replaces brands by others."""
    new = dict(zip(brands, others, strict=False))
    return lambda row: [new.get(b, b) for b in row]


def _restrict_rows(t: Type, flow: Flow, rows: Mapping[Place, list[Brand]]) -> Type:
    """Restrict each part of a tree to the brands of the arguments that it depends on."""
    p = get_proper_type(t)
    is_tuple = isinstance(p, TupleType) and not p.partial_fallback.type.is_named_tuple
    if isinstance(flow, tuple) and isinstance(p, TupleType) and is_tuple and len(flow) == len(p.items):
        return p.copy_modified(items=[_restrict_rows(item, x, rows) for item, x in zip(p.items, flow, strict=True)])
    brands = [b for place in all_places(flow) for b in rows[place]]
    return change(t, lambda row: [b for b in row if b in brands])


def _return_statements(f: FuncDef) -> Iterator[ReturnStmt]:
    """Find the return statements of a function, without those in nested functions."""
    return (part for part in own_parts(f) if isinstance(part, ReturnStmt))


def _without_name(t: Type, row: Sequence[Brand], api: TypeChecker) -> Type:
    """Return a TypedDict with brands as one without a name: mypy reads the items of one with a name in its class."""
    p = get_proper_type(t)
    if not row or not isinstance(p, TypedDictType):
        return t
    return p.copy_modified(fallback=api.named_generic_type("typing._TypedDict", []))


CUSTOM = {f"branded.autodiff.custom_rules.custom_derivatives.{name}" for name in ("custom_jvp", "custom_vjp")}
"""Decorators of branded whose function runs with batched values."""
REDUCTIONS = {f"branded.collectives.reductions.{name}" for name in ("psum", "pmean", "pmax", "pmin", "all_gather")}


def _is_reduced(e: Expression, f: FuncDef, api: TypeChecker, followed: frozenset[Var] = frozenset()) -> bool:
    """Return whether an expression has no brands because collectives have removed them: `pmean(x, "batch") + 1`."""
    match e:
        case CallExpr(callee=RefExpr(fullname=name)) if name in REDUCTIONS:
            return True
        case CallExpr(callee=MemberExpr(expr=owner), args=args):
            return all(_is_reduced(part, f, api, followed) for part in (owner, *args))
        case OpExpr(left=left, right=right):
            return _is_reduced(left, f, api, followed) and _is_reduced(right, f, api, followed)
        case NameExpr(node=Var() as node) if node not in followed:
            parts = list(own_parts(f))
            values = [s.rvalue for s in parts if isinstance(s, AssignmentStmt) and _binds(s.lvalues, node)]
            values += [s.rvalue for s in parts if isinstance(s, OperatorAssignmentStmt) and _binds([s.lvalue], node)]
            if len(values) == 1:
                return _is_reduced(values[0], f, api, followed | {node})
    t = get_proper_type(api.lookup_type_or_none(e))
    return isinstance(t, Instance) and t.type.fullname in NUMBERS


def _binds(targets: Sequence[Expression], node: Var) -> bool:
    return any(isinstance(target, NameExpr) and target.node is node for target in targets)


def _body_of(node: Node | None, sig: CallableType, api: TypeChecker) -> FuncDef | None:
    """Return the function whose body runs in a call: `f` itself, or `f` in a decorator that keeps its signature.

    A decorator of branded may run it outside of the batch, as a callback.
    """
    if not isinstance(node, Decorator):
        return node if isinstance(node, FuncDef) else None
    names, t = decorators_of(node, api), node.func.type
    is_kept = isinstance(t, CallableType) and t.arg_types == sig.arg_types and t.ret_type == sig.ret_type
    is_plain = names is not None and all(n and (not n.startswith("branded.") or n in CUSTOM) for n in names)
    return node.func if is_kept and is_plain else None


def _readers(
    sig: CallableType, args: Sequence[Sequence[Expression]], node: Node | None, api: TypeChecker
) -> dict[int, CallableType]:
    """Return the functions that read a value and are passed for parameters that are functions, by position."""
    has_defaults = isinstance(node, FuncDef) and is_in_file(node, api)  # mypy's cache keeps none
    initializers = [a.initializer for a in node.arguments] if has_defaults and isinstance(node, FuncDef) else []
    found: dict[int, CallableType] = {}
    for i, (t, es) in enumerate(zip(sig.arg_types, args, strict=False)):
        p = get_proper_type(t)
        if isinstance(p, Instance) and p.type.is_protocol and (called := find_member("__call__", p, p)) is not None:
            p = get_proper_type(called)
        if not isinstance(p, CallableType) or not any(map(is_unbatched, p.arg_types)):
            continue
        default = initializers[i] if i < len(initializers) else None
        for e in es or ([default] if default is not None else []):
            f = e.node if isinstance(e, RefExpr) else None
            reader = (
                f.type if isinstance(f, FuncDef) and is_untyped_function(f, api) and certain_reads(f, api) else None
            )
            if isinstance(reader, CallableType):
                found[i] = reader
    return found


def _add_brands_to_function(t: Type, brands: Sequence[Brand]) -> CallableType | None:
    f = tensor_function(t)
    return with_brands(f, list(brands)) if f is not None else None


def _change_result(t: Type, f: Change) -> Type:
    """Change the rows of a result. A function that is returned depends on the batched values that it uses."""
    p = get_proper_type(t)
    return p.copy_modified(ret_type=change(p.ret_type, f)) if isinstance(p, CallableType) else change(t, f)


def _partly_batched_dict(declared: Type, args: Sequence[Expression], api: TypeChecker) -> TypedDictType | None:
    """Return the type of an argument that is the declared TypedDict, whose items vary over brands of their own."""
    p = get_proper_type(declared)
    if not isinstance(p, TypedDictType) or len(args) != 1 or is_deep(args[0]):
        return None
    with trying(api):
        t = get_proper_type(api.get_expression_type(args[0]))
    if not isinstance(t, TypedDictType) or t.fallback.type is not p.fallback.type:
        return None
    return t if rows_in(t) else None


def _is_wide(t: Type) -> bool:
    """Return whether a parameter accepts any object."""
    p = get_proper_type(t)
    p = get_proper_type(p.upper_bound) if isinstance(p, TypeVarType) else p
    return isinstance(p, AnyType) or (isinstance(p, Instance) and p.type.fullname == "builtins.object")


def _held_function(
    ctx: FunctionSigContext | MethodSigContext, sig: CallableType, api: TypeChecker
) -> FuncDef | Decorator | None:
    """Return the function behind a variable or a Protocol: `h: Callable[[Tensor], Tensor] = norm`, then `h(x)`."""
    callee = getattr(ctx.context, "callee", None)
    node: Node | None = None
    match callee:
        case NameExpr(node=Var() as v):
            value = assigned_to(v, api)
            node = value.node if isinstance(value, RefExpr) else None
        case MemberExpr(expr=NameExpr(node=Var() as v), name=name):
            made = assigned_to(v, api)
            info = made.callee.node if isinstance(made, CallExpr) and isinstance(made.callee, RefExpr) else None
            symbol = info.get(name) if isinstance(info, TypeInfo) else None
            node = symbol.node if symbol is not None else None
    f = without_decorator(node, api)
    is_same = isinstance(f, FuncDef) and isinstance(f.type, CallableType)
    if not is_same or not isinstance(node, FuncDef | Decorator) or not isinstance(f, FuncDef):
        return None
    return node if len(f.arg_names) - bound_count(f) == len(sig.arg_types) else None


def _initializer(info: TypeInfo) -> FuncDef | None:
    symbol = info.get("__init__")
    return symbol.node if symbol is not None and isinstance(symbol.node, FuncDef) else None


def _owner(ctx: FunctionSigContext | MethodSigContext) -> TypeInfo | None:
    """Return the class of the object whose method is called."""
    t = get_proper_type(ctx.type) if isinstance(ctx, MethodSigContext) else None
    return t.type if isinstance(t, Instance) else None


def _at_bounds(sig: CallableType) -> CallableType:
    """Return a signature with the bounds of its type variables: with Tensor for `T = TypeVar("T", bound=Tensor)`."""
    bounds: dict[TypeVarId, Type] = {
        v.id: v.upper_bound for v in sig.variables if isinstance(v, TypeVarType) and is_unbatched(v.upper_bound)
    }
    if not bounds:
        return sig
    expanded = expand_type(sig.copy_modified(variables=[v for v in sig.variables if v.id not in bounds]), bounds)
    assert isinstance(expanded, CallableType)
    return expanded


def partial_signature(t: Type) -> CallableType | None:
    """Return the signature of a `functools.partial` as mypy keeps it; None for other types."""
    p = get_proper_type(t)
    f = p.extra_attrs.attrs.get("__mypy_partial") if isinstance(p, Instance) and p.extra_attrs else None
    f = get_proper_type(f) if f is not None else None
    return f if isinstance(f, CallableType) else None
