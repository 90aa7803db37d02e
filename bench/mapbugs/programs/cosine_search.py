"""Search by cosine similarity with mapped functions that are kept in variables."""

from functools import partial

from branded import Brand, as_axes, vmap
from tinygrad import Tensor


class Queries(Brand): ...


class Documents(Brand): ...


class Words(Brand): ...


Q, D, W = 2, 6, 5


def unit(x: Tensor) -> Tensor:
    return x / (x.square().sum() + 1.0).sqrt()


def cosine(a: Tensor, b: Tensor) -> Tensor:
    return (unit(a) * unit(b)).sum()


over_documents = partial(vmap, in_axes=(None, 0))(cosine)  # none: over_documents = partial(vmap, in_axes=(0, 0))(cosine)
over_queries = vmap(over_documents, in_axes=(0, None))


def weigh(counts: Tensor, importance: Tensor) -> Tensor:
    return vmap(lambda row: row * importance)(counts)  # none: return vmap(lambda row, v: row * v)(counts, importance)


def rank(query: Tensor, documents: Tensor) -> Tensor:
    return over_documents(query, documents).argsort(descending=True)


documents = as_axes(Tensor.arange(D * W).reshape(D, W).float() % 4, Documents, Words)
queries = as_axes(Tensor.arange(Q * W).reshape(Q, W).float() % 3, Queries, Words)
importance = as_axes(1 / (1 + documents.sum(axis=0)), Words)  # axis: importance = 1 / (1 + documents.sum(axis=1))
scores = over_queries(queries, weigh(documents, importance))  # zip: scores = vmap(cosine)(queries, weigh(documents, importance))
ranks = vmap(lambda q: rank(q, documents))(queries)  # axis: ranks = vmap(lambda q: rank(q, documents), in_axes=1)(queries)
result = scores, ranks
assert scores.shape == (Q, D)
