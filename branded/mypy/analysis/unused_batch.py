"""Batches that were closed over by mistake: unbatched results, and unused parameters."""

from __future__ import annotations

from collections.abc import Iterable

from mypy.checker import TypeChecker
from mypy.nodes import CallExpr, Expression, LambdaExpr, MemberExpr, NameExpr
from mypy.types import Instance, LiteralType, NoneType, TupleType, Type, get_proper_type

from branded.mypy.analysis.source.walk import walk
from branded.mypy.axes.mapped_axis import Mapped
from branded.mypy.codes import ERROR
from branded.mypy.rows.algebra import Brand, change, has_rows, hides_brands, is_recursive, is_shared, rows_in
from branded.mypy.rows.callables import callables_of
from branded.mypy.rows.leaves import NUMBERS
from branded.mypy.rows.reporting import fail, show
from branded.mypy.transforms.example_call import ExampleCall


def report_unused_batch(example: ExampleCall, inside: Type) -> None:
    """Report a batch that a mapped function does not use, if the type `inside` of its result shows that."""
    f, args, ways, lifted, mapped = example
    if _takes_anything(f, mapped.api) or (isinstance(f, LambdaExpr) and _loses_brands(f, mapped.api)):
        return
    args_and_ways = [(a.expression, way) for a, way in zip(args, ways, strict=True)]
    if not _report_unused_parameter(f, args_and_ways, mapped):
        _report_unbatched(inside, lifted, mapped)


def _takes_anything(f: Expression, api: TypeChecker) -> bool:
    """Return whether a function has parameters of type Any: its type does not show the dependencies of the result."""
    if isinstance(f, LambdaExpr):
        return False
    signatures = callables_of(f, api)
    if isinstance(f, CallExpr):
        return not signatures  # a partial of an overloaded function
    return any(t.is_ellipsis_args or any(map(_is_anything, t.arg_types)) for t in signatures)


def _is_anything(t: Type) -> bool:
    p = get_proper_type(t)
    return hides_brands(p) or (isinstance(p, Instance) and p.type.fullname == "builtins.object")


def _loses_brands(f: LambdaExpr, api: TypeChecker) -> bool:
    """Return whether a type in a lambda's body may hide a dependency of the result.

    lambda x: Point(x).norm()   a Point without a row, made from a batched value
    lambda *xs: w + xs[0]       an operand of type Any
    lambda x: x.uop             tinygrad's graph
    """
    return any(isinstance(p, Expression) and _hides(p, api) for p in walk(f.body))


def _hides(e: Expression, api: TypeChecker) -> bool:
    t = api.lookup_type_or_none(e)
    if (isinstance(e, MemberExpr) and e.name == "uop") or (t is not None and hides_brands(t)):
        return True
    given = [api.lookup_type_or_none(a) for a in e.args] if isinstance(e, CallExpr) else []
    if t is None or not isinstance(e, CallExpr) or not any(g is not None and rows_in(g) for g in given):
        return False
    return not _describes_all(t) or _takes_anything(e.callee, api)


def _describes_all(t: Type) -> bool:
    """Return whether the type of a result shows all its brands: it has rows, or cannot hold tensors."""
    t = t if is_recursive(t) else get_proper_type(t)
    if isinstance(t, TupleType):
        is_class = t.partial_fallback.type.is_named_tuple and not has_rows(t.partial_fallback.type)
        return not is_class and all(map(_describes_all, t.items))
    plain = {*NUMBERS, "builtins.str"}
    return isinstance(t, NoneType) or bool(_certain_rows(t)) or (isinstance(t, Instance) and t.type.fullname in plain)


def _report_unbatched(inside: Type, args: Iterable[Type], mapped: Mapped) -> None:
    """Report a result that is certain to be the same for all examples."""
    context, api, brand, level = mapped.at, mapped.api, mapped.brand, mapped.scope.unvaried
    rows = _certain_rows(inside)
    if level == "off" or not rows or any(brand in row for row in rows) or not all(map(_describes_all, args)):
        return
    name = show(brand, api)
    message = f'vmap: the result does not vary over "{name}", so it is repeated for each example'
    fix = "use out_axes=None, or out_axes=0 to repeat it"
    if level == "error":
        fail(api, context, ERROR, message, f'value: "{show(inside, api)}"', f"try:   {fix}")
    else:
        api.note(f"{message}; try: {fix}", context, code=ERROR)


def _report_unused_parameter(f: Expression, args: Iterable[tuple[Expression | None, Type]], mapped: Mapped) -> bool:
    """Report a lambda that uses a batch instead of its example, and return whether it does.

    Example: `vmap(lambda x, y: x - ys)(xs, ys)`.
    """
    context, api, level = mapped.at, mapped.api, mapped.scope.unvaried
    if not isinstance(f, LambdaExpr) or level == "off":
        return False
    used = [e for e in walk(f.body) if isinstance(e, NameExpr)]
    for parameter, (arg, way) in zip(f.arguments, args, strict=False):
        batch = arg.node if isinstance(arg, NameExpr) else None
        if batch is None or is_shared(way) or any(e.node is parameter.variable for e in used):
            continue
        if any(e.node is batch for e in used) and isinstance(arg, NameExpr):
            name, fix = parameter.variable.name, "use in_axes=None if all examples share it"
            note = f"vmap: the function does not use `{name}`, but `{arg.name}`, the whole batch"
            if level == "error":
                fail(api, context, ERROR, note, f"try:   `{name}`, or {fix}")
            else:
                api.note(f"{note}; try: use `{name}`, or {fix}", context, code=ERROR)
            return True
    return False


def _certain_rows(t: Type) -> list[list[Brand]]:
    """Return the rows of a tree's tensors; an empty list if a part can hide some."""
    rows: list[list[Brand]] = []
    certain = True

    def look(row: list[Brand]) -> list[Brand]:
        rows.append(row)
        return row

    def leaf(t: Type) -> Type:
        nonlocal certain
        p = get_proper_type(t)
        p = p.fallback if isinstance(p, LiteralType) else p
        certain &= isinstance(p, NoneType) or (isinstance(p, Instance) and p.type.fullname in NUMBERS)
        return t

    for item in _flatten_tuples(t):
        change(item, look, leaf=leaf)
    return rows if certain else []


def _flatten_tuples(t: Type) -> list[Type]:
    """Return the items of nested tuples; mypy also keeps their common type."""
    if is_recursive(t):
        return [t]
    t = get_proper_type(t)
    return [i for item in t.items for i in _flatten_tuples(item)] if isinstance(t, TupleType) else [t]
