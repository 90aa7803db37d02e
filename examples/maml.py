"""Learning to learn (MAML): a gradient through a gradient, for each task of a batch of tasks.

python examples/maml.py [PICTURE]
"""

from __future__ import annotations

import sys

from tinygrad import Tensor

from branded import Vec, grad, jit, random, scan, vmap
from branded.typing import S, S1

Weights = tuple[Vec[S], Vec[S], Vec[S], Vec[S]]
"""Two layers: `f32[h]`, `f32[h]`, `f32[h]`, `f32[]`."""
RATE = 0.05


def predict(w: Weights[S], x: Vec[S1]) -> Vec[S | S1]:
    """Apply a network with one hidden layer to a number."""
    w1, b1, w2, b2 = w
    return ((w1 * x + b1).tanh() * w2).sum() + b2


def loss(w: Weights[S], xs: Vec[S1], ys: Vec[S1]) -> Vec[S | S1]:
    """Return the mean squared error over the points of one task."""
    return vmap(lambda x, y: (predict(w, x) - y) ** 2)(xs, ys).mean()


def adapt(w: Weights[S], xs: Vec[S1], ys: Vec[S1]) -> Weights[S | S1]:
    """Take one step of gradient descent on the few points of a task."""
    w1, b1, w2, b2 = w
    g1, h1, g2, h2 = grad(loss)(w, xs, ys)
    return w1 - RATE * g1, b1 - RATE * h1, w2 - RATE * g2, b2 - RATE * h2


def task(key: Vec[S], points: int) -> tuple[Vec[S], Vec[S]]:
    """Return points of a sine wave with this amplitude and phase."""
    height, shift, where = random.split(key, 3)
    xs = random.uniform(where, (points,), minval=-3.0, maxval=3.0)
    return xs, random.uniform(height, minval=0.5, maxval=2.0) * (xs + random.uniform(shift, maxval=3.0)).sin()


def after_adapting(w: Weights[S], key: Vec[S1]) -> Vec[S | S1]:
    """Return the loss on ten points after one step on ten others."""
    xs, ys = task(key, 20)
    return loss(adapt(w, xs[:10], ys[:10]), xs[10:], ys[10:])


def meta_loss(w: Weights[S], keys: Tensor) -> Vec[S]:
    return vmap(lambda key: after_adapting(w, key))(keys).mean()


def train(w: tuple[Tensor, ...], steps: int, tasks: int) -> tuple[tuple[Tensor, ...], Tensor]:
    """Minimize the loss after adaptation by gradient descent with momentum; each step has new tasks."""

    def step(
        state: tuple[tuple[Tensor, ...], tuple[Tensor, ...]], key: Tensor
    ) -> tuple[tuple[tuple[Tensor, ...], tuple[Tensor, ...]], Tensor]:
        w, v = state
        w1, b1, w2, b2 = w
        keys = random.split(key, tasks)
        g = grad(meta_loss)((w1, b1, w2, b2), keys)
        v = tuple(0.9 * a + b for a, b in zip(v, g, strict=True))
        return (tuple(a - 0.02 * b for a, b in zip(w, v, strict=True)), v), meta_loss((w1, b1, w2, b2), keys)

    (w, _), losses = scan(step, (w, tuple(a * 0 for a in w)), random.split(random.key(1), steps))
    return w, losses


def main(hidden: int = 40, steps: int = 400, tasks: int = 25, picture: str | None = None) -> None:
    k1, k2, k3 = random.split(random.key(0), 3)
    w1, b1, w2 = (random.normal(k, (hidden,)) for k in (k1, k2, k3))
    w = (w1, b1, w2 / hidden**0.5, Tensor(0.0))
    learned, losses = jit(lambda w: train(w, steps, tasks))(w)
    first, last = losses[:20].mean().item(), losses[-20:].mean().item()
    print(f"error after one step on a new task: {first:.1f} at first, {last:.1f} after meta-training")
    if picture:
        draw(learned, picture)


def draw(w: tuple[Tensor, ...], path: str) -> None:
    import matplotlib.pyplot as plt

    start = (w[0], w[1], w[2], w[3])
    xs, ys = task(random.key(7), 10)
    adapted = adapt(start, xs, ys)
    line = Tensor.linspace(-3, 3, 100)
    figure, axes = plt.subplots(figsize=(5, 4))
    axes.scatter(xs.numpy(), ys.numpy(), c="black", label="ten points of a new task")
    axes.plot(line.numpy(), vmap(lambda x: predict(start, x))(line).numpy(), "--", label="before")
    axes.plot(line.numpy(), vmap(lambda x: predict(adapted, x))(line).numpy(), label="after one step")
    axes.legend()
    figure.savefig(path, dpi=100, bbox_inches="tight")


if __name__ == "__main__":
    main(picture=sys.argv[1] if sys.argv[1:] else None)
