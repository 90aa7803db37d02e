"""Tensors captured by the mapped functions; they are the same for every example."""

from typing import TypeVar

import numpy as np
from tinygrad import Tensor, nn

L = TypeVar("L")
_rng = np.random.default_rng(7)


def closure(*shape: int) -> Tensor:
    return Tensor(_rng.standard_normal(shape).astype(np.float32)).realize()


V = closure(4)
K = closure(4, 4)
FILTERS = closure(3, 2, 3, 3)
IMAGE = closure(1, 2, 4, 4)
INDEX = Tensor(np.array([2, 0, 3], np.int32)).realize()
MASK = Tensor(np.array([True, False, True, True])).realize()


def fixed(layer: L) -> L:
    """Give a layer of `tinygrad.nn` weights that do not depend on a seed."""
    for name, p in nn.state.get_state_dict(layer).items():
        if p.is_floating_point():
            x = _rng.uniform(0.2, 1.0, p.shape) * (1 if name.endswith("var") else _rng.choice((-1, 1), p.shape))
            p.replace(Tensor(x.astype(np.float32)).realize())
    return layer
