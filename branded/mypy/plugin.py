"""Which hook calls what."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

from mypy.checker import TypeChecker
from mypy.nodes import (
    ARG_STAR,
    CallExpr,
    Decorator,
    FuncBase,
    LambdaExpr,
    OverloadedFuncDef,
    RefExpr,
    StrExpr,
    SymbolNode,
    TempNode,
    TypeInfo,
    Var,
)
from mypy.options import Options as MypyOptions
from mypy.plugin import (
    AnalyzeTypeContext,
    AttributeContext,
    ClassDefContext,
    FunctionContext,
    FunctionSigContext,
    MethodContext,
    MethodSigContext,
    Plugin,
    ReportConfigContext,
)
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
    TypeOfAny,
    get_proper_type,
)

from branded.mypy import (
    axes_calls,
    axes_table,
    axes_types,
    axes_vmap,
    custom,
    displays,
    foreign,
    indexing,
    marks,
    narrowing,
    operands,
    reading,
    unvaried,
    widening,
)
from branded.mypy.axes_types import erased
from branded.mypy.bodies import Rule, TransformCall, by_name, by_rule
from branded.mypy.collectives import COLLECTIVES
from branded.mypy.derivatives import AT_ONCE, LATER, Derivative
from branded.mypy.instances import Instances
from branded.mypy.loops import LOOPS
from branded.mypy.mapping import Arg, Transform, Vmap, of_lambda
from branded.mypy.opening import ERROR, Scope, checker, fail
from branded.mypy.options import (
    DECORATOR,
    Options,
    any_options,
    defaults,
    function_of,
    has_options,
    kept_options,
    options_at,
    options_of,
)
from branded.mypy.results import as_it_was, compiled, emptied, entering, leaving
from branded.mypy.rows import (
    AXES,
    BRAND,
    TENSOR,
    UNKNOWN,
    VEC,
    change,
    has_rows,
    is_a,
    row_variables,
    same,
)
from branded.mypy.trees import TREES

VMAP, MAPPED = "branded.vmap.vmap", "branded.vmap._Mapped"
VERSION = hashlib.sha256(b"".join(p.read_bytes() for p in sorted(Path(__file__).parent.glob("*.py")))).hexdigest()
PYTHONS = ("builtins.", "typing.", "tinygrad.", "branded.")
"""The modules of which we know what their functions do."""
TENSORS = f"{VEC}.", f"{AXES}."
ENTER, UNVEC = "branded.brand.Opened.vec", "branded.brand.Opened.unvec"


def arguments(call: CallExpr, api: TypeChecker) -> list[Arg]:
    """The arguments of a call, with a star-argument of known length taken apart."""
    args: list[Arg] = []
    for e, kind, name in zip(call.args, call.arg_kinds, call.arg_names, strict=True):
        t = api.get_expression_type(e)
        star = get_proper_type(t)
        if kind == ARG_STAR and isinstance(star, TupleType):
            args += [Arg(i) for i in star.items]
        else:
            args.append(Arg(t, kind, name, e))
    return args


def not_called(ctx: AttributeContext, name: str) -> Type:
    """`vmap(f, X).tolist()`, which has the arguments where the options go."""
    message = f'vmap: what it gives is a function, which has no attribute "{name}"'
    fail(checker(ctx), ctx.context, message, f"try:   vmap(f)(x).{name}: the arguments go into a call of their own")
    return AnyType(TypeOfAny.from_error)


class BrandedPlugin(Plugin):
    """The table of hooks."""

    def __init__(self, options: MypyOptions) -> None:
        super().__init__(options)
        self.scope = Scope(self.lookup_fully_qualified)
        self.stored: dict[str, CallExpr] = {}
        self.methods: dict[str, Callable[[MethodContext], Type]] = {}
        self.scope.unvaried = unvaried.choice(options)
        self.marks = marks.Marks()
        self.instances = Instances(self.scope)
        self.rules: dict[str, Rule] = {
            **LOOPS,
            **AT_ONCE,
            **COLLECTIVES,
            **TREES,
            **dict.fromkeys(LATER, self._derivative),
        }

    def report_config_data(self, ctx: ReportConfigContext) -> str:
        """What mypy keeps with what it knows of each module: another plugin, another answer."""
        return f"{VERSION} {self.scope.unvaried}"

    # ---- vmap(f)(x), vmap(f) ----

    def get_function_signature_hook(self, fullname: str) -> Callable[[FunctionSigContext], FunctionLike] | None:
        if fullname in reading.NUMBERS:
            return reading.number
        if self._is_vmap(fullname):
            return self._vmap_signature
        if foreign.is_foreign(fullname):
            return foreign.called
        if (rule := self.rules.get(fullname)) is not None:
            return partial(by_rule, node=self._overloaded(fullname), scope=self.scope, rule=rule)
        own = {"builtins.len": reading.length}.get(fullname) if "." in fullname else self._local_signature
        if fullname == operands.ARRAY:
            return operands.nested
        generic = fullname.startswith("branded.functions.") or self._is_generic_in_rows(fullname)
        return own or (operands.operands if generic else self._plain(fullname))

    def _plain(self, fullname: str) -> Callable[[FunctionSigContext | MethodSigContext], FunctionLike] | None:
        """The hook for a function or a method that may say nothing of rows."""
        if fullname.startswith(PYTHONS):
            return None

        def called(ctx: FunctionSigContext | MethodSigContext) -> FunctionLike:
            node = self._node(fullname) or getattr(getattr(ctx.context, "callee", None), "node", None)
            return self.instances.called(ctx, node) or ctx.default_signature

        return called

    def _is_vmap(self, fullname: str) -> bool:
        """Is this vmap, or a variable that is?"""
        if fullname == VMAP:
            return True
        found = self.lookup_fully_qualified(fullname) if "." in fullname else None
        t = get_proper_type(found.node.type) if found is not None and isinstance(found.node, Var) else None
        return isinstance(t, Overloaded) and has_options(t.items[0])

    def _local_signature(self, ctx: FunctionSigContext) -> FunctionLike:
        """A function within a function has no name to know it by; it may be vmap."""
        if has_options(ctx.default_signature):
            return self._vmap_signature(ctx)
        node = getattr(getattr(ctx.context, "callee", None), "node", None)
        return self.instances.called(ctx, node) or operands.operands(ctx)

    def _vmap_signature(self, ctx: FunctionSigContext | MethodSigContext) -> FunctionLike:
        """`vmap(f, …)` or `vmap(…)(f)`: if it is called at once, the rule waits for its arguments.

        Called for each overload.
        """
        call, sig, api = ctx.context, ctx.default_signature, checker(ctx)
        if not isinstance(call, CallExpr) or (f := function_of(call)) is None:
            return sig
        overrides = api.expr_checker.type_overrides
        if api.expr_checker.is_callee:
            result: Type = self.scope.instance(MAPPED, NoneType())
        elif isinstance(f, LambdaExpr):
            overrides.pop(f, None)
            result = of_lambda(Vmap(options_at(call, api), call, api, self.scope), f) or self._store(call, api)
        else:
            return any_options(sig)
        anything = api.named_generic_type("builtins.object", [])
        overrides[f] = anything  # its body is not looked at here, where less is known
        own = sig.copy_modified(arg_types=[anything, *sig.arg_types[1:]], ret_type=result, variables=[])
        return any_options(own)

    def get_method_signature_hook(self, fullname: str) -> Callable[[MethodSigContext], FunctionLike] | None:
        if fullname.startswith(TENSORS):
            return self._indexing if fullname in indexing.INDEXED else self._tensor_method
        if fullname.endswith("._replace") and self._is_generic_in_rows(fullname.rpartition(".")[0]):
            return widening.replaced
        if fullname in indexing.INDEXED:
            return indexing.index
        if fullname in operands.UNITED:
            return operands.of_method
        if fullname in custom.CALLS:
            return custom.called
        if foreign.is_ufunc(fullname):
            return foreign.called
        if fullname == f"{DECORATOR}.__call__":
            return self._vmap_signature
        if fullname in (ENTER, UNVEC):
            return partial(entering if fullname == ENTER else leaving, scope=self.scope)
        if fullname == f"{MAPPED}.__call__":
            return self._called_at_once
        return operands.operands if self._is_generic_in_rows(fullname) else self._plain(fullname)

    def _tensor_method(self, ctx: MethodSigContext) -> FunctionLike:
        """The signature of a method of tensors, from which the axes are gone: `_tensor_result` has them again."""
        return operands.of_method(axes_calls.bare(ctx, self.scope))

    def _indexing(self, ctx: MethodSigContext) -> FunctionLike:
        return indexing.index(axes_calls.bare(ctx, self.scope))

    def _store(self, call: CallExpr, api: TypeChecker) -> Instance:
        """The type of a `vmap(lambda …)` whose parameters are no tensors: its body is looked at where it is called."""
        place = f"{api.path}:{call.line}:{call.column}"
        self.stored[place] = call
        return self.scope.instance(MAPPED, LiteralType(place, api.named_generic_type("builtins.str", [])))

    def _called_at_once(self, ctx: MethodSigContext) -> FunctionLike:
        """`vmap(f, …)(x, …)`, and `f(x, …)` of what `_store` has stored."""
        call, api = ctx.context, checker(ctx)
        place = get_proper_type(ctx.type.args[0]) if isinstance(ctx.type, Instance) and ctx.type.args else None
        made = call.callee if isinstance(call, CallExpr) else None
        if isinstance(place, LiteralType):
            made = self.stored.get(str(place.value)) if str(place.value).startswith(f"{api.path}:") else None
            if made is None:
                note = f"vmap: the lambda of {str(place.value).rsplit(':', 1)[0]} is not checked in another file"
                api.note(note, call, code=ERROR)
        f = function_of(made) if isinstance(made, CallExpr) else None
        if not isinstance(call, CallExpr) or not isinstance(made, CallExpr) or f is None:
            return ctx.default_signature
        api.expr_checker.type_overrides.pop(f, None)
        what = LATER.get(made.callee.fullname) if isinstance(made.callee, RefExpr) else None
        own: Transform
        if what is None:
            own = Vmap(options_at(made, api), call, api, self.scope)
        else:
            given = by_name(made, ("f", "argnums", "has_aux"))
            own = Derivative.of(TransformCall(what, call, api, self.scope, given))
        return ctx.default_signature.copy_modified(ret_type=own.apply(f, arguments(call, api)))

    def _derivative(self, call: TransformCall) -> Type:
        """`grad(f, …)`: as with vmap, if it is called at once, the rule waits for its arguments."""
        f, is_callee = call.expression("f"), call.api.expr_checker.is_callee
        if f is None:
            return UNKNOWN
        if isinstance(call.at, CallExpr) and is_callee:
            return self.scope.instance(MAPPED, NoneType())
        derivative = Derivative.of(call)
        if not isinstance(f, LambdaExpr) or not isinstance(call.at, CallExpr):
            return derivative.generic(call.api.get_expression_type(f))
        number = call.api.named_generic_type("builtins.float", [])
        return of_lambda(derivative, f, [number]) or self._store(call.at, call.api)

    def _overloaded(self, fullname: str) -> OverloadedFuncDef | None:
        found = self.lookup_fully_qualified(fullname)
        return found.node if found is not None and isinstance(found.node, OverloadedFuncDef) else None

    def get_function_hook(self, fullname: str) -> Callable[[FunctionContext], Type] | None:
        if fullname in reading.ASKERS:
            return reading.truth
        if fullname == narrowing.ASKED:
            return narrowing.asked
        if fullname == marks.MATCH:
            return partial(narrowing.matched, scope=self.scope)
        if fullname == marks.DISPLAY:
            return partial(displays.display, scope=self.scope)
        if self._is_vmap(fullname):
            return self._vmap_result
        if fullname in custom.MAKERS:
            return partial(custom.made, scope=self.scope)
        match fullname:
            case "branded.axis_names.as_axes":
                return partial(axes_vmap.named, scope=self.scope)
            case "functools.partial":
                return self._partial
            case "branded.brand.brand":
                return self._with_brand
            case "tinygrad.tensor.Tensor":
                return reading.tensor
            case "tinygrad.engine.jit.TinyJit":
                return compiled
            case "tinygrad.function.function":
                return as_it_was
        plain = (
            fullname.startswith(("branded.random.", "branded.functions.", "branded.linalg."))
            or fullname == "branded.transforms.modules.functional_call"
        )
        return emptied if plain or self._is_generic_in_rows(fullname) else None

    def _vmap_result(self, ctx: FunctionContext) -> Type:
        """`vmap(f)`, `@vmap`, and `vmap(in_axes=…)`, which is a decorator."""
        api, given = checker(ctx), get_proper_type(ctx.default_return_type)
        if is_a(given, DECORATOR):
            return self._decorator(options_of(ctx.context, api), api) if isinstance(ctx.context, CallExpr) else given
        if is_a(given, MAPPED) or not ctx.arg_types[0] or isinstance(f := ctx.args[0][0], LambdaExpr):
            return given
        body = ctx.arg_types[0][0]
        if isinstance(get_proper_type(body), Instance) and not isinstance(f, TempNode):
            body = api.get_expression_type(f)  # a partial: without vmap's context, which would make its rows Any
        options = options_of(ctx.context, api) if isinstance(ctx.context, CallExpr) else defaults(api)
        return Vmap(options, ctx.context, api, self.scope).generic(body) or given

    def _decorator(self, o: Options, api: TypeChecker) -> Instance:
        """The type of `vmap(in_axes=…)`, which keeps the options."""
        name: Type = api.get_expression_type(o.axis_name) if o.axis_name is not None else NoneType()
        return self.scope.instance(DECORATOR, o.in_axes, o.out_axes, name)

    def _partial(self, ctx: FunctionContext) -> Type:
        """`partial(vmap, in_axes=…)` is `vmap(in_axes=…)`; any other partial is mypy's own affair."""
        f, api, call = ctx.args[0][0] if ctx.args and ctx.args[0] else None, checker(ctx), ctx.context
        if isinstance(f, RefExpr) and self._is_vmap(f.fullname) and isinstance(call, CallExpr):
            return self._decorator(options_of(call, api), api)
        return partial_new_callback(ctx)

    def get_method_hook(self, fullname: str) -> Callable[[MethodContext], Type] | None:
        if fullname.startswith(TENSORS) or fullname in axes_table.ON_CLASS:
            if fullname not in self.methods:
                own, name = self._method_hook(fullname), fullname.rpartition(".")[2]
                self.methods[fullname] = partial(self._tensor_result, name=name, own=own)
            return self.methods[fullname]
        return self._method_hook(fullname)

    def _tensor_result(self, ctx: MethodContext, name: str, own: Callable[[MethodContext], Type] | None) -> Type:
        """The result of a method of tensors: what the hook of its rows says, with the axes that its rule knows."""
        if own is not None:
            ctx = ctx._replace(default_return_type=own(ctx))
        return axes_calls.result(ctx, self.scope, axes_table.name_of(name), axes_table.METHODS.get(name))

    def _method_hook(self, fullname: str) -> Callable[[MethodContext], Type] | None:
        if fullname in reading.READS:
            return reading.read
        if fullname in reading.COMPARISONS:
            return reading.comparison
        if fullname in reading.SEARCHES:
            return reading.truth
        if fullname in foreign.COMPARED:
            return foreign.compared
        if fullname in foreign.POWERS:
            return foreign.power
        if fullname in indexing.IN_PLACE:
            return indexing.in_place
        if fullname == f"{DECORATOR}.__call__":
            return self._decorated
        if fullname == "tinygrad.engine.jit._TinyJit.__call__":
            return reading.compiled
        return emptied if fullname in (ENTER, UNVEC, *custom.CALLS) or self._is_generic_in_rows(fullname) else None

    def _decorated(self, ctx: MethodContext) -> Type:
        """`@vmap(in_axes=…)`"""
        assert isinstance(ctx.type, Instance)
        api = checker(ctx)
        given = get_proper_type(ctx.default_return_type)
        if is_a(given, MAPPED) or isinstance(ctx.args[0][0], LambdaExpr):
            return given
        vmap = Vmap(kept_options(ctx.type, ctx.context), ctx.context, api, self.scope)
        return vmap.generic(ctx.arg_types[0][0]) or given

    # ---- with brand("users", 3) as users ----

    def _with_brand(self, ctx: FunctionContext) -> Type:
        api, t, name = checker(ctx), get_proper_type(ctx.default_return_type), ctx.args[0][0]
        inner = get_proper_type(t.args[0]) if isinstance(t, Instance) and t.args else None
        if not isinstance(t, Instance) or not isinstance(inner, Instance) or not is_a(inner.args[0], BRAND):
            return t
        # two blocks of one name may share a variable, `as users`, so they share a brand; the run time has two
        text = name.value if isinstance(name, StrExpr) else None
        fresh = self.scope.fresh(text or "brand", ctx.context, api, place=text, named=text or "")
        return t.copy_modified(args=[inner.copy_modified(args=[fresh]), *t.args[1:]])

    # ---- results without a row are plain ----

    def get_attribute_hook(self, fullname: str) -> Callable[[AttributeContext], Type] | None:
        if fullname.startswith(f"{MAPPED}."):
            return partial(not_called, name=fullname.rpartition(".")[2])
        if fullname == f"{VEC}.T":
            return partial(axes_calls.attribute, scope=self.scope, what="T", rule=axes_table.METHODS["transpose"])
        owner = self.lookup_fully_qualified(fullname.rpartition(".")[0])
        if owner is not None and isinstance(owner.node, TypeInfo) and has_rows(owner.node) and owner.fullname != VEC:
            # what a field says of axes is for one example, or for all
            return lambda ctx: erased(change(ctx.default_attr_type, same), self.scope)
        return None

    def _is_generic_in_rows(self, fullname: str) -> bool:
        """Is this a function, a method or a class whose signature has row variables?"""
        if fullname.startswith(PYTHONS):
            return False
        if "." not in fullname:  # a function within a function has no other name; a display is called "<list>"
            return not fullname.startswith("<")
        node = self._node(fullname)
        if isinstance(node, TypeInfo):
            return has_rows(node)
        t = node.type if isinstance(node, FuncBase | Decorator) else None
        return isinstance(t, CallableType) and bool(row_variables(t))

    def _node(self, fullname: str) -> SymbolNode | None:
        """What has this name: a function, a class, or a method."""
        found = self.lookup_fully_qualified(fullname)
        if found is not None and found.node is not None:
            return found.node
        owner = self.lookup_fully_qualified(fullname.rpartition(".")[0])
        symbol = owner.node.get(fullname.rpartition(".")[2]) if owner and isinstance(owner.node, TypeInfo) else None
        return symbol.node if symbol is not None else None

    def get_customize_class_mro_hook(self, fullname: str) -> Callable[[ClassDefContext], None] | None:
        return {VEC: narrowing.open_vec, AXES: axes_types.promote}.get(fullname)

    def get_type_analyze_hook(self, fullname: str) -> Callable[[AnalyzeTypeContext], Type] | None:
        if fullname == axes_types.ALIAS:
            return partial(axes_types.analyze, lookup=self.lookup_fully_qualified)
        if fullname in (VEC, TENSOR):
            found = self.lookup_fully_qualified(fullname)
            if found is not None and isinstance(found.node, TypeInfo):
                return partial(self.marks.analyze, info=found.node)
        return None
