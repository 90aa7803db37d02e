"""Hooks for vmap and the derivatives: `vmap(f)`, `vmap(f)(x)`, `@vmap(in_axes=...)`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mypy.checker import TypeChecker
from mypy.erasetype import remove_instance_last_known_values
from mypy.errorcodes import ARG_TYPE
from mypy.errors import ErrorInfo
from mypy.nodes import (
    ARG_STAR,
    ARG_STAR2,
    CallExpr,
    Context,
    DictExpr,
    Expression,
    LambdaExpr,
    OverloadedFuncDef,
    RefExpr,
    StrExpr,
    SymbolTableNode,
    TempNode,
    Var,
)
from mypy.plugin import AttributeContext, FunctionContext, FunctionSigContext, MethodContext, MethodSigContext
from mypy.plugins.functools import partial_new_callback
from mypy.types import (
    AnyType,
    CallableType,
    FunctionLike,
    Instance,
    LiteralType,
    NoneType,
    Overloaded,
    TupleType,
    Type,
    TypedDictType,
    TypeOfAny,
    get_proper_type,
)

from branded.mypy.analysis.caches import new_cache
from branded.mypy.codes import ERROR
from branded.mypy.rows.algebra import UNKNOWN, holds_tensors, is_a, row_of, row_variables
from branded.mypy.rows.brand_env import OpenBrands, place_of_lambda
from branded.mypy.rows.callables import Arg, Transform, formal_of_each, type_for, type_of_lambda
from branded.mypy.rows.reporting import add_errors, checker, fail, trying
from branded.mypy.transforms.derivatives import LATER, Derivative
from branded.mypy.transforms.function_calls import TransformCall, arguments_by_name, result_type
from branded.mypy.transforms.mapping import Vmap
from branded.mypy.transforms.options import (
    DECORATOR,
    MAPPED,
    VmapOptions,
    accept_any_options,
    default_options,
    has_options,
    kept_options,
    mapped_function,
    options_at,
    options_of,
)

VMAP = "branded.core.vmap.vmap"
JIT, JIT_OF = "branded.compile.jit.jit", "branded.compile.jit._JitOf"


@dataclass(eq=False, repr=False, match_args=False)
class Jit:
    """A call of a function that `jit` compiles: numbers and arrays become tensors, except in static arguments."""

    options: Sequence[str | None]
    at: Context
    api: TypeChecker
    scope: OpenBrands

    def apply(self, f: Expression, args: list[Arg]) -> Type:
        """Return the type of `jit(f, …)(*args)`."""
        tensors = TransformCall("jit", self.at, self.api, self.scope, {}).tensors
        has_static = any(n is not None and n.startswith("static_") for n in self.options)
        types = [UNKNOWN if has_static and not holds_tensors(a.type) else tensors(a.type) for a in args]
        each = [a._replace(type=t) for a, t in zip(args, types, strict=True)]
        return tensors(result_type(f, each, self.at, self.api))


def _jit_options(call: CallExpr) -> list[str | None] | None:
    """Return the names of the arguments of `jit(f, …)` or `jit(…)(f)`; None for a call of another function."""
    names, e = list(call.arg_names), call.callee
    while isinstance(e, CallExpr):
        names, e = [*names, *e.arg_names], e.callee
    return names if isinstance(e, RefExpr) and e.fullname == JIT else None


def call_arguments(f: Expression, call: CallExpr, scope: OpenBrands, api: TypeChecker) -> list[Arg]:
    """Return the arguments of a call of a transformed `f`; a star-argument of known length is expanded."""
    formals = formal_of_each(f, call, api)
    args: list[Arg] = []
    for e, kind, name in zip(call.args, call.arg_kinds, call.arg_names, strict=True):
        t = type_for(formals.get(e), e, scope, api)
        star = get_proper_type(t)
        if kind == ARG_STAR and isinstance(star, TupleType):
            args += [Arg(i) for i in star.items]
        elif isinstance(e, DictExpr) and isinstance(star, Instance) and is_a(star.args[-1], "builtins.object"):
            args.append(Arg(_typed_dict(e, api) or t, kind, name, e))
        else:
            args.append(Arg(t, kind, name, e))
    return args


def _typed_dict(e: DictExpr, api: TypeChecker) -> Type | None:
    """Return the type of a dict whose values have different types, such as `{"x": x, "n": 1}`."""
    names = [k.value for k, _ in e.items if isinstance(k, StrExpr)]
    if len(names) < len(e.items):
        return None
    types = [remove_instance_last_known_values(api.get_expression_type(v)) for _, v in e.items]
    items = dict(zip(names, types, strict=True))
    return TypedDictType(items, set(items), set(), api.named_generic_type("typing._TypedDict", []))


def _apply_to_dicts(transform: Transform, f: Expression, args: list[Arg], api: TypeChecker) -> Type:
    """Return the type of a transformed function's call; a dict display is a TypedDict if a lambda needs one.

    The parameters of a lambda have no annotations that could say so.
    """
    displays = [(_typed_dict(a.expression, api) if isinstance(a.expression, DictExpr) else None) for a in args]
    if not isinstance(f, LambdaExpr) or not any(displays):
        return transform.apply(f, args)
    told = list[ErrorInfo]()
    for given in (args, [a._replace(type=t or a.type) for a, t in zip(args, displays, strict=True)]):
        with trying(api) as errors:
            result = transform.apply(f, given)
        found = errors.filtered_errors()
        if not any(e.code is ARG_TYPE for e in found):
            add_errors(api, found)
            return result
        told = told or found
    add_errors(api, told)
    return result


def report_attribute(ctx: AttributeContext, name: str) -> Type:
    """Report `vmap(f, X).tolist()`: the arguments were passed as options."""
    message = f'vmap: vmap(f, x) is a function, which has no attribute "{name}"'
    fix = f"try:   vmap(f)(x).{name}, because vmap(f) returns a function"
    fail(checker(ctx), ctx.context, ERROR, message, fix)
    return AnyType(TypeOfAny.from_error)


class Transforms:
    """Defers the rule of a vmap or a derivative that is called immediately, until its arguments are known.

        vmap(lambda x: f(x), in_axes=1)(a)     mypy checks the inner call first, where `a` is unknown
        the inner call                         has the type MAPPED; the lambda is not checked
        the outer call                         the rule checks the lambda, with an example of `a`

    The type of a stored lambda, `g = vmap(lambda n: ...)`, contains its position. It is checked where `g` is called.
    """

    def __init__(self, scope: OpenBrands, lookup: Callable[[str], SymbolTableNode | None]) -> None:
        self.scope, self._lookup = scope, lookup
        self._stored: dict[str, CallExpr] = {}
        self._plainest_of: dict[str, CallableType] = new_cache()
        self._accepting: dict[tuple[bool, bool], tuple[CallableType, CallableType]] = new_cache()
        """The last overload of vmap, and its signature for a vmap that is called immediately or is not."""
        self._asked: tuple[Context, FunctionLike] | None = None
        """The call that mypy asks about for each overload, and the answer for those that are for other checkers."""

    def is_vmap(self, fullname: str) -> bool:
        """Return whether this is vmap, or a variable that holds vmap."""
        if fullname == VMAP:
            return True
        symbol = self._lookup(fullname) if "." in fullname else None
        t = get_proper_type(symbol.node.type) if symbol is not None and isinstance(symbol.node, Var) else None
        return isinstance(t, Overloaded) and has_options(t.items[0])

    def signature(self, ctx: FunctionSigContext | MethodSigContext) -> FunctionLike:
        """Return the signature of `vmap(f, …)` or `vmap(…)(f)`; if it is called immediately, the rule waits.

        mypy calls this hook for each overload. The answer is the same for those for other checkers, which come first.
        """
        if (known := self.known_signature(ctx)) is not None:
            return known
        sig = self._signature(ctx)
        self._asked = (ctx.context, sig) if ctx.default_signature.unpack_kwargs else None
        return sig

    def known_signature(self, ctx: FunctionSigContext | MethodSigContext) -> FunctionLike | None:
        """Return the signature if mypy has asked about the call for another overload."""
        is_known = self._asked is not None and self._asked[0] is ctx.context and ctx.default_signature.unpack_kwargs
        return self._asked[1] if self._asked is not None and is_known else None

    def _signature(self, ctx: FunctionSigContext | MethodSigContext) -> FunctionLike:
        call, sig, api = ctx.context, self._plainest(ctx.default_signature), checker(ctx)
        if not isinstance(call, CallExpr) or (f := mapped_function(call)) is None:
            return sig
        overrides, is_callee = api.expr_checker.type_overrides, api.expr_checker.is_callee
        if not is_callee and isinstance(f, LambdaExpr):
            overrides.pop(f, None)
            stored = self._store(call, api)
            result = type_of_lambda(Vmap(options_at(call, api), call, api, self.scope), f) or stored
            return accept_any_options(self._deferred(sig, f, result, api))
        if is_callee:  # as `_deferred` does, whose result is cached
            overrides[f] = api.named_generic_type("builtins.object", [])
        key = is_callee, ctx.default_signature is sig
        if key not in self._accepting or self._accepting[key][0] is not sig:
            mapped = self.scope.instance(MAPPED, NoneType())
            changed = self._deferred(sig, f, mapped, api) if is_callee else sig
            self._accepting[key] = sig, accept_any_options(changed)
        return self._accepting[key][1]

    def _plainest(self, sig: CallableType) -> CallableType:
        """Return the overload that preserves the type of `f`, not one of those for other checkers."""
        if not sig.unpack_kwargs:
            return sig
        if VMAP not in self._plainest_of:
            symbol = self._lookup(VMAP)
            t = get_proper_type(symbol.node.type) if symbol and isinstance(symbol.node, OverloadedFuncDef) else None
            items = t.items if isinstance(t, Overloaded) else []
            self._plainest_of[VMAP] = next((i for i in items if not i.unpack_kwargs), sig)
        return self._plainest_of[VMAP]

    def result(self, ctx: FunctionContext) -> Type:
        """Return the type of `vmap(f)`, `@vmap`, or the decorator `vmap(in_axes=…)`."""
        api, default = checker(ctx), get_proper_type(ctx.default_return_type)
        if is_a(default, DECORATOR):
            return self._decorator(options_of(ctx.context, api), api) if isinstance(ctx.context, CallExpr) else default
        if is_a(default, MAPPED) or not ctx.arg_types[0] or isinstance(f := ctx.args[0][0], LambdaExpr):
            return default
        body = ctx.arg_types[0][0]
        if isinstance(get_proper_type(body), Instance) and not isinstance(f, TempNode):
            body = api.get_expression_type(f)  # a partial: the context of vmap would make its rows Any
        options = options_of(ctx.context, api) if isinstance(ctx.context, CallExpr) else default_options(api)
        return Vmap(options, ctx.context, api, self.scope).generic(body) or default

    def _decorator(self, o: VmapOptions, api: TypeChecker) -> Instance:
        """Return the type of `vmap(in_axes=…)`, which keeps the options."""
        name: Type = api.get_expression_type(o.axis_name) if o.axis_name is not None else NoneType()
        return self.scope.instance(DECORATOR, o.in_axes, o.out_axes, name)

    def partial(self, ctx: FunctionContext) -> Type:
        """Return the type of `partial(vmap, in_axes=…)`, which is `vmap(in_axes=…)`; mypy handles other partials."""
        f, api, call = ctx.args[0][0] if ctx.args and ctx.args[0] else None, checker(ctx), ctx.context
        if isinstance(f, RefExpr) and self.is_vmap(f.fullname) and isinstance(call, CallExpr):
            return self._decorator(options_of(call, api), api)
        return partial_new_callback(ctx)

    def decorated(self, ctx: MethodContext) -> Type:
        """Return the type of a function decorated with `@vmap(in_axes=…)`."""
        assert isinstance(ctx.type, Instance)
        api = checker(ctx)
        default = get_proper_type(ctx.default_return_type)
        if is_a(default, MAPPED) or not ctx.args[0] or isinstance(ctx.args[0][0], LambdaExpr):
            return default
        vmap = Vmap(kept_options(ctx.type, ctx.context), ctx.context, api, self.scope)
        return vmap.generic(ctx.arg_types[0][0]) or default

    def called_at_once(self, ctx: MethodSigContext) -> FunctionLike:
        """Return the signature of a call `vmap(f, …)(x, …)`, or of a lambda that `_store` has stored."""
        call, api = ctx.context, checker(ctx)
        place = get_proper_type(ctx.type.args[0]) if isinstance(ctx.type, Instance) and ctx.type.args else None
        transform_call = call.callee if isinstance(call, CallExpr) and isinstance(place, NoneType) else None
        if isinstance(place, LiteralType):
            transform_call = self._stored_at(str(place.value), call, api)
        if not isinstance(call, CallExpr) or not isinstance(transform_call, CallExpr):
            return ctx.default_signature
        result = self._result(transform_call, call, api)
        return ctx.default_signature if result is None else ctx.default_signature.copy_modified(ret_type=result)

    def called_lambda(self, ctx: FunctionSigContext | MethodSigContext) -> CallableType | None:
        """Return the signature of a call of a stored `vmap(lambda …)` that has other trees than tensors as arguments.

        The stored type is for tensors, and the lambda has no annotations that could name another tree.
        """
        call, sig, api = ctx.context, ctx.default_signature, checker(ctx)
        place = next((p for v in row_variables(sig) if (p := place_of_lambda(v))), None)
        if place is None or not isinstance(call, CallExpr):
            return None
        types = [api.get_expression_type(e) for e in call.args if not isinstance(e, LambdaExpr)]
        if not any(row_of(t) is None and holds_tensors(t) for t in types):
            return None
        result = self._result(stored, call, api) if (stored := self._stored_at(place, call, api)) is not None else None
        any_arguments = CallableType([UNKNOWN] * 2, [ARG_STAR, ARG_STAR2], [None] * 2, result or UNKNOWN, sig.fallback)
        return any_arguments.copy_modified(name=sig.name)

    def _result(self, transform_call: CallExpr, call: CallExpr, api: TypeChecker) -> Type | None:
        """Return the type of `vmap(f, …)(x, …)`, where `transform_call` is `vmap(f, …)`."""
        if (f := mapped_function(transform_call)) is None:
            return None
        api.expr_checker.type_overrides.pop(f, None)
        what = LATER.get(transform_call.callee.fullname) if isinstance(transform_call.callee, RefExpr) else None
        transform: Transform
        if (options := _jit_options(transform_call)) is not None:
            transform = Jit(options, call, api, self.scope)
        elif what is None:
            transform = Vmap(options_at(transform_call, api), call, api, self.scope)
        else:
            arguments = arguments_by_name(transform_call, ("f", "argnums", "has_aux"))
            transform = Derivative.of(TransformCall(what, call, api, self.scope, arguments))
        return _apply_to_dicts(transform, f, call_arguments(f, call, self.scope, api), api)

    def jit_signature(self, ctx: FunctionSigContext | MethodSigContext) -> CallableType:
        """Return the signature of `jit(lambda …)`; as for vmap, each call of the lambda checks its body."""
        call, sig, api = ctx.context, ctx.default_signature, checker(ctx)
        f = mapped_function(call) if isinstance(call, CallExpr) else None
        if not isinstance(call, CallExpr) or not isinstance(f, LambdaExpr):
            return sig
        return self._deferred(sig, f, self._store(call, api), api)

    def _deferred(self, sig: CallableType, f: Expression, result: Type, api: TypeChecker) -> CallableType:
        """Return the signature of a transform that does not check its function, but returns a type that does later."""
        anything = api.named_generic_type("builtins.object", [])
        api.expr_checker.type_overrides[f] = anything
        return sig.copy_modified(arg_types=[anything, *sig.arg_types[1:]], ret_type=result, variables=[])

    def _stored_at(self, place: str, at: Context, api: TypeChecker) -> CallExpr | None:
        """Return the `vmap(lambda …)` that was stored at this place; in another file, mypy has removed the bodies."""
        if place.startswith(f"{api.path}:"):
            return self._stored.get(place)
        api.note(f"lambda: the function at {place.rsplit(':', 1)[0]} is checked only in its own file", at, code=ERROR)
        return None

    def _store(self, call: CallExpr, api: TypeChecker) -> Instance:
        """Store a `vmap(lambda …)` whose parameters are not tensors, and return its type; each call checks the body."""
        place = f"{api.path}:{call.line}:{call.column}"
        self._stored[place] = call
        return self.scope.instance(MAPPED, LiteralType(place, api.named_generic_type("builtins.str", [])))

    def derivative(self, call: TransformCall) -> Type:
        """Return the type of `grad(f, …)`; if it is called immediately, the rule waits for its arguments."""
        f, is_callee = call.expression("f"), call.api.expr_checker.is_callee
        if f is None:
            return UNKNOWN
        if isinstance(call.at, CallExpr) and is_callee:
            return self.scope.instance(MAPPED, NoneType())
        derivative = Derivative.of(call)
        if not isinstance(f, LambdaExpr) or not isinstance(call.at, CallExpr):
            return derivative.generic(call.api.get_expression_type(f))
        number = call.api.named_generic_type("builtins.float", [])
        return type_of_lambda(derivative, f, [number]) or self._store(call.at, call.api)
