"""Hamiltonian Monte Carlo: the code has one chain, and vmap runs many.

python examples/hmc.py [PICTURE]
"""

from __future__ import annotations

import sys

from tinygrad import Tensor

from branded import Vec, fori_loop, grad, jit, random, scan, vmap
from branded.typing import S

STEP, LEAPS = 0.2, 8


def energy(q: Vec[S]) -> Vec[S]:
    """Return the negative log density of a banana-shaped distribution, `f32[2] -> f32[]`."""
    x, y = q[0], q[1]
    return 0.5 * x * x + 2 * (y - 0.5 * x * x) ** 2


def leapfrog(q: Vec[S], p: Vec[S]) -> tuple[Vec[S], Vec[S]]:
    """Integrate Hamilton's equations for a short time, from momentum p (leapfrog)."""

    def leap(_: Tensor, state: tuple[Vec[S], Vec[S]]) -> tuple[Vec[S], Vec[S]]:
        q, p = state
        p = p - 0.5 * STEP * grad(energy)(q)
        q = q + STEP * p
        return q, p - 0.5 * STEP * grad(energy)(q)

    return fori_loop(0, LEAPS, leap, (q, p))


def move(q: Vec[S], key: Vec[S]) -> tuple[Vec[S], Vec[S]]:
    """Sample a momentum, integrate, and accept with the Metropolis probability."""
    push, toss = random.split(key)
    p = random.normal(push, (2,))
    new_q, new_p = leapfrog(q, p)
    gain = energy(q) + 0.5 * (p * p).sum() - energy(new_q) - 0.5 * (new_p * new_p).sum()
    q = (random.uniform(toss).log() < gain).where(new_q, q)
    return q, q


def chain(key: Vec[S], length: int) -> Vec[S]:
    """Return the positions of one chain, `f32[length, 2]`."""
    start, moves = random.split(key)
    return scan(move, random.normal(start, (2,)), random.split(moves, length))[1]


def main(chains: int = 64, length: int = 200, picture: str | None = None) -> None:
    keys = random.split(random.key(0), chains)
    places = jit(vmap(lambda key: chain(key, length)))(keys)[:, length // 5 :].reshape(-1, 2)
    x, y = places[:, 0], places[:, 1]
    print(f"{chains} chains: x has mean {x.mean().item():.1f} and variance {x.var().item():.1f}, exactly 0 and 1")
    print(f"y has mean {y.mean().item():.1f}, exactly 0.5")
    if picture:
        draw(places, picture)


def draw(places: Tensor, path: str) -> None:
    import matplotlib.pyplot as plt

    x, y = places.numpy().T
    figure, axes = plt.subplots(figsize=(5, 4))
    axes.scatter(x, y, s=2, alpha=0.3, linewidths=0)
    axes.set(xlabel="x", ylabel="y", title="where the chains were", xlim=(-3.5, 3.5), ylim=(-1.5, 6))
    figure.savefig(path, dpi=100, bbox_inches="tight")


if __name__ == "__main__":
    main(picture=sys.argv[1] if sys.argv[1:] else None)
