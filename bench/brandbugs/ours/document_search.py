"""The similarity of every query to every document.

Mistake: levels exchanged: the documents are the outer level, so the table comes out transposed.
Unseen: rows are sets of brands: both orders of leaving give a tensor with the empty row.
"""

from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)


def similarity(q: Vec[S1, Tensor], d: Vec[S2, Tensor]) -> Vec[S1 | S2, Tensor]:
    return (q * d).sum()


def search(queries: Tensor, documents: Tensor) -> Tensor:
    """Row by row: of one query, all documents."""
    inner = vmap(similarity, in_axes=(None, 0))  # bug: inner = vmap(similarity, in_axes=(0, None))
    outer = vmap(inner, in_axes=(0, None))  # bug: outer = vmap(inner, in_axes=(None, 0))
    return outer(queries, documents)


def main() -> None:
    documents = Tensor([[1.0, 2.0], [3.0, 4.0]])
    assert search(Tensor([[1.0, 0.0], [1.0, -1.0]]), documents).tolist() == [[1.0, 3.0], [-1.0, -1.0]]


if __name__ == "__main__":
    main()
