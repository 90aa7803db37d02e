"""Training on several devices: one brand for an ensemble, one for the data, and the data sharded over devices.

python examples/data_parallel.py [DEVICES]        DEVICES: 4, or CUDA:0,CUDA:1
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import numpy as np
from tinygrad import Tensor

from branded import Brand, Vec, jit, random, value_and_grad, vmap
from branded.typing import S, S1


class Data(Brand): ...


def loss(w: Vec[S], x: Vec[S1], y: Vec[S1]) -> Vec[S | S1]:
    """Return the loss of one model on one example: logistic regression."""
    return (1 + (-(x @ w) * y).exp()).log()


def step(w: Vec[S], xs: Tensor, ys: Tensor, devices: Sequence[str] | None, rate: float = 0.5) -> tuple[Vec[S], Vec[S]]:
    """Train one model on all examples; each device has some of them, and the devices exchange the mean gradient."""

    def mean(w: Vec[S]) -> Vec[S]:
        return vmap(lambda x, y: loss(w, x, y), axis_name=Data, devices=devices)(xs, ys).mean()

    value, gradient = value_and_grad(mean)(w)
    return w - rate * gradient, value


def train(
    models: Tensor, xs: Tensor, ys: Tensor, devices: Sequence[str] | None, steps: int
) -> tuple[Tensor, Tensor, float]:
    """Return all models, their final losses, and the seconds per step."""
    if devices:  # the data go to their devices once
        xs, ys = xs.shard(tuple(devices), 0).realize(), ys.shard(tuple(devices), 0).realize()

    @jit
    def learn(models: Tensor) -> tuple[Tensor, Tensor]:
        return vmap(lambda w: step(w, xs, ys, devices))(models)

    models, losses = learn(models)
    losses.numpy()
    start = time.perf_counter()
    for _ in range(steps - 1):
        models, losses = learn(models)
    losses.numpy()
    return models, losses, (time.perf_counter() - start) / max(steps - 1, 1)


def main(
    devices: Sequence[Sequence[str]] = (("CPU:0", "CPU:1"), ("CPU:0", "CPU:1", "CPU:2", "CPU:3")),
    models: int = 4,
    examples: int = 4096,
    features: int = 64,
    steps: int = 50,
) -> None:
    data, hidden, weights = random.split(random.key(0), 3)
    xs = random.normal(data, (examples, features)).realize()
    ys = (xs @ random.normal(hidden, (features,))).sign().realize()
    starts = (0.1 * random.normal(weights, (models, features))).realize()
    one, losses, seconds = train(starts, xs, ys, None, steps)
    print(f"1 device:  {models} losses of {losses.mean().item():.3f} in the mean, {seconds * 1e3:.2f} ms a step")
    for names in devices:
        found, _, seconds = train(starts, xs, ys, names, steps)
        apart = float(np.abs(found.numpy() - one.numpy()).max())
        print(f"{len(names)} devices: the same weights, but for {apart:.0e}, {seconds * 1e3:.2f} ms a step")


if __name__ == "__main__":
    given = sys.argv[1] if len(sys.argv) > 1 else "4"
    main([[f"CPU:{i}" for i in range(int(given))] if given.isdecimal() else given.split(",")])
