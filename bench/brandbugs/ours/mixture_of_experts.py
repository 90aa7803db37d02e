"""Every token passes through all experts, weighted by its own gate.

Mistake: levels exchanged: the inner vmap runs over the tokens of the outer one, not over the experts.
"""

from typing import TypeVar

import numpy as np
from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)


def mix(token: Vec[S, Tensor], experts: Tensor, gates: Vec[S, Tensor]) -> Vec[S, Tensor]:
    outputs = vmap(lambda e: e @ token)(experts)
    return gates.softmax() @ outputs


def layer(tokens: Tensor, experts: Tensor, gates: Tensor) -> Tensor:
    mapped = vmap(mix, in_axes=(0, None, 0))  # bug: mapped = vmap(mix, in_axes=(None, 0, 0))
    return mapped(tokens, experts, gates)


def main() -> None:
    experts = Tensor([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]])
    out = layer(Tensor([[1.0, 3.0], [5.0, 7.0]]), experts, Tensor([[90.0, 0.0], [0.0, 0.0]]))
    assert np.allclose(out.numpy(), [[1.0, 3.0], [6.0, 6.0]], atol=1e-4)


if __name__ == "__main__":
    main()
