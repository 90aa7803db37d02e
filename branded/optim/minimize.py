"""Minimizers that use the gradient.

BFGS stores an approximate inverse of the Hessian.  L-BFGS stores only the last steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, NamedTuple

from tinygrad import Tensor, dtypes

from branded import tree
from branded.autodiff.api import value_and_grad
from branded.control_flow.loops import while_loop
from branded.core.validation.arguments import as_int, call_checked, check_function
from branded.errors import OptionError
from branded.linalg.orthogonal import epsilon
from branded.optim.base import S_co, T, leaf
from branded.optim.line_search import SearchResult, line_search
from branded.tree.formatting import short_repr
from branded.vec import Vec

Norm = Callable[[Tensor], Tensor]


class OptimizeResults(NamedTuple, Generic[T, S_co]):
    """The result of a minimizer, with the field names of `jax.scipy.optimize`.

    Attributes:
        x: The minimum: a pytree like `x0`.
        success: Whether the norm of the gradient is below `gtol`.
        status: 0 for success, 1 if `maxiter` was reached, 3 if no step along the line lowers the function.
        fun: The value at `x`.
        jac: The gradient at `x`: a pytree like `x0`.
        hess_inv: The approximate inverse of the Hessian over `tree.ravel(x)` with `"bfgs"`, else None.
        nfev: The number of function evaluations.
        njev: The number of gradient evaluations.
        nit: The number of steps.

    Source: `jax.scipy.optimize.OptimizeResults`.
    """

    x: T
    success: Vec[S_co]
    status: Vec[S_co]
    fun: Vec[S_co]
    jac: T
    hess_inv: Vec[S_co] | None
    nfev: Vec[S_co]
    njev: Vec[S_co]
    nit: Vec[S_co]


class _State(NamedTuple):
    """The carry of the loop over the steps of a minimizer."""

    x: Tensor
    value: Tensor
    gradient: Tensor
    inverse_hessian: tuple[Tensor, ...]
    """The approximate inverse of the Hessian, in the form that the method uses."""
    steps: Tensor
    tried: Tensor
    has_failed: Tensor


def minimize(
    fun: Callable[..., Any],
    x0: T,
    args: Sequence[Any] = (),
    *,
    method: str = "bfgs",
    tol: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> OptimizeResults[T]:
    """Find a local minimum of a function, starting from `x0`.

    Under `vmap`, each example has a separate minimum and number of steps.

    Args:
        fun: `fun(x, *args)` returns a scalar float.
        x0: The initial guess: a tensor of floats, or a pytree of them.
        args: Further arguments of `fun`.
        method: `"bfgs"` or `"l-bfgs"`.  The memory of `"bfgs"` grows quadratically with the size of `x0`, the memory of
            `"l-bfgs"` linearly.
        tol: An alias of the option `gtol`.
        options: A dict with any of these keys:
            `gtol`: The norm of the gradient below which the search ends (1e-5).
            `norm`: The order of that norm (inf).
            `maxiter`: The maximum number of steps (200 for each element of `x0`).
            `maxls`: The maximum number of points that are tried along a line (30).
            `maxcor`: The number of steps that `"l-bfgs"` stores (10).

    Returns:
        `OptimizeResults`, differentiable in forward mode only.  To differentiate the minimum in reverse mode too, apply
        `root` to the gradient of `fun`, starting from the minimum.

    Raises:
        OptionError: The method or an option is unknown or invalid.
        DerivativeError: `fun` does not return a scalar float.

    Example:
        >>> from branded import optim
        >>> from tinygrad import Tensor
        >>> def rosenbrock(x): return (1 - x[0]).square() + 100 * (x[1] - x[0].square()).square()
        >>> found = optim.minimize(rosenbrock, Tensor([-1.0, 2.0]))
        >>> found.success.item(), [round(v, 3) for v in found.x.tolist()]
        (True, [1.0, 1.0])

    Source: `jax.scipy.optimize.minimize`; Nocedal and Wright 2006, chapters 3, 6 and 7.
    """
    check_function(fun, "minimize", "minimize(fun, x0)")
    args = arguments("minimize", args)
    if not isinstance(method, str) or method.lower() not in _METHODS:
        raise OptionError(f"minimize: unknown method {short_repr(method)}", fix='method="bfgs" or "l-bfgs"')
    parsed = _Options.of(options, tol)
    x, unravel = start("minimize", x0)
    direction, update_hessian, initial_hessian = _METHODS[method.lower()](x, parsed.maxcor)

    def value(v: Tensor) -> Tensor:
        return call_checked(fun, (unravel(v), *args), {}, "minimize", "a function of x and of args")  # type: ignore[no-any-return]

    f = value_and_grad(value)
    max_steps = parsed.maxiter if parsed.maxiter is not None else 200 * max(x.shape[0], 1)

    def step(s: _State) -> _State:
        p = direction(s.inverse_hessian, s.gradient)
        p = ((p * s.gradient).sum() < 0).where(p, -s.gradient)
        # limit the first step to length 1; later directions are scaled by the approximate Hessian
        first_step = (s.steps == 0).where((1 / s.gradient.square().sum().sqrt()).minimum(1.0), 1.0)
        search = line_search(f, s.x, s.value, s.gradient, p, first_step, parsed.maxls)
        moved = search.step * p
        inverse_hessian = update_hessian(s.inverse_hessian, moved, search.gradient - s.gradient, s.steps)
        return _next_state(s, search, moved, inverse_hessian, parsed.norm)

    initial_value, gradient = f(x)
    zero = Tensor(0, dtype=dtypes.int32)
    s = while_loop(
        lambda s: (
            (parsed.norm(s.gradient) < parsed.gtol).logical_not() & (s.steps < max_steps) & s.has_failed.logical_not()
        ),
        step,
        _State(x, initial_value, gradient, initial_hessian, zero, zero + 1, Tensor(False)),
    )
    success = parsed.norm(s.gradient) < parsed.gtol
    status = success.where(0, s.has_failed.where(3, 1)).cast(dtypes.int32)
    inverse = s.inverse_hessian[0] if method.lower() == "bfgs" else None
    return OptimizeResults(
        unravel(s.x), success, status, s.value, unravel(s.gradient), inverse, s.tried, s.tried, s.steps
    )


def _next_state(
    s: _State, search: SearchResult, moved: Tensor, inverse_hessian: tuple[Tensor, ...], norm: Norm
) -> _State:
    """Return the state after a step; the step fails if it lowers neither the function nor the norm of its gradient."""
    x, g = s.x + moved, search.gradient
    # near the minimum, a step may be too short to change `x`
    is_nearer = (x != s.x).any() & ((search.value < s.value) | (norm(g) < norm(s.gradient)))
    failed = (search.is_good & is_nearer).logical_not()
    return _State(x, search.value, g, inverse_hessian, s.steps + 1, s.tried + search.tried, failed)


def arguments(api_name: str, args: Any) -> tuple[Any, ...]:
    """Return the further arguments of a function as a tuple."""
    if not isinstance(args, tuple | list):
        raise OptionError(f"{api_name}: args is {tree.describe(args)}, not a tuple", fix="args=(a,)")
    return tuple(args)


def start(api_name: str, x0: Any) -> tuple[Tensor, Callable[[Tensor], Any]]:
    """Return `x0` as one vector of floats, and the function that restores the pytree."""

    def real(x: Any) -> Tensor:
        t = leaf(api_name, x)
        return t if dtypes.is_float(t.dtype) else t.cast(dtypes.default_float)

    vector, unravel = tree.ravel(tree.map(real, x0))
    if not vector.shape[0]:
        raise OptionError(f"{api_name}: x0 has no elements", fix="pass a tensor of floats, or a pytree of these")
    return vector, unravel


class _Options(NamedTuple):
    """The options of `minimize`, with their defaults."""

    gtol: float = 1e-5
    norm: Norm = lambda g: g.abs().max()
    maxiter: int | None = None
    maxls: int = 30
    maxcor: int = 10

    @classmethod
    def of(cls, options: Mapping[str, Any] | None, tol: float | None) -> _Options:
        """Parse the options of a user; raise `OptionError` for an unknown name or an invalid value."""
        if options is not None and not isinstance(options, Mapping):
            raise OptionError(
                f"minimize: options is {tree.describe(options)}, not a dict", fix='options={"maxiter": 50}'
            )
        fields = dict(options or {})
        if unknown := [k for k in fields if k not in cls._fields]:
            raise OptionError(
                f"minimize: unknown option {short_repr(unknown[0])}", fix=f"use one of {', '.join(sorted(cls._fields))}"
            )
        for name in ("maxiter", "maxls", "maxcor"):
            if name in fields and ((n := as_int(fields[name])) is None or n < 1):
                raise OptionError(
                    f"minimize: {name}={short_repr(fields[name])} is not a number of steps", fix=f"{name}=100"
                )
        if tol is not None:
            fields.setdefault("gtol", tol)
        if not isinstance(fields.get("gtol", 0.0), int | float):
            raise OptionError(f"minimize: gtol={short_repr(fields['gtol'])} is not a number", fix="gtol=1e-4")
        order = fields.pop("norm", math.inf)
        if not isinstance(order, int | float) or not order > 0:
            raise OptionError(
                f"minimize: norm={short_repr(order)} is not the order of a norm", fix="pass 1, 2 or math.inf"
            )
        if order != math.inf:
            fields["norm"] = lambda g: g.abs().pow(order).sum() ** (1 / order)
        return cls(**fields)


def _inverse_curvature(s: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Return whether the curvature along the step `s` is positive, and its inverse (1 if it is not positive).

    `y` is the change of the gradient along the step.
    """
    curvature = (s * y).sum()
    is_positive = curvature > epsilon(s) * (s.square().sum() * y.square().sum()).sqrt()
    return is_positive, 1 / is_positive.where(curvature, 1.0)


def _bfgs(x: Tensor, count: int) -> Any:
    """Return the search direction, the update of the inverse Hessian, and the initial inverse Hessian, for BFGS.

    The inverse Hessian is a matrix.
    """
    identity = Tensor.eye(x.shape[0], dtype=x.dtype)

    def direction(inverse_hessian: tuple[Tensor], g: Tensor) -> Tensor:
        return -(inverse_hessian[0] @ g)

    def update_hessian(inverse_hessian: tuple[Tensor], s: Tensor, y: Tensor, steps: Tensor) -> tuple[Tensor]:
        is_positive, rho = _inverse_curvature(s, y)
        # the initial inverse Hessian is the identity; the first step sets its scale
        scale = is_positive.where(1 / (rho * is_positive.where(y.square().sum(), 1.0)), 1.0)
        h = (steps == 0).where(identity * scale, inverse_hessian[0])
        hy = h @ y
        cross = s.unsqueeze(1) * hy
        new = h + (rho + rho * rho * (y * hy).sum()) * s.unsqueeze(1) * s - rho * (cross + cross.transpose())
        return (is_positive.where(new, inverse_hessian[0]),)

    return direction, update_hessian, (identity,)


def _l_bfgs(x: Tensor, count: int) -> Any:
    """Return the search direction, the update of the inverse Hessian, and the initial inverse Hessian, for L-BFGS.

    The inverse Hessian is stored as the last `count` steps, the changes of the gradient, and the inverse curvatures.
    """
    rows = Tensor.zeros(count, x.shape[0], dtype=x.dtype)

    def direction(inverse_hessian: tuple[Tensor, Tensor, Tensor], g: Tensor) -> Tensor:
        steps, changes, rhos = inverse_hessian
        q, projections = g, []
        for i in reversed(range(count)):
            projections.append(rhos[i] * (steps[i] * q).sum())
            q = q - projections[-1] * changes[i]
        size = changes[-1].square().sum()
        q = q * (rhos[-1] == 0).where(1.0, 1 / (rhos[-1] * (size == 0).where(1.0, size)))
        for i, projection in zip(range(count), reversed(projections), strict=True):
            q = q + steps[i] * (projection - rhos[i] * (changes[i] * q).sum())
        return -q

    def update_hessian(inverse_hessian: Any, s: Tensor, y: Tensor, _: Tensor) -> Any:
        is_positive, rho = _inverse_curvature(s, y)
        new = (s, y, rho)
        return tuple(
            is_positive.where(old[1:].cat(x.unsqueeze(0)), old) for old, x in zip(inverse_hessian, new, strict=True)
        )

    return direction, update_hessian, (rows, rows, rows[:, 0])


_METHODS: dict[str, Callable[[Tensor, int], Any]] = {"bfgs": _bfgs, "l-bfgs": _l_bfgs}
