"""Nearest neighbors: distances of every query to every point, and votes."""

import numpy as np
from branded import Brand, as_axes, vmap
from tinygrad import Tensor


class Queries(Brand): ...


class Points(Brand): ...


class Dims(Brand): ...


Q, P, D = 3, 7, 2


def distance(a: Tensor, b: Tensor) -> Tensor:
    return (a - b).square().sum().sqrt()


def nearest(query: Tensor, points: Tensor) -> Tensor:
    """The index of the point nearest to one query."""
    far = vmap(distance, in_axes=(None, 0))(query, points)  # none: far = vmap(distance)(query, points)
    return far.argmin(axis=0)


def vote(query: Tensor, points: Tensor, labels: Tensor) -> Tensor:
    far = vmap(lambda p: distance(query, p))(points)
    return ((-far).softmax(axis=0) * labels).sum()


rng = np.random.default_rng(0)
points = as_axes(Tensor(rng.normal(size=(P, D)).astype(np.float32)), Points, Dims)
queries = as_axes(Tensor(rng.normal(size=(Q, D)).astype(np.float32)), Queries, Dims)
labels = as_axes(Tensor(np.arange(P, dtype=np.float32)), Points)

ids = vmap(lambda q: nearest(q, points))(queries)  # zip: ids = vmap(nearest)(queries, points)
votes = vmap(vote, in_axes=(0, None, None))(queries, points, labels)  # none: votes = vmap(vote, in_axes=(0, None, 0))(queries, points, labels)
matrix = vmap(lambda q: vmap(distance, in_axes=(None, 0))(q, points))(queries)  # zip: matrix = vmap(distance)(queries, points)
mean = matrix.mean(axis=1) + votes  # axis: mean = matrix.mean(axis=0) + votes
result = ids, votes, matrix, mean
