"""A grid search: models with every rate and every strength, on folds of the data."""

from branded import Brand, as_axes, vmap
from tinygrad import Tensor


class Rates(Brand): ...


class Strengths(Brand): ...


class Folds(Brand): ...


R, S, K = 4, 2, 3


def error(rate: Tensor, strength: Tensor, target: Tensor) -> Tensor:
    return (rate * target - strength).square()


def on_folds(rate: Tensor, strength: Tensor, targets: Tensor) -> Tensor:
    return vmap(error, in_axes=(None, None, 0))(rate, strength, targets)


def search(rates: Tensor, strengths: Tensor, targets: Tensor) -> Tensor:
    inner = vmap(on_folds, in_axes=(None, 0, None))  # none: inner = vmap(on_folds, in_axes=(None, 0, 0))
    return vmap(inner, in_axes=(0, None, None))(rates, strengths, targets)  # zip: return vmap(on_folds, in_axes=(0, 0, None))(rates, strengths, targets)


def summary(table: Tensor) -> Tensor:
    return table.mean(axis=2)  # axis: return table.mean(axis=0)


rates = as_axes((Tensor.arange(R).float() + 1) / 10, Rates)
strengths = as_axes(Tensor.arange(S).float() + 1, Strengths)
targets = as_axes(Tensor.arange(K).float() + 1, Folds)

table = search(rates, strengths, targets)  # axis: table = search(strengths, rates, targets)
means = summary(table)
ratio = vmap(lambda row, rate: row / rate)(means, rates)  # axis: ratio = vmap(lambda row, rate: row / rate, in_axes=(1, 0))(means, rates)
scaled = vmap(lambda row: row * strengths)(means)  # none: scaled = vmap(lambda row, s: row * s)(means, strengths)
by_strength = vmap(lambda row: row + strengths, out_axes=1)(means)  # out: by_strength = vmap(lambda row: row + strengths)(means)
folds = vmap(lambda fold, t: fold.mean() / t, in_axes=(2, 0))(table, targets)  # axis: folds = vmap(lambda fold, t: fold.mean() / t)(table, targets)
result = table, means, ratio, scaled, by_strength, folds
assert by_strength.shape == (S, R)
