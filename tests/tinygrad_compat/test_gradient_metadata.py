"""The names of methods that each gradient adds to operations of the process."""

from __future__ import annotations

from tinygrad import Tensor
from tinygrad.uop.ops import all_metadata

from branded import grad


def test_gradients_add_no_names() -> None:
    x = Tensor([1.0, 2.0]).realize()
    kept, counts = [], []
    for _ in range(3):
        kept.append(grad(lambda v: (v.sin() * v).sum())(x))  # its operations stay in the table
        counts.append(max(map(len, all_metadata.values()), default=0))
    assert counts[0] == counts[2]
