"""Planets that attract each other: the code has the force between two, and two vmaps give all pairs.

python examples/nbody.py [PICTURE]
"""

from __future__ import annotations

import sys

from tinygrad import Tensor

from branded import Vec, grad, jit, random, scan, vmap
from branded.typing import S, S1

SOFT = 0.05
"""The softening length of the force."""


def potential(x: Vec[S], y: Vec[S1], mass: Vec[S1]) -> Vec[S | S1]:
    """Return the potential at x of a mass at y."""
    return -mass / (((x - y) ** 2).sum() + SOFT**2).sqrt()


def field(x: Vec[S], ys: Tensor, masses: Tensor) -> Vec[S]:
    return vmap(lambda y, m: potential(x, y, m))(ys, masses).sum()


def accelerations(xs: Tensor, masses: Tensor) -> Tensor:
    """Return the accelerations: one gradient per body; the force of a body on itself is zero."""
    return vmap(lambda x: -grad(lambda x: field(x, xs, masses))(x))(xs)


def energy(xs: Tensor, vs: Tensor, masses: Tensor) -> Tensor:
    """Return the sum of kinetic and potential energy; each pair counts once."""
    pairs = (vmap(lambda x: field(x, xs, masses))(xs) + masses / SOFT) * masses
    return 0.5 * (masses * (vs**2).sum(1)).sum() + 0.5 * pairs.sum()


def simulate(xs: Tensor, vs: Tensor, masses: Tensor, steps: int, dt: float) -> tuple[tuple[Tensor, Tensor], Tensor]:
    def step(state: tuple[Tensor, Tensor], _: None) -> tuple[tuple[Tensor, Tensor], Tensor]:
        xs, vs = state
        vs = vs + 0.5 * dt * accelerations(xs, masses)
        xs = xs + dt * vs
        return (xs, vs + 0.5 * dt * accelerations(xs, masses)), xs

    return scan(step, (xs, vs), None, length=steps)


def main(planets: int = 24, steps: int = 400, picture: str | None = None) -> None:
    angle, radius = (random.uniform(k, (planets,)) for k in random.split(random.key(1)))
    angle, radius = 6.2832 * angle, 0.5 + 1.5 * radius
    around = Tensor.stack(angle.cos(), angle.sin(), dim=1)
    across = Tensor.stack(-angle.sin(), angle.cos(), dim=1)
    xs = Tensor.zeros(1, 2).cat(radius[:, None] * around)  # the sun and its planets
    vs = Tensor.zeros(1, 2).cat(across / radius.sqrt()[:, None])
    masses = Tensor.ones(1).cat(Tensor.full((planets,), 1e-4))
    (after, speeds), path = jit(lambda xs, vs: simulate(xs, vs, masses, steps, 0.01))(xs, vs)
    before, now = energy(xs, vs, masses).item(), energy(after, speeds, masses).item()
    print(f"{planets} planets, {steps} steps: energy {before:.4f} before, {now:.4f} after")
    if picture:
        draw(path, picture)


def draw(path: Tensor, file: str) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5, 5))
    for orbit in path.numpy().transpose(1, 2, 0):
        axes.plot(*orbit, lw=0.7)
    axes.set_aspect("equal")
    figure.savefig(file, dpi=100, bbox_inches="tight")


if __name__ == "__main__":
    main(picture=sys.argv[1] if sys.argv[1:] else None)
