"""The typing rule: `vmap(f, …)(x, y)` has the type of `f(x', y')` without the brand that vmap adds to `x'` and `y'`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from mypy.checker import TypeChecker
from mypy.errorcodes import CALL_ARG, CALL_OVERLOAD, NO_UNTYPED_CALL, ErrorCode
from mypy.errors import ErrorInfo
from mypy.nodes import (
    ARG_NAMED,
    ARG_POS,
    ARG_STAR,
    ARG_STAR2,
    CallExpr,
    Context,
    Expression,
    LambdaExpr,
    TempNode,
    TypeInfo,
    Var,
)
from mypy.types import (
    AnyType,
    CallableType,
    FunctionLike,
    NoneType,
    Overloaded,
    TupleType,
    Type,
    TypedDictType,
    TypeOfAny,
    get_proper_type,
)

from branded.mypy.analysis import escape_analysis, unused_batch
from branded.mypy.analysis.memoize import type_of_call
from branded.mypy.analysis.untyped_modules import is_untyped_class
from branded.mypy.axes.mapped_axis import Mapped
from branded.mypy.codes import AXES, AXIS_TYPE, CALL, ERROR, ESCAPE, is_brand_code
from branded.mypy.rows.algebra import (
    ARRAY,
    TENSOR,
    UNKNOWN,
    VEC,
    Brand,
    change,
    drop_brands,
    hides_brands,
    is_shared,
    occurs,
    row_variables,
    rows_in,
)
from branded.mypy.rows.brand_env import OpenBrands, class_of, fail, show, times_told, trying
from branded.mypy.rows.callables import Arg, overload_plain, signatures_of, synthetic_call
from branded.mypy.rows.leaves import STACKED, replace_leaves, unmappable
from branded.mypy.transforms import in_axes as axes
from branded.mypy.transforms.options import VmapOptions


def _argument_label(i: int, arg: Arg) -> str:
    """Return the name of the i-th argument in messages."""
    return f"argument `{arg.name}`" if arg.name else f"argument {i}"


@dataclass
class Vmap:
    """A use of vmap: its position and options."""

    options: VmapOptions
    at: Context
    api: TypeChecker
    scope: OpenBrands
    mapped: Mapped | None = None

    # ---- the rule ----

    def apply(self, f: Expression, args: list[Arg], exact: bool = True) -> Type:
        """Return the type of `vmap(f, …)(*args)`; `exact` means that there are no further arguments."""
        ways = self._axes(args, exact)
        brand = self._brand(f, args, ways)
        self.mapped = Mapped(self.at, self.api, self.scope, brand)
        off = [
            self.mapped.off(a.type, way, _argument_label(i, a))
            for i, (a, way) in enumerate(zip(args, ways, strict=True), 1)
        ]
        lifted = [self.entered(t, way, brand) for t, way in zip(off, ways, strict=True)]
        if not self._can_map(args, ways):
            with self.scope.opened(brand), trying(self.api):
                return self._outside(self._call(f, lifted, args, ways, brand), brand)
        unknown = [v for scope in self.api.partial_types for v in scope.map]
        told = times_told[0]
        with self.scope.opened(brand), self.api.msg.filter_errors(filter_errors=False) as errors:
            inside = self._call(f, lifted, args, ways, brand)
            both = enumerate(zip(args, ways, strict=True))
            objects = [i for i, (a, way) in both if is_shared(way) and escape_analysis.is_object(a.type)]
            escape_analysis.check_escapes(f, self.api, objects)
        self._tell_of_kept(unknown, brand)
        if hides_brands(inside):
            if not errors.has_new_errors() and not any(hides_brands(a.type) for a in args):
                given = show(inside, self.api)
                note = f'vmap: what the function gives has the type "{given}" here, so it is not checked'
                self.api.note(note, self.at, code=ERROR)
            return UNKNOWN
        says_all = not self._takes_anything(f)
        if says_all and not (self.options.is_repeat or errors.has_new_errors() or told < times_told[0]):
            axes_given = [(a.expression, way) for a, way in zip(args, ways, strict=True)]
            if not (
                unused_batch.accesses_uop(f) or unused_batch.report_unused_parameter(f, axes_given, self.at, self.api)
            ):
                unused_batch.report_unbatched(inside, lifted, brand, self.at, self.api, self.scope.unvaried)
        return self._leave(inside, brand)

    def _brand(self, f: Expression, args: list[Arg], ways: list[Type]) -> Brand:
        """Return the brand that this vmap opens, named after the parameter of the first mapped argument."""
        names = self._names(f)
        mapped = next((i for i, a in enumerate(ways) if not is_shared(a)), 0)
        stem = next((n for n in [*names[mapped : mapped + 1], *names] if n), "s")
        rows = [b for a in args for b in rows_in(a.type)]
        return self.scope.named(self.options.axis_name, stem, self.at, self.api, rows)

    def _tell_of_kept(self, unknown: Sequence[Var], brand: Brand) -> None:
        """Report outer variables whose inferred type has the brand: `kept = []`, then `kept.append(x)` in the call."""
        for v in unknown:
            if v.type is not None and occurs(brand, v.type):
                self._fail(
                    ESCAPE,
                    f'escape: brand "{show(brand, self.api)}" of this vmap is kept in `{v.name}`, which outlives it',
                    f'value: "{show(v.type, self.api)}"',
                    "try:   return it from the mapped function",
                )

    def _axes(self, args: list[Arg], exact: bool) -> list[Type]:
        """Return the axes of each argument; keyword arguments are mapped over axis 0."""
        positional = sum(a.kind == ARG_POS for a in args)
        tree = get_proper_type(self.options.in_axes)
        if isinstance(tree, TypedDictType):
            fix = "try:   in_axes=({...},), one entry for each"
            self._fail(AXES, "in_axes: a dict of axes stands for all the arguments", fix)
            tree = UNKNOWN
        starred = any(a.kind in (ARG_STAR, ARG_STAR2) for a in args)
        each = axes.axes_of_arguments(tree, positional)
        if each is None:
            if exact and not starred and isinstance(tree, TupleType):
                given = axes.plural(len(tree.items), "axis", "axes")
                wanted = axes.plural(positional, "positional argument", "positional arguments")
                self._fail(
                    AXES,
                    f"in_axes: {given} for {wanted}",
                    f"axes:  {axes.format_axes(tree)}",
                    "try:   one entry for each positional argument; keyword arguments are mapped over axis 0",
                )
            each = [UNKNOWN] * positional
        own, zero = iter(each), axes.tree_of(None, self.api)
        shared = tree if isinstance(tree, NoneType) else UNKNOWN
        return [next(own) if a.kind == ARG_POS else shared if a.kind == ARG_STAR else zero for a in args]

    def _can_map(self, args: list[Arg], ways: list[Type]) -> bool:
        """Return whether the axes match the arguments and something is mapped; report errors if not."""
        wrong = list(self._misfits(args, ways))
        for code, message, *notes in wrong:
            self._fail(code, message, *notes)
        return not wrong

    def _misfits(self, args: list[Arg], ways: list[Type]) -> Iterator[tuple[ErrorCode, str, *tuple[str, ...]]]:
        for i, (arg, way) in enumerate(zip(args, ways, strict=True), 1):
            what = _argument_label(i, arg)
            for code, wrong in axes.axes_mismatches(way, arg.type, what):
                yield code, f"in_axes: {wrong}"
            share = "functools.partial(f, ...)" if arg.name else "None for it in in_axes"
            for where, why in unmappable(arg.type, way, what, plain=self._is_quiet):
                yield AXIS_TYPE, f"in_axes: {where} is {why}: there is no axis to map over", f"try:   {share}"
        known = all(a.kind in (ARG_POS, ARG_NAMED) for a in args)
        if known and all(map(is_shared, ways)) and not self.options.axis_size:
            fix = "try:   an int for an argument with an axis of examples, or axis_size=n"
            yield AXES, "in_axes: nothing is mapped, so there is no number of examples", fix

    def _takes_anything(self, f: Expression) -> bool:
        """Return whether `f` is a `Callable[..., T]`: its type does not show what the result depends on."""
        if isinstance(f, LambdaExpr | CallExpr):
            return False
        return any(t.is_ellipsis_args for t in self._callables(f))

    def _is_quiet(self, info: TypeInfo) -> bool:
        """Return whether a class is from a file without `Vec`: the brands of its tensors are not tracked."""
        if not is_untyped_class(info, self.api):
            return False
        name = info.name
        note = f"vmap: {name} says nothing of rows, so its tensors are not checked; class {name}(Generic[S]) would be"
        self.api.note(note, self.at, code=ERROR)
        return True

    def entered(self, t: Type, way: Type, brand: Brand) -> Type:
        """Add the brand to the rows of a type; an array becomes a tensor."""
        vec = self.scope.instance(VEC, brand, self.scope.instance(TENSOR))
        return change(t, lambda row: [*row, brand], way, replace_leaves(vec, {ARRAY}))

    def _call(self, f: Expression, lifted: list[Type], args: list[Arg], ways: list[Type], brand: Brand) -> Type:
        """Return the type of `f(x', y')`."""
        call = synthetic_call(f, lifted, args, self.at)
        if isinstance(f, LambdaExpr):  # mypy infers the parameters of a lambda that is called directly
            return type_of_call(call, self.api)
        with trying(self.api) as errors, self._keeping(call, args, ways):
            inside = self.api.get_expression_type(call)
        if errors.has_new_errors() and any(map(is_shared, ways)):
            # to mypy a dict of tensors is not a dict of Vecs, but vmap rebuilds the containers
            wider = [self.entered(t, UNKNOWN, brand) if is_shared(w) else t for t, w in zip(lifted, ways, strict=True)]
            other = synthetic_call(f, wider, args, self.at)
            with trying(self.api) as more, self._keeping(other, args, ways):
                again = self.api.get_expression_type(other)
            if not more.has_new_errors():
                return again
        for error in errors.filtered_errors():
            if is_brand_code(error.code):  # from a vmap within f
                self.api.msg.add_errors([error])
            elif error.severity == "error" and error.code is not NO_UNTYPED_CALL:
                self._explain(error, f, lifted, args, ways)
        return inside

    @contextmanager
    def _keeping(self, call: CallExpr, args: list[Arg], ways: list[Type]) -> Iterator[None]:
        """Mark the unmapped objects during the call of `f`: they outlive it."""
        kept = {
            e
            for e, a, way in zip(call.args, args, ways, strict=True)
            if is_shared(way) and escape_analysis.is_object(a.type)
        }
        self.scope.unmapped |= kept
        try:
            yield
        finally:
            self.scope.unmapped -= kept

    def _explain(self, error: ErrorInfo, f: Expression, lifted: list[Type], args: list[Arg], ways: list[Type]) -> None:
        """Report an error from calling `f` with one example: usually `f` is not generic in the brand."""
        message = error.message
        wrong = re.match(r'Argument (\d+)(?: to "?(.*?)"?)? has incompatible type .*; expected "(.*)"$', message)
        where = int(wrong[1]) - 1 if wrong else len(args)
        if wrong is None or not where < len(args) or is_shared(ways[where]):
            code = CALL if error.code in (CALL_ARG, CALL_OVERLOAD) else ERROR if self._callables(f) else AXIS_TYPE
            self._fail(code, f"vmap: {message[0].lower()}{message[1:]}")
            return
        given, inside = show(args[where].type, self.api), show(lifted[where], self.api)
        name = (wrong[2] or "the function").replace('"', "")
        fix = "a row for it, Vec[S, Tensor], or None for it in in_axes if all examples share it"
        if "Axes[" in wrong[3] and "Axes[" in inside:
            fix = "another axis in in_axes, or the argument with its axes in another order"
        elif wrong[3].startswith("Vec[") and not wrong[3].startswith("Vec[Never"):
            fix = "a row variable of the function's own, axis_name= for a named brand, or a Protocol for a parameter"
        self._fail(
            ERROR,
            f'vmap: argument {where + 1} is mapped, but {name} wants "{wrong[3]}" for one example',
            f'given: "{given}", which is "{inside}" for one example',
            f"try:   {fix}",
        )

    def _leave(self, inside: Type, brand: Brand) -> Type:
        """Remove the brand from the result; report an error if it cannot be removed."""
        for code, wrong in axes.axes_mismatches(self.options.out_axes, inside, "the result"):
            self._fail(code, f"out_axes: {wrong}")
        outside = self._outside(inside, brand)
        if not occurs(brand, outside):
            for where, why in unmappable(inside, self.options.out_axes, "the result", result=True):
                wrong = f"out_axes: {where} is {why}, which cannot be stacked"
                self._fail(AXIS_TYPE, wrong, "try:   None for it in out_axes")
            return outside
        name, bare = show(brand, self.api), change(inside, drop_brands(lambda b: b == brand))
        if not occurs(brand, bare):
            self._fail(
                AXES,
                f'out_axes: None for a result that varies over "{name}"',
                f'value: "{show(inside, self.api)}"',
                "try:   an int, or a reduction over the examples outside of vmap",
            )
            return bare
        self._fail(
            ESCAPE,
            f'escape: brand "{name}" of this vmap is still in the result after it',
            f'value: "{show(inside, self.api)}"',
            "try:   return tensors, or tuples, lists, dicts and dataclasses of them",
        )
        return AnyType(TypeOfAny.from_error)

    def _outside(self, inside: Type, brand: Brand | None) -> Type:
        """Return a result without the brand; numbers and arrays are stacked to tensors."""
        stacked = replace_leaves(self.scope.instance(TENSOR), STACKED)
        with_axis = self.mapped.on(inside, self.options.out_axes) if self.mapped is not None else inside
        return change(with_axis, drop_brands(lambda b: b == brand), self.options.out_axes, stacked)

    def _fail(self, code: ErrorCode, message: str, *notes: str) -> None:
        fail(self.api, self.at, code, message, *notes)

    def _names(self, f: Expression) -> Sequence[str | None]:
        """Return the names of the parameters of `f`."""
        if isinstance(f, LambdaExpr):
            return f.arg_names
        if isinstance(f, CallExpr) and f.args:  # vmap(f, ...) or partial(f, ...)
            return self._names(f.args[0])
        callables = self._callables(f)
        return callables[0].arg_names if callables else []

    def _callables(self, f: Expression) -> list[CallableType]:
        with trying(self.api):
            return signatures_of(self.api.get_expression_type(f), self.api)

    # ---- vmap(f), called later ----

    def generic(self, body: Type) -> Type | None:
        """Return the type of `vmap(f)`: the type of `f`, if `f` is generic in the mapped rows."""
        items = signatures_of(body, self.api)
        if any(f.implicit for f in items):
            self.api.note("vmap: the function has no types, so nothing is checked here", self.at, code=ERROR)
        if len(items) > 1:  # keep the overloads that accept one example
            found = []
            for f in items:
                with trying(self.api) as errors:
                    one = self._generic(f)
                found += [] if errors.has_new_errors() else one.items
            if not found:
                self._fail(CALL, "vmap: no overload of the function takes one example of what is mapped")
            return Overloaded(found) if found else AnyType(TypeOfAny.from_error)
        return self._generic(items[-1]) if items else None

    def _generic(self, f: CallableType) -> FunctionLike:
        own, brand = row_variables(f), self._named_brand()
        forget = drop_brands(lambda b: b == brand or any(b == v for v in own))
        given = self._with_axis(f)
        needed = [
            Arg(change(t, forget), ARG_NAMED if k.is_named() else ARG_POS, n if k.is_named() else None)
            for t, k, n in zip(given, f.arg_kinds, f.arg_names, strict=True)
            if k.is_required() or k == ARG_STAR or (k.is_positional() and self._has_axis(f, n))
        ]
        exact = not any(k == ARG_STAR for k in f.arg_kinds)
        self.apply(TempNode(f, context=self.at), needed, exact)
        drop = drop_brands(lambda b: b == brand)
        types = [change(t, drop) for t in given]
        return overload_plain(f.copy_modified(arg_types=types, ret_type=self._outside(f.ret_type, brand)))

    def _with_axis(self, f: CallableType) -> list[Type]:
        """Return the parameter types with the mapped axis, where the axes of one example are known."""
        name = self._named_brand()
        mapped = Mapped(self.at, self.api, self.scope, UNKNOWN if name is None else name)
        tree = get_proper_type(self.options.in_axes)
        ways: list[Type] = list(tree.items) if isinstance(tree, TupleType) else [tree] * len(f.arg_types)
        found = []
        for i, (t, k) in enumerate(zip(f.arg_types, f.arg_kinds, strict=True)):
            way = axes.tree_of(None, self.api) if k.is_named() else ways[i] if i < len(ways) else UNKNOWN
            found.append(mapped.on(t, way))
        return found

    def _has_axis(self, f: CallableType, name: str | None) -> bool:
        """Return whether in_axes has an entry for the optional parameter `name`."""
        tree = get_proper_type(self.options.in_axes)
        positional = [n for n, k in zip(f.arg_names, f.arg_kinds, strict=True) if k.is_positional()]
        return isinstance(tree, TupleType) and positional.index(name) < len(tree.items)

    def _named_brand(self) -> Brand | None:
        name = self.options.axis_name
        return class_of(self.api.get_expression_type(name)) if name is not None else None
