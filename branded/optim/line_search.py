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
    """A point of the line: its distance, its value, and its slope."""

    at: Tensor
    value: Tensor
    slope: Tensor


class _Search(NamedTuple):
    low: Point
    """The best point so far."""
    gradient: Tensor
    """The gradient of the function at the best point."""
    high: Point
    """The other end of the bracket.  Once `is_between` is true, a suitable step lies between the two points."""
    next: Tensor
    is_between: Tensor
    is_done: Tensor
    tried: Tensor


class SearchResult(NamedTuple):
    """The step, the value and the gradient after it, whether a step was found, and the number of points tried."""

    step: Tensor
    value: Tensor
    gradient: Tensor
    is_good: Tensor
    tried: Tensor


def select_entries(flag: Tensor, a: Any, b: Any) -> Any:
    """Select the entries of `a` where `flag` is true, else the entries of `b`."""
    return type(a)(*(flag.where(x, y) for x, y in zip(a, b, strict=True)))


def line_search(
    value_and_grad: Callable[[Tensor], tuple[Tensor, Tensor]],
    x: Tensor,
    value: Tensor,
    gradient: Tensor,
    direction: Tensor,
    first: Any,
    most: int,
) -> SearchResult:
    """Find a step from `x` along `direction` that lowers the function.

    The first steps double until one is too long.  Then each new point is the minimum of a cubic through the best point
    and the point that was too long.  Near a minimum, values differ by rounding alone, so a slightly larger value does
    not count as an increase.
    """
    start = Point(value.const_like(0), value, (gradient * direction).sum())
    slack = 4 * epsilon(value) * value.abs()

    def step(s: _Search) -> _Search:
        f, g = value_and_grad(x + s.next * direction)
        here = Point(s.next, f, (g * direction).sum())
        falls = f <= start.value + DECREASE * s.next * start.slope + slack
        is_bad = falls.logical_not() | (f > s.low.value + slack) | f.isnan()
        is_done = is_bad.logical_not() & (here.slope.abs() <= -CURVATURE * start.slope)
        ahead = s.is_between.where((s.high.at - s.low.at).sign(), 1.0)
        turns = (is_bad | is_done).logical_not() & (here.slope * ahead >= 0)
        high = select_entries(is_bad, here, select_entries(turns, s.low, s.high))
        low, gradient = select_entries(is_bad, s.low, here), is_bad.where(s.gradient, g)
        between = s.is_between | is_bad | turns
        after = between.where(_cubic(low, high), 2 * s.next)
        return _Search(low, gradient, high, after, between, is_done, s.tried + 1)

    no = Tensor(False)
    begin = _Search(start, gradient, start, start.at + first, no, no, Tensor(0, dtype=dtypes.int32))
    s = while_loop(lambda s: s.is_done.logical_not() & (s.tried < most), step, begin)
    return SearchResult(s.low.at, s.low.value, s.gradient, s.low.at > 0, s.tried)


def _cubic(low: Point, high: Point) -> Tensor:
    """Return the minimum of a cubic through two points, not too close to either, or the midpoint if it has none."""
    width = high.at - low.at
    rise = low.slope + high.slope - 3 * (high.value - low.value) / width
    root = width.sign() * (rise.square() - low.slope * high.slope).relu().sqrt()
    part = 1 - (high.slope + root - rise) / (high.slope - low.slope + 2 * root)
    has_no_minimum = part.isnan() | part.isinf()
    return low.at + has_no_minimum.where(0.5, has_no_minimum.where(0.5, part).clip(0.1, 0.9)) * width
