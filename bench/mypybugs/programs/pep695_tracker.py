"""A Kalman tracker in the syntax of Python 3.12: generic classes, aliases and functions of brands."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from branded import Brand, Vec, scan, vmap
from tinygrad import Tensor

TRACKS, STEPS = 3, 5


class Tracks(Brand): ...


class Noises(Brand): ...


type Pair[S: Brand] = tuple[Vec[S], Vec[S]]
type Map[T] = Callable[[T], T]


@dataclass(frozen=True)
class State[S: Brand]:
    mean: Vec[S]
    var: Vec[S]

    def predicted(self, noise: float) -> "State[S]":
        return State(self.mean, self.var + noise)  # key: return State(self.mean, self.variance + noise)

    def at_most(self, top: float) -> Self:
        return type(self)(self.mean, self.var.clip(0.0, top))


def update[S: Brand, S1: Brand](state: State[S], seen: Vec[S1], noise: float) -> State[S | S1]:
    gain = state.var / (state.var + noise)
    return State(state.mean + gain * (seen - state.mean), (1 - gain) * state.var)  # if: return State(state.mean + gain * (seen - state.mean) if gain > 0.5 else state.mean, (1 - gain) * state.var)


def filtered[S: Brand](seen: Vec[S], noise: float = 0.5) -> Pair[S]:
    def step(state: State[S], y: Vec[S]) -> tuple[State[S], Vec[S]]:
        after = update(state.predicted(0.1), y, noise).at_most(4.0)
        return after, after.mean

    last, means = scan(step, State(seen[0], Tensor(1.0)), seen)
    return last.var, means  # brand: return last.var, Tensor(means)


def twice[T](f: Map[T]) -> Map[T]:
    return lambda x: f(f(x))


def smoothness[S: Brand](means: Vec[S]) -> Vec[S]:
    return (means[1:] - means[:-1]).square().sum()  # read: return Tensor(float((means[1:] - means[:-1]).square().sum()))


def score[S: Brand, S1: Brand](track: Vec[S], noise: Vec[S1]) -> Vec[S | S1]:
    return (track / noise).square().sum()


def scores[S: Brand](track: Vec[Tracks | S], noises: Tensor) -> Vec[Tracks | S]:
    return vmap(score, in_axes=(None, 0), axis_name=Noises)(track, noises)  # none: return vmap(score, axis_name=Noises)(track, noises)


measured = Tensor.arange(TRACKS * STEPS).reshape(TRACKS, STEPS).float() * 0.3
noises = Tensor([0.5, 1.0])
variances, means = vmap(filtered)(measured)
per_column, _ = vmap(filtered, in_axes=1)(measured)
table = vmap(scores, in_axes=(0, None), axis_name=Tracks)(means, noises)  # name: table = vmap(scores, in_axes=(0, None), axis_name=Noises)(means, noises)
smooth = vmap(smoothness)(means)
halved = vmap(twice(lambda x: x / 2))(means)
ratio = vmap(lambda s, v: s / v)(smooth, variances)  # axis: ratio = vmap(lambda s, v: s / v)(smooth, per_column)
together = vmap(lambda m: vmap(lambda n: score(m, n))(noises))(means)  # zip: together = vmap(score)(means, noises)
centered = vmap(lambda m, c: m - c, in_axes=(0, None))(means, means.mean(axis=0))  # none: centered = vmap(lambda m, c: m - c)(means, means.mean(axis=0))
turned = vmap(lambda m: m.cumsum(), out_axes=1)(means)  # out: turned = vmap(lambda m: m.cumsum())(means)
gains = turned.T / variances.unsqueeze(1)
result = variances, means, table, smooth, halved, ratio, together, centered, gains
assert gains.shape == (TRACKS, STEPS)
