"""Roots and fixed points, differentiated through the solution rather than through the steps of the solver."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple

from tinygrad import Tensor, dtypes

from branded import tree
from branded.autodiff.api import stop_gradient
from branded.autodiff.jacobians import jacfwd
from branded.control_flow.loops import while_loop
from branded.core.validation.arguments import as_int, call_checked, check_function
from branded.errors import OptionError
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
        x: The solution: a pytree like `x0`, with derivatives up to the third order.
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

    The solution is differentiable with respect to everything that `fun` depends on, arguments and captured values.  By
    the implicit function theorem, `dx = -(d fun / dx)⁻¹ d fun`, in both modes and for any sequence of steps.  Under
    `vmap`, each example has a separate solution.

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
    limit = _limit(api_name, x, tol, maxiter)

    def step(s: _Newton) -> _Newton:
        there = s.x - s.part * _newton(f, s.x, s.rest)
        rest = f(there)
        is_nearer = _size(rest) < _size(s.rest)
        part = is_nearer.where((2 * s.part).minimum(1.0), s.part / 4)
        return _Newton(is_nearer.where(there, s.x), is_nearer.where(rest, s.rest), part, s.steps + 1)

    def goes_on(s: _Newton) -> Tensor:
        return (_size(s.rest) > limit) & (s.steps < maxiter) & (s.part > 1e-6)

    s = while_loop(goes_on, step, _Newton(x, f(x), x[0].const_like(1), Tensor(0, dtype=dtypes.int32)))
    return _result(f, s.x, s.steps, limit, unravel)


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
    limit = _limit(api_name, x, tol, maxiter)
    s = while_loop(
        lambda s: (_size(s.x - s.rest) > limit) & (s.steps < maxiter),
        lambda s: _Newton(s.rest, f(s.rest), s.part, s.steps + 1),
        _Newton(x, f(x), x[0].const_like(1), Tensor(0, dtype=dtypes.int32)),
    )
    return _result(lambda v: v - f(v), s.x, s.steps, limit, unravel)


class _Newton(NamedTuple):
    x: Tensor
    rest: Tensor
    """The value of the function at `x`."""
    part: Tensor
    """The fraction of a step to take, which shrinks after a step that led away from the solution."""
    steps: Tensor


def _equation(
    api_name: str, fun: Callable[..., Any], x0: T, args: Sequence[Any]
) -> tuple[Tensor, Callable[[Tensor], Any], Vector]:
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


def _limit(api_name: str, x: Tensor, tol: Any, maxiter: Any) -> float:
    if (n := as_int(maxiter)) is None or n < 0:
        raise OptionError(f"{api_name}: maxiter={short_repr(maxiter)} is not a number of steps", fix="maxiter=100")
    if tol is not None and (not isinstance(tol, int | float) or not tol > 0):
        raise OptionError(f"{api_name}: tol={short_repr(tol)} is not a number above 0", fix="tol=1e-4")
    return float(tol) if tol is not None else epsilon(x) ** (2 / 3)


def _newton(f: Vector, x: Tensor, rest: Tensor) -> Any:
    """Return the Newton step `J⁻¹ rest`, to be subtracted from `x`."""
    return solve(jacfwd(f)(x), rest)


def _size(x: Tensor) -> Tensor:
    return x.abs().max()


def _result(f: Vector, x: Tensor, steps: Tensor, limit: float, unravel: Callable[[Tensor], Any]) -> RootResults[Any]:
    """Return the solution with its derivatives, computed from two Newton steps that begin at a constant.

    A step from a solution `f(x, a) = 0` leads to `x - J⁻¹ f(x, a)`.  It does not move `x`, and it has the derivative of
    the solution with respect to `a`.  If `a` changes by `d`, its error is of order d², and after a second step d⁴.
    """
    x = stop_gradient(x)
    success = stop_gradient(_size(f(x)) <= limit)
    for _ in range(2):
        move = _newton(f, x, f(x))
        is_there = stop_gradient(success & move.isnan().logical_not() & move.isinf().logical_not())
        x = x - is_there.where(move, 0)
    return RootResults(unravel(x), success, unravel(f(x)), steps)
