"""Newton's method and bisection with while_loop and cond, in annotated functions."""

from __future__ import annotations

from typing import NamedTuple

from branded import Vec, cond, fori_loop, grad, vmap, while_loop
from branded.typing import S, S1
from tinygrad import Tensor


def cubic(x: Vec[S], a: Vec[S1]) -> Vec[S | S1]:
    return x * x * x - a


def newton(a: Vec[S], start: Vec[S1]) -> Vec[S | S1]:
    def close(x: Vec[S | S1]) -> Vec[S | S1]:
        return cubic(x, a).abs() > 1e-4  # read: return Tensor(bool(cubic(x, a).abs() > 1e-4))

    def step(x: Vec[S | S1]) -> Vec[S | S1]:
        return x - cubic(x, a) / (3 * x * x)

    return while_loop(close, step, start)


class Bracket(NamedTuple):
    low: Tensor
    high: Tensor


def bisect(a: Vec[S], low: float, high: float) -> Vec[S]:
    def halve(i: Tensor, b: tuple[Vec[S], Vec[S]]) -> tuple[Vec[S], Vec[S]]:
        lo, hi = b
        middle = (lo + hi) / 2
        left = cubic(middle, a) > 0
        return left.where(lo, middle), left.where(middle, hi)  # if: return (lo, middle) if left else (middle, hi)

    lo, hi = fori_loop(0, 20, halve, (Tensor(low), Tensor(high)))
    return (lo + hi) / 2


def signed_root(a: Vec[S]) -> Vec[S]:
    return cond(a > 0, lambda v: newton(v, Tensor(1.0)), lambda v: -newton(-v, Tensor(1.0)), a)  # if: return newton(a, Tensor(1.0)) if a > 0 else -newton(-a, Tensor(1.0))


def slope(a: Vec[S]) -> Vec[S]:
    return 1 / (3 * signed_root(a).square())  # brand: return 1 / (3 * Tensor(signed_root(a)).square())


def table(targets: Tensor, starts: Tensor) -> Tensor:
    return vmap(lambda a: vmap(lambda s: newton(a, s))(starts))(targets)  # zip: return vmap(newton)(targets, starts)


def iterations(a: Vec[S]) -> Vec[S]:
    def far(s: tuple[Vec[S], Vec[S]]) -> Vec[S]:
        return (cubic(s[0], a).abs() > 1e-4) & (s[1] < 50)  # if: return cubic(s[0], a).abs() > 1e-4 and s[1] < 50

    def step(s: tuple[Vec[S], Vec[S]]) -> tuple[Vec[S], Vec[S]]:
        x, n = s
        return x - cubic(x, a) / (3 * x * x), n + 1

    return while_loop(far, step, (Tensor(1.0), Tensor(0)))[1]


def mean_root(a: Tensor) -> Tensor:
    return vmap(signed_root)(a).mean()


targets, starts = Tensor([1.0, 8.0, -27.0, 2.0]), Tensor([1.0, 2.0, 3.0])
roots = vmap(signed_root)(targets)
halves = vmap(lambda a: bisect(a, 0.0, 4.0))(targets.abs())
ladder = vmap(bisect, in_axes=(0, None, None))(targets.abs(), 0.0, 4.0)  # none: ladder = vmap(bisect)(targets.abs(), 0.0, 4.0)
grid = table(targets.abs(), starts)
one = vmap(newton, in_axes=(0, None))(targets.abs(), starts[0])  # none: one = vmap(newton)(targets.abs(), starts[0])
same = vmap(newton, in_axes=(None, 0))(targets[1], starts)  # none: same = vmap(newton)(targets[1], starts)
steps = vmap(iterations)(targets.abs()).tolist()  # read: steps = vmap(lambda a: iterations(a).tolist())(targets.abs())
gaps = vmap(lambda row, a: row - a)(grid, targets)  # axis: gaps = vmap(lambda row, a: row - a, in_axes=(1, 0))(grid, targets)
columns = vmap(lambda c, s: c / s, in_axes=(1, 0), out_axes=1)(grid, starts)  # out: columns = vmap(lambda c, s: c / s, in_axes=(1, 0))(grid, starts)
result = roots, halves, ladder, grid, one, same, gaps, columns
