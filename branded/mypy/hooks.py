"""The plugin class: for each name that mypy asks about, the hook that computes a signature or a type."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from mypy.nodes import Decorator, FuncBase, OverloadedFuncDef, SymbolNode, TypeInfo
from mypy.options import Options as MypyOptions
from mypy.plugin import (
    AnalyzeTypeContext,
    AttributeContext,
    FunctionContext,
    FunctionSigContext,
    MethodContext,
    MethodSigContext,
    Plugin,
)
from mypy.plugins.default import DefaultPlugin
from mypy.plugins.functools import partial_call_callback
from mypy.semanal import SemanticAnalyzer
from mypy.typeanal import TypeAnalyser
from mypy.types import CallableType, FunctionLike, Overloaded, Type, get_proper_type

from branded.mypy.analysis import external_calls, indexing, narrowing, reads
from branded.mypy.analysis.caches import forget
from branded.mypy.analysis.plain_functions import Instances
from branded.mypy.analysis.source import searches
from branded.mypy.analysis.source.handed_functions import accept_tensor_functions
from branded.mypy.analysis.source.reads import report_jit_reads
from branded.mypy.analysis.source_digest import LIBRARIES
from branded.mypy.axes import calls, functions, mapped_axis, table
from branded.mypy.axes import types as axes_types
from branded.mypy.axes.types import erase_axes
from branded.mypy.default_hooks import Signature, after_mypy
from branded.mypy.error_notes import add_notes
from branded.mypy.failures import FastHook, Hook, guard_hooks
from branded.mypy.rows import displays, injected_calls, injected_values, operands, operators, static_fields, widening
from branded.mypy.rows.algebra import AXES, TENSOR, VEC, change, has_rows, keep_row, row_variables
from branded.mypy.rows.brand_env import OpenBrands
from branded.mypy.rows.leaves import field_type, register_class
from branded.mypy.rows.reporting import checker, times_told
from branded.mypy.rows.results import (
    brand_type,
    function_type,
    jit_type,
    lift_type,
    module_result,
    nameless_function,
    plain_result,
    unvec_signature,
    vec_signature,
)
from branded.mypy.shapes.report import END, append_end, follow_at_end, report_shapes
from branded.mypy.transforms import custom_rules, optimizers
from branded.mypy.transforms.collectives import COLLECTIVES, report_closed_names
from branded.mypy.transforms.control_flow import LOOPS
from branded.mypy.transforms.derivatives import AT_ONCE, LATER
from branded.mypy.transforms.function_calls import Rule, signature_by_rule
from branded.mypy.transforms.options import DECORATOR, MAPPED, has_options
from branded.mypy.transforms.trees import TREES
from branded.mypy.transforms.vmap import JIT, JIT_OF, Transforms, report_attribute

EMPTIED = "branded.random."
"""The module whose functions return a plain Tensor if no operand is batched."""
TENSORS = f"{VEC}.", f"{AXES}."
ENTER, UNVEC = "branded.core.brand.Opened.vec", "branded.core.brand.Opened.unvec"

_ANALYZED = {axes_types.ALIAS, VEC, TENSOR}
"""The names in annotations for which there is a hook; mypy asks about every name."""

PARTIAL_CALL = "functools.partial.__call__"

T = TypeVar("T")
R = TypeVar("R")
Hooks = dict[str, Callable[[T], R]]
"""Hooks by the full name of the function, method or class that they handle."""


class BrandedPlugin(Plugin):
    """The mypy plugin: selects a hook for each name."""

    def __init__(self, options: MypyOptions, unvaried: str, require_axes: bool) -> None:
        super().__init__(options)
        forget()
        self.by_mypy = DefaultPlugin(options)
        """The hooks of mypy itself, which it does not ask for a name that has a hook here."""
        self.is_daemon = options.fine_grained_incremental
        self.known_hooks: dict[str, dict[str, Hook | None]] = defaultdict(dict)
        """The hooks that `guard_hooks` remembers, by the methods that select them."""
        analyzed = {name: partial(self._analyze, name=name) for name in _ANALYZED}
        self.get_type_analyze_hook = self._analyze_again if self.is_daemon else analyzed.get  # type: ignore[assignment]
        mro_hooks = {VEC: narrowing.open_vec, AXES: axes_types.promote_tensor}
        self.get_customize_class_mro_hook = mro_hooks.get  # type: ignore[assignment]
        self.scope = scope = OpenBrands(self.lookup_fully_qualified)
        scope.unvaried, scope.require_axes = unvaried, require_axes
        static_fields.use_lookup(self.lookup_fully_qualified)
        self.marks = injected_calls.Marks(append_end)
        self.instances = Instances(scope)
        scope.plain_call = self.instances.called
        self.transforms = transforms = Transforms(scope, self.lookup_fully_qualified)
        self.rules: dict[str, Rule] = {
            **LOOPS,
            **AT_ONCE,
            **COLLECTIVES,
            **TREES,
            **optimizers.SOLVERS,
            **dict.fromkeys(LATER, transforms.derivative),
        }
        self.results: Hooks[FunctionContext, Type] = {
            **{name: partial(reads.reject_truth, position=i) for name, i in reads.ASKERS.items()},
            **dict.fromkeys(searches.OPERATOR_SEARCHES, searches.reject_search),
            "builtins.format": reads.reject_format,
            **dict.fromkeys(external_calls.LOGGED, external_calls.reject_logged),
            "builtins.iter": reads.reject_sentinel,
            **dict.fromkeys(custom_rules.MAKERS, partial(custom_rules.custom_rule_type, scope=scope)),
            narrowing.ASKED: narrowing.narrow_isinstance,
            injected_calls.MATCH: partial(narrowing.narrow_match, scope=scope),
            END: partial(report_shapes, scope=scope),
            injected_calls.TEST: narrowing.narrow_guards,
            injected_calls.OPERANDS: partial(narrowing.narrow_guards, is_tested=False),
            injected_calls.CASE: reads.reject_case,
            injected_values.DISPLAY: partial(displays.display_type, scope=scope),
            injected_values.FUNCTION: partial(nameless_function, scope=scope),
            injected_calls.FIELDS: partial(displays.typed_dict_type, scope=scope),
            "branded.core.axis_names.as_axes": partial(mapped_axis.as_axes_result, scope=scope),
            **dict.fromkeys(operators.OPERATORS, operators.operator_result),
            "functools.partial": self._partial,
            "branded.tree.nodes.register_pytree_node": register_class,
            "branded.core.brand.brand": partial(brand_type, scope=scope),
            "branded.core.values.lift": partial(lift_type, scope=scope),
            JIT: partial(report_jit_reads, scope=scope),
            "tinygrad.tensor.Tensor": self._tensor,
            "tinygrad.engine.jit.TinyJit": jit_type,
            "tinygrad.function.function": function_type,
            "branded.nn.modules.functional_call": module_result,
        }
        self.method_calls: Hooks[MethodSigContext, FunctionLike] = {
            **dict.fromkeys(indexing.INDEXED, indexing.index_signature),
            **dict.fromkeys(operands.UNITED, operands.method_signature),
            **dict.fromkeys(custom_rules.CALLS, partial(custom_rules.custom_rule_signature, scope=scope)),
            f"{DECORATOR}.__call__": transforms.signature,
            f"{MAPPED}.__call__": transforms.called_at_once,
            f"{JIT_OF}.__call__": transforms.jit_signature,
            external_calls.SORT: external_calls.reject_batched_arguments,
            PARTIAL_CALL: self.instances.called_partial,
            "functools._lru_cache_wrapper.__call__": self.instances.called_cached,
            "functools._SingleDispatchCallable.__call__": self._dispatched,
            ENTER: partial(vec_signature, scope=scope),
            UNVEC: partial(unvec_signature, scope=scope),
        }
        self.method_results: Hooks[MethodContext, Type] = {
            **dict.fromkeys(reads.READS, reads.reject_read),
            **dict.fromkeys(reads.COMPARISONS, reads.reject_comparison),
            **dict.fromkeys(reads.COUNTED, reads.reject_count),
            **dict.fromkeys(searches.SEARCHES, searches.reject_search),
            **dict.fromkeys(searches.LOOKUPS, searches.reject_lookup),
            "builtins.str.format": reads.reject_format,
            **dict.fromkeys(external_calls.LOGGED, external_calls.reject_logged),
            "builtins.str.format_map": reads.reject_format_map,
            **dict.fromkeys(external_calls.COMPARED, searches.reject_container_comparison),
            **dict.fromkeys(external_calls.POWERS, external_calls.power),
            **dict.fromkeys(indexing.IN_PLACE, indexing.reject_in_place),
            **dict.fromkeys(indexing.WRITTEN, indexing.reject_mask_write),
            **dict.fromkeys((ENTER, UNVEC, *custom_rules.CALLS), plain_result),
            f"{DECORATOR}.__call__": transforms.decorated,
            **dict.fromkeys(custom_rules.DEFINERS, partial(custom_rules.check_rules, scope=scope)),
            **dict.fromkeys(operators.KEEPERS, operators.with_brands_of_arguments),
            **dict.fromkeys(optimizers.CALLS, partial(optimizers.optimizer_result, scope=scope)),
            f"{JIT_OF}.__call__": partial(report_jit_reads, scope=scope),
            PARTIAL_CALL: _partial_result,
            "tinygrad.engine.jit._TinyJit.__call__": reads.reject_jit_input,
        }
        self.tensor_results: Hooks[MethodContext, Type] = {}
        """Cache of the hooks for methods of tensors."""

    def _partial(self, ctx: FunctionContext) -> Type:
        return self.transforms.partial(self.instances.made_partial(ctx))

    @guard_hooks
    def get_function_signature_hook(self, fullname: str) -> Callable[[FunctionSigContext], FunctionLike] | None:
        return after_mypy(self.by_mypy.get_function_signature_hook(fullname), self._function_signature(fullname))

    def _function_signature(self, fullname: str) -> Signature | None:
        if fullname in reads.NUMBERS:
            return reads.reject_number
        if self.transforms.is_vmap(fullname):
            return FastHook(self.transforms.known_signature, self._vmap)
        if fullname == JIT:
            return self.transforms.jit_signature
        if fullname in external_calls.PRODUCTS:
            return external_calls.product_signature
        if external_calls.is_foreign(fullname):
            return external_calls.reject_batched_arguments
        if (rule := self.rules.get(fullname)) is not None:
            return partial(self._by_rule, fullname=fullname, rule=rule)
        hook = {"builtins.len": reads.length_signature}.get(fullname) if "." in fullname else self._local_signature
        if fullname == operands.ARRAY:
            return operands.array_signature
        if fullname == "dataclasses.replace":
            return self._replaced
        if fullname == "builtins.map":
            return accept_tensor_functions
        generic = fullname.startswith(functions.MODULES) or self._is_generic_in_rows(fullname)
        return self._with_names(fullname, hook or (operands.operand_signature if generic else self._plain(fullname)))

    def _with_names(self, fullname: str, hook: Signature | None) -> Signature | None:
        """Return a hook that also reports the names of brands that a function needs and that are not open."""
        if hook is None or fullname.startswith(LIBRARIES):
            return hook

        def called(ctx: FunctionSigContext | MethodSigContext) -> FunctionLike:
            api = checker(ctx)
            if f"{api.tree.fullname}.".startswith(LIBRARIES):
                return hook(ctx)
            told = times_told[0]
            with api.msg.filter_errors(filter_errors=False) as errors:
                sig = hook(ctx)
            if not errors.has_new_errors() and told == times_told[0]:  # else the body was followed and has the error
                node = self._node(fullname) if "." in fullname else None
                node = node or getattr(getattr(ctx.context, "callee", None), "node", None)
                return report_closed_names(ctx, node, self.scope, sig)
            return sig

        return called

    def _vmap(self, ctx: FunctionSigContext) -> FunctionLike:
        if not ctx.default_signature.unpack_kwargs:  # mypy asks for each overload
            self._start(ctx)
        return self.transforms.signature(ctx)

    def _by_rule(self, ctx: FunctionSigContext, fullname: str, rule: Rule) -> FunctionLike:
        if external_calls.knows_us(checker(ctx)):
            self._start(ctx)
        return signature_by_rule(ctx, self._overloaded(fullname), self.scope, rule)

    def _start(self, ctx: FunctionSigContext) -> None:
        """Start the analysis of a file, which may have no annotation of a tensor."""
        api = checker(ctx)
        self.marks.inject_from(ctx.context, api)
        follow_at_end(api, self.scope)

    def _tensor(self, ctx: FunctionContext) -> Type:
        if external_calls.knows_us(api := checker(ctx)):
            self.marks.inject_from(ctx.context, api)
        return reads.reject_tensor_data(ctx)

    def _plain(self, fullname: str) -> Callable[[FunctionSigContext | MethodSigContext], FunctionLike] | None:
        """Return the hook for a function or method whose annotations may have no rows."""
        if fullname.startswith(LIBRARIES):
            return None

        def called(ctx: FunctionSigContext | MethodSigContext) -> FunctionLike:
            node = self._node(fullname) or getattr(getattr(ctx.context, "callee", None), "node", None)
            return self.transforms.called_lambda(ctx) or self.instances.called(ctx, node) or ctx.default_signature

        return called

    def _dispatched(self, ctx: MethodSigContext) -> FunctionLike:
        """Return the signature of a call of a `singledispatch` function, as of a call of the function itself."""
        node = getattr(ctx.default_signature, "definition", None)
        return self.instances.called(ctx, node) or ctx.default_signature

    def _replaced(self, ctx: FunctionSigContext) -> FunctionLike:
        """Return the signature of `replace(p, position=x)`, as of a call of the class."""
        info = getattr(get_proper_type(ctx.default_signature.ret_type), "type", None)
        if isinstance(info, TypeInfo) and has_rows(info):
            return widening.replace_signature(ctx)
        return self.instances.called(ctx, None) or ctx.default_signature

    def _local_signature(self, ctx: FunctionSigContext) -> FunctionLike:
        """Return the signature of a nested function; it has no full name, and it may be vmap."""
        if has_options(ctx.default_signature):
            return self.transforms.signature(ctx)
        node = getattr(getattr(ctx.context, "callee", None), "node", None)
        own = self.transforms.called_lambda(ctx) or self.instances.called(ctx, node)
        return own or operands.operand_signature(ctx)

    @guard_hooks
    def get_method_signature_hook(self, fullname: str) -> Callable[[MethodSigContext], FunctionLike] | None:
        return after_mypy(self.by_mypy.get_method_signature_hook(fullname), self._method_signature(fullname))

    def _method_signature(self, fullname: str) -> Signature | None:
        if fullname.startswith(TENSORS):
            is_index = fullname in indexing.INDEXED
            return self._indexing if is_index else FastHook(operands.fixed_signature, self._tensor_method)
        if fullname.endswith("._replace") and self._is_generic_in_rows(fullname.rpartition(".")[0]):
            return widening.replace_signature
        if (hook := self.method_calls.get(fullname)) is not None:
            return hook
        if external_calls.is_ufunc(fullname):
            return external_calls.reject_batched_arguments
        generic = self._is_generic_in_rows(fullname)
        return self._with_names(fullname, operands.operand_signature if generic else self._plain(fullname))

    def _tensor_method(self, ctx: MethodSigContext) -> FunctionLike:
        """Return the signature of a tensor method without axes; `_tensor_result` adds them to the result."""
        return operands.method_signature(calls.without_axes(ctx, self.scope))

    def _indexing(self, ctx: MethodSigContext) -> FunctionLike:
        return indexing.index_signature(calls.without_axes(ctx, self.scope))

    def _overloaded(self, fullname: str) -> OverloadedFuncDef | None:
        symbol = self.lookup_fully_qualified(fullname)
        return symbol.node if symbol is not None and isinstance(symbol.node, OverloadedFuncDef) else None

    @guard_hooks
    def get_function_hook(self, fullname: str) -> Callable[[FunctionContext], Type] | None:
        if (hook := self.results.get(fullname)) is not None:
            return hook
        if self.transforms.is_vmap(fullname):
            return self.transforms.result
        if fullname.startswith(functions.MODULES):
            return partial(functions.function_result, scope=self.scope, name=fullname)
        if fullname.startswith(optimizers.MODULE) and fullname not in optimizers.SOLVERS:
            return partial(optimizers.optimizer_result, scope=self.scope)
        if fullname.startswith(EMPTIED) or self._is_generic_in_rows(fullname):
            return plain_result
        return None

    @guard_hooks
    def get_method_hook(self, fullname: str) -> Callable[[MethodContext], Type] | None:
        if fullname.startswith(TENSORS) or fullname in table.ON_CLASS:
            if fullname not in self.tensor_results:
                hook, name = self._method_hook(fullname), fullname.rpartition(".")[2]
                slow = partial(self._tensor_result, name=name, hook=hook)
                self.tensor_results[fullname] = FastHook(calls.result_without_axes, slow) if hook is None else slow
            return self.tensor_results[fullname]
        return self._method_hook(fullname)

    def _tensor_result(self, ctx: MethodContext, name: str, hook: Callable[[MethodContext], Type] | None) -> Type:
        """Return the result of a tensor method: the row from its hook, the axes from its rule."""
        if hook is not None:
            ctx = ctx._replace(default_return_type=hook(ctx))
        result = calls.method_result(ctx, self.scope, table.method_label(name), table.METHODS.get(name))
        return change(result, keep_row)

    def _method_hook(self, fullname: str) -> Callable[[MethodContext], Type] | None:
        hook = self.method_results.get(fullname)
        name, _, method = fullname.rpartition(".")
        if hook is None and method in external_calls.COMPARISONS and isinstance(owner := self._node(name), TypeInfo):
            hook = searches.reject_container_comparison if external_calls.compares_fields(owner, method) else None
        return hook or (plain_result if self._is_generic_in_rows(fullname) else None)

    @guard_hooks
    def get_attribute_hook(self, fullname: str) -> Callable[[AttributeContext], Type] | None:
        if fullname.startswith(f"{MAPPED}."):
            return partial(report_attribute, name=fullname.rpartition(".")[2])
        if fullname == f"{VEC}.T":
            return partial(calls.attribute_type, scope=self.scope, what="T", rule=table.METHODS["transpose"])
        owner = self.lookup_fully_qualified(fullname.rpartition(".")[0])
        if owner is None or not isinstance(owner.node, TypeInfo) or owner.fullname == VEC:
            return None
        if has_rows(owner.node) or owner.node.is_named_tuple or "dataclass" in owner.node.metadata:
            return partial(self._field, name=fullname.rpartition(".")[2])
        return None

    def _field(self, ctx: AttributeContext, name: str) -> Type:
        """Return the type of a field; its axes are declared either for one example or for all."""
        return erase_axes(field_type(ctx.type, name, ctx.default_attr_type), self.scope)

    def _is_generic_in_rows(self, fullname: str) -> bool:
        """Return whether the signature of a function, method or class has row variables."""
        if fullname.startswith(LIBRARIES):
            return False
        if "." not in fullname:  # nested functions have no other name; a display is called "<list>"
            return not fullname.startswith("<")
        node = self._node(fullname)
        if isinstance(node, TypeInfo):
            return has_rows(node)
        t = node.type if isinstance(node, FuncBase | Decorator) else None
        if isinstance(t, Overloaded) and isinstance(node, Decorator):  # the result of a transform
            t = next((f for f in t.items if any(map(widening.is_container, f.arg_types)) and row_variables(f)), None)
        return isinstance(t, CallableType) and bool(row_variables(t))

    def _node(self, fullname: str) -> SymbolNode | None:
        """Return the function, class or method with this name."""
        entry = self.lookup_fully_qualified(fullname)
        if entry is not None and entry.node is not None:
            return entry.node
        owner = self.lookup_fully_qualified(fullname.rpartition(".")[0])
        symbol = owner.node.get(fullname.rpartition(".")[2]) if owner and isinstance(owner.node, TypeInfo) else None
        return symbol.node if symbol is not None else None

    def _analyze_again(self, fullname: str) -> Callable[[AnalyzeTypeContext], Type] | None:
        forget()
        return partial(self._analyze, name=fullname) if fullname in _ANALYZED else None

    def _analyze(self, ctx: AnalyzeTypeContext, name: str) -> Type:
        if isinstance(ctx.api, TypeAnalyser) and isinstance(ctx.api.api, SemanticAnalyzer):
            add_notes(ctx.api.api.errors)
        if name == axes_types.ALIAS:
            return axes_types.analyze_axes(ctx, lookup=self.lookup_fully_qualified)
        symbol = self.lookup_fully_qualified(name)
        assert symbol is not None and isinstance(symbol.node, TypeInfo)
        return self.marks.analyze(ctx, info=symbol.node)


def _partial_result(ctx: MethodContext) -> Type:
    """Return the result of a partial's call: mypy checks the call again, except where its signature was replaced."""
    return partial_call_callback(ctx) if ctx.callee_arg_names == ["args", "kwargs"] else ctx.default_return_type
