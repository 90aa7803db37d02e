"""The scores of attention."""

from tinygrad import Tensor

from branded import vmap

QUERIES = Tensor([[1.0, 2.0], [0.0, 1.0]])
KEYS = Tensor([[2.0, 0.0], [1.0, 1.0]])
MORE = Tensor([[2.0, 0.0], [1.0, 1.0], [0.0, 3.0]])


def different(
    queries: Tensor = QUERIES, keys: Tensor = MORE
) -> Tensor:
    """How much each query attends to each key."""
    scores = vmap(
        lambda q: vmap(lambda k: (q * k).sum() * 0.5)(keys)
    )(queries)
    return vmap(lambda row: row.softmax())(scores)


def same(
    queries: Tensor = QUERIES, keys: Tensor = KEYS
) -> Tensor:
    """Score each query with the key in its own place."""
    return vmap(lambda q, k: (q * k).sum() * 0.5)(queries, keys)
