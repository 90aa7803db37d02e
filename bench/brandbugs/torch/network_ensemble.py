"""The output of every network of an ensemble for one input; the weights are a dict."""

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.func import vmap


def network(params: Mapping[str, Tensor], x: Tensor) -> Tensor:
    hidden = (params["w"] @ x).relu()
    return params["v"] @ hidden + params["b"]


def ensemble(params: dict[str, Tensor], x: Tensor) -> Tensor:
    return vmap(network, in_dims=(0, None))(params, x)  # bug: return vmap(network)(params) + x.sum()


def main() -> None:
    w, v = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]] * 2), torch.tensor([[1.0, 2.0]] * 2)
    params = {"w": w, "v": v, "b": torch.tensor([0.0, 1.0])}
    assert ensemble(params, torch.tensor([3.0, -1.0])).tolist() == [3.0, 4.0]


if __name__ == "__main__":
    main()
