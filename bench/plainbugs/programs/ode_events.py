"""Falling balls: cond, while_loop and switch for each ball of a batch."""

from __future__ import annotations

from typing import NamedTuple

from branded import Vec, cond, fori_loop, switch, vmap, while_loop
from branded.typing import S
from tinygrad import Tensor

G = 9.8


class Ball(NamedTuple):
    height: Tensor
    speed: Tensor


def bounce(height: Vec[S], speed: Vec[S]) -> Vec[S]:
    return cond(height < 0, lambda v: -0.8 * v, lambda v: v, speed)  # if: return -0.8 * speed if height < 0 else speed


def fall(ball: Ball, dt: float) -> Ball:
    speed = bounce(ball.height, ball.speed - G * dt)
    return Ball(ball.height + dt * speed, speed)  # key: return Ball(ball.height + dt * speed, velocity=speed)


def simulate(ball: Ball, steps: int) -> Ball:
    return fori_loop(0, steps, lambda _, b: fall(b, 0.05), ball)


def halvings(x: Vec[S], limit: float) -> Vec[S]:
    """How often x is halved until it is below the limit."""
    count = 0 * x

    def above(state: tuple[Vec[S], Vec[S]]) -> Vec[S]:
        return state[0] > limit  # read: return bool(state[0].max().item() > limit)

    def halve(state: tuple[Vec[S], Vec[S]]) -> tuple[Vec[S], Vec[S]]:
        return state[0] / 2, state[1] + 1

    return while_loop(above, halve, (x, count))[1]


def response(kind: Vec[S], x: Vec[S]) -> Vec[S]:
    return switch(kind, [lambda v: v, lambda v: v.relu(), lambda v: v.tanh()], x)  # read: return [x, x.relu(), x.tanh()][int(kind.item())]


def settled(ball: Ball) -> Tensor:
    quiet = (ball.speed.abs() < 0.1) & (ball.height.abs() < 0.1)  # if: quiet = ball.speed.abs() < 0.1 and ball.height.abs() < 0.1
    return quiet.where(1.0, 0.0)


heights = Tensor([1.0, 2.0, 0.5])
balls = Ball(heights, Tensor.zeros(3))
after = vmap(lambda b: simulate(b, 6))(balls)
counts = vmap(lambda h: halvings(h, 0.3))(heights)
mixed = vmap(response)(Tensor([0, 1, 2]), heights - 1)  # none: mixed = vmap(response, in_axes=(None, 0))(Tensor([0, 1, 2]), heights - 1)
still = vmap(settled)(after)
picked = vmap(lambda h, s: (h > 1).where(h, s))(heights, after.speed)  # if: picked = vmap(lambda h, s: h if h > 1 else s)(heights, after.speed)
result = after.height, counts, mixed, still, picked
