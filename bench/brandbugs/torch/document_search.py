"""The similarity of every query to every document."""

import torch
from torch import Tensor
from torch.func import vmap


def similarity(q: Tensor, d: Tensor) -> Tensor:
    return (q * d).sum()


def search(queries: Tensor, documents: Tensor) -> Tensor:
    """Row by row: of one query, all documents."""
    inner = vmap(similarity, in_dims=(None, 0))  # bug: inner = vmap(similarity, in_dims=(0, None))
    outer = vmap(inner, in_dims=(0, None))  # bug: outer = vmap(inner, in_dims=(None, 0))
    return outer(queries, documents)


def main() -> None:
    documents = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert search(torch.tensor([[1.0, 0.0], [1.0, -1.0]]), documents).tolist() == [[1.0, 3.0], [-1.0, -1.0]]


if __name__ == "__main__":
    main()
