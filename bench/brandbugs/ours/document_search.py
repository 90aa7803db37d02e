"""The similarity of every query to every document.

Mistake: levels exchanged: the documents are the outer level, so the table comes out transposed.
"""

from typing import TypeVar

from tinygrad import Tensor

from branded import Axes, Brand, Vec, vmap

S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)


class Queries(Brand): ...


class Documents(Brand): ...


class Words(Brand): ...


def similarity(q: Vec[S1, Axes[Words]], d: Vec[S2, Axes[Words]]) -> Vec[S1 | S2, Axes[()]]:
    return (q * d).sum()


def search(queries: Axes[Queries, Words], documents: Axes[Documents, Words]) -> Axes[Queries, Documents]:
    """Row by row: of one query, all documents."""
    f = vmap(similarity, (None, 0), axis_name=Documents)  # bug: f = vmap(similarity, (0, None), axis_name=Queries)
    table = vmap(f, (0, None), axis_name=Queries)  # bug: table = vmap(f, (None, 0), axis_name=Documents)
    return table(queries, documents)


def main() -> None:
    documents = Tensor([[1.0, 2.0], [3.0, 4.0]])
    assert search(Tensor([[1.0, 0.0], [1.0, -1.0]]), documents).tolist() == [[1.0, 3.0], [-1.0, -1.0]]


if __name__ == "__main__":
    main()
