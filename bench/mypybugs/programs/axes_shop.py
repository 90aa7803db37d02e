"""Recommendations with named axes: dataclasses of Axes, methods, and tables of scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from branded import Axes, Brand, Vec, as_axes, grad, vmap
from branded.typing import S, S1
from tinygrad import Tensor


class Users(Brand): ...


class Items(Brand): ...


class Factors(Brand): ...


N = TypeVar("N", bound=Brand)
SIZE = 4


@dataclass(frozen=True)
class Model:
    users: Axes[Users, Factors]
    items: Axes[Items, Factors]
    bias: Axes[Items]

    def scores(self) -> Axes[Users, Items]:
        return self.users @ self.items.T + self.bias  # axis: return self.items @ self.users.T + self.bias

    def for_user(self, user: Vec[S, Axes[Factors]]) -> Vec[S, Axes[Items]]:
        return vmap(affinity, in_axes=(None, 0, 0))(user, self.items, self.bias)  # none: return vmap(affinity)(user, self.items, self.bias)

    def top(self, k: int) -> Tensor:
        return vmap(lambda row: row.argsort(descending=True)[:k])(self.scores())


def affinity(user: Vec[S, Axes[Factors]], item: Vec[S1, Axes[Factors]], bias: Vec[S1, Axes[()]]) -> Vec[S | S1, Axes[()]]:
    return (user * item).sum() + bias  # read: return (user * item).sum().item() + bias


def unit(table: Axes[N, Factors]) -> Axes[N, Factors]:
    return vmap(lambda row: row / row.square().sum().sqrt())(table)  # if: return vmap(lambda row: row / row.square().sum().sqrt() if row.any() else row)(table)


def loss(model_items: Vec[S, Axes[Items, Factors]], user: Vec[S1, Axes[Factors]], seen: Vec[S1, Axes[Items]]) -> Vec[S | S1, Axes[()]]:
    return ((model_items @ user) - seen).square().sum()


def centered(seen: Axes[Users, Items]) -> Axes[Users, Items]:
    return seen - seen.mean(axis=0)  # axis: return seen - seen.mean(axis=1)


def popular(seen: Axes[Users, Items]) -> Axes[Items]:
    return vmap(lambda column: column.sum(), in_axes=1)(seen)  # axis: return vmap(lambda column: column.sum())(seen)


def transposed(seen: Axes[Users, Items]) -> Axes[Items, Users]:
    return vmap(lambda row: row / row.sum(), out_axes=1)(seen)  # out: return vmap(lambda row: row / row.sum())(seen)


users = unit(as_axes(Tensor.arange(SIZE * SIZE).reshape(SIZE, SIZE).float() + 1, Users, Factors))
items = unit(as_axes(Tensor.arange(SIZE * SIZE).reshape(SIZE, SIZE).float().flip(0) + 2, Items, Factors))
model = Model(users, items, as_axes(Tensor.ones(SIZE), Items))  # axis: model = Model(items, users, as_axes(Tensor.ones(SIZE), Items))
scores = model.scores()
by_user = vmap(model.for_user)(users)  # axis: by_user = vmap(model.for_user)(items)
every = vmap(lambda u: vmap(lambda i, b: affinity(u, i, b))(items, model.bias))(users)  # zip: every = vmap(affinity)(users, items, model.bias)
slopes = vmap(grad(loss), in_axes=(None, 0, 0))(items, users, scores)  # none: slopes = vmap(grad(loss))(items, users, scores)
rated = centered(scores)  # axis: rated = centered(scores.T)
totals = popular(rated)
shares = vmap(lambda s, t: s / t, in_axes=(1, 0), out_axes=1)(scores, totals + 1)  # axis: shares = vmap(lambda s, t: s / t, in_axes=(0, 0), out_axes=1)(scores, totals + 1)
columns = transposed(scores)
top = model.top(2)
result = by_user, every, slopes, rated, totals, shares, columns, top
