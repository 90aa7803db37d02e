"""Mistakes in shapes that pass through iterators, overloads, `with` blocks and declared variables."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate, chain, islice, starmap
from typing import NamedTuple, overload

from tinygrad import Tensor
from typing_extensions import override

from branded import Axes, Brand, as_axes, brand, fori_loop, vmap


class Users(Brand): ...


class Items(Brand): ...


class State(NamedTuple):
    mean: Tensor
    var: Tensor


@dataclass(frozen=True)
class Model:
    weights: Tensor
    bias: Tensor


X, two, three = Tensor.ones(4, 3), Tensor.ones(2), Tensor.ones(3)


# --- functions of itertools, and operators as functions
def scaled(x: Tensor, y: Tensor) -> Tensor:
    return x * y  # E: *: `3` differs from `2` at axis -1


total = reduce(operator.add, [three, three])
list(starmap(scaled, [(three, three), (three, two)]))
total + two  # E: +: `3` differs from `2` at axis -1
list(accumulate([three, three], operator.mul))[1] + two  # E: +: `3` differs from `2` at axis -1
next(islice([two, three], 1, 2)) + two  # E: +: `3` differs from `2` at axis -1
[x + two for x in chain.from_iterable([[two], [two, three]])]  # E: +: `3` differs from `2` at axis -1


# --- conditions of comprehensions
def named(pairs: Sequence[tuple[str, Tensor]], name: str) -> Tensor:
    return next(value for key, value in pairs if key == name)


named([("two", two), ("three", three)], "three") + two  # E: +: `3` differs from `2` at axis -1
next(x for x in (two, three) if x.shape[0] == 3) + two  # E: +: `3` differs from `2` at axis -1


# --- overloaded functions, properties with a setter, and decorators that change nothing
@overload
def dot(x: Tensor, y: Tensor, top: None = None) -> Tensor: ...
@overload
def dot(x: Tensor, y: Tensor, top: float) -> Tensor: ...
def dot(x: Tensor, y: Tensor, top: float | None = None) -> Tensor:
    z = (x * y).sum()
    return z if top is None else z.clip(-top, top)


class Layer:
    def __init__(self, weights: Tensor) -> None:
        self._weights = weights

    @property
    def weights(self) -> Tensor:
        return self._weights

    @weights.setter
    def weights(self, value: Tensor) -> None:
        self._weights = value

    def scores(self, x: Tensor) -> Tensor:
        return x * self.weights  # E: *: `3` differs from `2` at axis -1


class Shifted(Layer):
    @override
    def scores(self, x: Tensor) -> Tensor:
        return super().scores(x - X.mean(axis=1))  # E: -: `3` differs from `4` at axis -1


vmap(lambda x: dot(x, three, 1.0))(X) + three  # E: +: `4` differs from `3` at axis -1
vmap(Layer(two).scores)(X)
vmap(Shifted(three).scores)(X)


# --- an index that is out of bounds
def last(x: Tensor) -> Tensor:
    return x[3]  # E: []: index 3 is out of bounds for an axis of 3 entries


vmap(last)(X)
X[0, -4]  # E: []: index -4 is out of bounds for an axis of 3 entries

# --- the brand of a `with` block
with brand(Users, 4) as users:
    row = users.vec(X)
    sums = users.unvec(row.sum())
sums + three  # E: +: `Users` differs from `3` at axis -1


# --- a variable whose declaration differs from the axes of its value
def pairs(score: Callable[[Tensor, Tensor], Tensor], u: Tensor, i: Tensor) -> Tensor:
    return vmap(score)(u, i)


U, V = as_axes(Tensor.ones(4, 3), Users, 3), as_axes(Tensor.ones(4, 3), Users, 3)
table: Axes[Users, Users] = pairs(dot, U, V)  # E: table: the value has the axes (Users:4,), and (Users, Users)


# --- the truth value of a tensor without brands
def halved(x: Tensor) -> Tensor:
    if x.sum() > 1:  # E: bool: a tensor has no truth value
        return x / 2
    return x if x.max() else x / 2  # E: bool: a tensor has no truth value


halved(three)


# --- values of a loop, and objects that hold values
class Pose:
    def __init__(self, position: Tensor) -> None:
        self.position = position


poses: list[Pose] = []
steps: list[Tensor] = []


def moved(x: Tensor) -> Tensor:
    poses.append(Pose(x))  # E: escape: a value of "x" is kept after its vmap
    return x


def walked(x: Tensor) -> Tensor:
    def step(i: Tensor, y: Tensor) -> Tensor:
        steps.append(y)  # E: escape: a value of "fori_loop" is kept after its fori_loop
        return y + i

    return fori_loop(0, 3, step, x)


vmap(moved)(X)
walked(three)


# --- axes in the fields of a class
def spread(s: State, m: Model) -> Tensor:
    return (s.mean * m.weights).sum() + s.var


states, model = State(X, Tensor.ones(4)), Model(X, Tensor(0.0))
vmap(spread, in_axes=(State(0, 1), Model(0, None)))(states, model)  # E: axis 1 of argument 1['var']
vmap(spread, in_axes=(State(0, 0), Model(1, None)))(states, model)  # E: mapped sizes differ
