"""Axes of the results of functions: the functions of `branded.linalg` and `branded.functions` whose rule is certain."""

from __future__ import annotations

from mypy.plugin import FunctionContext
from mypy.types import Type

from branded.mypy.axes.calls import Known, MethodCall, Rule, axes_of_operand, call_of, placed
from branded.mypy.axes.rules import broadcast_axes, count, positions
from branded.mypy.axes.types import erased, has_axes, of_length
from branded.mypy.codes import MATRIX
from branded.mypy.rows.algebra import UNKNOWN, change, same
from branded.mypy.rows.brand_env import OpenBrands
from branded.mypy.rows.results import emptied


def of_function(ctx: FunctionContext, scope: OpenBrands, name: str) -> Type:
    """Return the result type of a function with the axes from its rule; a plain Tensor if nothing is batched."""
    t = emptied(ctx)
    if not any(has_axes(a) for given in ctx.arg_types for a in given):
        return t
    rule = FUNCTIONS.get(name)
    found = rule(call_of(ctx, scope, name.rpartition(".")[2])) if rule is not None else None
    return placed(change(erased(t, scope), same), found, scope)


def _first(call: MethodCall) -> Known:
    """Return the axes of the first argument."""
    given = next(iter(call.given.values()), [])
    return axes_of_operand(given[0][1]) if given else None


def _same(call: MethodCall) -> Known:
    """Return the axes of `expm(a)` or `lgamma(x)`: the axes of the argument."""
    return _first(call)


def _zipped(call: MethodCall) -> Known:
    """Return the axes of `logaddexp(a, b)`, broadcast from the right."""
    (a, t), (b, u) = [(axes_of_operand(given[0][1]), given[0][1]) for given in call.given.values()][:2]
    call.self_type = t
    return broadcast_axes(call, a, b, u)


def _matrix(call: MethodCall) -> Known:
    """Return the axes of the first argument; report an error if it is not a matrix."""
    axes = _first(call)
    if axes is not None and len(axes) < 2:
        given = next(iter(call.given.values()))
        call.fail(MATRIX, f"a matrix has two axes, and this has {count(axes)}", f"value: {call.show(given[0][1])}")
        return None
    return axes


def _square(call: MethodCall) -> Known:
    """Return the axes of `cholesky(a)`: the axes of `a`."""
    return _matrix(call)


def _turned(call: MethodCall) -> Known:
    """Return the axes of `inv(a)`: the axes of `a` with the last two swapped."""
    axes = _matrix(call)
    return None if axes is None else [*axes[:-2], axes[-1], axes[-2]]


def _number(call: MethodCall) -> Known:
    """Return the axes of `det(a)`: the batch axes, without the last two."""
    axes = _matrix(call)
    return None if axes is None else axes[:-2]


def _vector(call: MethodCall) -> Known:
    """Return the axes of `eigvalsh(a)`: the batch axes, and an unnamed axis of eigenvalues."""
    axes = _matrix(call)
    return None if axes is None else [*axes[:-2], UNKNOWN]


def _reduced(call: MethodCall) -> Known:
    """Return the axes of `median(a, axis, keepdims=...)`: the axes that are not reduced."""
    axes, keep = _first(call), call.flag("keepdims")
    if axes is None or keep is None:
        return None
    call.self_type = next(iter(call.given.values()))[0][1]
    if (gone := positions(call, "axis", axes)) is None:
        return None
    one = of_length(1, call.scope)
    return [one if i in gone else a for i, a in enumerate(axes) if keep or i not in gone]


MODULES = "branded.functions.", "branded.linalg."
_SPECIAL = ("lgamma", "digamma", "erfinv")
_STATISTICS = ("nansum", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd")
FUNCTIONS: dict[str, Rule] = {
    **{f"branded.functions.special.{n}": _same for n in _SPECIAL},
    **{f"branded.functions.special.{n}": _zipped for n in ("betaln", "logaddexp")},
    **{f"branded.functions.statistics.{n}": _reduced for n in _STATISTICS},
    **{f"branded.functions.quantiles.{n}": _reduced for n in ("median", "nanmedian")},
    "branded.linalg.norms.norm": _reduced,
    **{f"branded.linalg.norms.{n}": _square for n in ("expm", "matrix_power")},
    "branded.linalg.norms.trace": _number,
    "branded.linalg.solving.cholesky": _square,
    "branded.linalg.solving.inv": _turned,
    "branded.linalg.factors.pinv": _turned,
    "branded.linalg.solving.det": _number,
    "branded.linalg.factors.eigvalsh": _vector,
}
