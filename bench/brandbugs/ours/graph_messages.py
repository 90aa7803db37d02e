"""One round of messages on a graph: each node sums the states of its neighbours.

Mistake: closed-over batch: the message uses the mapped row of the adjacency, not the states of all nodes.
"""

from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)


def gather(neighbours: Vec[S, Tensor], states: Tensor) -> Vec[S, Tensor]:
    return neighbours @ states


def round_of_messages(adjacency: Tensor, states: Tensor) -> Tensor:
    return vmap(lambda row: gather(row, states))(adjacency)  # bug: return vmap(lambda row: gather(row, row))(adjacency)


def main() -> None:
    path = Tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    states = Tensor([[1.0, 0.0], [0.0, 5.0], [3.0, 0.0]])
    assert round_of_messages(path, states).tolist() == [[0.0, 5.0], [4.0, 0.0], [0.0, 5.0]]


if __name__ == "__main__":
    main()
