"""Particles as a frozen dataclass that is generic in its row; forces between all pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic

from branded import Vec, scan, vmap
from branded.typing import S, S1, S_co
from tinygrad import Tensor


@dataclass(frozen=True)
class Particle(Generic[S_co]):
    position: Vec[S_co]
    velocity: Vec[S_co]
    mass: Vec[S_co]


def pull(at: Vec[S], position: Vec[S1], mass: Vec[S1]) -> Vec[S | S1]:
    away = position - at
    return mass * away / (away.square().sum() + 0.1) ** 1.5  # read: return mass * away / (float(away.square().sum()) + 0.1) ** 1.5


def force(one: Particle[S], every: Particle[S1]) -> Vec[S | S1]:
    forces = vmap(lambda q, m: pull(one.position, q, m))(every.position, every.mass)
    return forces.sum(axis=0)


def kinetic(p: Particle[S]) -> Vec[S]:
    return 0.5 * p.mass * p.velocity.square().sum()


def move(p: Particle[S], push: Vec[S], dt: float) -> Particle[S]:
    velocity = p.velocity + dt * push / p.mass
    return Particle(p.position + dt * velocity, velocity, p.mass)  # key: return Particle(p.position + dt * velocity, p.mass)


def limited(p: Particle[S], top: float) -> Particle[S]:
    speed = p.velocity.square().sum().sqrt()
    slow = (speed > top).where(p.velocity * (top / speed), p.velocity)  # if: slow = p.velocity * (top / speed) if speed > top else p.velocity
    return Particle(p.position, slow, p.mass)


def advance(all_of_them: Particle, dt: float) -> Particle:
    pushes = vmap(force, in_axes=(0, None))(all_of_them, all_of_them)  # none: pushes = vmap(force)(all_of_them, all_of_them)
    moved = vmap(lambda p, f: move(p, f, dt))(all_of_them, pushes)
    return vmap(lambda p: limited(p, 5.0))(moved)


def energy(p: Particle[S]) -> Vec[S]:
    return vmap(kinetic)(p).sum()


def simulate(start: Particle, steps: int) -> tuple[Particle, Tensor]:
    def step(now: Particle, _: Tensor) -> tuple[Particle, Tensor]:
        after = advance(now, 0.05)
        return after, energy(after)

    return scan(step, start, Tensor.arange(steps))


positions = Tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.5]])
start: Particle = Particle(positions, Tensor.zeros(3, 2), Tensor([1.0, 2.0, 0.5]))
end, energies = simulate(start, 4)
result = end.position, energies
