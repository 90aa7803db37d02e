"""A Kalman filter of many tracks: NamedTuples, scan, and per-track noise."""

from __future__ import annotations

from typing import Generic, NamedTuple

from branded import Vec, linalg, scan, vmap
from branded.typing import S, S1, S_co
from tinygrad import Tensor


class Belief(NamedTuple, Generic[S_co]):
    mean: Vec[S_co]
    spread: Vec[S_co]


MOVE = Tensor([[1.0, 1.0], [0.0, 1.0]])
SEE = Tensor([[1.0, 0.0]])


def predict(b: Belief[S], noise: Vec[S]) -> Belief[S]:
    return Belief(MOVE @ b.mean, MOVE @ b.spread @ MOVE.T + noise * Tensor.eye(2))  # key: return Belief(MOVE @ b.mean, MOVE @ b.covariance @ MOVE.T + noise * Tensor.eye(2))


def update(b: Belief[S], seen: Vec[S]) -> Belief[S]:
    innovation = SEE @ b.spread @ SEE.T + 0.1
    gain = b.spread @ SEE.T @ linalg.inv(innovation)  # read: gain = b.spread @ SEE.T / innovation.item()
    mean = b.mean + gain @ (seen - SEE @ b.mean)
    return Belief(mean, (Tensor.eye(2) - gain @ SEE) @ b.spread)


def surprise(b: Belief[S], seen: Vec[S1]) -> Vec[S | S1]:
    return (seen - SEE @ b.mean).square().sum()  # read: return Tensor((seen - SEE @ b.mean).square().tolist()).sum()


def track(seen: Vec[S], noise: Vec[S]) -> Vec[S]:
    start = Belief(Tensor.zeros(2) + 0 * noise, Tensor.eye(2) + 0 * noise)

    def step(b: Belief[S], z: Vec[S]) -> tuple[Belief[S], Vec[S]]:
        after = update(predict(b, noise), z)
        return after, after.mean[0]  # read: return after, after.mean[0].tolist()

    _, path = scan(step, start, seen)
    return path


def jumps(path: Vec[S], threshold: float) -> Vec[S]:
    change = (path[1:] - path[:-1]).abs()
    return (change > threshold).sum()  # read: return len([c for c in change if float(c) > threshold])


def main() -> tuple[Tensor, Tensor]:
    seen = Tensor.arange(12).reshape(3, 4, 1).float().sin()
    noise = Tensor([0.01, 0.1, 1.0])
    paths = vmap(track)(seen, noise)
    counts = vmap(lambda p: jumps(p, 0.5))(paths)
    first = Belief(Tensor.zeros(2), Tensor.eye(2))
    odd = vmap(lambda z: surprise(first, z[0]))(seen)
    return paths, counts + odd


result = main()
