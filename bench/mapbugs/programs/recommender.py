"""Scores of users for items, with a dataclass of parameters."""

from dataclasses import dataclass

from branded import Brand, as_axes, vmap
from tinygrad import Tensor


class Users(Brand): ...


class Items(Brand): ...


class Factors(Brand): ...


U, N, F = 4, 6, 3


@dataclass(frozen=True)
class Model:
    users: Tensor
    items: Tensor
    bias: Tensor


def affinity(user: Tensor, item: Tensor, bias: Tensor) -> Tensor:
    return ((user * item).sum() + bias).sigmoid()


def table(model: Model) -> Tensor:
    def of_user(user: Tensor) -> Tensor:
        each = vmap(affinity, in_axes=(None, 0, 0))  # none: each = vmap(affinity)
        return each(user, model.items, model.bias)

    return vmap(of_user)(model.users)  # out: return vmap(of_user, out_axes=1)(model.users)


def best(scores: Tensor) -> Tensor:
    return scores.argmax(axis=1)  # axis: return scores.argmax(axis=0)


def similar(model: Model) -> Tensor:
    dot = lambda a, b: (a * b).sum()
    return vmap(lambda a: vmap(lambda b: dot(a, b))(model.items))(model.users)  # zip: return vmap(dot)(model.users, model.items)


users = as_axes(Tensor.arange(U * F).reshape(U, F).float() * 0.1, Users, Factors)
items = as_axes(Tensor.arange(N * F).reshape(N, F).float() * 0.05, Items, Factors)
bias = as_axes(Tensor.arange(N).float(), Items)
model = Model(users, items, bias)  # axis: model = Model(items, users, bias)
scores = table(model)
result = scores, best(scores), similar(model), scores + bias  # axis: result = scores, best(scores), similar(model), scores.T + bias
assert scores.shape == (U, N)
