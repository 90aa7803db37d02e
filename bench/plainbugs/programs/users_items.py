"""A recommender with two named brands."""

from __future__ import annotations

from branded import Brand, Vec, brand, pmean, psum, vmap
from tinygrad import Tensor


class Users(Brand):
    """One user each."""


class Items(Brand):
    """One item each."""


def affinity(taste: Vec[Users], trait: Vec[Items]) -> Vec[Users | Items]:
    return (taste * trait).sum()  # brand: return (taste * taste).sum().item()


def popularity(score: Vec[Users | Items]) -> Vec[Items]:
    return psum(score, Users)  # name: return psum(score, Items)


def surprise(score: Vec[Users | Items]) -> Vec[Users | Items]:
    return score - pmean(score, Users)


def best(scores: Vec[Users]) -> Vec[Users]:
    return scores.argmax()  # read: return Tensor(scores.argmax().item())


def bias(item: Vec[Items], mean: Tensor) -> Vec[Items]:  # brand: def bias(item: Vec[Users], mean: Tensor) -> Vec[Users]:
    centered = item - mean
    return centered.sum()


def per_user(taste: Vec[Users], trait: Vec[Items]) -> Vec[Users | Items]:  # brand: def per_user(taste: Vec[Users], trait: Vec[Items]) -> Vec[Users]:
    score = affinity(taste, trait)
    weight = taste.abs().sum()
    return score / (1 + weight)


def recommend(users: Tensor, items: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    with brand(Users, users.shape[0]) as u, brand(Items, items.shape[0]) as i:
        taste, trait = u.vec(users), i.vec(items)
        score = per_user(taste, trait) + bias(trait, items.mean(axis=0))  # brand: score = per_user(trait, taste) + bias(trait, items.mean(axis=0))
        liked = i.unvec(popularity(score))  # name: liked = u.unvec(popularity(score))
        strange = i.unvec(surprise(score))
        chosen: Vec[Users] = best(strange)  # brand: chosen: Vec[Items] = best(strange)
        return u.unvec(chosen), liked, u.unvec(strange)


tastes = Tensor([[1.0, 0.0], [0.0, 1.0], [0.6, 0.5], [0.1, 0.9]])
films = Tensor([[0.9, 0.1], [0.2, 0.8], [0.3, 0.4]])
table = vmap(vmap(affinity, in_axes=(None, 0), axis_name=Items), in_axes=(0, None), axis_name=Users)(tastes, films)
result = *recommend(tastes, films), table
