"""A Gaussian process: kernels from pairs, batches of length scales, samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from branded import Vec, linalg, random, unvec, vmap
from branded.typing import S, S1, S2
from tinygrad import Tensor

Kernel = Callable[[Vec[S], Vec[S1], Vec[S2]], Vec[S | S1 | S2]]


def rbf(x: Vec[S], y: Vec[S1], scale: Vec[S2]) -> Vec[S | S1 | S2]:
    return (-(x - y).square().sum() / (2 * scale.square())).exp()  # brand: return (-(x - y).square().sum() / (2 * scale.square())).exp().numpy()


def gram(xs: Tensor, ys: Tensor, scale: Vec[S]) -> Vec[S]:
    return vmap(lambda x: vmap(lambda y: rbf(x, y, scale))(ys))(xs)  # zip: return vmap(lambda x, y: rbf(x, y, scale))(xs, ys)


@dataclass
class Process:
    inputs: Tensor
    targets: Tensor
    noise: float = 0.1

    def covariance(self, scale: Vec[S]) -> Vec[S]:
        k = gram(self.inputs, self.inputs, scale)
        return k + self.noise * Tensor.eye(self.inputs.shape[0])  # key: return k + self.jitter * Tensor.eye(self.inputs.shape[0])

    def posterior(self, at: Tensor, scale: Vec[S]) -> tuple[Vec[S], Vec[S]]:
        inverse = linalg.inv(self.covariance(scale))
        across = gram(at, self.inputs, scale)
        mean = across @ inverse @ self.targets
        var = 1 - (across @ inverse * across).sum(axis=1)
        return mean, var  # brand: return mean

    def evidence(self, scale: Vec[S]) -> Vec[S]:
        k = self.covariance(scale)
        return -0.5 * (self.targets @ linalg.inv(k) @ self.targets) - 0.5 * linalg.det(k).log()  # read: return -0.5 * float(self.targets @ linalg.inv(k) @ self.targets)

    def best_scale(self, scales: Tensor) -> Tensor:
        return scales[unvec(vmap(self.evidence)(scales)).argmax()]  # read: return scales[vmap(lambda s: self.evidence(s).item())(scales).argmax()]


xs = Tensor.arange(5).reshape(5, 1).float()
process = Process(xs, xs.reshape(5).sin())
scales = Tensor([0.5, 1.0, 2.0])
at = Tensor([[0.5], [1.5]])
means, variances = vmap(lambda s: process.posterior(at, s))(scales)
best = process.best_scale(scales)
noise = vmap(lambda key: random.normal(key, (2,)))(random.split(random.key(4), 3))
samples = vmap(lambda m, v, e: m + v.maximum(0).sqrt() * e)(means, variances, noise)
bands = vmap(lambda m, v: (m - 2 * v.maximum(0).sqrt(), m + 2 * v.maximum(0).sqrt()))(means, variances)
low, high = bands
result = means, variances, best, samples, low, high
