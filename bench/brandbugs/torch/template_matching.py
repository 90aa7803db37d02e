"""How well every signal matches every template."""

import numpy as np
import torch
from torch import Tensor
from torch.func import vmap


def match(signal: Tensor, template: Tensor) -> Tensor:
    return (signal * template).sum() / (signal.square().sum() * template.square().sum()).sqrt()


def matches(signals: Tensor, templates: Tensor) -> Tensor:
    one_signal = vmap(match, in_dims=(None, 0))
    return vmap(one_signal, in_dims=(0, None))(signals, templates)  # bug: return vmap(match)(signals, templates)


def main() -> None:
    got = matches(torch.tensor([[3.0, 0.0], [0.0, 2.0]]), torch.tensor([[1.0, 0.0], [0.0, 5.0]]))
    assert np.allclose(got.numpy(), np.eye(2), atol=1e-5)


if __name__ == "__main__":
    main()
