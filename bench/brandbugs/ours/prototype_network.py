"""Few-shot logits: minus the distance of a query to the mean of each class.

Mistake: brand forgotten: the prototype of a class is declared per class, but moved by the query.
"""

from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)


def prototype(support: Vec[S1, Tensor], query: Vec[S2, Tensor]) -> Vec[S1, Tensor]:
    """The mean of the shots of one class, in the dtype of the query."""
    return support.mean(0).cast(query.dtype)  # bug: return (support - query).mean(0).cast(query.dtype)


def logit(support: Vec[S1, Tensor], query: Vec[S2, Tensor]) -> Vec[S1 | S2, Tensor]:
    return -(prototype(support, query) - query).square().sum()


def logits(supports: Tensor, queries: Tensor) -> Tensor:
    one_query = vmap(logit, in_axes=(0, None))
    return vmap(one_query, in_axes=(None, 0))(supports, queries)


def main() -> None:
    supports = Tensor([[[0.0, 0.0], [2.0, 0.0]], [[5.0, 1.0], [5.0, -1.0]]])
    assert logits(supports, Tensor([[1.0, 0.0], [5.0, 1.0]])).tolist() == [[0.0, -16.0], [-17.0, -1.0]]


if __name__ == "__main__":
    main()
