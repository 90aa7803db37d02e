"""Gradient transformations that scale and clip updates; their only state is a step count."""

from __future__ import annotations

from typing import Any, NamedTuple

from tinygrad import Tensor

from branded import tree
from branded.errors import OptionError
from branded.optim.base import (
    GradientTransformation,
    Mask,
    Number,
    Schedule,
    cast_like,
    check_state,
    global_norm,
    map_tensors,
    number,
    require_params,
    stateless,
    zero_count,
)
from branded.optim.schedules import Rate


class ScaleByScheduleState(NamedTuple):
    """The number of steps."""

    count: Any


def scale(step_size: Number) -> GradientTransformation:
    """Multiply updates by a number.

    Args:
        step_size: A number or a scalar tensor.

    Returns:
        A `GradientTransformation`.

    Raises:
        OptionError: A hyperparameter is not a number.

    Example:
        >>> from branded import optim
        >>> from tinygrad import Tensor
        >>> part = optim.scale(-2.0)
        >>> part.update(Tensor([1.0]), part.init(None))[0].tolist()
        [-2.0]

    Source: optax, `scale`.
    """
    step_size = number("scale", "step_size", step_size)
    return stateless("scale", lambda updates, _: map_tensors("scale", lambda g: g * cast_like(step_size, g), updates))


def scale_by_learning_rate(learning_rate: Rate, *, flip_sign: bool = True) -> GradientTransformation:
    """Multiply updates by `-learning_rate`, a number or a schedule.

    Args:
        learning_rate: A number, a scalar tensor (which may differ between examples), or a schedule.
        flip_sign: Whether to negate the updates, so that they reduce the loss.

    Returns:
        A `GradientTransformation`.

    Raises:
        OptionError: `learning_rate` is neither a number nor a schedule.

    Example:
        >>> from branded import optim
        >>> from tinygrad import Tensor
        >>> part = optim.scale_by_learning_rate(0.5)
        >>> part.update(Tensor([1.0]), part.init(None))[0].tolist()
        [-0.5]

    Source: optax, `scale_by_learning_rate`.
    """
    sign = -1 if flip_sign else 1
    if callable(learning_rate):
        return scale_by_schedule(lambda count: sign * learning_rate(count))
    return scale(sign * number("scale_by_learning_rate", "learning_rate", learning_rate))


def scale_by_schedule(step_size_fn: Schedule) -> GradientTransformation:
    """Multiply updates by a number that depends on the step count.

    Args:
        step_size_fn: A function of the number of completed steps, an `i32[]`.

    Returns:
        A `GradientTransformation`.

    Raises:
        OptionError: `step_size_fn` is not a function.

    Example:
        >>> from branded import optim
        >>> from tinygrad import Tensor
        >>> part = optim.scale_by_schedule(lambda count: 1.0 + count)
        >>> _, state = part.update(Tensor([1.0]), part.init(None))
        >>> part.update(Tensor([1.0]), state)[0].tolist()
        [2.0]

    Source: optax, `scale_by_schedule`.
    """
    api_name = "scale_by_schedule"
    if not callable(step_size_fn):
        raise OptionError(
            f"{api_name}: {tree.describe(step_size_fn)} is not a function",
            fix="pass a function such as lambda count: 0.1",
        )

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        count = check_state(api_name, state, ScaleByScheduleState).count
        step_size = number(api_name, "the result of the schedule", step_size_fn(count))
        return map_tensors(api_name, lambda g: g * cast_like(step_size, g), updates), ScaleByScheduleState(count + 1)

    return GradientTransformation(lambda params: ScaleByScheduleState(zero_count()), update)


def clip(max_delta: Number) -> GradientTransformation:
    """Clip each element of the updates to the range from `-max_delta` to `max_delta`.

    Args:
        max_delta: A number or a scalar tensor.

    Returns:
        A `GradientTransformation`.

    Raises:
        OptionError: A hyperparameter is not a number.

    Example:
        >>> from branded import optim
        >>> from tinygrad import Tensor
        >>> part = optim.clip(1.0)
        >>> part.update(Tensor([3.0, -0.5]), part.init(None))[0].tolist()
        [1.0, -0.5]

    Source: optax, `clip`.
    """
    max_delta = number("clip", "max_delta", max_delta)
    return stateless(
        "clip",
        lambda updates, _: map_tensors(
            "clip", lambda g: g.clip(-cast_like(max_delta, g), cast_like(max_delta, g)), updates
        ),
    )


def clip_by_global_norm(max_norm: Number) -> GradientTransformation:
    """Scale all updates by one factor so that their global norm is at most `max_norm`.

    Under `vmap`, the norm is computed for each example.

    Args:
        max_norm: A number or a scalar tensor.

    Returns:
        A `GradientTransformation`.

    Raises:
        OptionError: A hyperparameter is not a number.

    Example:
        >>> from branded import optim
        >>> from tinygrad import Tensor
        >>> part = optim.clip_by_global_norm(1.0)
        >>> [round(x, 4) for x in part.update(Tensor([3.0, 4.0]), part.init(None))[0].tolist()]
        [0.6, 0.8]

    Source: optax, `clip_by_global_norm`; Pascanu et al. 2013.
    """
    api_name, max_norm = "clip_by_global_norm", number("clip_by_global_norm", "max_norm", max_norm)

    def scaled_down(updates: Any, params: Any) -> Any:
        norm = global_norm(updates)
        return map_tensors(
            api_name, lambda g: (norm < max_norm).where(g, g / norm.cast(g.dtype) * cast_like(max_norm, g)), updates
        )

    return stateless(api_name, scaled_down)


def add_decayed_weights(weight_decay: Number = 0.0, mask: Mask = None) -> GradientTransformation:
    """Add `weight_decay` times the parameters to the updates.

    Args:
        weight_decay: A number or a scalar tensor.
        mask: A pytree of bools that selects the parameters, or a function of the parameters that returns it.

    Returns:
        A `GradientTransformation` whose update requires the parameters.

    Raises:
        OptionError: A hyperparameter is not a number.
        StateError: The update is called without the parameters.

    Example:
        >>> from branded import optim
        >>> from tinygrad import Tensor
        >>> part = optim.add_decayed_weights(0.5)
        >>> part.update(Tensor([1.0]), part.init(None), Tensor([4.0]))[0].tolist()
        [3.0]

    Source: optax, `add_decayed_weights`; Loshchilov and Hutter 2019.
    """
    api_name, weight_decay = "add_decayed_weights", number("add_decayed_weights", "weight_decay", weight_decay)
    names = ("the updates", "the params", "the mask")

    def with_decay(updates: Any, params: Any) -> Any:
        require_params(api_name, params)
        if mask is None:
            return map_tensors(api_name, lambda g, p: g + cast_like(weight_decay, p) * p, updates, params, names=names)
        selected = mask(params) if callable(mask) else mask
        return map_tensors(
            api_name,
            lambda g, p, m: m.where(g + cast_like(weight_decay, p) * p, g),
            updates,
            params,
            selected,
            names=names,
        )

    return stateless(api_name, with_decay)


def scale_by_trust_ratio(
    min_norm: Number = 0.0, trust_coefficient: Number = 1.0, eps: Number = 0.0
) -> GradientTransformation:
    """Multiply each leaf of the updates by the norm of its parameters over the norm of the leaf.

    Args:
        min_norm: A lower bound for both norms.
        trust_coefficient: A factor of the ratio.
        eps: A constant that is added to the norm of the updates.

    Returns:
        A `GradientTransformation` whose update requires the parameters.

    Raises:
        OptionError: A hyperparameter is not a number.
        StateError: The update is called without the parameters.

    Example:
        >>> from branded import optim
        >>> from tinygrad import Tensor
        >>> part = optim.scale_by_trust_ratio()
        >>> part.update(Tensor([2.0]), part.init(None), Tensor([6.0]))[0].tolist()
        [6.0]

    Source: optax, `scale_by_trust_ratio`; You et al. 2020.
    """
    api_name = "scale_by_trust_ratio"
    min_norm, eps = number(api_name, "min_norm", min_norm), number(api_name, "eps", eps)
    trust_coefficient = number(api_name, "trust_coefficient", trust_coefficient)

    def norm(x: Tensor) -> Any:
        return x.square().sum().sqrt().maximum(cast_like(min_norm, x))

    def scaled(g: Tensor, p: Tensor) -> Any:
        param_norm, update_norm = norm(p), norm(g)
        is_zero = (param_norm == 0) | (update_norm == 0)
        ratio = cast_like(trust_coefficient, p) * param_norm / (is_zero.where(1.0, update_norm) + cast_like(eps, g))
        return g * is_zero.where(1.0, ratio).cast(g.dtype)

    return stateless(
        api_name,
        lambda updates, p: map_tensors(
            api_name, scaled, updates, require_params(api_name, p), names=("the updates", "the params")
        ),
    )
