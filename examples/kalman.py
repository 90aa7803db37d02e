"""Kalman filters for many tracks at once; the noise of the sensor is learned from all of them.

python examples/kalman.py [PICTURE]
"""

from __future__ import annotations

import sys

from tinygrad import Tensor

from branded import Vec, jit, linalg, random, scan, value_and_grad, vmap
from branded.typing import S, S1

DT = 0.1
PUSH = 0.5
"""The strength of the random acceleration."""

Belief = tuple[Vec[S], Vec[S]]
"""A normal distribution of position and velocity: mean `f32[2]`, covariance `f32[2, 2]`."""


def dynamics() -> tuple[Tensor, Tensor, Tensor]:
    """Return the transition matrix, the covariance of the process noise, and the observation matrix."""
    move = Tensor([[1.0, DT], [0.0, 1.0]])
    push = PUSH * Tensor([[DT**3 / 3, DT**2 / 2], [DT**2 / 2, DT]])
    return move, push, Tensor([[1.0, 0.0]])


def step(belief: Belief[S], seen: Vec[S], noise: Vec[S1]) -> tuple[Belief[S | S1], Vec[S | S1]]:
    """Predict and update; return the new belief and the log likelihood of the observation."""
    mean, cov = belief
    move, push, look = dynamics()
    mean, cov = move @ mean, move @ cov @ move.T + push
    spread = look @ cov @ look.T + noise
    gain = linalg.solve(spread, look @ cov).T
    surprise = seen - look @ mean
    likely = -0.5 * (surprise * linalg.solve(spread, surprise)).sum() - 0.5 * linalg.slogdet(spread)[1]
    return (mean + gain @ surprise, cov - gain @ look @ cov), likely


def track(seen: Vec[S], noise: Vec[S1]) -> tuple[Vec[S | S1], Vec[S | S1]]:
    """Return the means along one track, `f32[steps, 1] -> f32[steps, 2]`, and its log likelihood."""

    def next_one(belief: Belief[S | S1], y: Vec[S]) -> tuple[Belief[S | S1], tuple[Vec[S | S1], Vec[S | S1]]]:
        belief, likely = step(belief, y, noise)
        return belief, (belief[0], likely)

    means, likely = scan(next_one, (Tensor.zeros(2), Tensor.eye(2)), seen)[1]
    return means, likely.sum()


def simulate(key: Vec[S], steps: int, noise: float) -> tuple[Vec[S], Vec[S]]:
    """Return a true track `f32[steps]` and its observations."""
    pushes, sensor = random.split(key)
    speeds = (PUSH * DT) ** 0.5 * random.normal(pushes, (steps,)).cumsum()
    places = (DT * speeds).cumsum()
    return places, (places + noise**0.5 * random.normal(sensor, (steps,)))[:, None]


def learn(seen: Tensor, rounds: int) -> Tensor:
    """Return the most likely noise for all tracks, by gradient ascent on its logarithm from noise 1."""

    def loss(log_noise: Vec[S]) -> Vec[S]:
        return -vmap(lambda y: track(y, log_noise.exp())[1])(seen).mean() / seen.shape[1]

    def downhill(log_noise: Tensor, _: None) -> tuple[Tensor, None]:
        return log_noise - 2.0 * value_and_grad(loss)(log_noise)[1], None

    return scan(downhill, Tensor(0.0, dtype="float32"), None, length=rounds)[0].exp()


def main(tracks: int = 32, steps: int = 100, rounds: int = 20, picture: str | None = None) -> None:
    places, seen = vmap(lambda key: simulate(key, steps, 0.09))(random.split(random.key(0), tracks))
    places, seen = places.realize(), seen.realize()
    noise = jit(lambda seen: learn(seen, rounds))(seen)
    print(f"variance of the sensor: {noise.item():.2f} learned from {tracks} tracks, 0.09 in truth")
    means, _ = jit(lambda seen, noise: vmap(lambda y: track(y, noise))(seen))(seen, noise)
    off, still_off = ((x - places).square().mean().sqrt().item() for x in (seen[:, :, 0], means[:, :, 0]))
    print(f"the sensor is off by {off:.2f}, the filter by {still_off:.2f}")
    if picture:
        draw(places[0], seen[0], means[0], picture)


def draw(places: Tensor, seen: Tensor, means: Tensor, path: str) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5, 3.5))
    axes.plot(seen.numpy()[:, 0], ".", c="silver", label="seen")
    axes.plot(places.numpy(), c="black", label="true")
    axes.plot(means.numpy()[:, 0], label="filtered")
    axes.legend()
    figure.savefig(path, dpi=100, bbox_inches="tight")


if __name__ == "__main__":
    main(picture=sys.argv[1] if sys.argv[1:] else None)
