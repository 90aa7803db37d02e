"""Gradient transformations whose state has sums or means of the gradients or of their squares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tinygrad import Tensor, dtypes
from tinygrad.dtype import DTypeLike

from branded.optim.base import (
    GradientTransformation,
    Number,
    cast_like,
    check_state,
    identity,
    like_params,
    map_tensors,
    number,
    zero_count,
)
from branded.tinygrad_compat.private_api import least_upper_dtype


class TraceState(NamedTuple):
    """The momentum."""

    trace: Any


class ScaleByAdamState(NamedTuple):
    """The number of steps, and the means of the gradients and of their squares."""

    count: Any
    mu: Any
    nu: Any


class ScaleByLionState(NamedTuple):
    """The number of steps, and the mean of the gradients."""

    count: Any
    mu: Any


class ScaleByRmsState(NamedTuple):
    """The mean of the squares of the gradients."""

    nu: Any


class ScaleByStdDevState(NamedTuple):
    """The means of the gradients and of their squares."""

    mu: Any
    nu: Any


class ScaleByRssState(NamedTuple):
    """The sum of the squares of the gradients."""

    sum_of_squares: Any


def trace(decay: Number, nesterov: bool = False, accumulator_dtype: DTypeLike | None = None) -> GradientTransformation:
    """Add momentum: new updates are a sum of all updates so far, which is multiplied by `decay` at each step.

    Args:
        decay: A number or a scalar tensor.
        nesterov: Whether to use Nesterov momentum, which applies the next momentum step in advance.
        accumulator_dtype: The dtype of the sum; None uses the dtype of the parameters.

    Returns:
        A `GradientTransformation`.

    Raises:
        OptionError: A hyperparameter is not a number.

    Example:
        >>> from branded import optim
        >>> from tinygrad import Tensor
        >>> part = optim.trace(0.5)
        >>> _, state = part.update(Tensor([1.0]), part.init(Tensor([0.0])))
        >>> part.update(Tensor([1.0]), state)[0].tolist()
        [1.5]

    Source: optax, `trace`; Sutskever et al. 2013.
    """
    api_name, decay = "trace", number("trace", "decay", decay)

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        old = check_state(api_name, state, TraceState).trace
        new = map_tensors(api_name, lambda g, t: g + cast_like(decay, g) * t, updates, old)
        out = map_tensors(api_name, lambda g, t: g + cast_like(decay, g) * t, updates, new) if nesterov else new
        return out, TraceState(_with_dtypes_of(api_name, new, old))

    return GradientTransformation(lambda params: TraceState(like_params(api_name, params, accumulator_dtype)), update)


def scale_by_adam(
    b1: Number = 0.9,
    b2: Number = 0.999,
    eps: Number = 1e-8,
    eps_root: Number = 0.0,
    mu_dtype: DTypeLike | None = None,
    *,
    nesterov: bool = False,
) -> GradientTransformation:
    """Divide the mean of the updates by the square root of the mean of their squares, as Adam does.

    Args:
        b1: The decay of the mean of the gradients.
        b2: The decay of the mean of their squares.
        eps: A constant that is added to the root.
        eps_root: A constant that is added under the root.
        mu_dtype: The dtype of the mean of the gradients; None uses the dtype of the parameters.
        nesterov: Whether to use Nesterov momentum, which applies the next momentum step in advance.

    Returns:
        A `GradientTransformation`.

    Raises:
        OptionError: A hyperparameter is not a number.

    Example:
        >>> from branded import optim
        >>> from tinygrad import Tensor
        >>> part = optim.scale_by_adam()
        >>> [round(x, 4) for x in part.update(Tensor([5.0]), part.init(Tensor([0.0])))[0].tolist()]
        [1.0]

    Source: optax, `scale_by_adam`; Kingma and Ba 2015; Dozat 2016.
    """
    api_name = "scale_by_adam"
    b1, b2 = number(api_name, "b1", b1), number(api_name, "b2", b2)
    eps, eps_root = number(api_name, "eps", eps), number(api_name, "eps_root", eps_root)

    def init(params: Any) -> Any:
        return ScaleByAdamState(zero_count(), like_params(api_name, params, mu_dtype), like_params(api_name, params))

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        old = check_state(api_name, state, ScaleByAdamState)
        mu, nu, n = _mean(api_name, updates, old.mu, b1), _mean_square(api_name, updates, old.nu, b2), old.count + 1
        if nesterov:
            ahead, now = _correct_bias(api_name, mu, b1, n + 1), _correct_bias(api_name, updates, b1, n)
            mean = map_tensors(api_name, lambda m, g: cast_like(b1, m) * m + (1 - cast_like(b1, m)) * g, ahead, now)
        else:
            mean = _correct_bias(api_name, mu, b1, n)
        root = map_tensors(
            api_name,
            lambda v: (v + cast_like(eps_root, v)).sqrt() + cast_like(eps, v),
            _correct_bias(api_name, nu, b2, n),
        )
        out = map_tensors(api_name, lambda m, r: m / r, mean, root)
        return out, ScaleByAdamState(n, _with_dtypes_of(api_name, mu, old.mu), _with_dtypes_of(api_name, nu, old.nu))

    return GradientTransformation(init, update)


def scale_by_rms(
    decay: Number = 0.9, eps: Number = 1e-8, initial_scale: Number = 0.0, eps_in_sqrt: bool = True
) -> GradientTransformation:
    """Divide updates by the square root of the mean of their squares.

    Args:
        decay: The decay of the mean.
        eps: A constant that is added to the mean or to the root.
        initial_scale: The initial mean.
        eps_in_sqrt: Whether `eps` is added under the root.  torch adds it to the root.

    Returns:
        A `GradientTransformation`.

    Raises:
        OptionError: A hyperparameter is not a number.

    Example:
        >>> from branded import optim
        >>> from tinygrad import Tensor
        >>> part = optim.scale_by_rms(decay=0.75)
        >>> [round(x, 4) for x in part.update(Tensor([5.0]), part.init(Tensor([0.0])))[0].tolist()]
        [2.0]

    Source: optax, `scale_by_rms`; Hinton 2012.
    """
    api_name, decay = "scale_by_rms", number("scale_by_rms", "decay", decay)
    eps, initial_scale = number(api_name, "eps", eps), number(api_name, "initial_scale", initial_scale)

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        old = check_state(api_name, state, ScaleByRmsState).nu
        nu = _mean_square(api_name, updates, old, decay)
        out = map_tensors(api_name, lambda g, n: g * _inverse_root(n, eps, eps_in_sqrt), updates, nu)
        return out, ScaleByRmsState(_with_dtypes_of(api_name, nu, old))

    return GradientTransformation(
        lambda params: ScaleByRmsState(like_params(api_name, params, value=initial_scale)), update
    )


def scale_by_stddev(
    decay: Number = 0.9, eps: Number = 1e-8, initial_scale: Number = 0.0, eps_in_sqrt: bool = True
) -> GradientTransformation:
    """Divide updates by their standard deviation.

    Args:
        decay: The decay of the mean.
        eps: A constant that is added to the mean or to the root.
        initial_scale: The initial mean.
        eps_in_sqrt: Whether `eps` is added under the root.  torch adds it to the root.

    Returns:
        A `GradientTransformation`.

    Raises:
        OptionError: A hyperparameter is not a number.

    Example:
        >>> from branded import optim
        >>> from tinygrad import Tensor
        >>> part = optim.scale_by_stddev(decay=0.5)
        >>> [round(x, 4) for x in part.update(Tensor([5.0]), part.init(Tensor([0.0])))[0].tolist()]
        [2.0]

    Source: optax, `scale_by_stddev`.
    """
    api_name, decay = "scale_by_stddev", number("scale_by_stddev", "decay", decay)
    eps, initial_scale = number(api_name, "eps", eps), number(api_name, "initial_scale", initial_scale)

    def init(params: Any) -> Any:
        return ScaleByStdDevState(like_params(api_name, params), like_params(api_name, params, value=initial_scale))

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        old = check_state(api_name, state, ScaleByStdDevState)
        mu, nu = _mean(api_name, updates, old.mu, decay), _mean_square(api_name, updates, old.nu, decay)
        out = map_tensors(api_name, lambda g, m, n: g * _inverse_root(n - m * m, eps, eps_in_sqrt), updates, mu, nu)
        return out, ScaleByStdDevState(_with_dtypes_of(api_name, mu, old.mu), _with_dtypes_of(api_name, nu, old.nu))

    return GradientTransformation(init, update)


def scale_by_rss(initial_accumulator_value: Number = 0.1, eps: Number = 1e-7) -> GradientTransformation:
    """Divide updates by the square root of the sum of their squares so far, as Adagrad does.

    Args:
        initial_accumulator_value: The initial sum.
        eps: A constant that is added under the root.

    Returns:
        A `GradientTransformation`.

    Raises:
        OptionError: A hyperparameter is not a number.

    Example:
        >>> from branded import optim
        >>> from tinygrad import Tensor
        >>> part = optim.scale_by_rss(0.0)
        >>> [round(x, 4) for x in part.update(Tensor([5.0, 0.0]), part.init(Tensor([0.0, 0.0])))[0].tolist()]
        [1.0, 0.0]

    Source: optax, `scale_by_rss`; Duchi et al. 2011.
    """
    api_name = "scale_by_rss"
    eps, first = number(api_name, "eps", eps), number(api_name, "initial_accumulator_value", initial_accumulator_value)

    def init(params: Any) -> Any:
        return ScaleByRssState(like_params(api_name, params, value=first))

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        old = check_state(api_name, state, ScaleByRssState).sum_of_squares
        new = map_tensors(api_name, lambda g, t: g * g + t, updates, old)
        out = map_tensors(api_name, lambda g, t: g * (t > 0).where((t + cast_like(eps, t)).rsqrt(), 0), updates, new)
        return out, ScaleByRssState(_with_dtypes_of(api_name, new, old))

    return GradientTransformation(init, update)


def scale_by_lion(b1: Number = 0.9, b2: Number = 0.99, mu_dtype: DTypeLike | None = None) -> GradientTransformation:
    """Replace updates by the sign of their mean, as Lion does.

    Args:
        b1: The weight of the mean in the update; the gradient has the weight `1 - b1`.
        b2: The decay of the mean.
        mu_dtype: The dtype of the mean; None uses the dtype of the parameters.

    Returns:
        A `GradientTransformation`.

    Raises:
        OptionError: A hyperparameter is not a number.

    Example:
        >>> from branded import optim
        >>> from tinygrad import Tensor
        >>> part = optim.scale_by_lion()
        >>> part.update(Tensor([5.0, -0.1]), part.init(Tensor([0.0, 0.0])))[0].tolist()
        [1.0, -1.0]

    Source: optax, `scale_by_lion`; Chen et al. 2023.
    """
    api_name = "scale_by_lion"
    b1, b2 = number(api_name, "b1", b1), number(api_name, "b2", b2)

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        old = check_state(api_name, state, ScaleByLionState)
        out = map_tensors(
            api_name, lambda g, m: ((1 - cast_like(b1, g)) * g + cast_like(b1, g) * m).sign(), updates, old.mu
        )
        return out, ScaleByLionState(
            old.count + 1, _with_dtypes_of(api_name, _mean(api_name, updates, old.mu, b2), old.mu)
        )

    return GradientTransformation(lambda p: ScaleByLionState(zero_count(), like_params(api_name, p, mu_dtype)), update)


def momentum(decay: Number, nesterov: bool, dtype: DTypeLike | None = None) -> GradientTransformation:
    """Return momentum, or the identity if `decay` is None."""
    return identity() if decay is None else trace(decay, nesterov, dtype)


def _mean(api_name: str, updates: Any, old: Any, decay: Any) -> Any:
    """Update the exponential moving average of the updates."""
    return map_tensors(api_name, lambda g, m: (1 - cast_like(decay, g)) * g + cast_like(decay, g) * m, updates, old)


def _mean_square(api_name: str, updates: Any, old: Any, decay: Any) -> Any:
    """Update the exponential moving average of the squares of the updates."""
    return map_tensors(
        api_name, lambda g, m: (1 - cast_like(decay, g)) * (g * g) + cast_like(decay, g) * m, updates, old
    )


def _correct_bias(api_name: str, mean: Any, decay: Any, count: Tensor) -> Any:
    """Correct the bias of a mean that was initialized to zero."""

    def unbiased(m: Tensor) -> Any:
        exact = count.cast(least_upper_dtype(m.dtype, dtypes.float32))  # 1 - decay**n loses digits in float16
        return m / (1 - decay**exact).cast(m.dtype)

    return map_tensors(api_name, unbiased, mean)


def _inverse_root(n: Tensor, eps: Any, eps_in_sqrt: bool) -> Any:
    return (n + cast_like(eps, n)).rsqrt() if eps_in_sqrt else 1 / (n.sqrt() + cast_like(eps, n))


def _with_dtypes_of(api_name: str, new: Any, old: Any) -> Any:
    """Cast new values to the dtypes of the old values, because the carry of a loop must keep its dtypes."""
    cast: Callable[[Tensor, Tensor], Tensor] = lambda x, like: x.cast(like.dtype)  # noqa: E731
    return map_tensors(api_name, cast, new, old)
