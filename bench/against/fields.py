"""More programs of many fields, each as a user would write it; `fields_in_jax.py` has them in JAX."""

from __future__ import annotations

from typing import Any

from tinygrad import Tensor

from bench.against.applications import of
from bench.against.programs import Program
from bench.workloads import floats, ints
from branded import fori_loop, grad, random, scan, value_and_grad, vmap

VELOCITIES = [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)]
WEIGHTS = [4 / 9] + [1 / 9] * 4 + [1 / 36] * 4


def _transport(x: Any, y: Any) -> Any:
    """Sinkhorn iterations with matrix products; most elements of the matrix are tiny."""
    n, m = x.shape[0], y.shape[0]
    cost = (x.unsqueeze(1) - y).square().sum(-1)
    kernel = (-cost / 0.1).exp()

    def body(_: Any, scales: Any) -> Any:
        u, v = scales
        u = (1 / n) / (kernel @ v + 1e-30)
        return u, (1 / m) / (kernel.T @ u + 1e-30)

    u, v = fori_loop(0, 30, body, (Tensor.ones(n), Tensor.ones(m)))
    return (u.unsqueeze(1) * kernel * v * cost).sum()


def _transport_gradients(costs: Any, weights: Any) -> Any:
    """Gradients of 20 unrolled iterations for each of some cost matrices."""

    def one(cost: Any, a: Any) -> Any:
        kernel = (-30 * cost.abs()).exp()
        u = v = Tensor.ones(cost.shape[0])
        for _ in range(20):
            u = a / (kernel @ v + 1e-20)
            v = (1 / cost.shape[0]) / (u @ kernel + 1e-20)
        return (u.unsqueeze(1) * kernel * v * cost).sum()

    return vmap(grad(one))(costs, weights.softmax(-1))


def _couplings(w1: Any, b1: Any, w2: Any, x: Any) -> Any:
    """The loss of a normalizing flow of affine coupling layers, and its gradients."""
    half = x.shape[1] // 2

    def one(layers: Any, x: Any) -> Any:
        w1, b1, w2 = layers
        volume: Any = 0.0
        for i in range(w1.shape[0]):
            a, b = x[:half], x[half:]
            t = (a @ w1[i] + b1[i]).relu() @ w2[i]
            s = t[:half].tanh()
            volume = volume + s.sum()
            x = (b * s.exp() + t[half:]).cat(a)
        return 0.5 * x.square().sum() - volume

    return value_and_grad(lambda p: vmap(lambda x: one(p, x))(x).mean())((w1, b1, w2))


def _lattice(x: Any) -> Any:
    """A lattice Boltzmann method with nine velocities."""

    def step(f: Any, _: Any) -> Any:
        f = Tensor.stack(*(f[i].roll((cy, cx), (0, 1)) for i, (cx, cy) in enumerate(VELOCITIES)))
        density = f.sum(0)
        ux = sum(f[i] * cx for i, (cx, _) in enumerate(VELOCITIES)) / density
        uy = sum(f[i] * cy for i, (_, cy) in enumerate(VELOCITIES)) / density
        energy = 1.5 * (ux * ux + uy * uy)
        along = [3 * (cx * ux + cy * uy) for cx, cy in VELOCITIES]
        rest = [w * density * (1 + c + 0.5 * c * c - energy) for w, c in zip(WEIGHTS, along, strict=True)]
        return f - (f - Tensor.stack(*rest)) * 0.6, energy.mean()

    return scan(step, 1 + 0.1 * x.tanh(), None, length=20)


def _chebyshev(laplacian: Any, x: Any, weights: Any) -> Any:
    """The gradient of a Chebyshev filter on a graph."""

    def loss(weights: Any) -> Any:
        def step(carry: Any, w: Any) -> Any:
            a, b = carry
            t = 2 * (laplacian @ b) - a
            return (b, t), w * t

        first = laplacian @ x
        _, terms = scan(step, (x, first), weights[2:])
        return (weights[0] * x + weights[1] * first + terms.sum(0)).square().mean()

    return value_and_grad(loss)(weights)


def _bootstrap(x: Any, y: Any, key: Any) -> Any:
    """Correlations of resampled pairs."""
    n = x.shape[0]

    def one(key: Any) -> Any:
        i = random.randint(key, (n,), 0, n)
        a, b = x[i], y[i]
        a, b = a - a.mean(), b - b.mean()
        return (a * b).sum() / (a.square().sum() * b.square().sum()).sqrt()

    return vmap(one)(random.split(key.cast("uint32"), 200))


FIELDS = (
    Program("optimal transport, 128 x 256", (floats(128, 3), floats(256, 3)), of("transport", _transport)),
    Program(
        "gradients of transport, 8 of 61²",
        (floats(8, 61, 61), floats(8, 61)),
        of("transport_gradients", _transport_gradients),
    ),
    Program(
        "coupling layers, 251 x 8",
        (floats(6, 4, 32, scale=0.5), floats(6, 32), floats(6, 32, 8, scale=0.1), floats(251, 8)),
        of("couplings", _couplings),
    ),
    Program("lattice Boltzmann, 64 x 128", (floats(9, 64, 128),), of("lattice", _lattice)),
    Program(
        "Chebyshev filter, 251 nodes",
        (floats(251, 251, scale=0.025), floats(251, 16), floats(32, scale=0.1)),
        of("chebyshev", _chebyshev),
    ),
    Program("bootstrap, 200 of 512 pairs", (floats(512), floats(512), ints(1000, 2)), of("bootstrap", _bootstrap)),
)
