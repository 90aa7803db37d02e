"""The result of a mapped function: the brand is removed, and the mapped axis is inserted."""

from __future__ import annotations

from collections.abc import Sequence

from mypy.types import AnyType, Type, TypeOfAny

from branded.mypy.axes.mapped_axis import Mapped, change_axes
from branded.mypy.codes import AXES, AXIS_TYPE, ESCAPE
from branded.mypy.rows.algebra import BRAND, TENSOR, Brand, change, drop_brands, is_a, occurs, rows_in
from branded.mypy.rows.brand_env import enclosing_functions
from branded.mypy.rows.callables import Arg
from branded.mypy.rows.leaves import stack_numbers, unmappable
from branded.mypy.rows.reporting import fail, show
from branded.mypy.transforms.in_axes import axes_mismatches


def stacked_result(inside: Type, out_axes: Type, mapped: Mapped, is_told: bool) -> Type:
    """Remove the brand from the result; report an error if it cannot be removed.

    A leaf that cannot be stacked is not reported if the function already has an error, such as a read that gives a str.
    """
    context, api, brand = mapped.at, mapped.api, mapped.brand
    for code, wrong in axes_mismatches(out_axes, inside, "the result"):
        fail(api, context, code, f"out_axes: {wrong}")
    outside = without_brand(inside, brand, out_axes, mapped)
    if not occurs(brand, outside):
        leaves = [] if is_told else unmappable(inside, out_axes, "the result", result=True)
        for where, why, _ in leaves:
            wrong = f"out_axes: {where} is {why}, which cannot be stacked"
            fail(api, context, AXIS_TYPE, wrong, "try:   use out_axes=None for this result")
        return outside
    name, bare = show(brand, api), change(inside, drop_brands(lambda b: b == brand), leaf=lambda t: t)
    if not occurs(brand, bare):
        if is_told:  # such as a collective whose name is not open
            return bare
        fail(
            api,
            context,
            AXES,
            f'out_axes: None needs a result that is the same for all examples, and this one varies over "{name}"',
            f'value: "{show(inside, api)}"',
            "try:   give an int in out_axes, or sum over the examples outside of vmap",
        )
        return bare
    fail(
        api,
        context,
        ESCAPE,
        f'escape: brand "{name}" of this vmap is still in the result after it',
        f'value: "{show(inside, api)}"',
        "try:   return tensors, or tuples, lists, dicts and dataclasses of them",
    )
    return AnyType(TypeOfAny.from_error)


def without_brand(inside: Type, brand: Brand | None, out_axes: Type, mapped: Mapped) -> Type:
    """Return a result without the brand; numbers and arrays are stacked to tensors."""
    with_axis = change_axes(inside, out_axes, mapped.insert, mapped.scope)
    return stack_numbers(with_axis, drop_brands(lambda b: b == brand), out_axes, mapped.scope.instance(TENSOR))


def without_joins(inside: Type, args: Sequence[Arg], mapped: Mapped) -> Type:
    """Replace `Brand`, mypy's join of two rows, by the brands that may be in it.

    `[x][0] if short else y` is a `Vec[Brand, Tensor]` if `x` and `y` vary over different brands: of this vmap, of the
    vmaps around it, of its arguments, or of the parameters of the functions around it.
    """
    if not any(is_a(b, BRAND) for b in rows_in(inside)):
        return inside
    known = [a.type for a in args] + [t for f in enclosing_functions(mapped.api) for t in f.arg_types]
    united = [mapped.brand, *mapped.scope.open, *(b for t in known for b in rows_in(t))]
    return change(inside, lambda row: united if any(is_a(b, BRAND) for b in row) else row)
