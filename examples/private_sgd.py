"""Differentially private SGD: the gradient of each example is clipped before the sum.

python examples/private_sgd.py
"""

from __future__ import annotations

from tinygrad import Tensor

from branded import Vec, grad, jit, random, scan, vmap
from branded.learn.demo import digits
from branded.typing import S, S1

Weights = tuple[Vec[S], Vec[S]]
"""One layer: `f32[10, 64]` and `f32[10]`."""


def loss(w: Weights[S], image: Vec[S1], label: Vec[S1]) -> Vec[S | S1]:
    """Return the cross entropy of one digit."""
    return (w[0] @ image + w[1]).sparse_categorical_crossentropy(label)


def clipped(w: Weights[S], image: Vec[S1], label: Vec[S1], bound: float) -> Weights[S | S1]:
    """Return the gradient of one example, clipped to the norm bound."""
    a, b = grad(loss)(w, image, label)
    length = ((a * a).sum() + (b * b).sum()).sqrt()
    scale = (bound / length.maximum(1e-12)).minimum(1.0)
    return a * scale, b * scale


def step(w: Weights[S], images: Tensor, labels: Tensor, key: Tensor, noise: Vec[S]) -> Weights[S]:
    """Clip each gradient, sum, add noise proportional to the bound, and take a step (Abadi et al. 2016)."""
    a, b = vmap(lambda image, label: clipped(w, image, label, bound=1.0))(images, labels)
    one, other = random.split(key)
    n, rate = images.shape[0], 4.0
    return (
        w[0] - rate * (a.sum(0) + noise * random.normal(one, (10, 64))) / n,
        w[1] - rate * (b.sum(0) + noise * random.normal(other, (10,))) / n,
    )


def train(images: Tensor, labels: Tensor, keys: Tensor, noise: Vec[S]) -> Weights[S]:
    """Take one step per batch of `f32[steps, n, 64]`."""

    def next_batch(w: Weights[S], batch: tuple[Tensor, Tensor, Tensor]) -> tuple[Weights[S], None]:
        return step(w, *batch, noise), None

    return scan(next_batch, (Tensor.zeros(10, 64), Tensor.zeros(10)), (images, labels, keys))[0]


def accuracy(w: Weights[S], images: Tensor, labels: Tensor) -> Vec[S]:
    return vmap(lambda image, label: (w[0] @ image + w[1]).argmax() == label)(images, labels).float().mean()


def main(steps: int = 100, batch: int = 250) -> None:
    data = digits.load(1797 if steps > 20 else 600)
    images, labels = Tensor(data.rows), Tensor(data.labels)
    new = images.shape[0] // 6
    which = random.randint(random.key(0), (steps, batch), 0, images.shape[0] - new)
    keys = random.split(random.key(1), steps)

    def result(noise: Vec[S]) -> Vec[S]:
        return accuracy(train(images[which], labels[which], keys, noise), images[-new:], labels[-new:])

    noises = Tensor([0.0, 1.0, 10.0])  # one vmap trains all three
    for noise, right in zip(noises.tolist(), jit(vmap(result))(noises).tolist(), strict=True):
        print(f"noise {noise:4}: {100 * right:.0f} % of new digits are recognized")


if __name__ == "__main__":
    main()
