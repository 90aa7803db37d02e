"""The cross entropy of every row of logits, with weights of the classes."""

import numpy as np
import torch
from torch import Tensor
from torch.func import vmap


def cross_entropy(logits: Tensor, target: Tensor, weights: Tensor) -> Tensor:
    return -(weights * target * logits.log_softmax(-1)).sum()


def against_all(logits: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
    """Row by row: every row of logits against every target."""

    def row(z: Tensor) -> Tensor:
        def cell(t: Tensor) -> Tensor:
            return cross_entropy(z, t, weights)  # bug: return cross_entropy(z, t, z)

        return vmap(cell)(targets)

    return vmap(row)(logits)


def main() -> None:
    got = against_all(
        torch.tensor([[0.0, 0.0], [9.0, 0.0]]), torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([1.0, 2.0])
    )
    assert np.allclose(got.numpy(), [[0.6931, 1.3863], [0.0001, 18.0002]], atol=1e-3)


if __name__ == "__main__":
    main()
