"""Mixtures and a sampler: log densities with rows, a brand opened by `with`, Metropolis steps."""

from __future__ import annotations

import math
from typing import Generic, NamedTuple

from branded import Brand, Vec, brand, lift, random, scan, unvec, vmap
from branded.typing import S, S1, S_co
from tinygrad import Tensor


class Component(NamedTuple, Generic[S_co]):
    mean: Vec[S_co]
    log_scale: Vec[S_co]


class Chains(Brand):
    """One run of the sampler each."""


def log_normal(x: Vec[S], c: Component[S1]) -> Vec[S | S1]:
    z = (x - c.mean) / c.log_scale.exp()  # read: z = (x - c.mean) / math.exp(c.log_scale)
    return -0.5 * z.square() - c.log_scale - 0.5 * math.log(2 * math.pi)


def log_mixture(x: Vec[S], components: Component) -> Vec[S]:
    logs = vmap(lambda m, s: log_normal(x, Component(m, s)))(components.mean, components.log_scale)
    return logs.logsumexp(axis=0) - math.log(components.mean.shape[0])


def logistic(x: Tensor) -> Tensor:
    return 1 / (1 + (-x).exp())


def accept(now: Vec[S], new: Vec[S], u: Vec[S1], components: Component) -> Vec[S | S1]:
    better = log_mixture(new, components) - log_mixture(now, components)
    return (u.log() < better).where(new, now)  # if: return new if u.log() < better else now


def sample(key: Vec[S], start: Vec[S], components: Component, steps: int) -> Vec[S]:
    def step(now: Vec[S], k: Vec[S]) -> tuple[Vec[S], Vec[S]]:
        move, choose = random.split(k, 2)
        new = now + 0.5 * random.normal(move)
        after = accept(now, new, random.uniform(choose), components)
        return after, after  # brand: return after.realize(), after.item()

    _, trace = scan(step, start, random.split(key, steps))
    return trace


def odds(x: Vec[Chains]) -> Vec[Chains]:  # brand: def odds(x: Vec[Chains]) -> Tensor:
    return lift(logistic)(x) / (1 - lift(logistic)(x))


components: Component = Component(Tensor([-1.0, 2.0]), Tensor([0.0, -0.5]))
points = Tensor([-1.0, 0.0, 2.0])
densities = vmap(lambda x: log_mixture(x, components))(points)
keys = random.split(random.key(1), 3)
traces = vmap(lambda k, s: sample(k, s, components, 4))(keys, points)  # none: traces = vmap(lambda k, s: sample(k, s, components, 4), in_axes=(0,))(keys, points)
with brand(Chains, 3) as chains:
    x = chains.vec(points)
    ratio = unvec(chains.unvec(odds(x)))  # brand: ratio = unvec(odds(x))
spread = vmap(lambda t: t.max() - t.min())(traces)  # read: spread = vmap(lambda t: round(t.max() - t.min(), 2))(traces)
result = densities, traces, ratio, spread
