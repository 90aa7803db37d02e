"""The call of a mapped function with the arguments of one example."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from mypy.checker import TypeChecker
from mypy.errorcodes import CALL_ARG, CALL_OVERLOAD, NO_UNTYPED_CALL, TRUTHY_BOOL, ErrorCode
from mypy.errors import ErrorInfo
from mypy.nodes import ARG_NAMED, ARG_POS, CallExpr, Context, Expression, LambdaExpr, RefExpr, TempNode
from mypy.plugin import FunctionSigContext
from mypy.typeops import make_simplified_union
from mypy.types import (
    AnyType,
    CallableType,
    ErasedType,
    Instance,
    Type,
    TypedDictType,
    TypeOfAny,
    TypeVarType,
    UnionType,
    get_proper_type,
)

from branded.mypy.analysis import escape_analysis
from branded.mypy.analysis.memoize import type_of_call
from branded.mypy.analysis.source.walk import walk
from branded.mypy.analysis.untyped_modules import container_of, definition_of
from branded.mypy.axes.mapped_axis import Mapped
from branded.mypy.codes import AXIS_TYPE, CALL, ERROR, is_brand_code
from branded.mypy.rows.algebra import UNKNOWN, hides_brands, is_shared, rows_in
from branded.mypy.rows.brand_env import OpenBrands
from branded.mypy.rows.callables import (
    Arg,
    arguments_by_formal,
    callables_of,
    signatures_of,
    synthetic_call,
    types_in_context,
)
from branded.mypy.rows.injected_values import is_without_hook
from branded.mypy.rows.leaves import with_brand
from branded.mypy.rows.reporting import add_errors, fail, show, trying


class ExampleCall(NamedTuple):
    """The call `f(x', y')` of a mapped function with the arguments of one example."""

    f: Expression
    args: list[Arg]
    """The arguments with all examples."""
    ways: list[Type]
    """The axes of the arguments."""
    lifted: list[Type]
    """The types of the arguments of one example."""
    mapped: Mapped

    def result(self) -> Type:
        """Return the type of the result; report an error if the function does not accept the arguments."""
        f, args, _, lifted, mapped = self
        api = mapped.api
        if functions := self._alternatives():
            return make_simplified_union([self._replace(f=TempNode(t, context=mapped.at)).result() for t in functions])
        lifted = types_in_context(f, lifted, args, mapped.at, api)
        call = synthetic_call(called_function(f, lifted, args, mapped.at, mapped.scope, api), lifted, args, mapped.at)
        if isinstance(f, LambdaExpr):  # mypy infers the parameters of a lambda that is called directly
            _pass_defaults(call, f)
            return type_of_call(call, api)
        with trying(api) as errors, self._keeping(call):
            inside = api.get_expression_type(call)
        # to mypy a dict of tensors is not a dict of Vecs, but vmap rebuilds the containers
        wider = [with_brand(t, UNKNOWN, mapped.brand, mapped.scope) for t in lifted]
        if errors.has_new_errors() and wider != lifted:
            other = synthetic_call(call.callee, wider, args, mapped.at)
            with trying(api) as more, self._keeping(other):
                again = api.get_expression_type(other)
            if not more.has_new_errors():
                return again
        found, explained = errors.filtered_errors(), set[ErrorCode | None]()
        in_body = [e for e in found if is_brand_code(e.code) or e.code is TRUTHY_BOOL]
        add_errors(api, in_body)
        for error in found:
            is_other = error not in in_body and error.severity == "error" and error.code is not NO_UNTYPED_CALL
            if is_other and error.code not in explained:
                self._explain(error)
                explained.add(error.code)  # the other arguments may be wrong for the same reason
                inside = AnyType(TypeOfAny.from_error)
        return inside

    def _alternatives(self) -> list[Type]:
        """Return the functions that a variable may hold. mypy does not ask the plugin about a call of several."""
        if not isinstance(self.f, RefExpr):
            return []
        with trying(self.mapped.api):
            t = get_proper_type(self.mapped.api.get_expression_type(self.f))
        items = t.items if isinstance(t, UnionType) else []
        return items if all(signatures_of(i, self.mapped.api) for i in items) else []

    @contextmanager
    def _keeping(self, call: CallExpr) -> Iterator[None]:
        """Mark the unmapped objects during the call of `f`: they outlive it."""
        unmapped = {
            e
            for e, a, way in zip(call.args, self.args, self.ways, strict=True)
            if is_shared(way) and escape_analysis.is_object(a.type)
        }
        self.mapped.scope.unmapped |= unmapped
        try:
            yield
        finally:
            self.mapped.scope.unmapped -= unmapped

    def _explain(self, error: ErrorInfo) -> None:
        """Report an error from calling `f` with one example: usually `f` is not generic in the brand."""
        f, args, ways, lifted, mapped = self
        context, api, message = mapped.at, mapped.api, error.message
        wrong = re.match(r'Argument (\d+)(?: to "?(.*?)"?)? has incompatible type .*; expected "(.*)"$', message)
        where = int(wrong[1]) - 1 if wrong else len(args)
        if wrong is None or not where < len(args) or is_shared(ways[where]):
            code = CALL if error.code in (CALL_ARG, CALL_OVERLOAD) else ERROR if callables_of(f, api) else AXIS_TYPE
            fail(api, context, code, f"vmap: {message[0].lower()}{message[1:]}")
            return
        outside, inside = show(args[where].type, api), show(lifted[where], api)
        name = (wrong[2] or "the function").replace('"', "")
        has_axes = "Axes[" in wrong[3] and "Axes[" in inside
        is_example = inside.endswith(f", {wrong[3]}]")  # only the brand is missing in the parameter's type
        wanted = f"Vec[S, {wrong[3]}]" if is_example else re.sub(r"\bTensor\b", "Vec[S, Tensor]", wrong[3])
        if not is_example and ("Vec[" in wrong[3] or wanted == wrong[3]):
            wanted = "Vec[S, Tensor]"
        fix = f"annotate the parameter as {wanted}, or {_SHARE}"
        if has_axes and not is_example:
            fix = "use another axis in in_axes, or transpose the argument"
        elif wrong[3] == "Tensor" and "Axes[" in inside and wrong[2] is not None:
            fix = f"annotate the parameter as Vec[S], or map lift({name}): in a file with Vec, Tensor is a shared value"
        elif wrong[2] is None:  # a value of the type Callable, which has no parameters to annotate
            fix = _PROTOCOL
        elif wrong[3].startswith("Vec[") and not wrong[3].startswith("Vec[Never"):
            fix = self._row_fix(where)
        given = f'given: "{outside}", which is "{inside}" for one example'
        if inside == outside:  # mypy prints only the name of a TypedDict
            given = f'given: "{outside}"{_batched_item(lifted[where], api)}'
            fix = f"declare class {outside}(TypedDict, Generic[S]) with items of type Vec[S], or {_SHARE}"
        fail(
            api,
            context,
            ERROR,
            f'vmap: argument {where + 1} is mapped, but {name} wants "{wrong[3]}" for one example',
            given,
            f"try:   {fix}",
        )

    def _row_fix(self, where: int) -> str:
        """Return the fix for an argument of one example whose brands differ from its parameter's."""
        signatures = callables_of(self.f, self.mapped.api)
        wanted = [b for c in signatures[:1] for t in c.arg_types[where : where + 1] for b in rows_in(t)]
        if not wanted or not all(isinstance(b, Instance) for b in wanted):
            return "annotate it with a type variable of the function"
        missing = [show(b, self.mapped.api) for b in wanted if b not in rows_in(self.lifted[where])]
        if not missing:
            names = " | ".join(show(b, self.mapped.api) for b in wanted)
            return f"use in_axes=None for it, or annotate the parameter as Vec[{names} | S, Tensor]"
        if isinstance(self.mapped.brand, Instance):
            return f"nest two vmaps for all pairs, and map argument {where + 1} in the one with axis_name={missing[0]}"
        return f"use axis_name={missing[0]}, or annotate the parameter as Vec[S, Tensor]"


def _batched_item(t: Type, api: TypeChecker) -> str:
    """Return the first item of a TypedDict that is batched, as a part of a note."""
    t = get_proper_type(t)
    items = t.items.items() if isinstance(t, TypedDictType) else []
    return next((f', whose item "{key}" is "{show(v, api)}" for one example' for key, v in items if rows_in(v)), "")


_SHARE = "use in_axes=None if all examples share it"
_PROTOCOL = "instead of Callable use a Protocol with `def __call__(self, x: Vec[S], /) -> Vec[S]: ...`"


def _pass_defaults(call: CallExpr, f: LambdaExpr) -> None:
    """Pass the defaults of a lambda, of which mypy then knows the types: `lambda x, n=2: x**n`."""
    if not all(k in (ARG_POS, ARG_NAMED) for k in call.arg_kinds):
        return
    positional = [n for n, k in zip(f.arg_names, f.arg_kinds, strict=True) if k.is_positional()]
    given = {*positional[: call.arg_kinds.count(ARG_POS)], *call.arg_names}
    for name, argument in zip(f.arg_names, f.arguments, strict=True):
        if name not in given and argument.initializer is not None:
            call.args.append(argument.initializer)
            call.arg_kinds.append(ARG_NAMED)
            call.arg_names.append(name)


def called_function(
    f: Expression, types: Sequence[Type], args: Sequence[Arg], at: Context, scope: OpenBrands, api: TypeChecker
) -> Expression:
    """Return the callee of a call with these types. mypy asks the plugin only about callees with names."""
    if isinstance(f, LambdaExpr | RefExpr | CallExpr) and not is_without_hook(f, api):
        return f
    inferred = _inferred_function(f, types, api)
    t = get_proper_type(inferred or api.get_expression_type(f))
    t = get_proper_type(t.upper_bound) if isinstance(t, TypeVarType) else t
    if not isinstance(t, CallableType):
        return f
    call = synthetic_call(f, types, args, at)
    held = definition_of(t, container_of(f, api), api)
    sig = scope.plain_call(FunctionSigContext(arguments_by_formal(t, call, api), t, call, api), held)
    own = sig or inferred
    return f if own is None else TempNode(own, context=at)


def _inferred_function(f: Expression, types: Sequence[Type], api: TypeChecker) -> Type | None:
    """Return the type of a function that a call with a lambda returns, such as `twice(lambda x: x / 2)`.

    mypy infers the parameters of the lambda from the context. Here this is a call with these types.
    """
    if not isinstance(f, CallExpr) or not any(isinstance(part, LambdaExpr) for part in walk(f.args)):
        return None
    kinds = [ARG_POS] * len(types)
    # mypy infers nothing from an erased type, and would infer `object` as the result of the lambda from `object`
    wanted = CallableType(types, kinds, [None] * len(kinds), ErasedType(), api.named_type("builtins.function"))
    with trying(api) as errors:
        t = get_proper_type(api.get_expression_type(f, type_context=wanted))
    hides = not isinstance(t, CallableType) or hides_brands(t.ret_type)
    return None if hides or errors.has_new_errors() else t
