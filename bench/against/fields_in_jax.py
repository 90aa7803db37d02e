"""The programs of `fields.py` in JAX."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax, nn, random, vmap

from bench.against.fields import VELOCITIES, WEIGHTS


def transport(x: Any, y: Any) -> Any:
    n, m = x.shape[0], y.shape[0]
    cost = jnp.square(x[:, None] - y).sum(-1)
    kernel = jnp.exp(-cost / 0.1)

    def body(_: Any, scales: Any) -> Any:
        u, v = scales
        u = (1 / n) / (kernel @ v + 1e-30)
        return u, (1 / m) / (kernel.T @ u + 1e-30)

    u, v = lax.fori_loop(0, 30, body, (jnp.ones(n), jnp.ones(m)))
    return (u[:, None] * kernel * v * cost).sum()


def transport_gradients(costs: Any, weights: Any) -> Any:
    def one(cost: Any, a: Any) -> Any:
        kernel = jnp.exp(-30 * jnp.abs(cost))
        u = v = jnp.ones(cost.shape[0])
        for _ in range(20):
            u = a / (kernel @ v + 1e-20)
            v = (1 / cost.shape[0]) / (u @ kernel + 1e-20)
        return (u[:, None] * kernel * v * cost).sum()

    return vmap(jax.grad(one))(costs, nn.softmax(weights, -1))


def couplings(w1: Any, b1: Any, w2: Any, x: Any) -> Any:
    half = x.shape[1] // 2

    def one(layers: Any, x: Any) -> Any:
        w1, b1, w2 = layers
        volume: Any = 0.0
        for i in range(w1.shape[0]):
            a, b = x[:half], x[half:]
            t = nn.relu(a @ w1[i] + b1[i]) @ w2[i]
            s = jnp.tanh(t[:half])
            volume = volume + s.sum()
            x = jnp.concatenate([b * jnp.exp(s) + t[half:], a])
        return 0.5 * jnp.square(x).sum() - volume

    return jax.value_and_grad(lambda p: vmap(lambda x: one(p, x))(x).mean())((w1, b1, w2))


def lattice(x: Any) -> Any:
    def step(f: Any, _: Any) -> Any:
        f = jnp.stack([jnp.roll(f[i], (cy, cx), (0, 1)) for i, (cx, cy) in enumerate(VELOCITIES)])
        density = f.sum(0)
        ux = sum(f[i] * cx for i, (cx, _) in enumerate(VELOCITIES)) / density
        uy = sum(f[i] * cy for i, (_, cy) in enumerate(VELOCITIES)) / density
        energy = 1.5 * (ux * ux + uy * uy)
        along = [3 * (cx * ux + cy * uy) for cx, cy in VELOCITIES]
        rest = [w * density * (1 + c + 0.5 * c * c - energy) for w, c in zip(WEIGHTS, along, strict=True)]
        return f - (f - jnp.stack(rest)) * 0.6, energy.mean()

    return lax.scan(step, 1 + 0.1 * jnp.tanh(x), None, length=20)


def chebyshev(laplacian: Any, x: Any, weights: Any) -> Any:
    def loss(weights: Any) -> Any:
        def step(carry: Any, w: Any) -> Any:
            a, b = carry
            t = 2 * (laplacian @ b) - a
            return (b, t), w * t

        first = laplacian @ x
        _, terms = lax.scan(step, (x, first), weights[2:])
        return jnp.square(weights[0] * x + weights[1] * first + terms.sum(0)).mean()

    return jax.value_and_grad(loss)(weights)


def bootstrap(x: Any, y: Any, key: Any) -> Any:
    n = x.shape[0]

    def one(key: Any) -> Any:
        i = random.randint(key, (n,), 0, n)
        a, b = x[i], y[i]
        a, b = a - a.mean(), b - b.mean()
        return (a * b).sum() / jnp.sqrt(jnp.square(a).sum() * jnp.square(b).sum())

    return vmap(one)(random.split(key.astype("uint32"), 200))
