"""Random-walk Metropolis in many chains: keys, NamedTuple states, scan over steps."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from branded import random, scan, vmap
from tinygrad import Tensor

CHAINS, STEPS, SIZE = 4, 6, 2
LogDensity = Callable[[Tensor], Tensor]


class Chain(NamedTuple):
    position: Tensor
    density: Tensor
    accepted: Tensor


def log_normal(x: Tensor) -> Tensor:
    return -0.5 * x.square().sum()


def propose(key: Tensor, x: Tensor, scale: float) -> Tensor:
    return x + scale * random.normal(key, (SIZE,))  # axis: return x + scale * random.normal(key, (SIZE + 1,))


def metropolis(density: LogDensity, scale: float, chain: Chain, key: Tensor) -> tuple[Chain, Tensor]:
    for_move, for_test = random.split(key)
    new = propose(for_move, chain.position, scale)
    value = density(new)
    ok = random.uniform(for_test).log() < value - chain.density
    after = Chain(ok.where(new, chain.position), ok.where(value, chain.density), chain.accepted + ok)  # if: after = Chain(new, value, chain.accepted + 1) if ok else chain
    return after, after.position  # key: return after, after.positions


def run(key: Tensor, start: Tensor, density: LogDensity = log_normal) -> tuple[Chain, Tensor]:
    first = Chain(start, density(start), Tensor(0))
    return scan(partial(metropolis, density, 0.5), first, random.split(key, STEPS))


def rate(key: Tensor, start: Tensor) -> Tensor:
    chain, _ = run(key, start)
    return chain.accepted / STEPS  # read: return Tensor(int(chain.accepted.item()) / STEPS)


keys = random.split(random.key(3), CHAINS)
starts = Tensor.arange(CHAINS * SIZE).reshape(CHAINS, SIZE).float() * 0.3
chains, positions = vmap(run)(keys, starts)
rates = vmap(rate, in_axes=(0, None))(keys, starts[0])  # none: rates = vmap(rate)(keys, starts[0])
common = vmap(rate, in_axes=(None, 0))(random.key(5), starts)  # none: common = vmap(rate)(random.key(5), starts)
table = vmap(lambda k: vmap(lambda s: rate(k, s))(starts))(random.split(random.key(1), 3))  # zip: table = vmap(lambda k, s: rate(k, s))(random.split(random.key(1), 3), starts)
traces = vmap(lambda p: p.mean(axis=0), out_axes=1)(positions)  # out: traces = vmap(lambda p: p.mean(axis=0))(positions)
noise = vmap(lambda k: random.normal(k, (SIZE,)))(keys)  # axis: noise = vmap(lambda k: random.normal(k, (STEPS,)))(keys)
shifted = positions.mean(axis=1) + noise
last = [c.tolist() for c in chains.position]  # read: last = vmap(lambda c: c.tolist())(chains.position)
order = vmap(lambda k: random.permutation(k, CHAINS))(random.split(random.key(9), 2))
mixed = vmap(lambda o: starts[o])(order)
weights = random.uniform(random.key(2), (SIZE,))
norms = vmap(lambda p, w: (p * w).sum(), in_axes=(0, None))(starts, weights)  # none: norms = vmap(lambda p, w: (p * w).sum())(starts, weights)
result = chains, positions, rates, common, table, traces, shifted, mixed, norms
assert len(last) == CHAINS
