"""Evolution strategies: populations, fitness by a rollout, and selection by rank."""

from __future__ import annotations

from dataclasses import dataclass, replace

from branded import jit, random, vmap
from tinygrad import Tensor


@dataclass
class Settings:
    population: int = 6
    spread: float = 0.3
    rate: float = 0.2
    steps: int = 3


@dataclass
class Progress:
    best: float = float("-inf")
    history: tuple[float, ...] = ()

    def with_score(self, score: float) -> Progress:
        return replace(self, best=max(self.best, score), history=(*self.history, score))


def rollout(policy: Tensor, start: Tensor, steps: int = 4) -> Tensor:
    state, reward = start, Tensor(0.0)
    for _ in range(steps):
        action = (policy * state).sum().tanh()
        state = 0.9 * state + 0.1 * action
        reward = reward - state.square().sum()  # read: reward = reward - sum(v * v for v in state.tolist())
    return reward


def fitness(policy: Tensor, starts: Tensor) -> Tensor:
    return vmap(rollout, in_axes=(None, 0))(policy, starts).mean()  # none: return vmap(rollout)(policy, starts).mean()


def ranks(scores: Tensor) -> Tensor:
    above = vmap(lambda a: vmap(lambda b: (a > b).float())(scores))(scores)  # zip: above = vmap(lambda a, b: (a > b).float())(scores, scores)
    return above.sum(axis=1) / (scores.shape[0] - 1) - 0.5


def propose(key: Tensor, center: Tensor, settings: Settings) -> Tensor:
    noise = vmap(lambda k: random.normal(k, (2,)))(random.split(key, settings.population))
    return center + settings.spread * noise


def evolve(center: Tensor, key: Tensor, starts: Tensor, settings: Settings) -> tuple[Tensor, Tensor]:
    policies = propose(key, center, settings)
    scores = vmap(fitness, in_axes=(0, None))(policies, starts)
    weights = ranks(scores)
    moved = center + settings.rate * vmap(lambda w, p: w * (p - center))(weights, policies).sum(axis=0)  # read: moved = center + settings.rate * vmap(lambda w, p: w.item() * (p - center))(weights, policies).sum(axis=0)
    return moved, scores.max()


def train(settings: Settings) -> tuple[Tensor, Progress]:
    progress, center = Progress(), Tensor([0.5, -0.5])
    starts = Tensor.arange(6).reshape(3, 2).float() * 0.2
    run = jit(lambda c, k: evolve(c, k, starts, settings))
    for key in random.split(random.key(7), settings.steps):
        center, score = run(center, key)
        progress = progress.with_score(score.item())  # key: progress = progress.with_scores(score.item())
    return center, progress


center, progress = train(Settings())
many = vmap(lambda c: fitness(c, Tensor.eye(2)))(center + Tensor.arange(3).reshape(3, 1) * 0.1)
winner = vmap(lambda m: (m >= many.max()).where(1, 0))(many)  # if: winner = vmap(lambda m: 1 if not m < many.max() else 0)(many)
result = center, Tensor(progress.history), many, winner
