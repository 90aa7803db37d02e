"""An adaptive solver of differential equations: generic steps, decorators, closures and events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial, singledispatch
from typing import Concatenate, ParamSpec, TypeAlias

from branded import jacfwd, vmap, while_loop
from tinygrad import Tensor

P = ParamSpec("P")
Field: TypeAlias = Callable[[Tensor], Tensor]
STARTS, SIZE, MUS = 5, 2, 3


@lru_cache
def tableau(order: int) -> tuple[float, ...]:
    return {2: (0.5, 0.5), 4: (1 / 6, 1 / 3, 1 / 3, 1 / 6)}[order]


def with_size(f: Callable[Concatenate[Tensor, P], Tensor]) -> Callable[Concatenate[Tensor, P], tuple[Tensor, Tensor]]:
    def sized(y: Tensor, /, *args: P.args, **kwargs: P.kwargs) -> tuple[Tensor, Tensor]:
        out = f(y, *args, **kwargs)
        return out, out.square().sum().sqrt()  # read: return out, Tensor(out.square().sum().sqrt().item())

    return sized


def oscillator(mu: Tensor, y: Tensor) -> Tensor:
    position, speed = y[0], y[1]
    return Tensor.stack(speed, mu * (1 - position.square()) * speed - position)  # axis: return Tensor.stack(speed, mu * (1 - y.square()) * speed - position)


@with_size
def heun(y: Tensor, field: Field, h: Tensor) -> Tensor:
    a, b = tableau(2)
    first = field(y)
    return h * (a * first + b * field(y + h * first))


@dataclass(frozen=True)
class Options:
    h: float = 0.05
    end: float = 0.3
    limits: tuple[float, float] = field(default=(-3.0, 3.0))


def solve(f: Field, start: Tensor, options: Options = Options()) -> tuple[Tensor, Tensor]:
    def running(s: tuple[Tensor, Tensor]) -> Tensor:
        return (s[1] < options.end) & (s[0].abs().max() < options.limits[1])  # if: return s[1] < options.end and s[0].abs().max() < options.limits[1]

    def step(s: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        y, t = s
        h = Tensor(options.h)
        change, size = heun(y, f, h)
        ok = size < 1.0
        return ok.where(y + change, y + change / 2), t + ok.where(h, h / 2)  # if: return (y + change, t + h) if ok else (y + change / 2, t + h / 2)

    return while_loop(running, step, (start, Tensor(0.0)))


@singledispatch
def final(start: Tensor, mu: Tensor) -> Tensor:
    return solve(partial(oscillator, mu), start)[0]


starts = Tensor.arange(STARTS * SIZE).reshape(STARTS, SIZE).float() * 0.2
mus = Tensor([0.1, 1.0, 2.0])
ends, times = vmap(partial(solve, partial(oscillator, mus[0])))(starts)
fixed = vmap(final, in_axes=(0, None))(starts, mus[1])  # none: fixed = vmap(final)(starts, mus[1])
table = vmap(lambda m: vmap(lambda s: final(s, m))(starts))(mus)  # zip: table = vmap(lambda m, s: final(s, m))(mus, starts)
flipped = vmap(vmap(final, in_axes=(0, None)), in_axes=(None, 0), out_axes=1)(starts, mus)  # out: flipped = vmap(vmap(final, in_axes=(0, None)), in_axes=(None, 0))(starts, mus)
gap = vmap(lambda a, b: a - b, in_axes=(1, 0))(table, flipped)  # axis: gap = vmap(lambda a, b: a - b)(table, flipped)
jacobians = vmap(lambda y: jacfwd(lambda v: oscillator(mus[2], v))(y))(starts)
pushed = vmap(lambda j, y: j @ y)(jacobians, starts)  # axis: pushed = vmap(lambda j, m: j @ m, in_axes=(0, None))(jacobians, mus)
direction = Tensor([1.0, -1.0])
speeds = vmap(lambda y, d: (y * d).sum(), in_axes=(0, None))(ends, direction)  # none: speeds = vmap(lambda y, d: (y * d).sum())(ends, direction)
late = vmap(lambda t: (t > 0.3).where(t, 0 * t))(times)  # if: late = vmap(lambda t: t if t > 0.3 else 0 * t)(times)
order = vmap(lambda row: row[:, 0].argmax())(table)
names = [str(i) for i in order.tolist()]  # read: names = vmap(lambda row: str(row[:, 0].argmax().item()))(table)
result = ends, times, fixed, table, gap, pushed, speeds, late, order
