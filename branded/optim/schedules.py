"""Schedules: functions that return a hyperparameter for a step count."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tinygrad import Tensor, dtypes

from branded import tree
from branded.core.validation.arguments import as_int
from branded.errors import OptionError
from branded.optim.base import Number, Schedule, number


def _as_float_count(count: Any) -> Tensor:
    if (t := tree.as_tensor(count)) is None:
        raise OptionError(
            f"schedule: {tree.describe(count)} is not a number of steps", fix="pass an int, or a tensor i32[]"
        )
    return t.cast(dtypes.float32)


def _check_steps(api_name: str, name: str, n: Any) -> int:
    if (steps := as_int(n)) is None or steps < 1:
        raise OptionError(
            f"{api_name}: {name}={tree.short_repr(n)} is not a number of steps", fix="pass an int of 1 or more"
        )
    return steps


def _check_begin(api_name: str, n: Any) -> int:
    if (steps := as_int(n)) is None:
        raise OptionError(
            f"{api_name}: transition_begin={tree.short_repr(n)} is not a number of steps", fix="pass an int"
        )
    return max(steps, 0)


def constant_schedule(value: Number) -> Schedule:
    """Return a schedule with the same number at each step.

    Args:
        value: A number or a scalar tensor.

    Returns:
        A schedule: a function from the step count to a number.

    Raises:
        OptionError: `value` is not a number.

    Example:
        >>> from branded import optim
        >>> optim.constant_schedule(0.1)(7)
        0.1

    Source: optax, `constant_schedule`.
    """
    number("constant_schedule", "value", value)
    return lambda count: value


def polynomial_schedule(
    init_value: Number, end_value: Number, power: Number, transition_steps: int, transition_begin: int = 0
) -> Schedule:
    """Return a schedule from `init_value` to `end_value` along a power of the fraction of steps that remain.

    Args:
        init_value: The number until `transition_begin`.
        end_value: The number from `transition_begin + transition_steps` on.
        power: The exponent: 1 gives a line, 2 a parabola.
        transition_steps: The number of steps of the transition.
        transition_begin: The first step of the transition.

    Returns:
        A schedule: a function from the step count to a number.

    Raises:
        OptionError: A value is not a number, or `transition_steps` is not positive.

    Example:
        >>> from branded import optim
        >>> [optim.polynomial_schedule(1.0, 0.0, 2, 2)(i).item() for i in range(3)]
        [1.0, 0.25, 0.0]

    Source: optax, `polynomial_schedule`.
    """
    return _polynomial("polynomial_schedule", init_value, end_value, power, transition_steps, transition_begin)


def _polynomial(
    api_name: str, init_value: Number, end_value: Number, power: Number, transition_steps: Any, transition_begin: Any
) -> Schedule:
    init_value, end_value = number(api_name, "init_value", init_value), number(api_name, "end_value", end_value)
    n, begin = _check_steps(api_name, "transition_steps", transition_steps), _check_begin(api_name, transition_begin)
    power = number(api_name, "power", power)

    def schedule(count: Any) -> Any:
        remaining = (1 - (_as_float_count(count) - begin).clip(0, n) / n).maximum(0)
        return (init_value - end_value) * (remaining if power == 1 else remaining**power) + end_value

    return schedule


def linear_schedule(
    init_value: Number, end_value: Number, transition_steps: int, transition_begin: int = 0
) -> Schedule:
    """Return a linear schedule from `init_value` to `end_value`.

    Args:
        init_value: The number until `transition_begin`.
        end_value: The number from `transition_begin + transition_steps` on.
        transition_steps: The number of steps of the transition.
        transition_begin: The first step of the transition.

    Returns:
        A schedule: a function from the step count to a number.

    Raises:
        OptionError: A value is not a number, or `transition_steps` is not positive.

    Example:
        >>> from branded import optim
        >>> [optim.linear_schedule(0.0, 1.0, 4)(i).item() for i in (0, 1, 4, 9)]
        [0.0, 0.25, 1.0, 1.0]

    Source: optax, `linear_schedule`.
    """
    return _polynomial("linear_schedule", init_value, end_value, 1, transition_steps, transition_begin)


def exponential_decay(
    init_value: Number,
    transition_steps: int,
    decay_rate: Number,
    transition_begin: int = 0,
    staircase: bool = False,
    end_value: Number | None = None,
) -> Schedule:
    """Return the schedule `init_value * decay_rate ** (count / transition_steps)`.

    Args:
        init_value: The number until `transition_begin`.
        transition_steps: The number of steps after which the value is multiplied by `decay_rate`.
        decay_rate: A number above 0.
        transition_begin: The first step of the transition.
        staircase: Whether the value stays constant for each `transition_steps` steps.
        end_value: The value at which the decay stops.

    Returns:
        A schedule: a function from the step count to a number.

    Raises:
        OptionError: A value is not a number, `transition_steps` is not positive, or `decay_rate` is not above 0.

    Example:
        >>> from branded import optim
        >>> [round(optim.exponential_decay(1.0, 2, 0.25)(i).item(), 4) for i in range(3)]
        [1.0, 0.5, 0.25]

    Source: optax, `exponential_decay`.
    """
    return _exponential(
        "exponential_decay", init_value, transition_steps, decay_rate, transition_begin, staircase, end_value
    )


def _exponential(
    api_name: str,
    init_value: Number,
    transition_steps: Any,
    decay_rate: Number,
    transition_begin: Any,
    staircase: bool,
    end_value: Number | None,
) -> Schedule:
    init_value, n = (
        number(api_name, "init_value", init_value),
        _check_steps(api_name, "transition_steps", transition_steps),
    )
    rate, begin = number(api_name, "decay_rate", decay_rate), _check_begin(api_name, transition_begin)
    end_value = None if end_value is None else number(api_name, "end_value", end_value)
    if isinstance(rate, int | float) and rate <= 0:
        raise OptionError(f"{api_name}: decay_rate={rate} is not above 0", fix="decay_rate=0.9")

    def schedule(count: Any) -> Any:
        done = _as_float_count(count) - begin
        p = (done / n).floor() if staircase else done / n
        value = (done <= 0).where(init_value, init_value * rate**p)
        if end_value is None:
            return value
        return value.maximum(end_value) if rate < 1 else value.minimum(end_value)

    return schedule


def cosine_decay_schedule(init_value: Number, decay_steps: int, alpha: Number = 0.0, exponent: float = 1.0) -> Schedule:
    """Return a schedule from `init_value` to `alpha * init_value` along half a cosine wave.

    Args:
        init_value: The initial number.
        decay_steps: The number of steps of the decay.
        alpha: The final fraction of `init_value`.
        exponent: The power to which the cosine is raised.

    Returns:
        A schedule: a function from the step count to a number.

    Raises:
        OptionError: A value is not a number, or `decay_steps` is not positive.

    Example:
        >>> from branded import optim
        >>> [round(optim.cosine_decay_schedule(1.0, 4)(i).item(), 4) for i in (0, 2, 4)]
        [1.0, 0.5, 0.0]

    Source: optax, `cosine_decay_schedule`; Loshchilov and Hutter 2017, SGDR.
    """
    return _cosine("cosine_decay_schedule", init_value, decay_steps, alpha, exponent)


def _cosine(api_name: str, init_value: Number, decay_steps: Any, alpha: Number, exponent: Any) -> Schedule:
    init_value, alpha = number(api_name, "init_value", init_value), number(api_name, "alpha", alpha)
    n, exponent = _check_steps(api_name, "decay_steps", decay_steps), number(api_name, "exponent", exponent)

    def schedule(count: Any) -> Any:
        wave = 0.5 * (1 + (math.pi * _as_float_count(count).minimum(n) / n).cos())
        return init_value * ((1 - alpha) * (wave if exponent == 1 else wave**exponent) + alpha)

    return schedule


def join_schedules(schedules: Sequence[Schedule], boundaries: Sequence[int]) -> Schedule:
    """Return a schedule that uses several schedules one after the other.

    Each schedule counts its steps from its own beginning.

    Args:
        schedules: Functions of the step count.
        boundaries: The steps at which all schedules but the first begin.

    Returns:
        A schedule: a function from the step count to a number.

    Raises:
        OptionError: The number of boundaries is not one less than the number of schedules, or
            either is not a list.

    Example:
        >>> from branded import optim
        >>> joined = optim.join_schedules([optim.constant_schedule(1.0), optim.linear_schedule(2.0, 4.0, 2)], [3])
        >>> [joined(i).item() for i in (2, 3, 4, 5)]
        [1.0, 2.0, 3.0, 4.0]

    Source: optax, `join_schedules`.
    """
    for name, x, fix in (("schedules", schedules, "[warmup, decay]"), ("boundaries", boundaries, "[100]")):
        if not hasattr(x, "__len__"):
            raise OptionError(f"join_schedules: {name} is {tree.describe(x)}, not a list", fix=f"{name}={fix}")
    if odd := [s for s in schedules if not callable(s)]:
        raise OptionError(
            f"join_schedules: {tree.describe(odd[0])} is not a schedule", fix="pass functions of a step count"
        )
    starts = [_check_boundary(i, b) for i, b in enumerate(boundaries, 1)]
    if len(boundaries) != len(schedules) - 1:
        raise OptionError(
            f"join_schedules: {len(boundaries)} boundaries for {len(schedules)} schedules",
            fix="give one boundary less than schedules",
        )

    def schedule(count: Any) -> Any:
        steps = _as_float_count(count)
        value = schedules[0](count)
        for boundary, later in zip(starts, schedules[1:], strict=True):
            value = (steps < boundary).where(value, later(steps - boundary))
        return value

    return schedule


def _check_boundary(position: int, x: Any) -> Any:
    if (t := tree.as_tensor(x)) is None or t.shape:
        raise OptionError(
            f"join_schedules: boundary {position} is {tree.describe(x)}, not a number of steps", fix="boundaries=[100]"
        )
    return x


def warmup_cosine_decay_schedule(
    init_value: Number,
    peak_value: Number,
    warmup_steps: int,
    decay_steps: int,
    end_value: Number = 0.0,
    exponent: float = 1.0,
) -> Schedule:
    """Return a schedule with a linear warm-up to `peak_value` and then a cosine decay.

    Args:
        init_value: The initial number.
        peak_value: The number after the warm-up.
        warmup_steps: The number of steps of the warm-up.
        decay_steps: The total number of steps, including the warm-up.
        end_value: The final number.
        exponent: The power to which the cosine is raised.

    Returns:
        A schedule: a function from the step count to a number.

    Raises:
        OptionError: A value is not a number, or `decay_steps` is not more than `warmup_steps`.

    Example:
        >>> from branded import optim
        >>> warm = optim.warmup_cosine_decay_schedule(0.0, 1.0, 2, 6)
        >>> [round(warm(i).item(), 4) for i in (0, 1, 2, 4, 6)]
        [0.0, 0.5, 1.0, 0.5, 0.0]

    Source: optax, `warmup_cosine_decay_schedule`.
    """
    api_name = "warmup_cosine_decay_schedule"
    n, total = _check_steps(api_name, "warmup_steps", warmup_steps), _check_steps(api_name, "decay_steps", decay_steps)
    if total <= n:
        raise OptionError(
            f"{api_name}: decay_steps={total} is not more than warmup_steps={n}",
            fix="pass the steps of warmup and decay together",
        )
    peak = number(api_name, "peak_value", peak_value)
    decay = _cosine(api_name, peak, total - n, _divide(number(api_name, "end_value", end_value), peak), exponent)
    return join_schedules([_polynomial(api_name, init_value, peak, 1, n, 0), decay], [n])


def warmup_exponential_decay_schedule(
    init_value: Number,
    peak_value: Number,
    warmup_steps: int,
    transition_steps: int,
    decay_rate: Number,
    transition_begin: int = 0,
    staircase: bool = False,
    end_value: Number | None = None,
) -> Schedule:
    """Return a schedule with a linear warm-up to `peak_value` and then `exponential_decay`.

    Args:
        init_value: The initial number.
        peak_value: The number after the warm-up.
        warmup_steps: The number of steps of the warm-up.
        transition_steps: The number of steps after which the value is multiplied by `decay_rate`.
        decay_rate: A number above 0.
        transition_begin: The first step of the decay, counted from the end of the warm-up.
        staircase: Whether the value stays constant for each `transition_steps` steps.
        end_value: The value at which the decay stops.

    Returns:
        A schedule: a function from the step count to a number.

    Raises:
        OptionError: A value is not a number, a number of steps is not positive, or `decay_rate` is not above 0.

    Example:
        >>> from branded import optim
        >>> warm = optim.warmup_exponential_decay_schedule(0.0, 1.0, 2, 1, 0.5)
        >>> [round(warm(i).item(), 4) for i in range(5)]
        [0.0, 0.5, 1.0, 0.5, 0.25]

    Source: optax, `warmup_exponential_decay_schedule`.
    """
    api_name = "warmup_exponential_decay_schedule"
    n, peak = _check_steps(api_name, "warmup_steps", warmup_steps), number(api_name, "peak_value", peak_value)
    decay = _exponential(api_name, peak, transition_steps, decay_rate, transition_begin, staircase, end_value)
    return join_schedules([_polynomial(api_name, init_value, peak, 1, n, 0), decay], [n])


def _divide(a: Any, b: Any) -> Any:
    """Return a / b, or 0 if b is 0."""
    if isinstance(b, Tensor):
        return (b == 0).where(0.0, a / (b == 0).where(1.0, b))
    return a / b if b else 0.0


Rate = Any | Callable[[Any], Any]
"""A number, a scalar tensor, or a schedule."""
