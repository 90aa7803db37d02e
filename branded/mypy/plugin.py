"""Which hook calls what."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from mypy.nodes import (
    Decorator,
    FuncBase,
    OverloadedFuncDef,
    SymbolNode,
    TypeInfo,
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
from mypy.types import (
    CallableType,
    FunctionLike,
    Overloaded,
    Type,
)

from branded.mypy import (
    axes_calls,
    axes_functions,
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
from branded.mypy.bodies import Rule, by_rule
from branded.mypy.collectives import COLLECTIVES
from branded.mypy.derivatives import AT_ONCE, LATER
from branded.mypy.instances import Instances
from branded.mypy.loops import LOOPS
from branded.mypy.opening import OpenBrands
from branded.mypy.options import DECORATOR, has_options
from branded.mypy.results import as_it_was, compiled, emptied, entering, leaving, lifted, opening
from branded.mypy.rows import AXES, TENSOR, VEC, change, has_rows, row_variables, same
from branded.mypy.transforms import MAPPED, Transforms, not_called
from branded.mypy.trees import TREES

VERSION = hashlib.sha256(b"".join(p.read_bytes() for p in sorted(Path(__file__).parent.glob("*.py")))).hexdigest()
PYTHONS = ("builtins.", "typing.", "tinygrad.", "branded.")
"""The modules of which we know what their functions do."""
EMPTIED = "branded.random."
"""The module whose functions give a plain Tensor where no operand has a row."""
TENSORS = f"{VEC}.", f"{AXES}."
ENTER, UNVEC = "branded.brand.Opened.vec", "branded.brand.Opened.unvec"

T = TypeVar("T")
R = TypeVar("R")
Hooks = dict[str, Callable[[T], R]]
"""By the full names of what they are for."""


class BrandedPlugin(Plugin):
    """The table of hooks."""

    def __init__(self, options: MypyOptions) -> None:
        super().__init__(options)
        self.scope = scope = OpenBrands(self.lookup_fully_qualified)
        scope.unvaried = unvaried.choice(options)
        self.marks = marks.Marks()
        self.instances = Instances(scope)
        self.transforms = transforms = Transforms(scope, self.lookup_fully_qualified)
        self.rules: dict[str, Rule] = {
            **LOOPS,
            **AT_ONCE,
            **COLLECTIVES,
            **TREES,
            **dict.fromkeys(LATER, transforms.derivative),
        }
        self.results: Hooks[FunctionContext, Type] = {
            **dict.fromkeys(reading.ASKERS, reading.truth),
            **dict.fromkeys(custom.MAKERS, partial(custom.made, scope=scope)),
            narrowing.ASKED: narrowing.asked,
            marks.MATCH: partial(narrowing.matched, scope=scope),
            marks.DISPLAY: partial(displays.display, scope=scope),
            "branded.axis_names.as_axes": partial(axes_vmap.named, scope=scope),
            "functools.partial": transforms.partial,
            "branded.brand.brand": partial(opening, scope=scope),
            "branded.values.lift": partial(lifted, scope=scope),
            "tinygrad.tensor.Tensor": reading.tensor,
            "tinygrad.engine.jit.TinyJit": compiled,
            "tinygrad.function.function": as_it_was,
            "branded.transforms.modules.functional_call": emptied,
        }
        self.method_calls: Hooks[MethodSigContext, FunctionLike] = {
            **dict.fromkeys(indexing.INDEXED, indexing.index),
            **dict.fromkeys(operands.UNITED, operands.of_method),
            **dict.fromkeys(custom.CALLS, custom.called),
            f"{DECORATOR}.__call__": transforms.signature,
            f"{MAPPED}.__call__": transforms.called_at_once,
            ENTER: partial(entering, scope=scope),
            UNVEC: partial(leaving, scope=scope),
        }
        self.method_results: Hooks[MethodContext, Type] = {
            **dict.fromkeys(reading.READS, reading.read),
            **dict.fromkeys(reading.COMPARISONS, reading.comparison),
            **dict.fromkeys(reading.SEARCHES, reading.truth),
            **dict.fromkeys(foreign.COMPARED, foreign.compared),
            **dict.fromkeys(foreign.POWERS, foreign.power),
            **dict.fromkeys(indexing.IN_PLACE, indexing.in_place),
            **dict.fromkeys((ENTER, UNVEC, *custom.CALLS), emptied),
            f"{DECORATOR}.__call__": transforms.decorated,
            "tinygrad.engine.jit._TinyJit.__call__": reading.compiled,
        }
        self.tensor_results: Hooks[MethodContext, Type] = {}
        """Those of the methods of tensors that were asked for."""

    def report_config_data(self, ctx: ReportConfigContext) -> str:
        """What mypy keeps with what it knows of each module: another plugin, another answer."""
        return f"{VERSION} {self.scope.unvaried}"

    def get_function_signature_hook(self, fullname: str) -> Callable[[FunctionSigContext], FunctionLike] | None:
        if fullname in reading.NUMBERS:
            return reading.number
        if self.transforms.is_vmap(fullname):
            return self.transforms.signature
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

    def _local_signature(self, ctx: FunctionSigContext) -> FunctionLike:
        """A function within a function has no name to know it by; it may be vmap."""
        if has_options(ctx.default_signature):
            return self.transforms.signature(ctx)
        node = getattr(getattr(ctx.context, "callee", None), "node", None)
        return self.instances.called(ctx, node) or operands.operands(ctx)

    def get_method_signature_hook(self, fullname: str) -> Callable[[MethodSigContext], FunctionLike] | None:
        if fullname.startswith(TENSORS):
            return self._indexing if fullname in indexing.INDEXED else self._tensor_method
        if fullname.endswith("._replace") and self._is_generic_in_rows(fullname.rpartition(".")[0]):
            return widening.replaced
        if (hook := self.method_calls.get(fullname)) is not None:
            return hook
        if foreign.is_ufunc(fullname):
            return foreign.called
        return operands.operands if self._is_generic_in_rows(fullname) else self._plain(fullname)

    def _tensor_method(self, ctx: MethodSigContext) -> FunctionLike:
        """The signature of a method of tensors, from which the axes are gone: `_tensor_result` has them again."""
        return operands.of_method(axes_calls.bare(ctx, self.scope))

    def _indexing(self, ctx: MethodSigContext) -> FunctionLike:
        return indexing.index(axes_calls.bare(ctx, self.scope))

    def _overloaded(self, fullname: str) -> OverloadedFuncDef | None:
        found = self.lookup_fully_qualified(fullname)
        return found.node if found is not None and isinstance(found.node, OverloadedFuncDef) else None

    def get_function_hook(self, fullname: str) -> Callable[[FunctionContext], Type] | None:
        if (hook := self.results.get(fullname)) is not None:
            return hook
        if self.transforms.is_vmap(fullname):
            return self.transforms.result
        if fullname.startswith(axes_functions.MODULES):
            return partial(axes_functions.of_function, scope=self.scope, name=fullname)
        return emptied if fullname.startswith(EMPTIED) or self._is_generic_in_rows(fullname) else None

    def get_method_hook(self, fullname: str) -> Callable[[MethodContext], Type] | None:
        if fullname.startswith(TENSORS) or fullname in axes_table.ON_CLASS:
            if fullname not in self.tensor_results:
                own, name = self._method_hook(fullname), fullname.rpartition(".")[2]
                self.tensor_results[fullname] = partial(self._tensor_result, name=name, own=own)
            return self.tensor_results[fullname]
        return self._method_hook(fullname)

    def _tensor_result(self, ctx: MethodContext, name: str, own: Callable[[MethodContext], Type] | None) -> Type:
        """The result of a method of tensors: what the hook of its rows says, with the axes that its rule knows."""
        if own is not None:
            ctx = ctx._replace(default_return_type=own(ctx))
        return axes_calls.result(ctx, self.scope, axes_table.name_of(name), axes_table.METHODS.get(name))

    def _method_hook(self, fullname: str) -> Callable[[MethodContext], Type] | None:
        own = self.method_results.get(fullname)
        return own or (emptied if self._is_generic_in_rows(fullname) else None)

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
        if isinstance(t, Overloaded) and isinstance(node, Decorator):  # what a transform makes of a function
            t = next((f for f in t.items if any(map(widening.is_container, f.arg_types)) and row_variables(f)), None)
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
