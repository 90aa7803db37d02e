"""A neural differential equation: the vector field is learned from trajectories, one for each start.

python examples/ode.py [PICTURE]
"""

from __future__ import annotations

import sys
from typing import Never

from tinygrad import Tensor

from branded import Vec, jit, random, scan, value_and_grad, vmap
from branded.typing import S, S1

Weights = tuple[Vec[S], Vec[S]]
"""Two layers: `f32[h, 2]`, `f32[2, h]`."""
DT = 0.1


def truth(x: Vec[S]) -> Vec[S]:
    """Return the vector field of a pendulum with friction, `f32[2] -> f32[2]`."""
    return Tensor.stack(x[1], -2 * x[0].sin() - 0.2 * x[1])


def field(w: Weights[S], x: Vec[S1]) -> Vec[S | S1]:
    """Return the vector field of the network."""
    return w[1] @ (w[0] @ x).tanh()


def path(w: Weights[S] | None, start: Vec[S1], steps: int) -> Vec[S | S1]:
    """Integrate from one start by Runge-Kutta, `f32[steps, 2]`; without weights, the true vector field."""

    def f(x: Vec[S | S1]) -> Vec[S | S1]:
        return truth(x) if w is None else field(w, x)

    def step(x: Vec[S | S1], _: None) -> tuple[Vec[S | S1], Vec[S | S1]]:
        k1 = f(x)
        k2 = f(x + 0.5 * DT * k1)
        k3 = f(x + 0.5 * DT * k2)
        x = x + DT / 6 * (k1 + 2 * k2 + 2 * k3 + f(x + DT * k3))
        return x, x

    return scan(step, start, None, length=steps)[1]


def loss(w: Weights[S], starts: Tensor, paths: Tensor) -> Vec[S]:
    """Return the mean squared distance from the true trajectories."""
    return vmap(lambda x, y: ((path(w, x, y.shape[0]) - y) ** 2).mean())(starts, paths).mean()


def main(hidden: int = 32, paths: int = 16, steps: int = 20, rounds: int = 300, picture: str | None = None) -> None:
    k1, k2, k3 = random.split(random.key(0), 3)
    starts = random.uniform(k1, (paths, 2), minval=-1.5, maxval=1.5).realize()
    seen = vmap(lambda x: path(None, x, steps))(starts).realize()
    w: Weights[Never] = (random.normal(k2, (hidden, 2)), random.normal(k3, (2, hidden)) / hidden**0.5)
    speed: Weights[Never] = (w[0] * 0, w[1] * 0)

    @jit
    def improve(w: Weights[Never], v: Weights[Never]) -> tuple[Tensor, Weights[Never], Weights[Never]]:
        """Take one step of gradient descent with momentum."""
        value, g = value_and_grad(loss)(w, starts, seen)
        v = (0.9 * v[0] + g[0], 0.9 * v[1] + g[1])
        return value, (w[0] - 0.03 * v[0], w[1] - 0.03 * v[1]), v

    first, w, speed = improve(w, speed)
    last = first
    for _ in range(rounds):
        last, w, speed = improve(w, speed)
    print(f"mean squared distance from the true paths: {first.item():.2f} at first, {last.item():.3f} at the end")
    if picture:
        draw(w, picture)


def draw(w: Weights[Never], file: str) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5, 4))
    for start in ([1.2, 0.0], [-0.5, 1.0]):
        true, ours = (path(v, Tensor(start), 60).numpy().T for v in (None, w))
        axes.plot(*true, c="black", lw=1)
        axes.plot(*ours, "--")
    axes.set(title="true paths, and those that were learned", xlabel="angle", ylabel="speed")
    figure.savefig(file, dpi=100, bbox_inches="tight")


if __name__ == "__main__":
    main(picture=sys.argv[1] if sys.argv[1:] else None)
