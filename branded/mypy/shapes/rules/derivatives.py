"""Rules for derivatives of functions: the shapes of gradients and Jacobians."""

from __future__ import annotations

from mypy.nodes import Context

from branded.mypy.codes import DERIVATIVE
from branded.mypy.shapes.axes import format_axes
from branded.mypy.shapes.brands import map_leaves
from branded.mypy.shapes.rules import dtypes
from branded.mypy.shapes.state import FileState
from branded.mypy.shapes.values import (
    UNKNOWN,
    Arguments,
    Const,
    Fact,
    Shaped,
    Tuple,
    Wrapped,
    add_brands,
    as_number,
    brands_of,
    items_of,
)

NAMES = ("grad", "value_and_grad", "jacfwd", "jacrev", "hessian")
_REDUCED = "try:   reduce it, for example with .sum() or .mean()"


def derivative(run: FileState, name: str, given: Arguments, at: Context) -> Fact:
    """Return `grad(f)`, or the function that another transform in NAMES returns."""
    f, argnums = given.get(0, "f"), given.get(1, "argnums") or Const(0)
    has_aux = given.get(2, "has_aux") or Const(False)
    if f is None or not given.exact:
        return UNKNOWN
    is_gradient = name in ("grad", "value_and_grad")

    def called(more: Arguments) -> Fact:
        numbers = [argnums] if as_number(argnums) is not None else items_of(argnums)
        positions = [as_number(n) for n in numbers or ()]
        for p, x in ((p, more.positional[p]) for p in positions if p is not None and p in range(len(more.positional))):
            dtypes.check_float(run, name, x, f"argument {p + 1}", at)
        result, aux = run.call(f, more, at), None
        if has_aux != Const(False):
            result, aux = (items_of(result) or [UNKNOWN] * 2)[:2]
        _check_scalar(run, name if is_gradient else "", result, at)
        if numbers is None:
            return UNKNOWN
        each = [more.positional[p] if p is not None and -len(more.positional) <= p < len(more.positional) else UNKNOWN
                for p in positions]  # fmt: skip
        brands = brands_of(Tuple(tuple(more.all()))) | brands_of(result)
        derivatives = each if is_gradient else [jacobian(result, x) for x in each]
        if name == "hessian" and len(each) == 1:
            derivatives = [jacobian(derivatives[0], each[0])]
        elif name == "hessian":
            derivatives = [UNKNOWN] * len(each)
        derivative_value = add_brands(
            derivatives[0] if as_number(argnums) is not None else Tuple(tuple(derivatives)), brands
        )
        if name == "value_and_grad":
            return Tuple((result if aux is None else Tuple((result, aux)), derivative_value))
        return derivative_value if aux is None else Tuple((derivative_value, aux))

    return Wrapped(called, f)


def _check_scalar(run: FileState, name: str, result: Fact, at: Context) -> None:
    axes = result.axes or () if isinstance(result, Shaped) else ()
    if name and axes:
        returned = f"it returns a tensor of shape {format_axes(axes)}"
        run.report(at, DERIVATIVE, f"{name}: the function must return one float, and {returned}", _REDUCED)
    elif name:
        wrong = f"{name}: the function must return one float, and it returns {{}}"
        dtypes.reject(run, result, dtypes.NOT_FLOAT, wrong, "return a float", at, DERIVATIVE)


def jacobian(result: Fact, x: Fact) -> Fact:
    """Return the derivative of each tensor of the result with respect to each tensor of `x`."""

    def derivative_of(y: Fact) -> Fact:
        return map_leaves(x, lambda leaf: _outer_shape(y, leaf))

    return map_leaves(result, derivative_of)


def _outer_shape(y: Fact, x: Fact) -> Fact:
    if not isinstance(y, Shaped) or not isinstance(x, Shaped):
        return UNKNOWN
    axes = (*y.axes, *x.axes) if y.axes is not None and x.axes is not None else None
    return Shaped(axes, y.brands | x.brands)


def vjp(run: FileState, given: Arguments, at: Context) -> Fact:
    """Return the results of `vjp(f, *primals)`: the value of `f`, and the pullback."""
    f, *primals = given.positional or [UNKNOWN]
    if not given.exact or given.keywords:
        return UNKNOWN
    for i, x in enumerate(primals, 1):
        dtypes.check_float(run, "vjp", x, f"argument {i}", at)
    out = run.call(f, Arguments(primals), at)

    def pullback(more: Arguments) -> Fact:
        brands = brands_of(Tuple((out, *primals, *more.all())))
        return Tuple(tuple(add_brands(x, brands) for x in primals))

    return Tuple((out, Wrapped(pullback)))
