"""Collectives: a reduction removes its brand from every row; an exchange adds its brand to every row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from mypy.erasetype import remove_instance_last_known_values
from mypy.nodes import Expression, FuncDef, LambdaExpr, ListExpr, Node, StrExpr, TupleExpr, TypeInfo
from mypy.plugin import FunctionSigContext, MethodSigContext
from mypy.types import AnyType, CallableType, FunctionLike, Instance, TupleType, Type, TypeOfAny, get_proper_type

from branded.mypy.analysis.external_calls import knows_us
from branded.mypy.analysis.needed_names import needed_names
from branded.mypy.analysis.open_names import may_be_open
from branded.mypy.analysis.untyped_modules import is_untyped_module
from branded.mypy.axes.mapped_axis import Mapped, literal_axis
from branded.mypy.axes.types import erase_axes
from branded.mypy.codes import AXIS_TYPE, NAME_UNBOUND
from branded.mypy.rows.algebra import (
    BRAND,
    TENSOR,
    UNKNOWN,
    VEC,
    Brand,
    add_brands,
    change,
    drop_brands,
    each_row,
    is_a,
    is_row,
    rows_in,
)
from branded.mypy.rows.brand_env import OpenBrands, brand_name, class_of, text_of
from branded.mypy.rows.leaves import NUMBERS
from branded.mypy.rows.reporting import checker, trying
from branded.mypy.transforms.function_calls import Rule, TransformCall, unique_brands
from branded.mypy.transforms.in_axes import tree_of

COLLECTIVES_IN, EXCHANGES_IN = "branded.collectives.reductions", "branded.collectives.exchanges"
OPENED = "branded.core.brand.Opened"
FAILED = AnyType(TypeOfAny.from_error)


class _Names:
    """The axes of a collective: brands, strings, and whether all of them are known."""

    def __init__(self) -> None:
        self.brands: list[Brand] = []
        self.texts: list[str] = []
        self.are_known = True
        self.wrong: Type | None = None
        self.is_closed = False
        """Whether an error has said that a name is not the name of an open brand."""

    def add(self, t: Type) -> None:
        t = get_proper_type(t)
        if (text := text_of(t)) is not None:
            self.texts.append(text)
        elif isinstance(t, TupleType):
            for item in t.items:
                self.add(item)
        elif (brand := class_of(t)) is not None:
            if isinstance(brand, Instance) and (is_a(brand, BRAND) or not brand.type.has_base(BRAND)):
                self.wrong = t
            else:
                self.brands.append(brand)
        elif isinstance(t, Instance) and t.type.fullname == OPENED and not is_a(t.args[0], BRAND):
            self.brands.append(get_proper_type(t.args[0]))
        elif isinstance(t, Instance) and t.type.fullname in (*NUMBERS, TENSOR, VEC):
            self.wrong = t
        else:
            self.are_known = False

    def within(self, row: Iterable[Brand]) -> list[Brand]:
        """Return the brands of a row that are named.

        An unknown name, such as a string parameter, matches the brands whose name is unknown.
        """
        texts = self.texts if self.are_known else {*self.texts, ""}
        return [b for b in row if b in self.brands or brand_name(b) in texts]


def _read_names(call: TransformCall) -> _Names:
    """Read `axis_name`; report an error for an entry that cannot name an open brand.

    (Users, "i")    brands: Users, texts: "i"        a parameter `name: str`    unknown
    """
    names = _Names()
    for e in call.given.get("axis_name", ()):
        _add_name(names, e, call)
    if names.wrong is not None:
        fix = "try:   pass a subclass of Brand, the string of axis_name, or an open brand"
        call.fail(NAME_UNBOUND, f"{call.show(names.wrong)} is not the name of a brand", fix)
        names.is_closed = True
    elif call.scope.is_all_known(call.at.line, call.api):
        for text in names.texts:
            if all(brand_name(b) != text for b in call.scope.open) and not may_be_open(text, call.api):
                _report_unbound(call, repr(text))
                names.is_closed = True
    return names


def _add_name(names: _Names, e: Expression, call: TransformCall) -> None:
    """Add an entry: a string literal by its value, other expressions by their type."""
    if isinstance(e, StrExpr):
        names.texts.append(e.value)
    elif isinstance(e, TupleExpr | ListExpr):
        for item in e.items:
            _add_name(names, item, call)
    else:
        names.add(call.api.get_expression_type(e))


def _report_unbound(call: TransformCall, text: str, *facts: str) -> None:
    names = [n for b in call.scope.open if (n := brand_name(b))]
    names = [repr(n) for n in names] + [b.type.name for b in call.scope.open if isinstance(b, Instance)]
    call.fail(
        NAME_UNBOUND,
        f"no brand {text} is open here",
        *facts,
        f"open:  {', '.join(names) or 'no named brand'}",
        f"try:   use vmap(..., axis_name={text}) around it",
    )


def _are_closed(call: TransformCall, names: _Names, row: Sequence[Brand]) -> bool:
    """Report the classes of brands that are not open, and return whether there are some."""
    open_here = [*row, *call.scope.open]
    closed = [b for b in names.brands if isinstance(b, Instance) and b not in open_here]
    closed = [b for b in closed if not may_be_open(b.type.name, call.api)]
    if not closed or not call.scope.is_all_known(call.at.line, call.api):
        return False
    _report_unbound(call, closed[0].type.name)
    return True


def report_closed_names(
    ctx: FunctionSigContext | MethodSigContext, node: Node | None, scope: OpenBrands, sig: FunctionLike
) -> FunctionLike:
    """Report a name that the collectives in a called function need and that is not open.

    Returns the signature, without that name in the result: what is done with the result is correct otherwise.
    """
    api = checker(ctx)
    if not knows_us(api) or not (needs := needed_names(node, api)) or not scope.is_all_known(ctx.context.line, api):
        return sig
    with trying(api):
        rows = [
            b
            for es in ctx.args
            for e in es
            if not isinstance(e, LambdaExpr)
            for b in rows_in(api.get_expression_type(e))
        ]
    rows += rows_in(ctx.type) if isinstance(ctx, MethodSigContext) else []
    for need in needs:
        call = TransformCall(need.collective, ctx.context, api, scope, {})
        if isinstance(need.name, str):
            is_open = any(brand_name(b) == need.name for b in scope.open)
        else:
            is_open = any(isinstance(b, Instance) and b.type is need.name for b in (*scope.open, *rows))
            is_open |= not need.name.has_base(BRAND) or need.name.fullname == BRAND
            is_open |= _is_declared(need.name, ctx.default_signature) and not all(map(partial(_is_a, need.name), rows))
        if not is_open and not may_be_open(need.name if isinstance(need.name, str) else need.name.name, api):
            shown = repr(need.name) if isinstance(need.name, str) else need.name.name
            _report_unbound(call, shown, f"needs: {need.where}")
            if isinstance(sig, CallableType):
                forget = drop_brands(lambda b: isinstance(b, Instance) and b.type is need.name)
                return sig.copy_modified(ret_type=change(sig.ret_type, forget))
    return sig


def _is_a(info: TypeInfo, brand: Brand) -> bool:
    return isinstance(brand, Instance) and brand.type.has_base(info.fullname)


def _is_declared(info: TypeInfo, sig: CallableType) -> bool:
    """Return whether a parameter is declared for this brand alone, so that mypy reports arguments with others."""
    rows = [row for t in sig.arg_types for row in each_row(t)]
    return any(any(is_a(b, info.fullname) for b in row) and not any(map(is_row, row)) for row in rows)


def _open_brands(call: TransformCall, names: _Names, row: Sequence[Brand]) -> list[Brand]:
    """Return the named brands, whether the value varies over them or not."""
    brands = [*names.brands, *names.within([*row, *call.scope.open])]
    return list(dict.fromkeys(brands))


def _varying_brands(call: TransformCall, names: _Names, row: Sequence[Brand]) -> list[Brand]:
    """Return the named brands over which a result varies.

    A function of a file without rows is checked for one example: the brands of its callers are not open there.
    """
    brands = _open_brands(call, names, row)
    if not is_untyped_module(call.api.tree) or not any(isinstance(f, FuncDef) for f in call.api.scope.stack):
        return brands
    return [b for b in brands if b in row or b in call.scope.open]


def _reduce_type(call: TransformCall) -> Type:
    """Return the type of `psum(x, Users)`: `x` without the brand; `all_gather` adds it as an axis."""
    value, names = call.with_axes("x"), _read_names(call)
    if not call.are_tensors(value, "the value", AXIS_TYPE):
        return value
    number = get_proper_type(value)
    if names.is_closed:
        return FAILED
    row = unique_brands(value)
    if _are_closed(call, names, row):
        return FAILED
    if call.what == "psum" and isinstance(number, Instance) and number.type.fullname in NUMBERS - {"builtins.bool"}:
        return remove_instance_last_known_values(value)
    brands = _open_brands(call, names, row)
    call.scope.crossed += brands
    call.has_axes = True
    if call.what == "all_gather":
        value = _gather_type(call, value, names)
    return call.tensors(change(value, drop_brands(lambda b: b in brands)))


def _gather_type(call: TransformCall, value: Type, names: _Names) -> Type:
    """Add the axis of `all_gather(x, Users, axis=1)`; with `tiled` the axes are unknown."""
    way = tree_of(call.expression("axis"), call.api)
    if call.is_true("tiled") is not False or literal_axis(way) is None:
        return erase_axes(value, call.scope)
    one = names.brands[0] if len(names.brands) == 1 and not names.texts and names.are_known else UNKNOWN
    return Mapped(call.at, call.api, call.scope, one).on(value, way)


def _exchange_type(call: TransformCall) -> Type:
    """Return the type of `ppermute(x, Users, …)`: `x` with the brand."""
    call.has_axes = call.what == "ppermute"
    value, names = call.with_axes("x") if call.has_axes else call.type_of("x"), _read_names(call)
    if not call.are_tensors(value, "the value", AXIS_TYPE):
        return value
    row = unique_brands(value)
    if names.is_closed or _are_closed(call, names, row):
        return FAILED
    brands = _varying_brands(call, names, row)
    call.scope.crossed += brands
    return add_brands(call.tensors(value), brands)


def _index_type(call: TransformCall) -> Type:
    """Return the type of `axis_index(Users)`."""
    names = _read_names(call)
    if names.is_closed or _are_closed(call, names, []):
        return FAILED
    brands = _varying_brands(call, names, [])
    if len(brands) < len(names.brands):
        return call.scope.instance(TENSOR)
    all_known = names.are_known and len(brands) >= len(names.brands) + len(names.texts)
    return call.vec(brands if all_known else [*brands, UNKNOWN])


def _size_type(call: TransformCall) -> Type:
    """Return the type of `axis_size(Users)`."""
    names = _read_names(call)
    _are_closed(call, names, [])
    return call.api.named_generic_type("builtins.int", [])


COLLECTIVES: dict[str, Rule] = {
    **{f"{COLLECTIVES_IN}.{n}": _reduce_type for n in ("psum", "pmean", "pmax", "pmin", "all_gather")},
    **{f"{EXCHANGES_IN}.{n}": _exchange_type for n in ("ppermute", "all_to_all", "psum_scatter")},
    f"{COLLECTIVES_IN}.axis_index": _index_type,
    f"{COLLECTIVES_IN}.axis_size": _size_type,
}
