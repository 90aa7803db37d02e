"""One round of messages on a graph: each node sums the states of its neighbours."""

import torch
from torch import Tensor
from torch.func import vmap


def gather(neighbours: Tensor, states: Tensor) -> Tensor:
    return neighbours @ states


def round_of_messages(adjacency: Tensor, states: Tensor) -> Tensor:
    return vmap(lambda row: gather(row, states))(adjacency)  # bug: return vmap(lambda row: gather(row, row))(adjacency)


def main() -> None:
    path = torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    states = torch.tensor([[1.0, 0.0], [0.0, 5.0], [3.0, 0.0]])
    assert round_of_messages(path, states).tolist() == [[0.0, 5.0], [4.0, 0.0], [0.0, 5.0]]


if __name__ == "__main__":
    main()
