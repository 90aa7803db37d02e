"""The typing rule: `vmap(f, …)(x, y)` has the type of `f(x', y')` without the brand that vmap adds to `x'` and `y'`."""

from __future__ import annotations

from dataclasses import dataclass

from mypy.checker import TypeChecker
from mypy.nodes import ARG_NAMED, ARG_POS, ARG_STAR, Context, Expression, TempNode
from mypy.types import (
    AnyType,
    CallableType,
    FunctionLike,
    Overloaded,
    TupleType,
    Type,
    TypedDictType,
    TypeOfAny,
    get_proper_type,
)

from branded.mypy.analysis import escape_analysis, unused_batch
from branded.mypy.analysis.source.reads import reads_in_lambda, report_read
from branded.mypy.axes.mapped_axis import Mapped, has_bare_tensor
from branded.mypy.axes.types import erase_axes
from branded.mypy.codes import CALL, ERROR
from branded.mypy.rows.algebra import (
    UNKNOWN,
    Brand,
    change,
    drop_brands,
    hides_brands,
    holds_tensors,
    is_shared,
    row_variables,
    rows_in,
)
from branded.mypy.rows.brand_env import OpenBrands, class_of
from branded.mypy.rows.callables import Arg, overload_plain, parameter_names, signatures_of
from branded.mypy.rows.leaves import with_brand
from branded.mypy.rows.reporting import fail, show, times_told, trying
from branded.mypy.transforms import in_axes as axes
from branded.mypy.transforms.example_call import ExampleCall
from branded.mypy.transforms.options import VmapOptions
from branded.mypy.transforms.out_axes import stacked_result, without_brand, without_joins


@dataclass(eq=False, repr=False, match_args=False)
class Vmap:
    """A use of vmap: its position and options."""

    options: VmapOptions
    at: Context
    api: TypeChecker
    scope: OpenBrands
    mapped: Mapped | None = None

    def apply(self, f: Expression, args: list[Arg], exact: bool = True) -> Type:
        """Return the type of `vmap(f, …)(*args)`; `exact` means that there are no further arguments."""
        o, context, api, scope = self.options, self.at, self.api, self.scope
        # the axes of the arguments, and the brand, named after the parameter of the first mapped argument
        with api.msg.filter_errors(filter_errors=False) as wrong:
            ways = axes.axes_of_call(o.in_axes, args, exact, context, api)
        if scope.require_axes:
            self._require_axes(args, ways)
        can_map = not wrong.has_new_errors() and axes.check_axes(args, ways, o.axis_size, context, api)
        names = parameter_names(f, api)
        first = next((i for i, way in enumerate(ways) if not is_shared(way)), 0)
        stem = next((n for n in [*names[first : first + 1], *names] if n), "s")
        brand = scope.named(o.axis_name, stem, context, api, [b for a in args for b in rows_in(a.type)])
        # the arguments of one example
        self.mapped = mapped = Mapped(context, api, scope, brand)
        each = enumerate(zip(args, ways, strict=True), 1)
        with api.msg.filter_errors(filter_errors=False) as wrong:
            lifted = [with_brand(mapped.off(a.type, way, a.label(i)), way, brand, scope) for i, (a, way) in each]
        if wrong.has_new_errors():  # the other axes may be wrong for the same reason
            lifted = [erase_axes(t, scope) for t in lifted]
        example = ExampleCall(f, args, ways, lifted, mapped)
        if not can_map:
            with scope.opened(brand), trying(api):
                result = without_brand(example.result(), brand, o.out_axes, mapped)
            return result if holds_tensors(result) else AnyType(TypeOfAny.from_error)
        # the call of the function, and the values that it stores
        outer = [v for names_of in api.partial_types for v in names_of.map]
        told = times_told[0]
        with scope.opened(brand), api.msg.filter_errors(filter_errors=False) as errors:
            inside = example.result()
            both = enumerate(zip(args, ways, strict=True))
            objects = [i for i, (a, way) in both if is_shared(way) and escape_analysis.is_object(a.type)]
            escape_analysis.check_escapes(f, api, objects)
        escape_analysis.report_kept(outer, brand, context, api)
        is_told = errors.has_new_errors() or told < times_told[0]
        if not is_told and escape_analysis.may_make_objects(f) and (reads := reads_in_lambda(f, lifted, api)):
            report_read(reads, [brand], context, api)
        if hides_brands(inside):
            if not is_told and not any(hides_brands(a.type) for a in args):
                note = f'vmap: the function returns "{show(inside, api)}" here, so its result is not checked'
                api.note(note, context, code=ERROR)
            return UNKNOWN
        if any(isinstance(b, AnyType) for b in rows_in(inside)):  # an argument has an error
            return AnyType(TypeOfAny.from_error)
        if not (o.is_repeat or is_told):
            unused_batch.report_unused_batch(example, inside)
        # the result of all examples
        return stacked_result(without_joins(inside, args, mapped), o.out_axes, mapped, is_told)

    def _require_axes(self, args: list[Arg], ways: list[Type]) -> None:
        """Report each mapped argument that holds a tensor without named axes."""
        for i, (a, way) in enumerate(zip(args, ways, strict=True), 1):
            if has_bare_tensor(a.type, way):
                wrong = f"vmap: {a.label(i)} has no axes, and `require_axes` is set"
                fix = "try:   name the axes with as_axes(x, Users, ...), or annotate Axes[Users, ...]"
                fail(self.api, self.at, ERROR, wrong, f'given: "{show(a.type, self.api)}"', fix)

    def generic(self, body: Type) -> Type | None:
        """Return the type of `vmap(f)`: the type of `f`, if `f` is generic in the mapped rows."""
        items = signatures_of(body, self.api)
        if any(f.implicit for f in items):
            self.api.note("vmap: the function has no type annotations, so nothing is checked here", self.at, code=ERROR)
        if len(items) > 1:  # keep the overloads that accept one example
            overloads = []
            for f in items:
                with trying(self.api) as errors:
                    one = self._generic(f)
                overloads += [] if errors.has_new_errors() else one.items
            if not overloads:
                fail(self.api, self.at, CALL, "vmap: no overload of the function accepts one example of the arguments")
            return Overloaded(overloads) if overloads else AnyType(TypeOfAny.from_error)
        return self._generic(items[-1]) if items else None

    def _generic(self, f: CallableType) -> FunctionLike:
        row_vars, brand = row_variables(f), self._named_brand()
        forget = drop_brands(lambda b: b == brand or any(b == v for v in row_vars))
        param_types = self._with_axis(f)
        needed = [
            Arg(change(t, forget), ARG_NAMED if k.is_named() else ARG_POS, n if k.is_named() else None)
            for t, k, n in zip(param_types, f.arg_kinds, f.arg_names, strict=True)
            if k.is_required() or k == ARG_STAR or (k.is_positional() and self._has_axis(f, n))
        ]
        exact = not any(k == ARG_STAR for k in f.arg_kinds)
        self.apply(TempNode(f, context=self.at), needed, exact)
        assert self.mapped is not None  # `apply` sets it
        result = without_brand(f.ret_type, brand, self.options.out_axes, self.mapped)
        types = [change(t, drop_brands(lambda b: b == brand)) for t in param_types]
        return overload_plain(f.copy_modified(arg_types=types, ret_type=result))

    def _with_axis(self, f: CallableType) -> list[Type]:
        """Return the parameter types with the mapped axis, where the axes of one example are known."""
        name = self._named_brand()
        mapped = Mapped(self.at, self.api, self.scope, UNKNOWN if name is None else name)
        tree = get_proper_type(self.options.in_axes)
        ways: list[Type] = list(tree.items) if isinstance(tree, TupleType) else [tree] * len(f.arg_types)
        types = []
        for i, (t, k) in enumerate(zip(f.arg_types, f.arg_kinds, strict=True)):
            way = axes.tree_of(None, self.api) if k.is_named() else ways[i] if i < len(ways) else UNKNOWN
            types.append(self._without_name(t, mapped.on(t, way)))
        return types

    def _without_name(self, declared: Type, t: Type) -> Type:
        """Return a changed TypedDict as one without a name: mypy reads the items of one with a name in its class."""
        p = get_proper_type(t)
        if not isinstance(p, TypedDictType) or p == declared:
            return t
        return p.copy_modified(fallback=self.api.named_generic_type("typing._TypedDict", []))

    def _has_axis(self, f: CallableType, name: str | None) -> bool:
        """Return whether in_axes has an entry for the optional parameter `name`."""
        tree = get_proper_type(self.options.in_axes)
        positional = [n for n, k in zip(f.arg_names, f.arg_kinds, strict=True) if k.is_positional()]
        return isinstance(tree, TupleType) and positional.index(name) < len(tree.items)

    def _named_brand(self) -> Brand | None:
        name = self.options.axis_name
        return class_of(self.api.get_expression_type(name)) if name is not None else None
