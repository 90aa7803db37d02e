"""Forces between bodies and the step of a simulation."""

from dataclasses import dataclass, replace

from branded import Brand, as_axes, vmap
from tinygrad import Tensor


class Bodies(Brand): ...


class Planets(Brand): ...


class Space(Brand): ...


B, P, D = 5, 2, 3


@dataclass
class World:
    positions: Tensor
    speeds: Tensor
    masses: Tensor


def pull(position: Tensor, planet: Tensor) -> Tensor:
    away = planet - position
    return away / (away.square().sum() + 1)


def force(position: Tensor, planets: Tensor) -> Tensor:
    return vmap(pull, in_axes=(None, 0))(position, planets).sum(axis=0)  # none: return vmap(pull)(position, planets).sum(axis=0)


def step(world: World, planets: Tensor) -> World:
    pulls = vmap(lambda x: force(x, planets))(world.positions)  # zip: pulls = vmap(force)(world.positions, planets)
    moved = world.positions + world.speeds  # axis: moved = world.positions + world.speeds.T
    faster = vmap(lambda v, f, m: v + f / m)(world.speeds, pulls, world.masses)  # none: faster = vmap(lambda v, f: v + f / world.masses)(world.speeds, pulls)
    return World(moved, faster, world.masses)


def energy(world: World) -> Tensor:
    return vmap(lambda v, m: m * v.square().sum() / 2)(world.speeds, world.masses)  # axis: return vmap(lambda v, m: m * v.square().sum() / 2, in_axes=(1, 0))(world.speeds, world.masses)


def main() -> tuple[Tensor, ...]:
    positions = as_axes(Tensor.arange(B * D).reshape(B, D).float(), Bodies, Space)
    speeds = as_axes(Tensor.arange(B * D).reshape(B, D).float() * 0.1, Bodies, Space)
    masses = as_axes(Tensor.arange(B).float() + 1, Bodies)
    planets = as_axes(Tensor.arange(P * D).reshape(P, D).float() * 2, Planets, Space)
    world = step(World(positions, speeds, masses), planets)
    center = (world.positions.T * world.masses).sum(axis=1)  # axis: center = (world.positions.T * world.masses).sum(axis=0)
    around = world.positions - center
    columns = vmap(lambda x: x * 2, out_axes=1)(world.positions)  # out: columns = vmap(lambda x: x * 2)(world.positions)
    gap = vmap(lambda a: vmap(lambda b: (a - b).square().sum())(planets))(around)  # zip: gap = vmap(lambda a, b: (a - b).square().sum())(around, planets)
    return around, energy(world), columns, gap


result = main()
assert result[2].shape == (D, B)
