"""Attention of every query to every key, written for one query."""

from branded import Brand, as_axes, vmap
from tinygrad import Tensor


class Queries(Brand): ...


class Keys(Brand): ...


class Width(Brand): ...


Q, K, W = 3, 5, 4


def attend(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """The mean of the values, weighted by their keys."""
    logits = vmap(lambda key: (query * key).sum())(keys)  # zip: logits = vmap(lambda q, key: (q * key).sum())(query, keys)
    weights = logits.softmax(axis=0)
    return vmap(lambda w, value: w * value)(weights, values).sum(axis=0)  # none: return vmap(lambda w, value: w * value, in_axes=(None, 0))(weights, values).sum(axis=0)


def attention(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    one = vmap(attend, in_axes=(0, None, None))  # none: one = vmap(attend)
    return one(queries, keys, values)


def by_columns(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return vmap(attend, in_axes=(0, None, None), out_axes=1)(queries, keys, values)  # out: return vmap(attend, in_axes=(0, None, None))(queries, keys, values)


queries = as_axes(Tensor.arange(Q * W).reshape(Q, W).float() * 0.1, Queries, Width)
keys = as_axes(Tensor.arange(K * W).reshape(K, W).float() * 0.1, Keys, Width)
values = as_axes(Tensor.arange(K * W).reshape(K, W).float(), Keys, Width)
out = attention(queries, keys, values)  # axis: out = attention(keys, queries, values)
columns = by_columns(queries, keys, values)
check = out @ columns  # axis: check = columns @ out.T
result = out, columns, check
assert columns.shape == (W, Q)
