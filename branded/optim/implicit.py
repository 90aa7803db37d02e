"""Roots and fixed points with derivatives from the implicit function theorem, not from the steps of the solver."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple

from tinygrad import Tensor, dtypes

from branded import tree
from branded.autodiff.api import jvp, stop_gradient
from branded.autodiff.custom_rules.custom_derivatives import custom_jvp
from branded.autodiff.jacobians import jacfwd
from branded.control_flow.loops import while_loop
from branded.core.tracing.closure_conversion import constants
from branded.core.validation.arguments import as_int, call_checked, check_function
from branded.errors import OptionError
from branded.graph.tags import Level, Placeholder, leaf
from branded.graph.uops import replace_ops, tensor
from branded.linalg import solve
from branded.linalg.orthogonal import epsilon
from branded.optim.base import S_co, T
from branded.optim.minimize import arguments, start
from branded.tree.formatting import short_repr
from branded.vec import Vec

Vector = Callable[[Tensor], Tensor]


class RootResults(NamedTuple, Generic[T, S_co]):
    """The result of `root` or `fixed_point`.

    Attributes:
        x: The solution: a pytree like `x0`, with derivatives of any order.
        success: Whether `x` is a solution.
        fun: The residual of the equation at `x`: a pytree like `x0`.
        nit: The number of steps.
    """

    x: T
    success: Vec[S_co]
    fun: T
    nit: Vec[S_co]


def root(
    fun: Callable[..., Any], x0: T, args: Sequence[Any] = (), *, tol: float | None = None, maxiter: int = 100
) -> RootResults[T]:
    """Find `x` near `x0` with `fun(x) = 0`, by Newton's method.

    The solution is differentiable, in forward and reverse mode, with respect to `args` and the values that `fun`
    captures.  Its derivative is `dx = -(d fun / dx)⁻¹ d fun`, by the implicit function theorem; it does not depend on
    the steps of the solver.  Under `vmap`, each example has a separate solution.

    Args:
        fun: `fun(x, *args)` returns a pytree with as many elements as `x`.
        x0: The initial guess: a tensor of floats, or a pytree of them.  The solution does not depend on it.
        args: Further arguments of `fun`.
        tol: The largest residual of an element; None uses a power of the precision (2e-5 for f32).
        maxiter: The maximum number of steps.

    Returns:
        `RootResults`.  If `success` is false, `x` is the last point, and its derivatives are meaningless.

    Raises:
        OptionError: `fun` returns another number of elements than `x` has.

    Example:
        >>> from branded import grad, optim, vmap
        >>> from tinygrad import Tensor
        >>> def cube_root(a): return optim.root(lambda x: x * x * x - a, Tensor(1.0)).x
        >>> [round(v, 4) for v in vmap(cube_root)(Tensor([1.0, 8.0, 27.0])).tolist()]
        [1.0, 2.0, 3.0]
        >>> round(grad(cube_root)(Tensor(8.0)).item(), 4)
        0.0833

    Source: `jax.lax.custom_root`; scipy, `scipy.optimize.root`.
    """
    api_name = "root"
    x, unravel, f = _equation(api_name, fun, x0, args)
    tolerance = _tolerance(api_name, x, tol, maxiter)

    def step(s: _Newton) -> _Newton:
        candidate = s.x - s.fraction * _newton(f, s.x, s.value)
        value = f(candidate)
        is_nearer = _max_norm(value) < _max_norm(s.value)
        fraction = is_nearer.where((2 * s.fraction).minimum(1.0), s.fraction / 4)
        return _Newton(is_nearer.where(candidate, s.x), is_nearer.where(value, s.value), fraction, s.steps + 1)

    def is_unfinished(s: _Newton) -> Tensor:
        return (_max_norm(s.value) > tolerance) & (s.steps < maxiter) & (s.fraction > 1e-6)

    s = while_loop(is_unfinished, step, _Newton(x, f(x), x[0].const_like(1), Tensor(0, dtype=dtypes.int32)))
    return _result(f, s.x, s.value, s.steps, tolerance, unravel)


def fixed_point(
    fun: Callable[..., Any], x0: T, args: Sequence[Any] = (), *, tol: float | None = None, maxiter: int = 1000
) -> RootResults[T]:
    """Find `x` with `fun(x) = x`, by iterating `x = fun(x)` until it no longer changes.

    The solution is differentiable as for `root`.  Under `vmap`, each example has a separate solution.

    Args:
        fun: `fun(x, *args)` returns a pytree like `x`.
        x0: The initial guess: a tensor of floats, or a pytree of them.  The solution does not depend on it.
        args: Further arguments of `fun`.
        tol: The largest change of an element at the end; None uses a power of the precision (2e-5 for f32).
        maxiter: The maximum number of steps.

    Returns:
        `RootResults`.  If `success` is false, `x` is the last point, and its derivatives are meaningless.

    Raises:
        OptionError: `fun` returns another number of elements than `x` has.

    Example:
        >>> from branded import grad, optim
        >>> from tinygrad import Tensor
        >>> def babylonian(a): return optim.fixed_point(lambda x: (x + a / x) / 2, Tensor(1.0)).x
        >>> round(babylonian(Tensor(9.0)).item(), 4), round(grad(babylonian)(Tensor(9.0)).item(), 4)
        (3.0, 0.1667)

    Source: jaxopt, `FixedPointIteration`; Christianson 1994.
    """
    api_name = "fixed_point"
    x, unravel, f = _equation(api_name, fun, x0, args)
    tolerance = _tolerance(api_name, x, tol, maxiter)
    s = while_loop(
        lambda s: (_max_norm(s.x - s.value) > tolerance) & (s.steps < maxiter),
        lambda s: _Newton(s.value, f(s.value), s.fraction, s.steps + 1),
        _Newton(x, f(x), x[0].const_like(1), Tensor(0, dtype=dtypes.int32)),
    )
    return _result(lambda v: v - f(v), s.x, s.x - s.value, s.steps, tolerance, unravel)


class _Newton(NamedTuple):
    """The carry of the loop over the steps of a solver."""

    x: Tensor
    value: Tensor
    """The value of the function at `x`."""
    fraction: Tensor
    """The fraction of a Newton step to take.  It shrinks after a step that increases the residual."""
    steps: Tensor


def _equation(
    api_name: str, fun: Callable[..., Any], x0: T, args: Sequence[Any]
) -> tuple[Tensor, Callable[[Tensor], Any], Vector]:
    """Return `x0` as a vector, the function that restores the pytree, and `fun` as a function of vectors."""
    check_function(fun, api_name, f"{api_name}(fun, x0)")
    x, unravel = start(api_name, x0)
    args = arguments(api_name, args)

    def f(v: Tensor) -> Tensor:
        result = call_checked(fun, (unravel(v), *args), {}, api_name, "a function of x and of args")
        out, _ = tree.ravel(result)
        if out.shape != x.shape:
            raise OptionError(
                f"{api_name}: the function returns {out.shape[0]} numbers, and x has {x.shape[0]}",
                ("result", tree.outline(result)),
                ("x", tree.outline(x0)),
                fix="return as many equations as unknowns",
            )
        return out.cast(x.dtype)

    return stop_gradient(x), unravel, f


def _tolerance(api_name: str, x: Tensor, tol: Any, maxiter: Any) -> float:
    """Return the tolerance as a number; raise `OptionError` if `tol` or `maxiter` is invalid."""
    if (n := as_int(maxiter)) is None or n < 0:
        raise OptionError(f"{api_name}: maxiter={short_repr(maxiter)} is not a number of steps", fix="maxiter=100")
    if tol is not None and (not isinstance(tol, int | float) or not tol > 0):
        raise OptionError(f"{api_name}: tol={short_repr(tol)} is not a number above 0", fix="tol=1e-4")
    return float(tol) if tol is not None else epsilon(x) ** (2 / 3)


def _newton(f: Vector, x: Tensor, value: Tensor) -> Any:
    """Return the Newton step `J⁻¹ value`, where J is the Jacobian of `f` at `x`.  The caller subtracts it from `x`."""
    return solve(jacfwd(f)(x), value)


def _max_norm(x: Tensor) -> Tensor:
    return x.abs().max()


def _result(
    f: Vector, x: Tensor, residual: Tensor, steps: Tensor, tolerance: float, unravel: Callable[[Tensor], Any]
) -> RootResults[Any]:
    x, residual = stop_gradient(x), stop_gradient(residual)
    success = _max_norm(residual) <= tolerance
    return RootResults(unravel(_with_derivatives(f, x, success)), success, unravel(residual), steps)


def _with_derivatives(f: Vector, x: Tensor, success: Tensor) -> Tensor:
    """Return the solution `x` of `f(x) = 0`, whose tangent solves `J dx = -df`, where J is the Jacobian of `f` at `x`.

    Only a derivative computes this system.  The rule uses the solution itself, so that its derivatives follow the same
    rule.  `df` is the tangent of `f` by the values that it captures, which become arguments of the rule:

        f(x)        x * x - a
        arguments   x, success, a
        tangent     dx = -(2 x)⁻¹ (-da)
    """
    place = leaf(x.uop, Placeholder(Level(), 0))
    graph = f(tensor(place)).uop
    captured = [u for u in constants([graph], {place}) if 0 not in u.shape]
    floats = [u for u in captured if dtypes.is_float(u.dtype)]
    others = [u for u in captured if not dtypes.is_float(u.dtype)]

    def equation(v: Tensor, values: list[Tensor], fixed: list[Tensor]) -> Tensor:
        at = dict(zip([place, *floats, *others], tree.uops([v, *values, *fixed]), strict=True))
        return tensor(replace_ops([graph], lambda _: None, at=at)[0])

    @custom_jvp
    def solution(x: Tensor, success: Tensor, values: list[Tensor], fixed: list[Tensor]) -> Tensor:
        # each argument is used: by a collective in `f`, a shared solution depends on the values of each example
        return (equation(x, values, fixed) == 0).where(x, x)

    @solution.defjvp
    def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
        x, (_, success, values, fixed) = solution(*primals), primals
        _, df = jvp(lambda values: equation(x, values, fixed), (values,), (tangents[2],))
        jacobian = jacfwd(lambda v: equation(v, values, fixed))(x)
        eye = Tensor.eye(x.shape[0], dtype=x.dtype)
        return x, -solve(success.where(jacobian, eye), success.where(df, 0))

    return solution(x, success, [tensor(u) for u in floats], [tensor(u) for u in others])
