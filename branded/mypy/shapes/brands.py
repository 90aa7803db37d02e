"""Reads, conditions and escapes of values that are certain to be batched."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from mypy.errorcodes import ErrorCode
from mypy.nodes import (
    ARG_OPT,
    ARG_POS,
    CallExpr,
    ComparisonExpr,
    Context,
    Expression,
    MemberExpr,
    NameExpr,
    OpExpr,
    Var,
)
from mypy.types import Type

from branded.mypy.analysis.reads import METHODS, PLAIN_FIX, READ_TEXT, TEXTS
from branded.mypy.analysis.source.conditions import call_fix, truth_fix
from branded.mypy.axes.types import known_length
from branded.mypy.codes import AXES, ESCAPE, OPERAND, READ
from branded.mypy.rows.algebra import row_of
from branded.mypy.shapes.axes import format_axes
from branded.mypy.shapes.other_files import path_of
from branded.mypy.shapes.rules.special_methods import TRUTH, first_special
from branded.mypy.shapes.state import FileState
from branded.mypy.shapes.values import (
    NONE,
    Arguments,
    Class,
    Const,
    Fact,
    FollowedBrand,
    Function,
    LibraryName,
    Mutable,
    Number,
    Shaped,
    Size,
    Tuple,
    Wrapped,
    brands_of,
    change_leaves,
    is_number,
    is_tree,
    items_of,
)

READS = {*METHODS} - {"backward"}
BY_CALL = ("float", "int")
"""Functions for which a method of tensors is the fix."""
TO_NUMPY = ("numpy", "__array__", "item", "tolist")
"""Methods of tensors that return a value with a truth value."""
UNBATCHED = {f"{name}_like" for name in ("zeros", "ones", "full", "rand", "randn", "empty", "const")}
"""Methods that use the shape and the dtype of a tensor only."""


def open_brand(
    run: FileState, f: Fact, name: Fact | None, at: Context, loop: str = "", first: int = 0
) -> FollowedBrand:
    """Return the brand that a vmap or a loop opens around a function, whose argument `first` is batched."""
    label = loop or label_of(name)
    if not label:
        stem, used = parameter_name(f, first), {b.label for b in run.opened}
        label = next(n for n in itertools.chain([stem], (f"{stem}{i}" for i in itertools.count(2))) if n not in used)
    return FollowedBrand(label, at, len(run.opened), loop, name or NONE)


def label_of(name: Fact | None) -> str:
    """Return the text of an `axis_name`, or an empty text if it is unknown."""
    return name.info.name if isinstance(name, Class) else str(getattr(name, "value", None) or "")


def parameter_name(f: Fact, position: int) -> str:
    """Return the name of the parameter for an argument of a call, or "example" if it is unknown."""
    while isinstance(f, Wrapped) and f.inner is not None:
        position, f = position + f.bound, f.inner
    if not isinstance(f, Function):
        return "example"
    given = f.node.arguments[len(f.bound) + position :]
    return given[0].variable.name if given and given[0].kind in (ARG_POS, ARG_OPT) else "example"


def check_read(
    run: FileState, value: Fact, kind: str, at: Context, code: ErrorCode = READ, known_fix: str | None = None
) -> None:
    """Report `x.item()`, `float(x)` or `if x` for a tensor with brands."""
    if not (brands := brands_of(value)):
        return
    known = sorted(brands, key=lambda b: b.depth)
    if closed := [b for b in known if run.opened[b.depth : b.depth + 1] != [b]]:
        wrong = f'{kind}: this value belongs to "{closed[0].label}", which is closed'
        stored = run.stored_at.get(closed[0], frozenset())
        run.report(at, ESCAPE, wrong, "try:   return it from the mapped function", stored=stored)
    elif loops := [b.loop for b in known if b.loop]:
        wrong = f"{kind}: in the body of {loops[-1]} there is no value to read: it is traced once, for all steps"
        fix = "use cond, where or while_loop instead of `if` and `while`, or return the value and read it outside"
        run.report(at, READ, wrong, f"try:   {fix}")
    else:
        says, fix = TEXTS.get(kind, READ_TEXT)
        fix = known_fix or (kind in BY_CALL and call_fix(path_of(at) or run.api.path, at)) or fix
        names = " and ".join(f'"{b.label}"' for b in known)
        opened = [f"{b.label}: opened by vmap at {run.describe_place(b.at)}" for b in known]
        run.report(at, code, f"{kind}: {says.format(names)}", *opened, f"try:   {fix}")


def check_truth(run: FileState, value: Fact, at: Context) -> Fact:
    """Report the truth value of a tensor with brands; return the value whose truth Python asks for."""
    if not isinstance(value, Shaped):
        result = first_special(run, value, TRUTH, at)
        return value if result is None else result
    if value.brands:
        check_read(run, value, "bool", at, OPERAND, truth_fix(path_of(at) or run.api.path, at))
    elif run.declared_only:
        return value
    elif isinstance(at, Expression) and _is_tensor(run, at):
        run.report(at, READ, "bool: a tensor has no truth value", PLAIN_FIX)
    elif any((known_length(a) or 0) > 1 for a in value.axes or ()):
        fix = "try:   `is not None` for an argument that may be None; x.all().item() or x.any().item() for its elements"
        given = f"given: shape {format_axes(value.axes or ())}"
        run.report(at, OPERAND, "bool: a tensor with more than one element has no truth value", given, fix)
    return value


def check_iterable(run: FileState, value: Fact, at: Context) -> None:
    """Report a loop over a tensor without axes."""
    if isinstance(value, Shaped) and value.axes == () and not run.declared_only:
        run.report(at, READ, "iter: a 0-d tensor has nothing to iterate over")


def _is_tensor(run: FileState, e: Expression) -> bool:
    """Return whether an expression is a tensor, not an array of numpy: mypy may not have checked its function yet."""
    match e:
        case NameExpr(node=Var(type=Type() as declared)):
            return row_of(declared) is not None
        case ComparisonExpr():
            return any(_is_tensor(run, o) for o in e.operands)
        case OpExpr():
            return _is_tensor(run, e.left) or _is_tensor(run, e.right)
        case CallExpr(callee=MemberExpr() as method):
            return method.name not in TO_NUMPY and _is_tensor(run, method.expr)
    t = run.api.lookup_type_or_none(e) if path_of(e) is None else None
    return t is not None and row_of(t) is not None


def with_brand(value: Fact, brand: FollowedBrand) -> Fact:
    """Return a tree whose tensors have a brand."""

    def leaf(x: Fact) -> Fact:
        if isinstance(x, Shaped):
            return Shaped(x.axes, x.brands | {brand}, "int" if x.dtype == "weakint" else x.dtype)
        return Shaped((), frozenset({brand})) if isinstance(x, Const | Size | Number) and is_number(x) else x

    return map_leaves(value, leaf)


def close_brand(value: Fact, brand: FollowedBrand) -> Fact:
    """Return a value without a brand."""
    return map_leaves(value, lambda x: x.with_brands(x.brands - {brand}) if isinstance(x, Shaped) else x)


def map_leaves(value: Fact, leaf: Callable[[Fact], Fact]) -> Fact:
    """Return a tree with other leaves."""
    if isinstance(value, Tuple):
        return Tuple(tuple(map_leaves(item, leaf) for item in value.items))
    if isinstance(value, Mutable) and value.items is not None and is_tree(value):
        return change_leaves(value, value.items, lambda _, item: map_leaves(item, leaf))
    return leaf(value)


def check_unmapped_results(run: FileState, value: Fact, way: Fact, brand: FollowedBrand, at: Context) -> None:
    """Report a result with the brand where `out_axes` is None."""
    if way == NONE:
        if brand in brands_of(value):
            same = "out_axes: None needs a result that is the same for all examples"
            wrong = f'{same}, and this one varies over "{brand.label}"'
            run.report(at, AXES, wrong, "try:   give an int in out_axes, or sum over the examples outside of vmap")
        return
    if isinstance(way, Mutable) and way.kind == "dict" and isinstance(value, Mutable):
        held, ways = value.items or {}, way.items or {}
        pairs = [(held[k], ways[k]) for k in held if k in ways]
    else:
        pairs = list(zip(items_of(value) or (), items_of(way) or (), strict=False))
    for item, inner in pairs:
        check_unmapped_results(run, item, inner, brand, at)


def report_kept(run: FileState, brand: FollowedBrand, outside: Mutable, first: int) -> None:
    """Report values that lists, dicts and objects, made before `outside`, keep after their brand is closed."""
    run.stored_at[brand] = frozenset(at.line for _, _, at in run.stores[first:] if path_of(at) is None)
    for owner, key, at in run.stores[first:]:
        if owner.number < outside.number and _holds((owner.items or {}).get(key), brand, set()):
            kind = f"{brand.loop}, which is traced once for all steps" if brand.loop else "vmap"
            wrong = f'escape: a value of "{brand.label}" is kept after its {kind}'
            fix = "try:   return it from the body" if brand.loop else "try:   return it from the mapped function"
            run.report(at, ESCAPE, wrong, fix, vmap=brand.at)
    if not run.opened:
        run.stores.clear()


def _holds(value: Fact | None, brand: FollowedBrand, seen: set[int]) -> bool:
    """Return whether a value holds a tensor with a brand, also in the attributes of an object."""
    if not isinstance(value, Mutable) or id(value) in seen:
        return brand in brands_of(value)
    seen.add(id(value))
    return any(_holds(item, brand, seen) for item in (value.items or {}).values())


def of_collective(name: str, given: Arguments) -> Fact:
    """Return the value of `psum(x, name)` and similar functions, without the brands that they certainly remove."""
    x, axis = given.positional[0], given.get(1, "axis_name") or NONE
    if name == "stop_gradient":
        return x
    wanted = items_of(axis) or [axis]
    left = brands_of(x)
    for one in wanted:
        matches = {b for b in left if is_name(b.name, one)}
        left = left - matches if matches else frozenset()
    for brand in brands_of(x) - left:
        x = close_brand(x, brand)
    return x


def is_name(opened: Fact, name: Fact) -> bool:
    """Return whether a collective names the brand of a vmap."""
    if isinstance(opened, Class) and isinstance(name, Class):
        return opened.info is name.info
    return opened == name and not isinstance(opened, Class | LibraryName) and opened != NONE
