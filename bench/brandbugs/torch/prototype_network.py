"""Few-shot logits: minus the distance of a query to the mean of each class."""

import torch
from torch import Tensor
from torch.func import vmap


def prototype(support: Tensor, query: Tensor) -> Tensor:
    """The mean of the shots of one class, in the dtype of the query."""
    return support.mean(0).to(query.dtype)  # bug: return (support - query).mean(0).to(query.dtype)


def logit(support: Tensor, query: Tensor) -> Tensor:
    return -(prototype(support, query) - query).square().sum()


def logits(supports: Tensor, queries: Tensor) -> Tensor:
    one_query = vmap(logit, in_dims=(0, None))
    return vmap(one_query, in_dims=(None, 0))(supports, queries)


def main() -> None:
    supports = torch.tensor([[[0.0, 0.0], [2.0, 0.0]], [[5.0, 1.0], [5.0, -1.0]]])
    assert logits(supports, torch.tensor([[1.0, 0.0], [5.0, 1.0]])).tolist() == [[0.0, -16.0], [-17.0, -1.0]]


if __name__ == "__main__":
    main()
