"""Every token passes through all experts, weighted by its own gate."""

import numpy as np
import torch
from torch import Tensor
from torch.func import vmap


def mix(token: Tensor, experts: Tensor, gates: Tensor) -> Tensor:
    outputs: Tensor = vmap(lambda e: e @ token)(experts)
    return gates.softmax(-1) @ outputs


def layer(tokens: Tensor, experts: Tensor, gates: Tensor) -> Tensor:
    mapped = vmap(mix, in_dims=(0, None, 0))  # bug: mapped = vmap(mix, in_dims=(None, 0, 0))
    return mapped(tokens, experts, gates)


def main() -> None:
    experts = torch.tensor([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]])
    out = layer(torch.tensor([[1.0, 3.0], [5.0, 7.0]]), experts, torch.tensor([[90.0, 0.0], [0.0, 0.0]]))
    assert np.allclose(out.numpy(), [[1.0, 3.0], [6.0, 6.0]], atol=1e-4)


if __name__ == "__main__":
    main()
