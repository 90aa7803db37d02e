"""Callable types: their signatures, synthetic calls of them, and the types that transforms return."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, Protocol

from mypy.argmap import map_actuals_to_formals
from mypy.checker import TypeChecker
from mypy.erasetype import remove_instance_last_known_values
from mypy.expandtype import expand_type
from mypy.nodes import (
    ARG_NAMED,
    ARG_POS,
    ARG_STAR,
    ARG_STAR2,
    ArgKind,
    CallExpr,
    Context,
    DictExpr,
    Expression,
    LambdaExpr,
    ListExpr,
    RefExpr,
    StrExpr,
    TempNode,
    TupleExpr,
)
from mypy.subtypes import is_subtype
from mypy.types import (
    CallableType,
    FunctionLike,
    Instance,
    Overloaded,
    TupleType,
    Type,
    TypedDictType,
    TypeVarId,
    UninhabitedType,
    UnionType,
    UnpackType,
    get_proper_type,
)

from branded.mypy.axes.types import erase_axes
from branded.mypy.codes import is_brand_code
from branded.mypy.rows.algebra import (
    CONTAINERS,
    TENSOR,
    UNKNOWN,
    VEC,
    add_brands,
    change,
    drop_brands,
    is_recursive,
    keep_row,
    row_variables,
    rows_in,
)
from branded.mypy.rows.brand_env import LAMBDA, OpenBrands
from branded.mypy.rows.reporting import add_errors, trying


class Arg(NamedTuple):
    """An argument of a call."""

    type: Type
    kind: ArgKind = ARG_POS
    name: str | None = None
    expression: Expression | None = None

    def label(self, i: int) -> str:
        """Return the name of the argument in messages, where it is the i-th one."""
        return f"argument `{self.name}`" if self.name else f"argument {i}"


def synthetic_call(f: Expression, types: Sequence[Type], args: Sequence[Arg], context: Context) -> CallExpr:
    """Build the call `f(*args)`, with arguments of these types."""
    if isinstance(f, LambdaExpr) and any(a.kind.is_star() for a in args):
        types, args = _unpack(f, types, args)
    nodes: list[Expression] = [
        a.expression if isinstance(a.expression, LambdaExpr) else TempNode(t, context=context)
        for a, t in zip(args, types, strict=True)
    ]
    call = CallExpr(f, nodes, [a.kind for a in args], [a.name for a in args])
    call.set_line(context)
    return call


def _unpack(f: LambdaExpr, types: Sequence[Type], args: Sequence[Arg]) -> tuple[list[Type], list[Arg]]:
    """Replace `*xs` and `**d` by one item for each parameter of a lambda: mypy infers the parameter as their type."""
    each = [(t, a) for t, a in zip(types, args, strict=True) if not a.kind.is_star()]
    positional = [n for n, k in zip(f.arg_names, f.arg_kinds, strict=True) if k.is_positional()]
    required = {n for n, k in zip(f.arg_names, f.arg_kinds, strict=True) if k.is_required()}
    free = positional[sum(a.kind is ARG_POS for _, a in each) :]
    found: list[tuple[Type, Arg]] = []
    for t, a in zip(types, args, strict=True):
        p = get_proper_type(t)
        if a.kind is ARG_STAR and isinstance(p, Instance) and p.type.fullname in CONTAINERS:
            found += [(p.args[0], Arg(p.args[0]))] * max(len(free), int(ARG_STAR in f.arg_kinds))
            free = []
        elif a.kind is ARG_STAR2 and isinstance(p, TypedDictType):
            found += [(i, Arg(i, ARG_NAMED, n)) for n, i in p.items.items()]
        elif a.kind is ARG_STAR2 and isinstance(p, Instance) and p.type.fullname in CONTAINERS:
            given = {*positional[: len(positional) - len(free)], *(b.name for _, b in each)}
            names = {*required, *(["**"] if ARG_STAR2 in f.arg_kinds else [])} - given
            found += [(p.args[-1], Arg(p.args[-1], ARG_NAMED, n)) for n in sorted(filter(None, names))]
        else:
            found.append((t, a))
    return [t for t, _ in found], [a for _, a in found]


def arguments_by_formal(f: CallableType | LambdaExpr, call: CallExpr, api: TypeChecker) -> list[list[Expression]]:
    """Return the arguments of a call of `f` by parameter."""
    mapping = map_actuals_to_formals(
        call.arg_kinds, call.arg_names, f.arg_kinds, f.arg_names, lambda i: api.get_expression_type(call.args[i])
    )
    return [[call.args[i] for i in actuals] for actuals in mapping]


@contextmanager
def typed_stars(f: LambdaExpr, call: CallExpr, api: TypeChecker) -> Iterator[None]:
    """Give a lambda with star-parameters its type while a call of it is checked: mypy infers Any for its parameters.

    `*xs` is a tuple of the given arguments. If all have one type, its length is not known, because a lambda may have
    an index for the case of more arguments. `**kw` with values of several types remains Any.
    """
    if not any(k.is_star() for k in f.arg_kinds) or any(k.is_star() for k in call.arg_kinds):
        yield
        return
    object_type, tuple_type = (api.named_generic_type(f"builtins.{n}", []) for n in ("object", "tuple"))
    types: list[Type] = []
    for kind, actuals in zip(f.arg_kinds, arguments_by_formal(f, call, api), strict=True):
        given = [api.get_expression_type(e) for e in actuals]
        t: Type = given[0] if len({*given}) == 1 else UNKNOWN
        if kind is ARG_STAR and len({*given}) > 1:
            t = UnpackType(TupleType(given, tuple_type))
        types.append(t)
    function = api.named_generic_type("builtins.function", [])
    f.type = CallableType(types, f.arg_kinds, f.arg_names, object_type, function)  # mypy's context of the result
    try:
        yield
    finally:
        f.type = None


def type_for(formal: Type | None, e: Expression, scope: OpenBrands, api: TypeChecker) -> Type:
    """Return the type of an argument; a display for a TypedDict has its name, and the types of its own values.

    A display for a type that contains itself has the type of that context: mypy's join of its entries is `object`.

    A transform calls the function with other types than those of the display, so mypy cannot check it in this context.
    """
    t, p = api.get_expression_type(e), get_proper_type(formal) if formal is not None else None
    is_nested = formal is not None and is_recursive(formal) and not rows_in(formal)
    if is_nested and isinstance(e, ListExpr | DictExpr | TupleExpr):
        with trying(api) as found:
            in_context = api.get_expression_type(e, type_context=formal)
        return t if found.has_new_errors() else in_context
    if isinstance(e, TupleExpr) and isinstance(p, TupleType) and len(e.items) == len(p.items):
        return TupleType(
            [type_for(f, i, scope, api) for f, i in zip(p.items, e.items, strict=True)], p.partial_fallback
        )
    if not isinstance(e, DictExpr) or not isinstance(p, TypedDictType) or rows_in(p):
        return t
    values = {k.value: v for k, v in e.items if isinstance(k, StrExpr)}
    if len(values) < len(e.items) or not p.required_keys <= values.keys() <= p.items.keys():
        return t
    types = {n: remove_instance_last_known_values(type_for(p.items[n], v, scope, api)) for n, v in values.items()}
    fits = all(is_plain_subtype(t, p.items[n], scope) for n, t in types.items())
    return p.copy_modified(item_types=[types.get(n, i) for n, i in p.items.items()]) if fits else t


def is_plain_subtype(t: Type, declared: Type, scope: OpenBrands) -> bool:
    """Return whether a type is a subtype of a declared one, apart from brands and axes."""
    plain = drop_brands(lambda _: True)
    return is_subtype(*(erase_axes(change(i, plain), scope) for i in (t, declared)))


def types_in_context(
    f: Expression, types: Sequence[Type], args: Sequence[Arg], at: Context, api: TypeChecker
) -> list[Type]:
    """Return the types of arguments whose TypedDicts have the declared items: mypy compares these for equality."""
    if isinstance(f, LambdaExpr) or not any(isinstance(get_proper_type(t), TypedDictType) for t in types):
        return list(types)
    call = synthetic_call(f, types, args, at)
    formals = formal_of_each(f, call, api)
    return [_in_context(t, formals.get(e)) for t, e in zip(types, call.args, strict=True)]


def formal_of_each(f: Expression, call: CallExpr, api: TypeChecker) -> dict[Expression, Type]:
    """Return the declared type of each argument of a call of `f`, or of `grad(f)`, if `f` has one signature."""
    while (
        isinstance(f, CallExpr)
        and isinstance(f.callee, RefExpr)
        and f.callee.fullname.startswith("branded.")
        and f.args
    ):
        f = f.args[0]  # `grad(f)` has no type of its own before its arguments are known
    callables = callables_of(f, api) if isinstance(f, RefExpr) else []
    if len(callables) != 1:
        return {}
    by_formal = zip(callables[0].arg_types, arguments_by_formal(callables[0], call, api), strict=True)
    return {e: t for t, arguments in by_formal for e in arguments}


def _in_context(t: Type, formal: Type | None) -> Type:
    p, declared = get_proper_type(t), get_proper_type(formal) if formal is not None else None
    if (
        is_recursive(t)
        or not isinstance(p, TypedDictType)
        or not isinstance(declared, TypedDictType)
        or p.items.keys() != declared.items.keys()
    ):
        wanted = add_brands(formal, rows_in(t)) if formal is not None else t
        return t if formal is None or rows_in(formal) or not is_subtype(t, wanted) else wanted
    return p.copy_modified(item_types=[_in_context(i, declared.items[n]) for n, i in p.items.items()])


class Transform(Protocol):
    """A transform from a function to a function."""

    at: Context
    api: TypeChecker
    scope: OpenBrands

    def apply(self, f: Expression, args: list[Arg]) -> Type: ...


def type_of_lambda(transform: Transform, f: LambdaExpr, numbers: Sequence[Type] = ()) -> Type | None:
    """Return the type of `vmap(lambda …)` that is called later; None if its parameters cannot be tensors of any row.

    `numbers` are types that its parameters accept in addition. Parameters with a default accept any value. Each call
    of a lambda with star-parameters checks its body.
    """
    if any(k.is_star() for k in f.arg_kinds):
        return None
    api, scope, context = transform.api, transform.scope, transform.at
    place = f"{context.line}:{context.column}{LAMBDA}"
    rows = [scope.fresh((n or "x").upper(), context, api, place=f"{place}{i}") for i, n in enumerate(f.arg_names)]
    vecs: list[Type] = [scope.instance(VEC, r, scope.instance(TENSOR)) for r in rows]
    is_optional = [k.is_optional() for k in f.arg_kinds]
    with trying(api) as errors:
        result = transform.apply(f, [Arg(v) for v, optional in zip(vecs, is_optional, strict=True) if not optional])
    told = errors.filtered_errors()
    if any(e.severity == "error" and not is_brand_code(e.code) for e in told):
        return None
    add_errors(api, told)
    function = api.named_generic_type("builtins.function", [])
    kinds = [k if optional else ARG_POS for k, optional in zip(f.arg_kinds, is_optional, strict=True)]
    types = [
        UNKNOWN if optional else UnionType([v, *numbers]) if numbers else v
        for v, optional in zip(vecs, is_optional, strict=True)
    ]
    return overload_plain(CallableType(types, kinds, list(f.arg_names), result, function, variables=rows))


CALLED = "__branded_called"
"""The attribute in which an instance of a generic class keeps its type as a callable, as mypy's partial does."""


def signatures_of(f: Type, api: TypeChecker) -> list[CallableType]:
    """Return the signatures of a callable: a function, overloaded or not, a partial, or an object with `__call__`."""
    f = get_proper_type(f)
    if isinstance(f, Instance):
        attrs = f.extra_attrs.attrs if f.extra_attrs else {}
        if CALLED in attrs or f.type.fullname == "functools.partial":
            return signatures_of(attrs.get(CALLED) or attrs.get("__mypy_partial", UNKNOWN), api)
        if f.type.has_readable_member("__call__"):
            context = TempNode(f)
            with trying(api):
                return signatures_of(api.expr_checker.analyze_external_member_access("__call__", f, context), api)
    if isinstance(f, Overloaded):
        if overload_plain(f.items[-1]) == f:
            return [f.items[-1]]
        return list(f.items)
    return [f] if isinstance(f, CallableType) else []


def callables_of(f: Expression, api: TypeChecker) -> list[CallableType]:
    """Return the signatures of a mapped function."""
    with trying(api):
        return signatures_of(api.get_expression_type(f), api)


def parameter_names(f: Expression, api: TypeChecker) -> Sequence[str | None]:
    """Return the names of the parameters of a mapped function."""
    if isinstance(f, LambdaExpr):
        return f.arg_names
    if isinstance(f, CallExpr) and f.args:  # vmap(f, ...) or partial(f, ...)
        return parameter_names(f.args[0], api)
    callables = callables_of(f, api)
    return callables[0].arg_names if callables else []


def overload_plain(f: CallableType) -> FunctionLike:
    """Return `f` as an overload: with plain tensors as arguments, it returns plain tensors."""
    empty: dict[TypeVarId, Type] = {v.id: UninhabitedType() for v in row_variables(f)}
    remaining = [v for v in f.variables if v.id not in empty]
    at_empty = expand_type(f.copy_modified(variables=remaining), empty)
    assert isinstance(at_empty, CallableType)
    first = at_empty.copy_modified(
        arg_types=[change(t, keep_row) for t in at_empty.arg_types], ret_type=change(at_empty.ret_type, keep_row)
    )
    return Overloaded([first, f]) if empty else first
