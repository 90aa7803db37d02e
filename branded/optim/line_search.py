"""Line search for a step that satisfies the strong Wolfe conditions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tinygrad import Tensor, dtypes

from branded.control_flow.loops import while_loop
from branded.linalg.orthogonal import epsilon

DECREASE, CURVATURE = 1e-4, 0.9
"""The constants of the two Wolfe conditions, sufficient decrease and curvature: Nocedal and Wright, 3.1."""


class Point(NamedTuple):
    """A point on the line: its distance from `x`, and the value and the slope of the function there."""

    distance: Tensor
    value: Tensor
    slope: Tensor


class _Search(NamedTuple):
    low: Point
    """The best point so far."""
    gradient: Tensor
    """The gradient of the function at the best point."""
    high: Point
    """The other end of the bracket.  Once `is_between` is true, a suitable step is between `low` and `high`."""
    next: Tensor
    is_between: Tensor
    is_done: Tensor
    tried: Tensor


class SearchResult(NamedTuple):
    """The result of a line search.

    Attributes:
        step: The distance along the direction.
        value: The value of the function after the step.
        gradient: The gradient after the step.
        is_good: Whether a step was found.
        tried: The number of points at which the function was evaluated.
    """

    step: Tensor
    value: Tensor
    gradient: Tensor
    is_good: Tensor
    tried: Tensor


def select_entries(flag: Tensor, a: Any, b: Any) -> Any:
    """Return the named tuple `a` if `flag` is true, else `b`, selected entry by entry."""
    return type(a)(*(flag.where(x, y) for x, y in zip(a, b, strict=True)))


def line_search(
    value_and_grad: Callable[[Tensor], tuple[Tensor, Tensor]],
    x: Tensor,
    value: Tensor,
    gradient: Tensor,
    direction: Tensor,
    first_step: Any,
    max_points: int,
) -> SearchResult:
    """Find a step from `x` along `direction` that lowers the function.

    The search doubles the step until it is too long.  Each later step goes to the minimum of a cubic through the best
    point and the point that was too long.  Near a minimum, values differ only by rounding errors, so a slightly larger
    value does not count as an increase.
    """
    start = Point(value.const_like(0), value, (gradient * direction).sum())
    slack = 4 * epsilon(value) * value.abs()

    def step(s: _Search) -> _Search:
        f, g = value_and_grad(x + s.next * direction)
        point = Point(s.next, f, (g * direction).sum())
        decreases = f <= start.value + DECREASE * s.next * start.slope + slack
        is_too_long = decreases.logical_not() | (f > s.low.value + slack) | f.isnan()
        is_done = is_too_long.logical_not() & (point.slope.abs() <= -CURVATURE * start.slope)
        direction_sign = s.is_between.where((s.high.distance - s.low.distance).sign(), 1.0)
        passes_minimum = (is_too_long | is_done).logical_not() & (point.slope * direction_sign >= 0)
        high = select_entries(is_too_long, point, select_entries(passes_minimum, s.low, s.high))
        low, gradient = select_entries(is_too_long, s.low, point), is_too_long.where(s.gradient, g)
        is_between = s.is_between | is_too_long | passes_minimum
        next_distance = is_between.where(_cubic(low, high), 2 * s.next)
        return _Search(low, gradient, high, next_distance, is_between, is_done, s.tried + 1)

    false = Tensor(False)
    initial = _Search(start, gradient, start, start.distance + first_step, false, false, Tensor(0, dtype=dtypes.int32))
    s = while_loop(lambda s: s.is_done.logical_not() & (s.tried < max_points), step, initial)
    return SearchResult(s.low.distance, s.low.value, s.gradient, s.low.distance > 0, s.tried)


def _cubic(low: Point, high: Point) -> Tensor:
    """Return the distance of the minimum of a cubic through two points; without a minimum, return the midpoint.

    The result keeps a tenth of the width from either point.
    """
    width = high.distance - low.distance
    rise = low.slope + high.slope - 3 * (high.value - low.value) / width
    root = width.sign() * (rise.square() - low.slope * high.slope).relu().sqrt()
    fraction = 1 - (high.slope + root - rise) / (high.slope - low.slope + 2 * root)
    has_no_minimum = fraction.isnan() | fraction.isinf()
    return low.distance + has_no_minimum.where(0.5, has_no_minimum.where(0.5, fraction).clip(0.1, 0.9)) * width
