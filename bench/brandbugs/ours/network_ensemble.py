"""The output of every network of an ensemble for one input; the weights are a dict.

Mistake: wrong number of arguments: the input that all networks share is forgotten.
"""

from collections.abc import Mapping
from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)


def network(params: Mapping[str, Vec[S1, Tensor]], x: Vec[S2, Tensor]) -> Vec[S1 | S2, Tensor]:
    hidden = (params["w"] @ x).relu()
    return params["v"] @ hidden + params["b"]


def ensemble(params: dict[str, Tensor], x: Tensor) -> Tensor:
    return vmap(network, in_axes=(0, None))(params, x)  # bug: return vmap(network)(params) + x.sum()


def main() -> None:
    params = {"w": Tensor([[[1.0, 0.0], [0.0, 1.0]]] * 2), "v": Tensor([[1.0, 2.0]] * 2), "b": Tensor([0.0, 1.0])}
    assert ensemble(params, Tensor([3.0, -1.0])).tolist() == [3.0, 4.0]


if __name__ == "__main__":
    main()
