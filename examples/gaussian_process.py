"""A Gaussian process: the kernel function takes two points, vmap gives the matrices, and linalg solves them.

python examples/gaussian_process.py [PICTURE]
"""

from __future__ import annotations

import sys

from tinygrad import Tensor

from branded import Vec, grad, jit, linalg, random, vmap
from branded.typing import S, S1, S2

NOISE = 0.1


def kernel(x: Vec[S], y: Vec[S1], scale: Vec[S2]) -> Vec[S | S1 | S2]:
    """Return the covariance of two points."""
    return (-0.5 * ((x - y) / scale) ** 2).exp()


def matrix(xs: Tensor, ys: Tensor, scale: Vec[S]) -> Vec[S]:
    """Return the kernel matrix of all pairs, `f32[n, m]`."""
    return vmap(lambda x: vmap(lambda y: kernel(x, y, scale))(ys))(xs)


def factor(xs: Tensor, scale: Vec[S]) -> Vec[S]:
    return linalg.cholesky(matrix(xs, xs, scale) + NOISE**2 * Tensor.eye(xs.shape[0]))


def evidence(xs: Tensor, ys: Tensor, scale: Vec[S]) -> Vec[S]:
    """Return the log marginal likelihood up to a constant (Rasmussen and Williams 2006, algorithm 2.1)."""
    lower = factor(xs, scale)
    white = linalg.solve_triangular(lower, ys, lower=True)
    return -0.5 * (white * white).sum() - lower.diagonal().log().sum()


def fit(xs: Tensor, ys: Tensor, scale: Vec[S], rounds: int = 40) -> Vec[S]:
    """Maximize the evidence by gradient ascent on the logarithm of the length scale."""
    log_scale = scale.log()
    for _ in range(rounds):
        log_scale = log_scale + 0.05 * grad(lambda s: evidence(xs, ys, s.exp()))(log_scale).clip(-5, 5)
    return log_scale.exp()


def posterior(xs: Tensor, ys: Tensor, scale: Tensor, at: Vec[S]) -> tuple[Vec[S], Vec[S]]:
    """Return mean and standard deviation at one point; all points share one factorization of the data's matrix."""
    lower = factor(xs, scale)
    near = vmap(lambda x: kernel(x, at, scale))(xs)
    white = linalg.solve_triangular(lower, near, lower=True)
    mean = (white * linalg.solve_triangular(lower, ys, lower=True)).sum()
    return mean, (1 - (white * white).sum()).sqrt()


def main(points: int = 20, rounds: int = 40, picture: str | None = None) -> None:
    where, noise = random.split(random.key(0))
    xs = random.uniform(where, (points,), minval=-3.0, maxval=3.0).realize()
    ys = ((2 * xs).sin() + NOISE * random.normal(noise, (points,))).realize()
    starts = Tensor([0.3, 1.0, 3.0])  # each start is an example
    improve = jit(vmap(lambda s: fit(xs, ys, s, 1)))
    scales = starts
    for _ in range(rounds):
        scales = improve(scales)
    best = scales[vmap(lambda s: evidence(xs, ys, s))(scales).argmax()].realize()
    print(f"scale {best.item():.1f} is the likeliest")
    line = Tensor.linspace(-4, 4, 81)
    mean, deviation = jit(lambda line: vmap(lambda x: posterior(xs, ys, best, x))(line))(line)
    inside = line.abs() < 2
    off = (inside * (mean - (2 * line).sin()).abs()).max().item()
    print(f"off by at most {off:.1f} among the data; deviation at 4, where there is none: {deviation[-1].item():.1f}")
    if picture:
        draw(xs, ys, line, mean, deviation, picture)


def draw(xs: Tensor, ys: Tensor, line: Tensor, mean: Tensor, deviation: Tensor, path: str) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5, 3.5))
    m, d = mean.numpy(), deviation.numpy()
    axes.fill_between(line.numpy(), m - 2 * d, m + 2 * d, alpha=0.2)
    axes.plot(line.numpy(), m)
    axes.plot(xs.numpy(), ys.numpy(), ".", c="black")
    figure.savefig(path, dpi=100, bbox_inches="tight")


if __name__ == "__main__":
    main(picture=sys.argv[1] if sys.argv[1:] else None)
