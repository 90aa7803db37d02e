"""Axes of the results of functions: the functions of `branded.linalg` and `branded.functions` whose rule is certain."""

from __future__ import annotations

from mypy.plugin import FunctionContext
from mypy.types import Type

from branded.mypy.axes.calls import Known, MethodCall, Rule, axes_of_operand, place_axes, read_method_call
from branded.mypy.axes.rules import broadcast_axes, length_text, reduce_axes
from branded.mypy.axes.types import erase_axes, has_axes
from branded.mypy.codes import MATRIX
from branded.mypy.rows.algebra import UNKNOWN, change, keep_row
from branded.mypy.rows.brand_env import OpenBrands
from branded.mypy.rows.results import plain_result


def function_result(ctx: FunctionContext, scope: OpenBrands, name: str) -> Type:
    """Return the result type of a function with the axes from its rule; a plain Tensor if nothing is batched."""
    t = plain_result(ctx)
    if not any(has_axes(a) for types in ctx.arg_types for a in types):
        return t
    rule = FUNCTIONS.get(name)
    axes = rule(read_method_call(ctx, scope, name.rpartition(".")[2])) if rule is not None else None
    return place_axes(change(erase_axes(t, scope), keep_row), axes, scope)


def _first_axes(call: MethodCall) -> Known:
    """Return the axes of the first argument, which are those of `lgamma(x)`."""
    actuals = next(iter(call.given.values()), [])
    return axes_of_operand(actuals[0][1]) if actuals else None


def _broadcast_arguments(call: MethodCall) -> Known:
    """Return the axes of `logaddexp(a, b)`, broadcast from the right."""
    (a, t), (b, u) = [(axes_of_operand(actuals[0][1]), actuals[0][1]) for actuals in call.given.values()][:2]
    call.self_type = t
    return broadcast_axes(call, a, b, u)


def _matrix_axes(call: MethodCall) -> Known:
    """Return the axes of the first argument, as of `cholesky(a)`; report an error if it is not a matrix."""
    axes = _first_axes(call)
    if axes is not None and len(axes) < 2:
        actuals = next(iter(call.given.values()))
        call.fail(
            MATRIX, f"a matrix has two axes, and this has {length_text(axes)}", f"value: {call.show(actuals[0][1])}"
        )
        return None
    return axes


def _inverse_axes(call: MethodCall) -> Known:
    """Return the axes of `inv(a)`: the axes of `a` with the last two swapped."""
    axes = _matrix_axes(call)
    return None if axes is None else [*axes[:-2], axes[-1], axes[-2]]


def _batch_axes(call: MethodCall) -> Known:
    """Return the axes of `det(a)`: the batch axes, without the last two."""
    axes = _matrix_axes(call)
    return None if axes is None else axes[:-2]


def _eigenvalue_axes(call: MethodCall) -> Known:
    """Return the axes of `eigvalsh(a)`: the batch axes, and an unnamed axis of eigenvalues."""
    axes = _matrix_axes(call)
    return None if axes is None else [*axes[:-2], UNKNOWN]


def _reduce_axes(call: MethodCall) -> Known:
    """Return the axes of `median(a, axis, keepdims=...)`, as for the methods of `a`."""
    if _first_axes(call) is None:
        return None
    call.self_type = next(iter(call.given.values()))[0][1]
    return reduce_axes(call, "keepdims")


MODULES = "branded.functions.", "branded.linalg."
_SPECIAL = ("lgamma", "digamma", "erfinv")
_STATISTICS = ("nansum", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd")
FUNCTIONS: dict[str, Rule] = {
    **{f"branded.functions.special.{n}": _first_axes for n in _SPECIAL},
    **{f"branded.functions.special.{n}": _broadcast_arguments for n in ("betaln", "logaddexp")},
    **{f"branded.functions.statistics.{n}": _reduce_axes for n in _STATISTICS},
    **{f"branded.functions.quantiles.{n}": _reduce_axes for n in ("median", "nanmedian")},
    "branded.linalg.norms.norm": _reduce_axes,
    **{f"branded.linalg.norms.{n}": _matrix_axes for n in ("expm", "matrix_power")},
    "branded.linalg.norms.trace": _batch_axes,
    "branded.linalg.solving.cholesky": _matrix_axes,
    "branded.linalg.solving.inv": _inverse_axes,
    "branded.linalg.factors.pinv": _inverse_axes,
    "branded.linalg.solving.det": _batch_axes,
    "branded.linalg.factors.eigvalsh": _eigenvalue_axes,
}
