"""Embeddings of tokens, and their scores against a vocabulary."""

from branded import Brand, as_axes, jit, vmap
from tinygrad import Tensor


class Sentences(Brand): ...


class Positions(Brand): ...


class Vocabulary(Brand): ...


class Width(Brand): ...


B, L, V, W = 2, 5, 7, 3


def logits(token: Tensor, table: Tensor) -> Tensor:
    return vmap(lambda word: (word * token).sum())(table)  # zip: return vmap(lambda word, t: (word * t).sum())(table, token)


def of_sentence(sentence: Tensor, table: Tensor) -> Tensor:
    return vmap(logits, in_axes=(0, None))(sentence, table)  # none: return vmap(logits)(sentence, table)


@jit
def batch(sentences: Tensor, table: Tensor) -> Tensor:
    return vmap(of_sentence, in_axes=(0, None))(sentences, table)  # none: return vmap(of_sentence)(sentences, table)


def positions_first(sentences: Tensor) -> Tensor:
    return vmap(lambda s: s.relu(), out_axes=1)(sentences)  # out: return vmap(lambda s: s.relu())(sentences)


sentences = as_axes(Tensor.arange(B * L * W).reshape(B, L, W).float() * 0.1, Sentences, Positions, Width)
table = as_axes(Tensor.arange(V * W).reshape(V, W).float() * 0.1, Vocabulary, Width)
offsets = as_axes(Tensor.arange(L * W).reshape(L, W).float(), Positions, Width)
bias = as_axes(Tensor.arange(V).float(), Vocabulary)

placed = vmap(lambda s: s + offsets)(sentences)  # axis: placed = vmap(lambda s: s + offsets, in_axes=1)(sentences)
scores = batch(placed, table) + bias
mean = scores.mean(axis=2)  # axis: mean = scores.mean(axis=1)
order = positions_first(sentences)
picked = vmap(lambda row, m: (row * m).sum())(order, mean.T.reshape(L, B, 1))  # axis: picked = vmap(lambda row, m: (row * m).sum(), in_axes=(1, 0))(order, mean.T.reshape(L, B, 1))
result = scores, mean, order, picked
assert mean.shape == (B, L)
